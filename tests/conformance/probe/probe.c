/* probe: the middleware of the conformance scenarios, as the shared object a user would build.
 *
 * What it does is written in tests/conformance/scenarios/README.md, "The probe". It appends
 * what it sees and in which order to the file named by FLOTILLA_PROBE_LOG, one JSON object a
 * line; lines of all processes interleave in the order things happened. Unlike a real
 * middleware it keeps something in memory: how often each hook of each thread ran, for
 * `on_call`; scenarios run with one process of each kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "json.h"
#include "middleware.h"
#include "probe_log.h"

/* --- actions ----------------------------------------------------------------------------- */

struct count {
	struct count *next;
	char *key;
	long calls;
};

/* How often this hook of this probe ran on this thread, this time included. */
static long
count_call(const char *thread, const char *probe, const char *hook)
{
	static struct count *counts;
	struct count *count;
	char key[512];

	snprintf(key, sizeof key, "%s %s %s", thread != NULL ? thread : "", probe, hook);
	for (count = counts; count != NULL; count = count->next)
		if (strcmp(count->key, key) == 0)
			return ++count->calls;
	count = calloc(1, sizeof *count);
	if (count == NULL)
		abort();
	count->key = strdup(key);
	count->calls = 1;
	count->next = counts;
	counts = count;
	return 1;
}

static bool
applies(const struct value *action, long call)
{
	const struct value *on_call = value_get(action, "on_call");

	return value_is_nil(on_call) || on_call->integer == call;
}

/* The action of this call: an empty one when none applies. */
static const struct value *
find_action(const struct value *settings, const char *hook, const char *thread)
{
	const struct value *actions = value_get(settings, hook);
	long call = count_call(thread, value_get_text(settings, "id"), hook);
	size_t i;

	if (value_is(actions, VALUE_MAP))
		return applies(actions, call) ? actions : value_empty_map();
	for (i = 0; i < value_size(actions); i++)
		if (applies(value_at(actions, i), call))
			return value_at(actions, i);
	return value_empty_map();
}

static const char *
error_type(const struct value *action)
{
	const char *type = value_get_text(action, "error_type");

	return type != NULL ? type : "Exception";
}

/* --- node hooks ------------------------------------------------------------------------------ */

static void
record_seen(struct turn *turn, const char *at, const struct value *names)
{
	struct arena *arena = turn_arena(turn);
	struct value_fields seen = { .arena = arena };
	size_t i;

	if (names == NULL)
		return;
	value_fields_set(&seen, "at", value_str(arena, at));
	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));

		if (strcmp(name, "message_count") == 0)
			value_fields_set(&seen, name,
			    value_int(arena, (int64_t)value_size(turn_messages(turn))));
		else if (!value_is_nil(turn_get(turn, name)))
			value_fields_set(&seen, name, turn_get(turn, name));
	}
	probe_log(arena, "seen", value_fields_end(&seen));
}

static const struct value *
node_hook(struct turn *turn, enum hook hook)
{
	struct arena *arena = turn_arena(turn);
	const struct value *settings = turn_settings(turn);
	const struct value *action =
	    find_action(settings, hook_name(hook), turn_thread(turn));
	const char *at =
	    arena_printf(arena, "%s.%s", value_get_text(settings, "id"), hook_name(hook));
	const struct value *update = value_get(action, "update");

	probe_log(arena, "trace", value_str(arena, at));
	record_seen(turn, at, value_get(action, "see"));
	if (value_has(action, "raise"))
		return turn_fail(
		    turn, error_type(action), "%s", value_get_text(action, "raise"));
	if (value_has(action, "jump_to"))
		update = value_map_with(
		    arena, update, "jump_to", value_get(action, "jump_to"));
	return update;
}

static const struct value *
before_agent(struct turn *turn)
{
	return node_hook(turn, HOOK_BEFORE_AGENT);
}

