/* run_round: a step that pauses until a human has answered: a round of tool calls, of which the
 * others are done, a model's call, a node hook. What it has so far is kept in the thread's
 * head, as `round`:
 *
 *	{<index>: {id, key, answers?, answered_calls?, askers?, asker?, outcome | ask | (neither: to be sent), interrupt?,
 *		children?, held?, asks?, given?}, ...}
 *
 * id is the tool call's (or the node's name), key the idempotency key, ask {id, value, node,
 * tool_call_id?, tool_call_ids?, response_schema?} what is asked: by the call itself, when `interrupt` is true, else by us, since
 * the call's fate is unknown. answers are those to the call's interrupts so far, in order; answered_calls, where one was about
 * calls, the tool_call_ids of each, or nil; askers, which middleware's wrap of a tool's call has asked each, and asker, that of ask. children, held and
 * given are of the agents that the call has asked to do something (run_child.c); asks: [ask], what the one that
 * holds it up asks. The
 * run that resumes takes it from there: what has an outcome is not run again, what runs again
 * keeps its key under the new run's call id. */
#include "run_round.h"

#include <stdio.h>

#include "bounds.h"
#include "schema.h"
#include "tool_calls.h"

/* What is kept of the call of that name. It has another place where an agent that was mended shows more, or less, of its tools to
 * the model alone. */
static const struct value *
kept_of(const struct run *run, size_t index, const struct value *name)
{
	char text[32];
	const struct value *kept;
	size_t i;

	snprintf(text, sizeof text, "%zu", index);
	kept = value_get(run->round, text);
	if (kept != NULL && value_equal(value_get(kept, "id"), name))
		return kept;
	for (i = 0; value_is(run->round, VALUE_MAP) && i < run->round->size; i++) {
		kept = run->round->pairs[i].value;
		if (value_is(name, VALUE_STR) && value_equal(value_get(kept, "id"), name))
			return kept;
	}
	return NULL;
}

void
run_round_recall(struct run *run, size_t index, struct effect *effect)
{
	const struct value *kept = kept_of(run, index, effect->name), *ask;

	if (kept == NULL)
		return;
	ask = value_get(kept, "ask");
	effect->call.key = value_get_text(kept, "key");
	effect->answers = value_get(kept, "answers");
	effect->answered_calls = value_get(kept, "answered_calls");
	effect->askers = value_get(kept, "askers");
	effect->children = value_get(kept, "children");
	effect->held = value_get(kept, "held");
	effect->given = value_get(kept, "given");
	if (effect->held != NULL && effect->given == NULL)
		effect->known = value_map(run->scratch, "asks", value_get(kept, "asks"),
		    "held", effect->held, NULL);
	else if (value_has(kept, "outcome"))
		effect->known = value_get(kept, "outcome");
	else if (ask != NULL && value_get_bool(kept, "interrupt", false))
		effect->known = value_map(run->scratch, "interrupt",
		    value_get(ask, "value"), "about",
		    value_map_with(run->scratch, ask, "asker", value_get(kept, "asker")),
		    NULL);
	else if (ask != NULL)
		effect->known = value_map(run->scratch, "ask", ask, NULL);
}

static bool
is_interrupt(const struct value *outcome)
{
	return value_has(outcome, "interrupt") && !value_has(outcome, "fault");
}

/* The name of the middleware whose hook asks, or NULL. */
static const struct value *
asker_of(struct arena *arena, const struct value *outcome)
{
	const char *name = value_get_text(value_get(outcome, "about"), "asker");

	return name != NULL ? value_str(arena, name) : NULL;
}

bool
run_round_asks(const struct value *outcome)
{
	return value_has(outcome, "ask") || value_has(outcome, "held") ||
	       is_interrupt(outcome);
}

static const struct value *
copy_of(struct arena *arena, const struct value *value)
{
	return value != NULL ? value_copy(arena, value) : NULL;
}

/* The same until it is answered: the call's key, and how many answers it has had. */
static const struct value *
interrupt_ask(struct run *run, const struct effect *effect, const char *key,
    const struct value *outcome)
{
	struct arena *arena = run->arena;
	const struct value *about = value_get(outcome, "about");

	return value_map(arena, "id",
	    value_printf(arena, "%s:%zu", key, value_size(effect->answers) + 1), "value",
	    value_copy(arena, value_get(outcome, "interrupt")), "node",
	    value_str(arena, run_node(run)->name), "tool_call_id",
	    effect->tool_call != NULL ? value_copy(arena, effect->name) : NULL,
	    "tool_call_ids", copy_of(arena, value_get(about, "tool_call_ids")),
	    "response_schema", copy_of(arena, value_get(about, "response_schema")), NULL);
}

const char *
run_round_flaw(struct arena *arena, const struct value *outcome)
{
	const struct value *schema =
	    value_get(value_get(outcome, "about"), "response_schema");
	const char *reason;

	if (schema == NULL || !is_interrupt(outcome) ||
	    schema_usable(arena, schema, &reason) == 0)
		return NULL;
	return reason;
}

