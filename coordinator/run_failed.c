/* run_failed: what a round of tool calls that has failed its run leaves in the thread's head, as a pause does (run_round.c), for a
 * run that goes on there (semantics.md 2.3: writes of finished tasks are kept also when a sibling fails):
 *
 *	{<index>: {id, key, outcome | ask | answers?, askers?, children?, held?, given?}, ...}
 *
 * A call that had ended has its outcome and is not made again. One that failed, or was cancelled for it, is made again, with the
 * key that it had: what a receiver knows it by. What a human has answered, it has been answered. What came of its children
 * is kept, also of those whose failure it has absorbed; the last, if it has failed or is at work, goes on where it stands. A call that must not run twice
 * and was sent may have had its effect, also where it says that it failed: its tool's policy says what becomes of it. */
#include "run_child.h"

#include <string.h>

#include "awaited.h"
#include "bounds.h"
#include "store.h"
#include "suspects.h"

/* What the call is told again. The last one, if that has failed, is tried again, where this run has begun it, or the call has
 * failed: one that was cut off has absorbed it. */
static const struct value *
kept_children(struct arena *arena, const struct effect *effect, bool has_failed)
{
	const struct value *children = effect->children;
	size_t count = value_size(children);

	if (count > 0 && (count == effect->begun || has_failed) &&
	    value_has(value_at(children, count - 1), "fault"))
		count--;
	return count == 0
		   ? NULL
		   : value_copy(arena, value_array_slice(arena, children, 0, count));
}

/* The child that the call goes on with: the last one, if it has not come to something, or one that an earlier failure has left,
 * which this run has not come to yet. */
static const struct value *
child_of(const struct effect *effect)
{
	if (effect->at_work != NULL)
		return effect->at_work;
	return effect->given != NULL ? effect->held : NULL;
}

static const struct value *
made_again(struct run *run, const struct effect *effect, bool has_failed)
{
	struct arena *arena = run->arena;
	const char *key = effect->call.key != NULL ? effect->call.key : effect->call.id;
	const struct value *child = child_of(effect), *given = NULL;

	if (child != NULL)
		given = child == effect->at_work ? value_bool(true) : effect->given;
	return value_map(arena, "id", value_copy(arena, effect->name), "key",
	    value_str(arena, key), "answers",
	    effect->answers != NULL ? value_copy(arena, effect->answers) : NULL, "askers",
	    effect->askers != NULL ? value_copy(arena, effect->askers) : NULL, "children",
	    kept_children(arena, effect, has_failed), "held",
	    child != NULL ? value_copy(arena, child) : NULL, "given",
	    given != NULL ? value_copy(arena, given) : NULL, NULL);
}

/* Whether it fits into a round, which is in a head. */
static bool
can_be_kept(const struct value *call)
{
	return value_depth(call, ANSWER_DEPTH_MAX) < ANSWER_DEPTH_MAX;
}

static bool
is_cut_off(const struct value *body)
{
	return value_get_bool(value_get(body, "fault"), "control", false);
}

/* Why what a call has answered does not count where it, or another one, has failed the run; NULL: it does. */
static const char *
flaw_of(struct run *run, const struct effect *effect, const struct round_end *end)
{
	static const char cut_off[] =
	    "it was under way when another call of its round ended the run";
	static const char wrong[] = "what it answered has failed the run";
	const struct value *about = value_get(end->body, "fault");
	const struct fault *fault =
	    value_is(about, VALUE_MAP) ? fault_from_value(run->scratch, about) : NULL;

	if (end->body == NULL || is_cut_off(end->body))
		return cut_off;
	if (fault != NULL)
		return run_fault_ends(run, fault)
			   ? arena_printf(run->scratch, "it failed (%s: %s)", fault->type,
				 fault->message)
			   : NULL;
	if (run_round_asks(end->body))
		return run_round_flaw(run->scratch, end->body);
	fault = run_command_flaw(
	    run->scratch, effect->tool_call, value_get(end->body, "commands"));
	return end->failed || (fault != NULL && run_fault_ends(run, fault)) ? wrong
									    : NULL;
}

/* An earlier run has sent it, and knows how it ended; or this one may have. */
static bool
was_sent(const struct run *run, const struct effect *effect)
{
	return effect->known != NULL || run_may_be_sent(run, effect);
}

/* What is kept of one call. */
static const struct value *
kept(struct run *run, struct effect *effect, const struct round_end *end)
{
	const char *flaw = flaw_of(run, effect, end);
	const struct value *call = NULL, *outcome = NULL;
	/* What asks has done nothing yet, whatever it is. */
	bool asks = end->body != NULL && run_round_asks(end->body);

	if (end->body != NULL && !end->told)
		run_effect_events(run, effect, end->body);
	if (flaw == NULL)
		call = run_round_kept(run, effect, end->body);
	if (call != NULL && can_be_kept(call))
		return call;
	if (flaw == NULL)
		flaw = "what it answered is nested too deep to be kept";
	if ((effect->call.flags & WIRE_ONCE) != 0 && child_of(effect) == NULL && !asks &&
	    was_sent(run, effect))
		outcome = run_effect_cut_off(run, effect, flaw);
	if (outcome == NULL)
		return made_again(run, effect,
		    end->failed ||
			(value_has(end->body, "fault") && !is_cut_off(end->body)));
	run_effect_events(run, effect, outcome);
	return run_round_kept(run, effect, outcome);
}