static const struct value *
before_model(struct turn *turn)
{
	return node_hook(turn, HOOK_BEFORE_MODEL);
}

static const struct value *
after_model(struct turn *turn)
{
	return node_hook(turn, HOOK_AFTER_MODEL);
}

static const struct value *
after_agent(struct turn *turn)
{
	return node_hook(turn, HOOK_AFTER_AGENT);
}

/* --- wrap_model_call --------------------------------------------------------------------------- */

static void
trace_wrap(struct arena *arena, const struct value *settings, const char *hook, char way)
{
	probe_log(arena, "trace",
	    value_printf(arena, "%s.%s%c", value_get_text(settings, "id"), hook, way));
}

/* The tools named; one the request has not got comes in as a new one. */
static const struct value *
named_tools(struct arena *arena, const struct value *tools, const struct value *names)
{
	struct value_list list = { .arena = arena };
	size_t i, j;

	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));
		const struct value *tool = NULL;

		for (j = 0; j < value_size(tools) && tool == NULL; j++)
			if (value_text_is(value_get(value_at(tools, j), "name"), name))
				tool = value_at(tools, j);
		if (tool == NULL)
			tool = value_map(arena, "name", value_str(arena, name),
			    "description", value_printf(arena, "The %s tool.", name),
			    "parameters",
			    value_map(arena, "type", value_str(arena, "object"),
				"properties", value_empty_map(), NULL),
			    NULL);
		value_list_add(&list, tool);
	}
	return value_list_end(&list);
}

static struct model_request *
change_messages(struct model_request *request, const struct value *change)
{
	struct arena *arena = model_arena(request);
	const struct value *messages = model_messages(request);
	int64_t keep = value_get_int(change, "messages_keep_last", -1);

	if (keep >= 0 && (size_t)keep < value_size(messages))
		messages = value_array_slice(arena, messages,
		    value_size(messages) - (size_t)keep, value_size(messages));
	messages =
	    value_array_concat(arena, messages, value_get(change, "messages_append"));
	return model_override(request, "messages", messages);
}

static struct model_request *
change_request(struct model_request *request, const struct value *change)
{
	static const char *const plain[] = { "system_prompt", "tool_choice", "model",
		"model_settings" };
	struct arena *arena = model_arena(request);
	const char *append = value_get_text(change, "append_system");
	size_t i;

	for (i = 0; i < sizeof plain / sizeof *plain; i++)
		if (value_has(change, plain[i]))
			request = model_override(
			    request, plain[i], value_get(change, plain[i]));
	if (append != NULL) {
		const char *prompt = model_system_prompt(request);

		request = model_override(request, "system_prompt",
		    value_printf(arena, "%s%s", prompt != NULL ? prompt : "", append));
	}
	if (value_has(change, "tools"))
		request = model_override(request, "tools",
		    named_tools(arena, model_tools(request), value_get(change, "tools")));
	return change_messages(request, change);
}

static struct model_response *
answer_with(struct model_request *request, const struct value *message)
{
	struct arena *arena = model_arena(request);

	if (!value_has(message, "type"))
		message = value_map_with(arena, message, "type", value_str(arena, "ai"));
	return model_answer(request, message);
}

static struct model_response *
with_suffix(struct model_request *request, const struct model_response *response,
    const char *suffix)
{
	struct arena *arena = model_arena(request);
	const struct value *message = value_at(response->messages, 0);
	struct model_response *changed = answer_with(
	    request, value_map_with(arena, message, "content",
			 value_printf(arena, "%s%s", chat_text(arena, message), suffix)));

	changed->messages = value_array_concat(arena, changed->messages,
	    value_array_slice(
		arena, response->messages, 1, value_size(response->messages)));
	changed->structured_response = response->structured_response;
	return changed;
}

static struct model_response *
call_model_rest(
    struct model_request *request, struct model_next *next, const struct value *action)
{
	int64_t calls = value_get_int(action, "calls", 1);
	struct model_response *response;

