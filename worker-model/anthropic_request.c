#include "anthropic_request.h"

#include <string.h>

#include "anthropic_blocks.h"
#include "anthropic_cache.h"
#include "anthropic_messages.h"
#include "request_settings.h"

static const struct setting_name names[] = {
	{ "stop", "stop_sequences" },
	{ "max_tokens_to_sample", "max_tokens" },
	{ "max_completion_tokens", "max_tokens" },
	{ "parallel_tool_calls", NULL }, /* in tool_choice */
	{ "system", NULL },
	{ NULL, NULL },
};

static const struct value *
typed(struct arena *arena, const char *type)
{
	return value_map(arena, "type", value_str(arena, type), NULL);
}

/* --- tools ------------------------------------------------------------------------- */

/* A map with a type that is no function is a tool of the provider's own. OpenAI's form is
 * understood. */
static const struct value *
tool_of(struct arena *arena, const struct value *tool)
{
	const struct value *function = value_get(tool, "function");
	const char *type = value_get_text(tool, "type");
	const struct value *schema, *sent;

	if (value_is(function, VALUE_MAP))
		tool = value_map_merge(
		    arena, function, value_map_with(arena, tool, "function", NULL));
	else if (value_has(tool, "input_schema") ||
		 (type != NULL && strcmp(type, "function") != 0 &&
		     strcmp(type, "custom") != 0))
		return tool;
	schema = value_get(tool, "parameters");
	if (!value_is(schema, VALUE_MAP))
		schema = value_map(arena, "type", value_str(arena, "object"),
		    "properties", value_empty_map(), NULL);
	else if (!value_has(schema, "type"))
		schema =
		    value_map_with(arena, schema, "type", value_str(arena, "object"));
	sent = value_map(arena, "name", value_get(tool, "name"), "description",
	    value_truthy(value_get(tool, "description")) ? value_get(tool, "description")
							 : NULL,
	    "input_schema", schema, "strict",
	    value_is(value_get(tool, "strict"), VALUE_BOOL) ? value_get(tool, "strict")
							    : NULL,
	    NULL);
	return value_map_merge(arena, sent, value_get(tool, "extras"));
}

static const struct value *
tools_of(struct arena *arena, const struct value *tools)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(tools); i++)
		value_list_add(&list, tool_of(arena, value_at(tools, i)));
	return list.count > 0 ? value_list_end(&list) : NULL;
}

/* "any" (OpenAI's "required"), "auto", "none", a tool's name, true, {name} or the
 * provider's own form; NULL: nobody says. */
static const struct value *
given_choice(const struct ask *ask)
{
	struct arena *arena = ask->arena;
	const struct value *choice = ask->tool_choice;
	const struct value *name;

	if (value_is_nil(choice))
		choice = value_get(ask->settings, "tool_choice");
	if (value_is(choice, VALUE_BOOL))
		return choice->boolean ? typed(arena, "any") : NULL;
	if (value_text_is(choice, "any") || value_text_is(choice, "required"))
		return typed(arena, "any");
	if (value_text_is(choice, "auto") || value_text_is(choice, "none"))
		return typed(arena, choice->text);
	name = value_is(choice, VALUE_STR) ? choice : value_get(choice, "name");
	if (name == NULL)
		name = value_get(value_get(choice, "function"), "name");
	if (name == NULL)
		return value_is(choice, VALUE_MAP) ? choice : NULL;
	return value_map_merge(arena,
	    value_map(arena, "type", value_str(arena, "tool"), "name", name, NULL),
	    value_has(choice, "disable_parallel_tool_use")
		? value_map(arena, "disable_parallel_tool_use",
		      value_get(choice, "disable_parallel_tool_use"), NULL)
		: NULL);
}

static bool
thinks(const struct value *settings)
{
	const struct value *type = value_get(value_get(settings, "thinking"), "type");

	return value_text_is(type, "enabled") || value_text_is(type, "adaptive");
}

/* A model that thinks may not be forced to call a tool: it is left to choose. */
static const struct value *
allowed_choice(const struct ask *ask)
{
	const struct value *choice = given_choice(ask);
	const struct value *type = value_get(choice, "type");
	const struct value *settings = ask->settings;
	bool forced = value_text_is(type, "any") || value_text_is(type, "tool");

	if (forced && (thinks(settings) || thinks(value_get(settings, "model_kwargs")) ||
			  thinks(value_get(settings, "extra_body"))))
		return typed(ask->arena, "auto");
	return choice;
}

