/* run_round: rounds of calls: how each comes to an end that is known (run_effect.c), what tools answer (run_command.c), rounds that pause
 * for a human (run_round.c, run_answer.c), and those that fail their run (run_failed.c). */
#ifndef RUN_ROUND_H
#define RUN_ROUND_H

#include "run.h"

/* --- calls that must not run twice (run_effect.c) ------------------------------------ */

/* One call of a round of tools. Its outcome, as it is stored, is a RESULT's body, or {ask} for
 * one that a human decides; with `lost` [{call, reason}] and `then`, the policy, when the
 * worker was lost on the way.
 *
 * A model's call and a node hook are one, too, where they pause: a round of one. */
struct effect {
	const struct value *tool_call, *tool; /* tool: its definition, or NULL */
	const struct value *name; /* in a pause: the tool call's id, the node */
	struct run_call call;
	const struct value *known;   /* its outcome from before a pause, or NULL */
	const struct value *answers; /* [value], to what it asked so far, or NULL */
	const struct value
	    *answered_calls, /* [[id] or nil]: what that was about; or NULL */
	    *askers;         /* [name or nil]: which middleware asked it; or NULL */
	const char
	    *last_id; /* of the last that was sent of it; before that, of the first */
	/* Of children (run_child.c): what came of those that have ended, [map], or NULL; the one whose pause
	 * holds the call up, {thread, child, asks_nothing?}, or NULL; what it is answered now, {id: answer}. */
	const struct value *children, *held, *given;
	/* {thread, run, child, asks_nothing, at_work, answers?, asked_nothing?}: the last child, when it has begun and has not come to something, as `held`; or NULL. */
	const struct value *at_work;
	size_t
	    begun; /* its number, from 1, of the last that this run has begun, or knows of; 0: none */
};

/* Whether its last call may have been sent since the last commit, by whom ever. */
bool run_may_be_sent(const struct run *run, const struct effect *effect);

/* Sends the call until its fate is known, or its tool's policy says what becomes of it.
 * Returns as run_call; the outcome is in arena. */
enum go run_effect(struct run *run, struct arena *arena, struct effect *effect,
    const struct value **outcome_r);

/* The same of a tool's call that may have other agents do something, which are waited for. An outcome
 * {asks: [ask], held} is a child's that a human is to answer. */
enum go run_effect_with_children(struct run *run, struct arena *arena,
    struct effect *effect, const struct value **outcome_r);

/* Of a call that must not run twice, and was sent: its outcome by its tool's policy, in run's scratch, or NULL:
 * it is to be sent again. reason: why the one that it had, if any, does not count. */
const struct value *run_effect_cut_off(
    struct run *run, struct effect *effect, const char *reason);

/* Whether a call of the tool of that definition may run twice. Where nobody knows it (NULL) one that may be under way must not. */
bool run_may_run_twice(const struct run *run, const struct value *definition);

/* Adds the events about an outcome to the next commit. */
void run_effect_events(
    struct run *run, const struct effect *effect, const struct value *outcome);

/* --- what tool calls answer (run_command.c) ------------------------------------------- */

/* What is wrong with commands as the answer to tool_call, as an error of the tool's, in arena;
 * or NULL. */
const struct fault *run_command_flaw(
    struct arena *arena, const struct value *tool_call, const struct value *commands);

/* The call's tool message says whether it succeeded. */
bool run_command_succeeded(const struct value *tool_call, const struct value *commands);

/* Adds them to result, without what a field has no room for (field.bytes_max): then the call's tool message says
 * so. GO_FAIL: they go where nobody can. */
enum go run_command_apply(struct run *run, struct step_result *result,
    const struct value *tool_call, const struct value *commands);

/* --- rounds that pause (run_round.c, run_answer.c) ----------------------------------- */

/* Prepares effect, which is call index of the round, with what is known from before a pause:
 * call.key, known, answers. Its name is set. */
void run_round_recall(struct run *run, size_t index, struct effect *effect);

/* Whether outcome asks a human: an interrupt, or a call whose fate is unknown. */
bool run_round_asks(const struct value *outcome);

/* Ends the run as interrupted: count outcomes are kept, those that ask are asked for. Or
 * GO_FAIL: what they ask cannot be kept. */
enum go run_round_pause(struct run *run, const struct effect *effects,
    const struct value *const *outcomes, size_t count);

/* What is kept of a call that has that outcome, or asks, in run's arena. */
const struct value *run_round_kept(
    struct run *run, const struct effect *effect, const struct value *outcome);

/* What the calls of round (as it is kept; NULL: none) that have ended write to fields, as state_foresee: in arena, NULL if nothing.
 * Not of one whose calls are all done: it has failed of what they write together. */
const struct value *run_round_written(struct run *run, struct arena *arena,
    const struct value *round, enum state_view view);

/* What is wrong with how outcome asks, where it does: a worker's word, and with what is no schema no answer could be compared;
 * or NULL. */
const char *run_round_flaw(struct arena *arena, const struct value *outcome);

/* How a call ended of a round that has failed the run: body, its outcome, or NULL. failed: of what it answered; told: the next commit
 * has its events. */
struct round_end {
	const struct value *body;
	bool failed, told;
};
/* The run's `round` becomes what a run that goes on needs not do again (run_failed.c). */
void run_round_failed(
    struct run *run, struct effect *effects, const struct round_end *ends, size_t count);
/* Whether a tool's fault, which nothing has absorbed, ends the run. */
bool run_fault_ends(const struct run *run, const struct fault *fault);

/* Before effect's child goes on: one that such a round has left and whose thread stands nowhere is left, the call asks for it
 * anew. One that has asked since then `waits`, which is its run's id. GO_DROP: Redis does not say. */
enum go run_children_stand(struct run *run, struct arena *arena, struct effect *effect);

/* Whether somebody is asked in round, which a pause has kept. */
bool run_answer_wanted(const struct value *round);
/* Whether it asks all that answers, {id: answer}, are for. */
bool run_answer_fits(
    struct arena *arena, const struct value *round, const struct value *answers);

/* Applies answer to what round asks: a value to the only question, or a map of their ids to
 * answers; what is left out stays asked. Returns GO_ON with run->round, or GO_FAIL. */
enum go run_answer(
    struct run *run, const struct value *round, const struct value *answer);

#endif
