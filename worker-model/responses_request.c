#include "responses_request.h"

#include <string.h>

#include "chat.h"
#include "openai_tools.h"
#include "request_settings.h"
#include "responses_items.h"

#define ENCRYPTED "reasoning.encrypted_content"

static const struct setting_name names[] = {
	{ "max_tokens", "max_output_tokens" },
	{ "max_completion_tokens", "max_output_tokens" },
	/* the request's own */
	{ "input", NULL },
	{ "stream_options", NULL },
	/* of the chat completions alone: refused here */
	{ "audio", NULL },
	{ "frequency_penalty", NULL },
	{ "function_call", NULL },
	{ "functions", NULL },
	{ "logit_bias", NULL },
	{ "logprobs", NULL },
	{ "modalities", NULL },
	{ "prediction", NULL },
	{ "presence_penalty", NULL },
	{ "seed", NULL },
	{ "stop", NULL },
	{ "stop_sequences", NULL },
	{ "web_search_options", NULL },
	{ NULL, NULL },
};

/* --- tools ------------------------------------------------------------------------- */

/* The chat completions have what is said of a thing in a map under its type: {type: function, function:
 * {name}}. Here it stands beside the type. */
static const struct value *
flat(struct arena *arena, const struct value *map)
{
	const char *type = value_get_text(map, "type");
	const struct value *inner = type == NULL ? NULL : value_get(map, type);

	if (!value_is(inner, VALUE_MAP))
		return map;
	return value_map_merge(arena, value_map_with(arena, map, type, NULL), inner);
}

/* Without a word on `strict` the API would take it for true, which the chat completions do not. */
static const struct value *
function_tool(struct arena *arena, const struct value *tool)
{
	return value_has(tool, "strict")
		   ? tool
		   : value_map_with(arena, tool, "strict", value_nil());
}

static const struct value *
own_tool(struct arena *arena, const struct value *tool, bool stream)
{
	tool = flat(arena, tool);
	if (value_text_is(value_get(tool, "type"), "custom"))
		return value_map_with(arena, tool, "format",
		    value_has(tool, "format") ? flat(arena, value_get(tool, "format"))
					      : NULL);
	if (value_text_is(value_get(tool, "type"), "function"))
		return function_tool(arena, tool);
	/* A stream with a picture in it has to say how many drafts of it are wanted. */
	if (stream && value_text_is(value_get(tool, "type"), "image_generation") &&
	    !value_has(tool, "partial_images"))
		return value_map_with(arena, tool, "partial_images", value_int(arena, 1));
	return tool;
}

static const struct value *
tool_of(struct arena *arena, const struct value *tool, bool stream)
{
	const struct value *type = value_get(tool, "type");
	const struct value *function;

	if (value_has(tool, "function") || !value_has(tool, "name") ||
	    (value_is(type, VALUE_STR) && !value_text_is(type, "function")))
		return own_tool(arena, tool, stream);
	function =
	    value_map_merge(arena, value_map(arena, "type", VALUE_TEXT("function"), NULL),
		openai_function(arena, tool));
	return function_tool(
	    arena, value_map_with(arena, function, "defer_loading",
		       value_get(value_get(tool, "extras"), "defer_loading")));
}

static const struct value *
tools_of(struct arena *arena, const struct value *tools, bool stream)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(tools); i++)
		value_list_add(&list, tool_of(arena, value_at(tools, i), stream));
	return list.count > 0 ? value_list_end(&list) : NULL;
}

static const struct value *
named_choice(struct arena *arena, const struct value *name)
{
	return value_map(arena, "type", VALUE_TEXT("function"), "name", name, NULL);
}

static bool
is_own_choice(const struct value *choice)
{
	const struct value *type = value_get(choice, "type");

	return value_is(type, VALUE_STR) && !value_text_is(type, "function") &&
	       !value_text_is(type, "tool");
}

/* A choice of the provider's own kind may have a name, too: {type: mcp, server_label, name}. */
static const struct value *
tool_choice_of(const struct ask *ask)
{
	const struct value *given = ask->tool_choice;

	if (value_is_nil(given))
		given = value_get(ask->settings, "tool_choice");
	if (!is_own_choice(given))
		given = openai_tool_choice(ask, named_choice);
	return value_is(given, VALUE_MAP) ? flat(ask->arena, given) : given;
}

/* --- settings ---------------------------------------------------------------------- */

static const struct value *
settings_of(const struct ask *ask)
{
	struct value_fields fields = { .arena = ask->arena };

	request_settings_add(&fields, ask->settings, names);
	return value_fields_end(&fields);
}

/* Sets key in the map under name, unless it is there; what else is no map gives way. */
static const struct value *
with_in(struct arena *arena, const struct value *request, const char *name,
    const char *key, const struct value *value)
{
	const struct value *map = value_get(request, name);

	if (value_is_nil(value) || value_has(map, key))
		return request;
	return value_map_with(
	    arena, request, name, value_map_with(arena, map, key, value));
}

