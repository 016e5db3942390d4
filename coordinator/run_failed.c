/* run_failed: what a round of tool calls that has failed its run leaves in the thread's head, as a pause does (run_round.c), for a
 * run that goes on there (semantics.md 2.3: writes of finished tasks are kept also when a sibling fails):
 *
 *	{<index>: {id, key, outcome | ask | answers?, children?, held?, given?}, ...}
 *
 * A call that had ended has its outcome and is not made again. One that failed, or was cancelled for it, is made again, with the
 * key that it had: what a receiver knows it by. What a human has answered, it has been answered; of its children those
 * that came to something are done, and the first that did not goes on where it stands. A call that must not run twice
 * and was sent may have had its effect, also where it says that it failed: its tool's policy says what becomes of it. */
#include "run_child.h"

#include "awaited.h"
#include "bounds.h"
#include "store.h"
#include "suspects.h"

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

/* Whether it fits into a round, which is in a head. */
static bool
can_be_kept(const struct value *call)
{
	return value_depth(call, ANSWER_DEPTH_MAX) < ANSWER_DEPTH_MAX;
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

	if (end->body == NULL || (fault != NULL && fault->control))
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
	if ((effect->call.flags & WIRE_ONCE) != 0 && effect->at_work == NULL && !asks &&
	    run_may_be_sent(run, effect))
		outcome = run_effect_cut_off(run, effect, flaw);
	if (outcome == NULL)
		return made_again(run, effect);
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

/* The head of thread, a child's, when the run is over that has left it. */
static enum go
find_head(
    struct run *run, struct arena *arena, const char *thread, const struct value **head_r)
{
	struct store *store = run->coordinator->store;
	struct child child = { .thread = thread };
	enum store_status status = store_head(store, arena, thread, head_r);
	enum go go = GO_ON;

	child.run = value_get_text(*head_r, "run");
	if (status == STORE_OK && child.run != NULL) {
		awaited_begin(run);
		suspects_wait(run);
		go = child_await(run, arena, &child);
		suspects_go_on(run);
		awaited_end(run);
	}
	if (go == GO_ON && status == STORE_OK)
		status = store_head(store, arena, thread, head_r);
	if (status == STORE_NONE || status == STORE_DAMAGED)
		*head_r = NULL;
	else if (status != STORE_OK)
		go = GO_DROP;
	return go;
}

enum go
run_children_stand(struct run *run, struct arena *arena, struct effect *effect)
{
	const struct value *head = NULL;
	enum go go;

	if (effect->held == NULL || !value_get_bool(effect->held, "at_work", false))
		return GO_ON;
	go = find_head(run, arena, value_get_text(effect->held, "thread"), &head);
	if (go != GO_ON)
		return go;
	if (value_text_is(value_get(head, "status"), "interrupted"))
		effect->held =
		    value_map_with(arena, effect->held, "waits", value_get(head, "run"));
	else if (!value_has(head, "next") ||
		 value_text_is(value_get(head, "status"), "running"))
		effect->held = effect->given = NULL;
	return GO_ON;
}
