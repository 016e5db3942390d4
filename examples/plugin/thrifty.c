/* thrifty: ends a run before it costs more than was allowed, and keeps what tools
 * return short. A middleware of a user's own: docs/middleware.md explains it line by
 * line.
 *
 *   cc -std=c11 -fPIC -shared -iquote /usr/local/include/flotilla \
 *      -o thrifty.so thrifty.c */
#include "middleware.h"

#include <string.h>

#include "utf8.h"

#define USED "thrifty_used"

static const struct option options[] = {
	{ .name = "max_tokens",
	    .type = OPTION_INTEGER,
	    .required = true,
	    .min = 1,
	    .max = 1e9,
	    .text = "Tokens that the models of one run may use." },
	{ .name = "max_result_bytes",
	    .type = OPTION_INTEGER,
	    .otherwise = "null",
	    .nullable = true,
	    .min = 100,
	    .max = 1e6,
	    .text = "Longer results of tools are cut; null: never." },
	{ 0 },
};

/* Starts at 0 with each run; neither the user nor the model sees it. */
static const struct field fields[] = {
	{ .name = USED,
	    .type = "integer",
	    .otherwise = "0",
	    .reducer = REDUCE_ADD,
	    .untracked = true,
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ 0 },
};

/* What the hooks in the workers read: it travels with their calls. */
static const char *const reads[] = { USED, NULL };

/* --- coordinator -------------------------------------------------------------------- */

static const struct value *
before_model(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	int64_t most = value_get_int(turn_settings(turn), "max_tokens", 0);
	const struct value *message;

	if (value_number(turn_get(turn, USED), 0) < (double)most)
		return NULL;
	message = chat_ai(
	    arena, arena_printf(arena, "I have used the %lld tokens I was allowed.",
		       (long long)most));
	return value_map(arena, "messages", value_array(arena, &message, 1), "jump_to",
	    value_str(arena, "end"), NULL);
}

static const struct value *
after_model(struct turn *turn)
{
	const struct value *messages = turn_messages(turn), *usage;
	long last = chat_last_ai(messages);

	if (last == -1)
		return NULL;
	usage = value_get(value_at(messages, (size_t)last), "usage_metadata");
	return value_map(turn_arena(turn), USED,
	    value_int(turn_arena(turn), value_get_int(usage, "total_tokens", 0)), NULL);
}

/* --- worker-model ------------------------------------------------------------------- */

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const char *prompt = model_system_prompt(request);
	int64_t left = value_get_int(model_settings_of(request), "max_tokens", 0) -
		       (int64_t)value_number(model_state(request, USED), 0);

	prompt = arena_printf(arena, "%s\n\nYou have %lld tokens left: be brief.",
	    prompt == NULL ? "" : prompt, (long long)left);
	return model_next(
	    next, model_override(request, "system_prompt", value_str(arena, prompt)));
}

/* --- worker-tools ------------------------------------------------------------------- */

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct arena *arena = tool_arena(request);
	int64_t most = value_get_int(tool_settings_of(request), "max_result_bytes", -1);
	struct tool_result *result = tool_next(next, request);
	const struct value *message;
	const char *text;
	size_t size, kept;

	if (result->fault != NULL || most == -1)
		return result;
	message = tool_message_of(request, result);
	text = chat_text(arena, message);
	size = strlen(text);
	kept = utf8_prefix(text, size, (size_t)most);
	if (kept == size)
		return result;
	return tool_answer(request,
	    arena_printf(
		arena, "%.*s\n[%zu bytes more were cut]", (int)kept, text, size - kept),
	    value_get_text(message, "status"));
}

static const struct middleware thrifty = {
	.abi = MIDDLEWARE_ABI,
	.name = "thrifty",
	.summary = "ends a run before it costs more than was allowed",
	.options = options,
	.fields = fields,
	.reads = reads,
	.jumps = { [HOOK_BEFORE_MODEL] = JUMP_END },
	.before_model = before_model,
	.after_model = after_model,
	.wrap_model_call = wrap_model_call,
	.wrap_tool_call = wrap_tool_call,
};

/* What the fleet looks for in the shared object. */
extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &thrifty, NULL };