	if (calls <= 0)
		return answer_with(request, value_get(action, "response"));
	do {
		response = model_next(next, request);
	} while (--calls > 0);
	if (response->fault != NULL && !response->fault->control &&
	    value_has(action, "catch"))
		return answer_with(request, value_get(action, "catch"));
	return response;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const struct value *settings = model_settings_of(request);
	const struct value *action =
	    find_action(settings, "wrap_model_call", model_thread(request));
	const char *suffix = value_get_text(action, "content_suffix");
	struct model_response *response;

	trace_wrap(arena, settings, "wrap_model_call", '>');
	if (value_has(action, "raise"))
		return model_fail(request, fault_new(arena, error_type(action), "%s",
					       value_get_text(action, "raise")));
	if (value_has(action, "request"))
		request = change_request(request, value_get(action, "request"));
	response = call_model_rest(request, next, action);
	trace_wrap(arena, settings, "wrap_model_call", '<');
	if (response->fault != NULL)
		return response;
	if (suffix != NULL)
		response = with_suffix(request, response, suffix);
	if (value_has(action, "update"))
		response->update = value_get(action, "update");
	return response;
}

/* --- wrap_tool_call ------------------------------------------------------------------------------ */

static struct tool_result *
tool_answer_with(struct tool_request *request, const struct value *message)
{
	struct arena *arena = tool_arena(request);
	const char *status = value_get_text(message, "status");

	return tool_answer(
	    request, chat_text(arena, message), status != NULL ? status : "success");
}

static struct tool_result *
call_tool_rest(
    struct tool_request *request, struct tool_next *next, const struct value *action)
{
	int64_t calls = value_get_int(action, "calls", 1);
	struct tool_result *result;

	if (calls <= 0)
		return tool_answer_with(request, value_get(action, "response"));
	do {
		result = tool_next(next, request);
	} while (--calls > 0);
	if (result->fault != NULL && !result->fault->control &&
	    value_has(action, "catch"))
		return tool_answer_with(request, value_get(action, "catch"));
	return result;
}

static struct tool_result *
tool_suffix(
    struct tool_request *request, const struct tool_result *result, const char *suffix)
{
	struct arena *arena = tool_arena(request);
	const struct value *message = tool_message_of(request, result);
	const char *status = value_get_text(message, "status");

	return tool_answer(request,
	    arena_printf(arena, "%s%s", chat_text(arena, message), suffix),
	    status != NULL ? status : "success");
}

/* The update as a command; the tool message comes along unless the update has messages. */
static struct tool_result *
tool_with_command(struct tool_request *request, const struct tool_result *result,
    const struct value *update)
{
	struct arena *arena = tool_arena(request);
	const struct value *message = tool_message_of(request, result);

	if (!value_has(update, "messages") && message != NULL)
		update = value_map_with(
		    arena, update, "messages", value_array(arena, &message, 1));
	return tool_command(request, update);
}

static struct tool_request *
change_args(struct tool_request *request, const struct value *args)
{
	struct arena *arena = tool_arena(request);

	return tool_override(
	    request, "args", value_map_merge(arena, tool_args(request), args));
}

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct arena *arena = tool_arena(request);
	const struct value *settings = tool_settings_of(request);
	const struct value *action =
	    find_action(settings, "wrap_tool_call", tool_thread(request));
	const char *only = value_get_text(action, "tool");
	struct tool_result *result;

	if (only != NULL && strcmp(only, tool_name(request)) != 0)
		action = value_empty_map();
	trace_wrap(arena, settings, "wrap_tool_call", '>');
	if (value_has(action, "raise"))
		return tool_fail(request, fault_new(arena, error_type(action), "%s",
					      value_get_text(action, "raise")));
	if (value_has(action, "args"))
		request = change_args(request, value_get(action, "args"));
	result = call_tool_rest(request, next, action);
	trace_wrap(arena, settings, "wrap_tool_call", '<');
	if (result->fault != NULL)
		return result;
	if (value_has(action, "content_suffix"))
		result = tool_suffix(
		    request, result, value_get_text(action, "content_suffix"));
	if (value_has(action, "command"))
		result = tool_with_command(request, result, value_get(action, "command"));
	return result;
}