void
run_round_failed(
    struct run *run, struct effect *effects, const struct round_end *ends, size_t count)
{
	struct value_fields round = { .arena = run->arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_fields_set(&round, arena_printf(run->arena, "%zu", i),
		    kept(run, &effects[i], &ends[i]));
	run->round = value_fields_end(&round);
}

/* Waits until run child of that thread is over; NULL: it is none. */
static enum go
wait_for(struct run *run, struct arena *arena, const char *thread, const char *child_run)
{
	struct child child = { .thread = thread, .run = child_run };
	enum go go;

	if (child_run == NULL)
		return GO_ON;
	awaited_begin(run);
	suspects_wait(run);
	go = child_await(run, arena, &child);
	suspects_go_on(run);
	awaited_end(run);
	return go;
}

/* The head of the thread of held, a child's, when the run is over that was the child, and the one that has left the head so. The first
 * may have begun nothing yet when its parent failed: then there is no head that says who is at it; and another one may
 * begin while we look, for who had run before us, or for a copy of its thread. */
static enum go
find_head(struct run *run, struct arena *arena, const struct value *held,
    const struct value **head_r)
{
	struct store *store = run->coordinator->store;
	const char *thread = value_get_text(held, "thread");
	const char *over = NULL, *at = value_get_text(held, "run");
	enum store_status status;
	enum go go;

	do {
		go = wait_for(run, arena, thread, at);
		if (go != GO_ON)
			return go;
		over = at;
		status = store_head(store, arena, thread, head_r);
		at = status == STORE_OK ? value_get_text(*head_r, "run") : NULL;
	} while (at != NULL && (over == NULL || strcmp(at, over) != 0));
	if (status == STORE_NONE || status == STORE_DAMAGED)
		*head_r = NULL;
	else if (status != STORE_OK)
		return GO_DROP;
	return GO_ON;
}

/* Whether what came of effect's next child is stored: nobody asks its thread any more, which may be over. */
static bool
has_come(const struct run *run, struct arena *arena, const struct effect *effect)
{
	return value_has(run->results, arena_printf(arena, "%s=%zu", effect->call.id,
					   value_size(effect->children) + 1));
}

/* Whether who had run before us has found nothing to go on with, and has sent the call for another child. That one is
 * known before we wait for anything: a sibling that has failed may end the round at any moment. */
static bool
is_given_up(const struct run *run, struct arena *arena, const struct effect *effect)
{
	return value_has(run->results,
	    child_call_id(arena, effect->call.id, value_size(effect->children)));
}

/* The child that was to take answers has left its thread as it was, and nobody has gone on there: they are still to be given. */
static bool
is_untaken(struct arena *arena, const struct value *held, const struct value *head)
{
	const struct value *answers = value_get(held, "answers");
	const char *by = value_get_text(head, "run");

	if (answers == NULL || by == NULL || value_text_is(value_get(held, "run"), by))
		return false;
	return value_get_bool(held, "asked_nothing", false)
		   ? value_has(answers, arena_printf(arena, "%s:0", by))
		   : run_answer_fits(arena, value_get(head, "round"), answers);
}

static void
give_again(struct arena *arena, struct effect *effect)
{
	const struct value *held = effect->held;

	effect->given = value_get(held, "answers");
	held =
	    value_map_with(arena, held, "asks_nothing", value_get(held, "asked_nothing"));
	held = value_map_with(arena, held, "answers", NULL);
	held = value_map_with(arena, held, "asked_nothing", NULL);
	effect->held = value_map_with(arena, held, "at_work", NULL);
}

enum go
run_children_stand(struct run *run, struct arena *arena, struct effect *effect)
{
	const struct value *head = NULL;
	enum go go;

	if (effect->held == NULL || !value_get_bool(effect->held, "at_work", false))
		return GO_ON;
	if (is_given_up(run, arena, effect)) {
		effect->held = effect->given = NULL;
		return GO_ON;
	}
	if (has_come(run, arena, effect))
		return GO_ON;
	go = find_head(run, arena, effect->held, &head);
	if (go != GO_ON)
		return go;
	if (value_text_is(value_get(head, "status"), "interrupted") &&
	    is_untaken(arena, effect->held, head))
		give_again(arena, effect);
	else if (value_text_is(value_get(head, "status"), "interrupted"))
		effect->held =
		    value_map_with(arena, effect->held, "waits", value_get(head, "run"));
	else if (!value_has(head, "next") ||
		 value_text_is(value_get(head, "status"), "running"))
		effect->held = effect->given = NULL;
	return GO_ON;
}