static const struct value *
tool_choice_of(const struct ask *ask)
{
	const struct value *choice = allowed_choice(ask);
	const struct value *settings = ask->settings;

	if (!value_get_bool(settings, "disable_parallel_tool_use", false) &&
	    value_get_bool(settings, "parallel_tool_calls", true))
		return choice;
	if (choice == NULL)
		choice = typed(ask->arena, "auto");
	if (value_text_is(value_get(choice, "type"), "none"))
		return choice;
	return value_map_with(
	    ask->arena, choice, "disable_parallel_tool_use", value_bool(true));
}

/* --- settings ---------------------------------------------------------------------- */

/* Of one text the API wants a list, too. */
static const struct value *
with_stop_list(struct arena *arena, const struct value *request)
{
	const struct value *stop = value_get(request, "stop_sequences");

	return value_is(stop, VALUE_STR)
		   ? value_map_with(
			 arena, request, "stop_sequences", value_array(arena, &stop, 1))
		   : request;
}

static int64_t
most_tokens(const struct ask *ask)
{
	return ask->max_output_tokens > 0 ? ask->max_output_tokens
					  : ANTHROPIC_TOKENS_OTHERWISE;
}

/* --- structured output --------------------------------------------------------------- */

/* Of an agent's strategies one is the provider's to do. A format in the provider's own form has a
 * type. */
static void
add_format(
    struct value_fields *fields, const struct ask *ask, const struct value *settings)
{
	const struct value *format = ask->response_format;
	const struct value *schema = value_at(value_get(format, "schemas"), 0);
	struct arena *arena = ask->arena;

	if (value_is(value_get(format, "type"), VALUE_STR))
		;
	else if (value_text_is(value_get(format, "strategy"), "provider") &&
		 schema != NULL)
		format = value_map(arena, "type", value_str(arena, "json_schema"),
		    "schema", anthropic_schema(arena, schema), NULL);
	else
		return;
	value_fields_set(fields, "output_config",
	    value_map_with(
		arena, value_get(settings, "output_config"), "format", format));
}

/* --- the whole --------------------------------------------------------------------- */

static const struct value *
system_of(const struct ask *ask, struct value_list *blocks)
{
	const struct value *control = value_get(ask->settings, "system_cache_control");

	if (blocks->count == 0)
		return NULL;
	if (value_is_nil(control))
		return value_list_end(blocks);
	return anthropic_cached_blocks(ask->arena, value_list_end(blocks), control);
}

static const struct value *
messages_of(const struct ask *ask, struct value_list *system, const char **error_r)
{
	const struct value *control = value_get(ask->settings, "cache_control");
	const struct value *messages =
	    anthropic_messages(ask, ask->messages, system, error_r);

	return messages == NULL || value_is_nil(control)
		   ? messages
		   : anthropic_cached_messages(ask->arena, messages, control);
}

const struct value *
anthropic_request(const struct ask *ask, bool stream, const char **error_r)
{
	struct arena *arena = ask->arena;
	struct value_fields fields = { .arena = arena };
	struct value_list system = { .arena = arena };
	const struct value *tools = tools_of(arena, ask->tools), *messages;

	if (ask->system_prompt != NULL)
		anthropic_add_content(&system, value_str(arena, ask->system_prompt));
	messages = messages_of(ask, &system, error_r);
	if (messages == NULL)
		return NULL;
	value_fields_set(&fields, "model", value_str(arena, ask->model));
	value_fields_set(&fields, "max_tokens", value_int(arena, most_tokens(ask)));
	value_fields_set(&fields, "system", system_of(ask, &system));
	value_fields_set(&fields, "messages", messages);
	value_fields_set(&fields, "tools", tools);
	if (tools != NULL)
		value_fields_set(&fields, "tool_choice", tool_choice_of(ask));
	request_settings_add(&fields, ask->settings, names);
	add_format(&fields, ask, ask->settings);
	if (stream)
		value_fields_set(&fields, "stream", value_bool(true));
	return anthropic_few_marks(
	    arena, with_stop_list(arena, value_fields_end(&fields)));
}
