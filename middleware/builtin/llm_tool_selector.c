/* llm_tool_selector: a model picks the tools that the agent's model is offered (semantics.md
 * 6.12). */
#include "middleware.h"

#include <string.h>

#include "json.h"

#define SCHEMA_TITLE "ToolSelection"
#define TOOLS_MAX 1e6

#define SYSTEM_PROMPT                                                                    \
	"You prepare the work of an assistant that answers the user below. Choose the "  \
	"tools it will need for that from the list, by their names: all that may be of " \
	"use, and none that will not."

static const struct option options[] = {
	{ .name = "model",
	    .type = OPTION_MODEL,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "The model that selects; null: the agent's." },
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .otherwise = "null",
	    .nullable = true,
	    .text =
		"What the model is told to do, instead of the built-in instructions." },
	{ .name = "max_tools",
	    .type = OPTION_INTEGER,
	    .otherwise = "null",
	    .nullable = true,
	    .min = 1,
	    .max = TOOLS_MAX,
	    .text = "At most so many are selected, the first ones; null: any number." },
	{ .name = "always_include",
	    .type = OPTION_TEXTS,
	    .otherwise = "[]",
	    .text = "Tools that are offered in any case and are not counted." },
	{ .name = "max_retries",
	    .type = OPTION_INTEGER,
	    .otherwise = "1",
	    .max = 100,
	    .text = "How often the model is asked again when its answer is no "
		    "selection." },
	{ .name = "on_parsing_failure",
	    .type = OPTION_ANY,
	    .otherwise = "\"error\"",
	    .text = "When it still is none: `error` fails the call, `none` selects "
		    "nothing, `all` everything, a list of names these." },
	{ 0 },
};

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *end = value_get(use->settings, "on_parsing_failure");
	size_t i;

	for (i = 0; value_is(end, VALUE_ARRAY) && i < end->size; i++) {
		if (value_is(value_at(end, i), VALUE_STR))
			continue;
		*error_r = arena_printf(
		    arena, "/on_parsing_failure/%zu: must be the name of a tool", i);
		return -1;
	}
	if (value_is(end, VALUE_ARRAY) || value_text_is(end, "error") ||
	    value_text_is(end, "none") || value_text_is(end, "all"))
		return 0;
	*error_r = "/on_parsing_failure: must be error, none, all or a list of names";
	return -1;
}

/* --- the request's tools ------------------------------------------------------------ */

/* The request's tools as the settings divide them, each list in the request's order. */
struct tools {
	struct value_list selectable, always, fixed;
};

/* The provider's own, and what the agent has as a definition only: LangChain's tools that are
 * maps. They are never left out. */
static bool
is_fixed(const struct value *tool)
{
	const char *type = value_get_text(tool, "type");

	return (type != NULL && strcmp(type, "function") != 0) ||
	       value_get_bool(tool, "schema_only", false);
}

static void
divide(struct model_request *request, struct tools *tools)
{
	const struct value *always =
	    value_get(model_settings_of(request), "always_include");
	const struct value *all = model_tools(request);
	struct arena *arena = model_arena(request);
	size_t i;

	tools->selectable.arena = tools->always.arena = tools->fixed.arena = arena;
	for (i = 0; i < value_size(all); i++) {
		const struct value *tool = value_at(all, i);
		const char *name = value_get_text(tool, "name");

		if (name == NULL || is_fixed(tool))
			value_list_add(&tools->fixed, tool);
		else if (value_contains(always, name))
			value_list_add(&tools->always, tool);
		else
			value_list_add(&tools->selectable, tool);
	}
}

static bool
has_name(const struct value_list *tools, const char *name)
{
	size_t i;

	for (i = 0; i < tools->count; i++)
		if (value_text_is(value_get(tools->items[i], "name"), name))
			return true;
	return false;
}

/* A name in always_include that no tool has, or NULL. */
static const char *
missing(const struct model_request *request, const struct tools *tools)
{
	const struct value *always =
	    value_get(model_settings_of(request), "always_include");
	size_t i;

	for (i = 0; i < value_size(always); i++) {
		const char *name = value_text(value_at(always, i));

		if (!has_name(&tools->always, name) && !has_name(&tools->fixed, name))
			return name;
	}
	return NULL;
}

/* --- asking ------------------------------------------------------------------------- */

