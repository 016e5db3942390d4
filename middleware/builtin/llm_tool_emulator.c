/* llm_tool_emulator: a model plays the tools (semantics.md 6.13). */
#include "middleware.h"

#include "json.h"

static const struct option options[] = {
	{ .name = "tools",
	    .type = OPTION_TEXTS,
	    .otherwise = "null",
	    .nullable = true,
	    .text =
		"Names of the tools that are played; null: all, an empty list: none." },
	{ .name = "model",
	    .type = OPTION_MODEL,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "The model that plays them; null: the agent's." },
	{ 0 },
};

static bool
is_played(const struct tool_request *request)
{
	const struct value *tools = value_get(tool_settings_of(request), "tools");

	return value_is_nil(tools) || value_contains(tools, tool_name(request));
}

static const char *
prompt_of(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const char *what = value_get_text(tool_definition(request), "description");

	return arena_printf(arena,
	    "An agent is being tried out, and you play one of its tools, which is not "
	    "run. Write what the tool could have returned for the call below.\n\n"
	    "Tool: %s\nDescription: %s\nArguments: %s\n\n"
	    "Write the tool's output and nothing else: no introduction, no explanation, "
	    "no code fence around it. Make it plausible, detailed, and different from "
	    "one call to the next.",
	    tool_name(request),
	    what == NULL || what[0] == '\0' ? "No description available" : what,
	    json_text(arena, tool_args(request)));
}

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct arena *arena = tool_arena(request);
	const struct value *model = value_get(tool_settings_of(request), "model"), *body;
	const struct value *message;
	long last;

	if (!is_played(request))
		return tool_next(next, request);
	message = chat_human(arena, prompt_of(request));
	body = tool_call_model(
	    request, value_map(arena, "model", value_is_nil(model) ? NULL : model,
			 "messages", value_array(arena, &message, 1), NULL));
	if (body == NULL)
		return tool_fail(request, fault_cancelled(arena));
	if (value_has(body, "fault"))
		return tool_fail(
		    request, fault_from_value(arena, value_get(body, "fault")));
	last = chat_last_ai(value_get(body, "messages"));
	if (last == -1)
		return tool_fail(request,
		    fault_new(arena, "APIResponseError",
			"the model that plays %s gave no message", tool_name(request)));
	tool_note(request, "%s was played by a model", tool_name(request));
	message = value_at(value_get(body, "messages"), (size_t)last);
	return tool_answer(request, chat_text(arena, message), "success");
}

const struct middleware middleware_llm_tool_emulator = {
	.abi = MIDDLEWARE_ABI,
	.name = "llm_tool_emulator",
	.summary = "lets a model play the tools instead of running them",
	.options = options,
	.wrap_tool_call = wrap_tool_call,
};
