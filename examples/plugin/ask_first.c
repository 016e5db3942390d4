/* ask_first: a human agrees before certain tools run. A middleware of a user's own that
 * interrupts: docs/interrupts.md explains it.
 *
 *   cc -std=c11 -fPIC -shared -iquote /usr/local/include/flotilla -o ask_first.so ask_first.c */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "tools",
	    .type = OPTION_TEXTS,
	    .required = true,
	    .text = "The tools that a human is asked about." },
	{ 0 },
};

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	const struct value *tools = value_get(tool_settings_of(request), "tools");
	struct arena *arena = tool_arena(request);
	const struct value *answer;

	if (!value_contains(tools, tool_name(request)))
		return tool_next(next, request);
	answer = tool_interrupt(
	    request, value_map(arena, "tool", value_str(arena, tool_name(request)),
			 "args", tool_args(request), NULL));
	if (answer == NULL)
		return NULL; /* nobody has answered yet */
	if (value_text_is(answer, "yes"))
		return tool_next(next, request);
	return tool_answer(request, "A human does not want that.", "error");
}

static const struct middleware ask_first = {
	.abi = MIDDLEWARE_ABI,
	.name = "ask_first",
	.summary = "asks a human before certain tools run",
	.options = options,
	.wrap_tool_call = wrap_tool_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &ask_first, NULL };
