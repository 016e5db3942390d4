#include "openai_request.h"

#include "openai_messages.h"
#include "openai_tools.h"
#include "providers.h"
#include "request_settings.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct setting_name names[] = {
	{ "stop_sequences", "stop" },
	{ "stream_options", NULL }, /* the request's own */
	{ NULL, NULL },
};

/* --- tools ------------------------------------------------------------------------- */

/* A map with a type that is no function is a tool of the provider's own. */
static const struct value *
tool_of(struct arena *arena, const struct value *tool)
{
	if (value_has(tool, "function") || !value_has(tool, "name"))
		return tool;

	const struct value_pair sent[] = {
		{ VALUE_TEXT("type"), VALUE_TEXT("function") },
		{ VALUE_TEXT("function"), openai_function(arena, tool) },
		{ VALUE_TEXT("defer_loading"),
		    value_get(value_get(tool, "extras"), "defer_loading") },
	};
	return value_map_of(arena, sent, COUNT(sent));
}

static const struct value *
tools_of(struct arena *arena, const struct value *tools)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(tools); i++)
		value_list_add(&list, tool_of(arena, value_at(tools, i)));
	return list.count > 0 ? value_list_end(&list) : NULL;
}

static const struct value *
named_choice(struct arena *arena, const struct value *name)
{
	return value_map(arena, "type", value_str(arena, "function"), "function",
	    value_map(arena, "name", name, NULL), NULL);
}

/* --- the whole --------------------------------------------------------------------- */

/* A response_format in the provider's own form has a type; an agent's a strategy, of which
 * only one is the provider's to do. */
static const struct value *
response_format_of(struct arena *arena, const struct value *format)
{
	const struct value *named;

	if (value_is(value_get(format, "type"), VALUE_STR))
		return format;
	named = openai_schema(arena, format);
	return named == NULL ? NULL
			     : value_map(arena, "type", value_str(arena, "json_schema"),
				   "json_schema", named, NULL);
}

static void
add_stream(struct value_fields *fields, const struct ask *ask)
{
	const struct known_provider *known = known_provider(ask->provider);

	value_fields_set(fields, "stream", value_bool(true));
	if (value_get_bool(
		ask->settings, "stream_usage", known == NULL || known->counts_streams))
		value_fields_set(fields, "stream_options",
		    value_map(fields->arena, "include_usage", value_bool(true), NULL));
}

/* Models that think refuse max_tokens; older ones, and most servers of others, know only that. */
static const struct value *
as_the_model_takes_it(struct arena *arena, const char *model, const struct value *request)
{
	const struct value *most = value_get(request, "max_tokens");

	if (!value_has(request, "tools"))
		request = value_map_with(arena, request, "parallel_tool_calls", NULL);
	if (most == NULL || !openai_thinks(model))
		return request;
	request = value_map_with(arena, request, "max_tokens", NULL);
	return value_has(request, "max_completion_tokens")
		   ? request
		   : value_map_with(arena, request, "max_completion_tokens", most);
}

const struct value *
openai_request(const struct ask *ask, bool stream, const char **error_r)
{
	struct arena *arena = ask->arena;
	struct value_fields fields = { .arena = arena };
	const struct value *tools = tools_of(arena, ask->tools);
	const struct value *messages = openai_messages(ask, error_r);

	if (messages == NULL)
		return NULL;
	value_fields_put(&fields, VALUE_TEXT("model"), value_str(arena, ask->model));
	value_fields_put(&fields, VALUE_TEXT("messages"), messages);
	value_fields_put(&fields, VALUE_TEXT("tools"), tools);
	if (tools != NULL)
		value_fields_set(
		    &fields, "tool_choice", openai_tool_choice(ask, named_choice));
	request_settings_add(&fields, ask->settings, names);
	value_fields_set(
	    &fields, "response_format", response_format_of(arena, ask->response_format));
	if (stream)
		add_stream(&fields, ask);
	return as_the_model_takes_it(arena, ask->model, value_fields_end(&fields));
}