/* --- the settings make the middleware ---------------------------------------------------------- */

static unsigned
jumps_of(const struct value *actions)
{
	const struct value *names = value_get(actions, "can_jump_to");
	unsigned jumps = 0;
	size_t i;

	if (value_is(actions, VALUE_ARRAY))
		for (i = 0; i < value_size(actions); i++)
			jumps |= jumps_of(value_at(actions, i));
	for (i = 0; i < value_size(names); i++)
		jumps |= jump_from_name(value_text(value_at(names, i)));
	return jumps;
}

/* A field as conformance/README.md writes it; what is wrong with it, the loader says. */
static struct field
field_of(struct arena *arena, const char *name, const struct value *given)
{
	const struct value *otherwise = value_get(given, "default");
	const char *reducer = value_get_text(given, "reducer");
	bool private = value_get_bool(given, "private", false);

	return (struct field){
		.name = name,
		.type = value_get_text(given, "type"),
		.otherwise = otherwise != NULL ? json_text(arena, otherwise) : NULL,
		.reducer = reducer != NULL ? reducer_from_name(reducer) : REDUCE_LAST,
		.untracked = value_get_bool(given, "untracked", false),
		.ephemeral = value_get_bool(given, "ephemeral", false),
		.omit_from_input =
		    private || value_get_bool(given, "omit_from_input", false),
		.omit_from_output =
		    private || value_get_bool(given, "omit_from_output", false),
	};
}

static void
add_fields(struct arena *arena, struct middleware_use *use)
{
	const struct value *state = value_get(use->settings, "state");
	struct field *fields =
	    arena_alloc(arena, (value_size(state) + 1) * sizeof *fields);
	size_t i;

	for (i = 0; i < value_size(state); i++)
		fields[i] = field_of(
		    arena, value_text(state->pairs[i].key), state->pairs[i].value);
	use->fields = fields;
	use->field_count = value_size(state);
}

/* The tools it brings, without their outcomes. */
static const struct value *
definitions(struct arena *arena, const struct value *tools)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		value_list_add(
		    &list, value_map_with(arena, value_at(tools, i), "outcomes", NULL));
	return value_list_end(&list);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	unsigned hook;

	use->name = value_get_text(use->settings, "id");
	for (hook = 0; hook < HOOK_COUNT; hook++) {
		const struct value *actions = value_get(use->settings, hook_name(hook));

		use->hooks[hook] = !value_is_nil(actions);
		use->jumps[hook] = jumps_of(actions);
	}
	use->tools = definitions(arena, value_get(use->settings, "tools"));
	add_fields(arena, use);
	(void)error_r;
	return 0;
}

static const struct option options[] = {
	{ .name = "id",
	    .type = OPTION_TEXT,
	    .required = true,
	    .text = "names the probe" },
	{ .name = "before_agent",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "before_model",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "after_model",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "after_agent",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "wrap_model_call",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "wrap_tool_call",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "state", .type = OPTION_MAP, .text = "state fields it adds" },
	{ .name = "tools", .type = OPTION_LIST, .text = "tools it adds" },
	{ 0 },
};

static const struct middleware probe = {
	.abi = MIDDLEWARE_ABI,
	.name = "probe",
	.summary = "records what runs when, for the conformance scenarios",
	.options = options,
	.configure = configure,
	.before_agent = before_agent,
	.before_model = before_model,
	.after_model = after_model,
	.after_agent = after_agent,
	.wrap_model_call = wrap_model_call,
	.wrap_tool_call = wrap_tool_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &probe, NULL };