static const struct value *
schema_of(struct arena *arena, const struct tools *tools)
{
	struct value_list names = { .arena = arena };
	const struct value *item, *list, *required = value_str(arena, "tools");
	size_t i;

	for (i = 0; i < tools->selectable.count; i++)
		value_list_add(&names, value_get(tools->selectable.items[i], "name"));
	item = value_map(arena, "type", value_str(arena, "string"), "enum",
	    value_list_end(&names), NULL);
	list = value_map(arena, "type", value_str(arena, "array"), "items", item,
	    "description",
	    value_str(arena, "The names of the tools, the most useful first."), NULL);
	return value_map(arena, "title", value_str(arena, SCHEMA_TITLE), "type",
	    value_str(arena, "object"), "properties",
	    value_map(arena, "tools", list, NULL), "required",
	    value_array(arena, &required, 1), "additionalProperties", value_bool(false),
	    NULL);
}

/* "- name: description", a line each. */
static const char *
list_of(struct arena *arena, const struct value_list *tools)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	for (i = 0; i < tools->count; i++) {
		const char *what = value_get_text(tools->items[i], "description");

		text = arena_printf(arena, "\n- %s%s%s",
		    value_get_text(tools->items[i], "name"), what == NULL ? "" : ": ",
		    what == NULL ? "" : what);
		packet_append(&packet, text, strlen(text));
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

static const char *
prompt_of(struct model_request *request, const struct tools *tools)
{
	struct arena *arena = model_arena(request);
	const struct value *settings = model_settings_of(request);
	int64_t most = value_get_int(settings, "max_tools", -1);
	const char *text = value_get_text(settings, "system_prompt");

	if (text == NULL)
		text = SYSTEM_PROMPT;
	if (most != -1)
		text = arena_printf(arena,
		    "%s\n\nBegin with the most useful one: only the first %lld are "
		    "taken.",
		    text, (long long)most);
	return arena_printf(
	    arena, "%s\n\nThe tools:%s", text, list_of(arena, &tools->selectable));
}

/* The last human message, as a list of one, or NULL. */
static const struct value *
question_of(struct model_request *request)
{
	const struct value *messages = model_messages(request);
	size_t i;

	for (i = value_size(messages); i > 0; i--) {
		const struct value *message = value_at(messages, i - 1);

		if (chat_is(message, "human"))
			return value_array(model_arena(request), &message, 1);
	}
	return NULL;
}

/* What the model selected, whether or not its format found it good; NULL: nothing one could
 * read. */
static const struct value *
selection_of(struct arena *arena, const struct model_response *response)
{
	const struct value *message = value_at(response->messages, 0), *given;
	const char *text, *error;
	size_t i;

	given = response->structured_response;
	if (given == NULL)
		given = value_get(value_at(value_get(message, "tool_calls"), 0), "args");
	if (given == NULL && message != NULL) {
		text = chat_text(arena, message);
		given = json_parse(arena, text, strlen(text), &error);
	}
	given = value_get(given, "tools");
	for (i = 0; i < value_size(given); i++)
		if (!value_is(value_at(given, i), VALUE_STR))
			return NULL;
	return value_is(given, VALUE_ARRAY) ? given : NULL;
}

/* An answer that is none, of a provider that promised one. */
static bool
is_parsing_failure(const struct fault *fault)
{
	return fault_type_is(fault->type, "StructuredOutputValidationError") ||
	       fault_type_is(fault->type, "MultipleStructuredOutputsError");
}

/* Asks until there is a selection. Returns it, or NULL; with *fault_r when the model failed. */
static const struct value *
ask(struct model_request *request, const struct tools *tools,
    const struct value *question, const struct fault **fault_r)
{
	struct arena *arena = model_arena(request);
	const struct value *settings = model_settings_of(request), *selection = NULL;
	const struct value *model = value_get(settings, "model");
	int64_t left = value_get_int(settings, "max_retries", 1);
	const struct value *wish =
	    value_map(arena, "model", value_is_nil(model) ? NULL : model, "system_prompt",
		value_str(arena, prompt_of(request, tools)), "messages", question,
		"response_format",
		value_map(arena, "strategy", value_str(arena, "auto"), "schemas",
		    value_array(
			arena, (const struct value *[]){ schema_of(arena, tools) }, 1),
		    "handle_errors", value_bool(true), NULL),
		NULL);

	for (; left >= 0 && selection == NULL; left--) {
		struct model_response *response = model_call(request, wish);

		if (response->fault == NULL) {
			selection = selection_of(arena, response);
		} else if (!is_parsing_failure(response->fault)) {
			*fault_r = response->fault;
			return NULL;
		}
		if (selection == NULL)
			model_note(request, "the selecting model gave no selection");
	}
	return selection;
}

/* --- what is offered ---------------------------------------------------------------- */

static struct fault *
fault_of(struct model_request *request, const char *type, const char *text)
{
	return fault_new(
	    model_arena(request), type, "%s: %s", model_middleware(request), text);
}

/* Of the agent, which asking again does not mend. */
static const struct fault *
mistake(struct model_request *request, const char *type, const char *text)
{
	struct fault *fault = fault_of(request, type, text);

	fault->retryable = false;
	return fault;
}

/* Cuts selection to max_tools, each name once. NULL with *fault_r: it has a name that is none. */
static const struct value *
cut(struct model_request *request, const struct tools *tools,
    const struct value *selection, const struct fault **fault_r)
{
	struct arena *arena = model_arena(request);
	int64_t most = value_get_int(model_settings_of(request), "max_tools", -1);
	struct value_fields names = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(selection); i++) {
		const char *name = value_text(value_at(selection, i));

		if (!has_name(&tools->selectable, name)) {
			*fault_r = fault_of(request, "ValueError",
			    arena_printf(arena,
				"the model selected '%s', which is not among the tools",
				name));
			return NULL;
		}
		if (most == -1 || (int64_t)names.count < most)
			value_fields_set(&names, name, value_nil());
	}
	return value_fields_end(&names);
}

