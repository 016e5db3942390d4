/* call_tracker: counts the model calls of a thread, and ends runs when there were enough. */
#include "middleware.h"

#define CALLS "tracked_calls"

static const struct option options[] = {
	{ .name = "most",
	    .type = OPTION_INTEGER,
	    .otherwise = "10",
	    .min = 1,
	    .max = 1e6,
	    .text = "Model calls of one thread." },
	{ 0 },
};

/* Part of what a run gives, and stays in the thread. */
static const struct field fields[] = {
	{ .name = CALLS,
	    .type = "integer",
	    .otherwise = "0",
	    .reducer = REDUCE_ADD,
	    .omit_from_input = true },
	{ 0 },
};

static const struct value *
before_model(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	int64_t most = value_get_int(turn_settings(turn), "most", 10);
	const struct value *message;

	if (value_number(turn_get(turn, CALLS), 0) < (double)most)
		return NULL;
	message = chat_ai(arena, "I have been asked often enough.");
	return value_map(arena, "messages", value_array(arena, &message, 1), "jump_to",
	    value_str(arena, "end"), NULL);
}

static const struct value *
after_model(struct turn *turn)
{
	return value_map(turn_arena(turn), CALLS, value_int(turn_arena(turn), 1), NULL);
}

static const struct middleware call_tracker = {
	.abi = MIDDLEWARE_ABI,
	.name = "call_tracker",
	.summary = "counts the model calls of a thread, and limits them",
	.options = options,
	.fields = fields,
	.jumps = { [HOOK_BEFORE_MODEL] = JUMP_END },
	.before_model = before_model,
	.after_model = after_model,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &call_tracker, NULL };
