/* model_call_limit: so many model calls, and no more (semantics.md 6.2). */
#include "limit.h"
#include "turn_end.h"

#define THREAD_COUNT "thread_model_call_count"
#define RUN_COUNT "run_model_call_count"

static const char *const exits[] = { "end", "error", NULL };

static const struct option options[] = {
#include "limit_options.def"
	{ .name = "exit_behavior",
	    .type = OPTION_TEXT,
	    .otherwise = "\"end\"",
	    .choices = exits,
	    .text = "What a call too many does instead of being made: `end` ends the run "
		    "with an AI message that says so, `error` lets it fail." },
	{ 0 },
};

/* The coordinator counts, in the step of the model node itself: a hook could be jumped over. */
static const struct field fields[] = {
	{ .name = THREAD_COUNT,
	    .type = "integer",
	    .otherwise = "0",
	    .reducer = REDUCE_ADD,
	    .omit_from_input = true,
	    .omit_from_output = true,
	    .counts_model_calls = true },
	{ .name = RUN_COUNT,
	    .type = "integer",
	    .otherwise = "0",
	    .reducer = REDUCE_ADD,
	    .untracked = true,
	    .omit_from_input = true,
	    .omit_from_output = true,
	    .counts_model_calls = true },
	{ 0 },
};

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	(void)arena;
	if (value_text_is(value_get(use->settings, "exit_behavior"), "error"))
		use->jumps[HOOK_BEFORE_MODEL] = use->jumps[HOOK_AFTER_MODEL] = 0;
	return limit_configure(use, error_r);
}

static struct limit_pair
used_so_far(struct turn *turn)
{
	return (struct limit_pair){
		.thread = value_whole(turn_get(turn, THREAD_COUNT), 0),
		.run = value_whole(turn_get(turn, RUN_COUNT), 0),
	};
}

static const struct value *
stop(struct turn *turn, struct limit_pair limits, struct limit_pair used)
{
	struct arena *arena = turn_arena(turn);
	const char *reached = limit_text(arena, limits, used);

	turn_note(turn, "%s reached", reached);
	if (value_text_is(value_get(turn_settings(turn), "exit_behavior"), "error"))
		return turn_fail(turn, "ModelCallLimitExceededError",
		    "the limit of model calls is reached: %s", reached);
	return turn_end(turn, "the limit of model calls is reached and the run ends",
	    arena_printf(arena, "The limit of model calls is reached: %s.", reached));
}

static const struct value *
before_model(struct turn *turn)
{
	struct limit_pair limits = limit_pair_of(turn_settings(turn));
	struct limit_pair used = used_so_far(turn);
	struct limit_pair next = { used.thread + 1, used.run + 1 };

	return limit_exceeded(limits, next) ? stop(turn, limits, used) : NULL;
}

/* A tool's command may go to the model around before_model: here it is found out. */
static const struct value *
after_model(struct turn *turn)
{
	struct limit_pair limits = limit_pair_of(turn_settings(turn));
	struct limit_pair used = used_so_far(turn);

	return limit_exceeded(limits, used) ? stop(turn, limits, used) : NULL;
}

const struct middleware middleware_model_call_limit = {
	.abi = MIDDLEWARE_ABI,
	.name = "model_call_limit",
	.summary = "ends a run or fails it before it calls models too often",
	.options = options,
	.fields = fields,
	.jumps = { [HOOK_BEFORE_MODEL] = JUMP_END, [HOOK_AFTER_MODEL] = JUMP_END },
	.configure = configure,
	.before_model = before_model,
	.after_model = after_model,
};
