/* tool_error: tells the model of a tool's errors in words of the agent's (semantics.md 6.7). */
#include "middleware.h"

#include <string.h>

#include "nearest.h"
#include "slot.h"

static const struct option options[] = {
	{ .name = "catch",
	    .type = OPTION_TEXTS,
	    .required = true,
	    .text =
		"Types of the faults that become a message, with those that inherit from "
		"them; `Exception` is every type. All others travel on." },
	{ .name = "on_error",
	    .type = OPTION_TEXT,
	    .otherwise = "null",
	    .nullable = true,
	    .text =
		"What the model is told, with `{tool}`, `{type}` and `{message}` where "
		"these go; null: tool and type, and not what the fault says." },
	{ .name = "tools",
	    .type = OPTION_TEXTS,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "Names of the tools it is for; null: all." },
	{ 0 },
};

static const char *const slots[] = { "tool", "type", "message" };
#define SLOT_COUNT (sizeof slots / sizeof *slots)

/* --- settings ----------------------------------------------------------------------- */

static int
check_types(struct arena *arena, const struct value *types, const char **error_r)
{
	size_t i;

	if (value_size(types) == 0) {
		*error_r = "/catch: must name a type; Exception is every type";
		return -1;
	}
	for (i = 0; i < value_size(types); i++) {
		if (value_size(value_at(types, i)) > 0)
			continue;
		*error_r =
		    arena_printf(arena, "/catch/%zu: must be the name of a type", i);
		return -1;
	}
	return 0;
}

static bool
is_slot(const char *name)
{
	size_t i;

	for (i = 0; i < SLOT_COUNT; i++)
		if (strcmp(slots[i], name) == 0)
			return true;
	return false;
}

static int
check_slots(struct arena *arena, const char *text, const char **error_r)
{
	struct slot slot;

	for (; slot_find(text, "", &slot); text = slot.end) {
		const char *name = arena_copy(arena, slot.name, slot.name_size);
		const char *near = nearest_name(name, slots, SLOT_COUNT);

		if (slot.is_literal || is_slot(name))
			continue;
		*error_r = arena_printf(arena,
		    "/on_error: {%s} stands for nothing: there are {tool}, {type} and "
		    "{message}%s%s%s, and {{%s}} is the text itself",
		    name, near == NULL ? "" : " (did you mean {",
		    near == NULL ? "" : near, near == NULL ? "" : "}?)", name);
		return -1;
	}
	return 0;
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *text = value_get_text(use->settings, "on_error");

	if (check_types(arena, value_get(use->settings, "catch"), error_r) == -1)
		return -1;
	return text == NULL ? 0 : check_slots(arena, text, error_r);
}

/* --- the hook ----------------------------------------------------------------------- */

struct failure {
	const struct tool_request *request;
	const struct fault *fault;
};

static const char *
fill(void *arg, const char *name)
{
	const struct failure *failure = arg;

	if (strcmp(name, "tool") == 0)
		return tool_name(failure->request);
	return strcmp(name, "type") == 0 ? failure->fault->type : failure->fault->message;
}

static bool
is_covered(const struct tool_request *request)
{
	const struct value *tools = value_get(tool_settings_of(request), "tools");

	return value_is_nil(tools) || value_contains(tools, tool_name(request));
}

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	const struct value *settings = tool_settings_of(request);
	const char *text = value_get_text(settings, "on_error");
	struct tool_result *result = tool_next(next, request);
	struct failure failure = { request, result->fault };

	if (result->fault == NULL || !is_covered(request) ||
	    !fault_matches(result->fault, value_get(settings, "catch")))
		return result;
	if (text == NULL)
		text = "The tool {tool} failed with {type}.";
	/* Who runs the agent learns what the model is not told. */
	tool_note(request, "%s failed with %s: %s", tool_name(request),
	    result->fault->type, result->fault->message);
	return tool_answer(
	    request, slot_fill(tool_arena(request), text, "", fill, &failure), "error");
}

const struct middleware middleware_tool_error = {
	.abi = MIDDLEWARE_ABI,
	.name = "tool_error",
	.summary = "tells the model of a tool's errors in your words",
	.options = options,
	.configure = configure,
	.wrap_tool_call = wrap_tool_call,
};
