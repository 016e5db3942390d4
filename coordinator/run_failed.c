/* run_failed: what a round of tool calls that has failed its run leaves in the thread's head, as a pause does (run_round.c), for a
 * run that goes on there (semantics.md 2.3: writes of finished tasks are kept also when a sibling fails):
 *
 *	{<index>: {id, key, outcome | ask | answers?, children?, held?, given?}, ...}
 *
 * A call that had ended has its outcome and is not made again. One that failed, or was cancelled for it, is made again, with the
 * key that it had: what a receiver knows it by. What a human has answered, it has been answered; of its children those
 * that came to something are done, and the one that did not goes on where it stands. A call that must not run twice
 * and was cancelled on its way may have had its effect: its tool's policy says what becomes of it. */
#include "run.h"

#include "bounds.h"
#include "store.h"

/* Those in front of the first that failed. */
static const struct value *
came_to_something(struct arena *arena, const struct value *children)
{
	size_t i;

	for (i = 0; i < value_size(children); i++)
		if (value_has(value_at(children, i), "fault"))
			break;
	return i == 0 ? NULL
		      : value_copy(arena, value_array_slice(arena, children, 0, i));
}

static const struct value *
made_again(struct run *run, const struct effect *effect)
{
	struct arena *arena = run->arena;
	const char *key = effect->call.key != NULL ? effect->call.key : effect->call.id;
	const struct value *at_work = effect->at_work;

	return value_map(arena, "id", value_copy(arena, effect->name), "key",
	    value_str(arena, key), "answers",
	    effect->answers != NULL ? value_copy(arena, effect->answers) : NULL,
	    "children", came_to_something(arena, effect->children), "held",
	    at_work != NULL ? value_copy(arena, at_work) : NULL, "given",
	    at_work != NULL ? value_bool(true) : NULL, NULL);
}

/* What is kept of one call; outcome: NULL when it has none, or one that is the failure. */
static const struct value *
kept(struct run *run, struct effect *effect, const struct value *outcome)
{
	if (outcome == NULL && (effect->call.flags & WIRE_ONCE) != 0 &&
	    effect->at_work == NULL && run_may_be_sent(run, effect->last_id))
		outcome = run_effect_cut_off(run, effect);
	return outcome != NULL ? run_round_kept(run, effect, outcome)
			       : made_again(run, effect);
}

void
run_round_failed(struct run *run, struct effect *effects,
    const struct value *const *outcomes, size_t count)
{
	struct value_fields round = { .arena = run->arena };
	const struct value *all;
	size_t i;

	for (i = 0; i < count; i++)
		value_fields_set(&round, arena_printf(run->arena, "%zu", i),
		    kept(run, &effects[i], outcomes[i]));
	all = value_fields_end(&round);
	run->round =
	    value_depth(all, ANSWER_DEPTH_MAX + 1) > ANSWER_DEPTH_MAX ? NULL : all;
}

enum go
run_children_stand(struct run *run, struct arena *arena, struct effect *effect)
{
	const struct value *head = NULL;
	enum store_status status;

	if (effect->held == NULL || !value_get_bool(effect->held, "at_work", false))
		return GO_ON;
	status = store_head(run->coordinator->store, arena,
	    value_get_text(effect->held, "thread"), &head);
	if (status == STORE_OK && value_has(head, "next"))
		return GO_ON;
	effect->held = effect->given = NULL;
	return status == STORE_OK || status == STORE_NONE || status == STORE_DAMAGED
		   ? GO_ON
		   : GO_DROP;
}