/* The selected ones in the request's order, those always included, the fixed ones. names:
 * their keys. */
static const struct value *
offered(
    struct model_request *request, const struct tools *tools, const struct value *names)
{
	struct value_list list = { .arena = model_arena(request) };
	const char *text = "";
	size_t i;

	for (i = 0; i < tools->selectable.count; i++) {
		const char *name = value_get_text(tools->selectable.items[i], "name");

		if (!value_has(names, name))
			continue;
		value_list_add(&list, tools->selectable.items[i]);
		text = arena_printf(
		    list.arena, "%s%s%s", text, text[0] == '\0' ? "" : ", ", name);
	}
	model_note(request, "selected %zu of %zu tools: %s", list.count,
	    tools->selectable.count, text);
	for (i = 0; i < tools->always.count; i++)
		value_list_add(&list, tools->always.items[i]);
	for (i = 0; i < tools->fixed.count; i++)
		value_list_add(&list, tools->fixed.items[i]);
	return value_list_end(&list);
}

/* As on_parsing_failure says: names as keys; NULL with *fault_r. */
static const struct value *
without_selection(struct model_request *request, const struct tools *tools,
    const struct fault **fault_r)
{
	const struct value *end =
	    value_get(model_settings_of(request), "on_parsing_failure");
	struct value_fields names = { .arena = model_arena(request) };
	size_t i;

	if (value_text_is(end, "error")) {
		*fault_r = fault_of(request, "ValueError",
		    "the selecting model's answer is no selection of tools");
		return NULL;
	}
	for (i = 0; value_text_is(end, "all") && i < tools->selectable.count; i++)
		value_fields_set(&names,
		    value_get_text(tools->selectable.items[i], "name"), value_nil());
	for (i = 0; value_is(end, VALUE_ARRAY) && i < end->size; i++)
		value_fields_set(&names, value_text(value_at(end, i)), value_nil());
	return value_fields_end(&names);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *question = question_of(request), *names;
	const struct fault *fault = NULL;
	struct tools tools = { 0 };
	const char *absent;

	if (value_size(model_tools(request)) == 0)
		return model_next(next, request);
	divide(request, &tools);
	absent = missing(request, &tools);
	if (absent != NULL)
		return model_fail(request,
		    mistake(request, "ValueError",
			arena_printf(model_arena(request),
			    "always_include names '%s', which is no tool of this call",
			    absent)));
	if (tools.selectable.count == 0)
		return model_next(next, request);
	if (question == NULL)
		return model_fail(
		    request, mistake(request, "AssertionError",
				 "there is no human message to select tools for"));
	names = ask(request, &tools, question, &fault);
	if (names != NULL)
		names = cut(request, &tools, names, &fault);
	else if (fault == NULL)
		names = without_selection(request, &tools, &fault);
	if (fault != NULL)
		return model_fail(request, fault);
	return model_next(
	    next, model_override(request, "tools", offered(request, &tools, names)));
}

const struct middleware middleware_llm_tool_selector = {
	.abi = MIDDLEWARE_ABI,
	.name = "llm_tool_selector",
	.summary = "lets a model pick the tools that the agent's model is offered",
	.options = options,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