const struct value *
run_round_kept(struct run *run, const struct effect *effect, const struct value *outcome)
{
	struct arena *arena = run->arena;
	const char *key = effect->call.key != NULL ? effect->call.key : effect->call.id;
	const struct value *ask = value_get(outcome, "ask");
	bool interrupt = is_interrupt(outcome), held = value_has(outcome, "held");

	if (held)
		return value_map(arena, "id", value_copy(arena, effect->name), "key",
		    value_str(arena, key), "answers", copy_of(arena, effect->answers),
		    "askers", copy_of(arena, effect->askers), "children",
		    copy_of(arena, effect->children), "held",
		    copy_of(arena, value_get(outcome, "held")), "asks",
		    copy_of(arena, value_get(outcome, "asks")), NULL);
	if (interrupt)
		ask = interrupt_ask(run, effect, key, outcome);
	else if (ask != NULL)
		ask = value_copy(arena, ask);
	else /* What was lost on the way is told already. */
		outcome = value_map_with(
		    arena, value_map_with(arena, outcome, "lost", NULL), "then", NULL);
	/* What it writes is shown already (agent/round.h). Whether an error is told, or ends the run, the agent says that then goes on. */
	if (ask == NULL && effect->tool_call != NULL)
		outcome = tool_calls_told(run, arena, effect->tool_call, outcome);
	return value_map(arena, "id", value_copy(arena, effect->name), "key",
	    value_str(arena, key), "answers", copy_of(arena, effect->answers),
	    "answered_calls", copy_of(arena, effect->answered_calls), "askers",
	    copy_of(arena, effect->askers), "asker",
	    interrupt ? asker_of(arena, outcome) : NULL, "children",
	    ask != NULL ? copy_of(arena, effect->children) : NULL, "ask", ask,
	    "interrupt", interrupt ? value_bool(true) : NULL, "outcome",
	    ask == NULL ? value_copy(arena, outcome) : NULL, NULL);
}

/* What commands, a worker's, write but messages: of any form. */
static void
add_updates(struct value_list *updates, const struct value *commands)
{
	const struct value *update;
	size_t i;

	for (i = 0; value_is(commands, VALUE_ARRAY) && i < commands->size; i++) {
		update = value_get(value_at(commands, i), "update");
		if (value_is(update, VALUE_MAP))
			value_list_add(updates,
			    value_map_with(updates->arena, update, "messages", NULL));
	}
}

const struct value *
run_round_written(
    struct run *run, struct arena *arena, const struct value *round, enum state_view view)
{
	struct value_list updates = { .arena = arena };
	struct state_write *writes;
	const struct value *outcome;
	size_t i, done = 0, count = value_is(round, VALUE_MAP) ? round->size : 0;

	for (i = 0; i < count; i++) {
		outcome = value_get(round->pairs[i].value, "outcome");
		done += outcome != NULL;
		add_updates(&updates, value_get(outcome, "commands"));
	}
	if (updates.count == 0 || done == count || run->state == NULL)
		return NULL;
	writes = arena_alloc(arena, updates.count * sizeof *writes);
	for (i = 0; i < updates.count; i++)
		writes[i] = (struct state_write){ run_node(run)->name, updates.items[i] };
	return state_foresee(run->state, arena, writes, updates.count, view);
}

enum go
run_round_pause(struct run *run, const struct effect *effects,
    const struct value *const *outcomes, size_t count)
{
	struct value_fields round = { .arena = run->arena };
	struct value_list asks = { .arena = run->batch };
	const struct value *interrupts, *kept;
	const char *flaw;
	bool interrupt = false;
	size_t i;

	for (i = 0; i < count; i++) {
		flaw = run_round_flaw(run->arena, outcomes[i]);
		if (flaw != NULL)
			return run_fail(run, "ValueError",
			    "%s asks with a response_schema that is none: %s",
			    run_node(run)->name, flaw);
		kept = run_round_kept(run, &effects[i], outcomes[i]);
		value_fields_set(&round, arena_printf(run->arena, "%zu", i), kept);
		interrupt =
		    interrupt || value_has(kept, "interrupt") || value_has(kept, "held");
		if (value_has(kept, "ask"))
			value_list_add(
			    &asks, value_copy(run->batch, value_get(kept, "ask")));
		value_list_add_all(
		    &asks, value_copy(run->batch, value_has(kept, "asks")
						      ? value_get(kept, "asks")
						      : value_empty_array()));
	}
	kept = value_fields_end(&round);
	if (value_depth(kept, ANSWER_DEPTH_MAX + 1) > ANSWER_DEPTH_MAX)
		return run_fail(run, "ValueError",
		    "%s pauses with values nested too deep to be kept: more than %u",
		    run_node(run)->name, ANSWER_DEPTH_MAX);
	run->round = kept;
	run->paused = interrupt ? "interrupt" : "uncertain";
	run->step--; /* the head names the step before: this one is not done */
	interrupts = value_list_end(&asks);
	run_event(run, "interrupted",
	    value_map(run->batch, "when", value_str(run->batch, run->paused), "node",
		value_str(run->batch, run_node(run)->name), "interrupts", interrupts,
		NULL));
	return run_commit_end(run, "interrupted", interrupts);
}