/* The chat completions' way to say how much a model shall think, and talk. */
static const struct value *
with_effort(struct arena *arena, const struct value *request)
{
	const struct value *effort = value_get(request, "reasoning_effort");
	const struct value *verbosity = value_get(request, "verbosity");

	request = with_in(arena, request, "reasoning", "effort", effort);
	request = with_in(arena, request, "text", "verbosity", verbosity);
	request = value_map_with(arena, request, "reasoning_effort", NULL);
	return value_map_with(arena, request, "verbosity", NULL);
}

/* A format in the chat completions' form has a type, an agent's a strategy, of which only one is the
 * provider's to do; a middleware's comes before that of the settings. */
static const struct value *
with_format(const struct ask *ask, const struct value *request)
{
	struct arena *arena = ask->arena;
	const struct value *format = ask->response_format, *schema;

	if (!value_is(value_get(format, "type"), VALUE_STR)) {
		schema = openai_schema(arena, format);
		format = schema == NULL ? value_get(request, "response_format")
					: value_map_with(arena, schema, "type",
					      VALUE_TEXT("json_schema"));
	}
	request = value_map_with(arena, request, "response_format", NULL);
	if (!value_is(format, VALUE_MAP))
		return request;
	return value_map_with(arena, request, "text",
	    value_map_with(
		arena, value_get(request, "text"), "format", flat(arena, format)));
}

static bool
keeps(const struct value *settings)
{
	return value_get_bool(settings, "store", true);
}

/* What a model thought goes back, and where nothing is kept it has to come for that. Other models refuse to
 * be asked for it. */
static const struct value *
with_thoughts(const struct ask *ask, const struct value *request)
{
	const struct value *include = value_get(request, "include");

	if (keeps(request) || value_contains(include, ENCRYPTED) ||
	    (!openai_thinks(ask->model) && !value_has(request, "reasoning")))
		return request;
	if (!value_is(include, VALUE_ARRAY))
		include = value_empty_array();
	return value_map_with(ask->arena, request, "include",
	    value_array_add(ask->arena, include, VALUE_TEXT(ENCRYPTED)));
}

/* --- messages ---------------------------------------------------------------------- */

/* Returns the id of message when it is an answer that the provider keeps, or NULL. */
static const struct value *
kept_id(const struct ask *ask, const struct value *message)
{
	const struct value *metadata = value_get(message, "response_metadata");
	const struct value *id = value_get(metadata, "id");

	if (!chat_is(message, "ai") || !value_is(id, VALUE_STR) ||
	    strncmp(id->text, "resp_", 5) != 0 ||
	    !value_text_is(value_get(metadata, "model_provider"), ask->provider))
		return NULL;
	return id;
}

/* Sets input in fields: all messages, or those behind an answer that is kept. Returns 0, or -1 with *error_r. */
static int
add_input(struct value_fields *fields, const struct ask *ask,
    const struct value *settings, const char **error_r)
{
	struct responses_reader reader = { .ask = ask,
		.provider = ask->provider,
		.thinks = openai_thinks(ask->model),
		.thinks_not = openai_thinks_not(ask->model),
		.keeps = keeps(settings) };
	const struct value *messages = ask->messages, *id = NULL, *input;
	size_t last = value_size(messages);

	if (reader.keeps && !value_has(settings, "previous_response_id") &&
	    value_get_bool(ask->settings, "use_previous_response_id", false))
		while (id == NULL && last > 0)
			id = kept_id(ask, value_at(messages, --last));
	if (id != NULL)
		messages = value_array_slice(
		    ask->arena, messages, last + 1, value_size(messages));
	input = id == NULL && ask->written != NULL
		    ? responses_items_written(ask->arena, &reader, ask->system_prompt,
			  messages, ask->written, error_r)
		    : responses_items(
			  ask->arena, &reader, ask->system_prompt, messages, error_r);
	value_fields_set(fields, "input", input);
	value_fields_set(fields, "previous_response_id", id);
	return input == NULL ? -1 : 0;
}

/* --- the whole --------------------------------------------------------------------- */

const struct value *
responses_request(const struct ask *ask, bool stream, const char **error_r)
{
	struct arena *arena = ask->arena;
	struct value_fields fields = { .arena = arena };
	const struct value *tools = tools_of(arena, ask->tools, stream);
	const struct value *settings = settings_of(ask);

	value_fields_set(&fields, "model", value_str(arena, ask->model));
	if (add_input(&fields, ask, settings, error_r) == -1)
		return NULL;
	value_fields_set(&fields, "tools", tools);
	if (tools != NULL)
		value_fields_set(&fields, "tool_choice", tool_choice_of(ask));
	else
		settings = value_map_with(arena, settings, "parallel_tool_calls", NULL);
	settings = with_format(ask, with_effort(arena, settings));
	value_fields_put_all(&fields, with_thoughts(ask, settings));
	if (stream)
		value_fields_set(&fields, "stream", value_bool(true));
	return value_fields_end(&fields);
}
