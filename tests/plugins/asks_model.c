/* A middleware that lets a model answer in the place of a tool. */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "model", .type = OPTION_TEXT, .text = "The model that is asked." },
	{ 0 },
};

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct arena *arena = tool_arena(request);
	const struct value *question = chat_human(arena, tool_name(request)), *body;

	(void)next;
	body = tool_call_model(request,
	    value_map(arena, "model", value_get(tool_settings_of(request), "model"),
		"messages", value_array(arena, &question, 1), NULL));
	if (body == NULL)
		return tool_fail(request, fault_cancelled(arena));
	if (value_has(body, "fault"))
		return tool_fail(
		    request, fault_from_value(arena, value_get(body, "fault")));
	return tool_answer(request,
	    chat_text(arena, value_at(value_get(body, "messages"), 0)), "success");
}

static const struct middleware asks_model = {
	.abi = MIDDLEWARE_ABI,
	.name = "asks_model",
	.summary = "Lets a model answer in the place of a tool.",
	.options = options,
	.wrap_tool_call = wrap_tool_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &asks_model, NULL };
