/* early_exit: ends a run whose thread has become too long. */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "most",
	    .type = OPTION_INTEGER,
	    .otherwise = "100",
	    .min = 1,
	    .max = 1e6,
	    .text = "Messages from which on the model is not asked any more." },
	{ 0 },
};

static const struct value *
before_model(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	int64_t most = value_get_int(turn_settings(turn), "most", 100);
	const struct value *message;

	if (value_size(turn_messages(turn)) < (size_t)most)
		return NULL;
	message =
	    chat_ai(arena, "This conversation is too long: please begin a new one.");
	return value_map(arena, "messages", value_array(arena, &message, 1), "jump_to",
	    value_str(arena, "end"), NULL);
}

static const struct middleware early_exit = {
	.abi = MIDDLEWARE_ABI,
	.name = "early_exit",
	.summary = "ends a run whose thread has become too long",
	.options = options,
	.jumps = { [HOOK_BEFORE_MODEL] = JUMP_END },
	.before_model = before_model,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &early_exit, NULL };
