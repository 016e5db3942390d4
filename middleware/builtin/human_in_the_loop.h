/* human_in_the_loop: which calls of tools wait for a human, what is asked, and what an answer may be.
 * For human_in_the_loop*.c. */
#ifndef HUMAN_IN_THE_LOOP_H
#define HUMAN_IN_THE_LOOP_H

#include "middleware.h"

/* --- human_in_the_loop_policy.c: what the settings say of a tool ----------------------- */

/* Returns what is wrong with the setting interrupt_on, its place in front, or NULL. */
const char *hitl_flaw_of_policies(struct arena *arena, const struct value *settings);

/* The fields of the state that policies read, [name]; "*": all of them. */
const struct value *hitl_reads(struct arena *arena, const struct value *settings);

/* One call under review: settings are the use's, context the run's (or NULL), state a map with what
 * hitl_reads says (or NULL: nothing is read). */
struct hitl_call {
	struct arena *arena;
	const struct value *settings, *context, *state;
	const char *name;
	const struct value *args;
};

/* The decisions allowed for the tool, or NULL: its calls need no human. */
const struct value *hitl_allowed(
    struct arena *arena, const struct value *settings, const char *name);

/* Whether a human decides the call: its tool has a policy, whose `when` holds for it. A `when` that
 * fails is no consent: *failed_r says why, else it is NULL. A fiber call. */
bool hitl_wants(const struct hitl_call *call, const char **failed_r);

/* What the human is told of it. */
const char *hitl_description(const struct hitl_call *call);

/* --- human_in_the_loop_decision.c: one decision ---------------------------------------- */

/* What is wrong with decision as the answer to call, or NULL. tools: the definitions of the
 * agent's; NULL: an edit keeps the tool, whose definition is `definition` (or NULL). */
const char *hitl_flaw_of_decision(const struct hitl_call *call,
    const struct value *decision, const struct value *tools,
    const struct value *definition);

/* The JSON Schema of what may be answered, where an edit keeps the tool. */
const struct value *hitl_response_schema(
    const struct hitl_call *call, const struct value *definition);

/* What the model is told of a call that a human has answered instead of the tool: rejected, or
 * responded to. id is the call's. *status_r: "error" or "success". */
const char *hitl_answer(const struct hitl_call *call, const char *id,
    const struct value *decision, const char **status_r);

/* Stands in front of the result of a call that ran as edited, {name, args}. */
const char *hitl_notice(struct arena *arena, const struct value *settings,
    const struct value *edited, bool has_content);

#endif
