/* hooks_turn: what node hooks may ask and do: before_agent, before_model, after_model, after_agent. They run in the
 * coordinator. Part of the contract: include middleware.h. */
#ifndef HOOKS_TURN_H
#define HOOKS_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "fault.h"
#include "value.h"

struct turn; /* one hook's view of the run */

struct arena *turn_arena(struct turn *turn);
const struct value *turn_settings(struct turn *turn);
const struct value *turn_messages(struct turn *turn);               /* [message] */
const struct value *turn_get(struct turn *turn, const char *field); /* or NULL */
const struct value *turn_state(struct turn *turn); /* all fields and messages, one map */

/* message, a user's, as the agent's middleware lets it be kept (seal_input), which may not have had its turn yet:
 * for what a hook puts elsewhere than into the messages. */
const struct value *turn_sealed(struct turn *turn, const struct value *message);

const struct value *turn_context(
    struct turn *turn); /* the run's static context, or NULL */
const char *turn_run(struct turn *turn);
const char *turn_thread(struct turn *turn);
const char *turn_agent(struct turn *turn);
const char *turn_tenant(struct turn *turn);     /* whom the run is for, or NULL */
const char *turn_middleware(struct turn *turn); /* the use's name */
/* As use_model_profile. */
const struct value *turn_model_profile(struct turn *turn, const char *model);

/* The calls of tools in the last AI message, in order, answered ones among them: without those of
 * output tools, which are structured output and run nothing. */
const struct value *turn_tool_calls(struct turn *turn);

/* What all model calls of the agent have in common, before any wrap: {model, system_prompt?, tools,
 * model_settings?, model_profile?, ...}, the profile of proto/bodies.h. */
const struct value *turn_call_profile(struct turn *turn);

/* Ends the run with this fault; return its NULL from the hook. */
const struct value *turn_fail(struct turn *turn, const char *type, const char *format,
    ...) __attribute__((format(printf, 3, 4)));

/* As model_note, in the event of the hook's step. */
void turn_note(struct turn *turn, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As model_stream, model_streams. */
void turn_stream(struct turn *turn, const struct value *value);
bool turn_streams(struct turn *turn);

/* Asks a model, outside the user's token stream. request: {model?, system_prompt?,
 * messages, tools?, tool_choice?, response_format?, model_settings?, task?}; task "moderation":
 * the last message is judged, and the answer's text is {flagged, categories,
 * category_scores} as JSON. The agent's model
 * by default. Returns the RESULT body ({messages} or {fault}), or NULL when the run was
 * cancelled. The call's id is deterministic and its result stored like any other. */
const struct value *turn_call_model(struct turn *turn, const struct value *request);

/* Calls a tool of this middleware that is `internal`, in a tool worker (that of its pin), outside
 * of all wraps. Returns the RESULT body ({commands} or {fault}), or NULL when the run was cancelled.
 * As turn_call_model its id is deterministic and its result stored; a call whose worker dies runs
 * again in another one, unless it has a pin: then it is a {fault} of type WorkerLostError. */
const struct value *turn_call_tool(
    struct turn *turn, const char *name, const struct value *args);

/* Reaches long-term memory: op is {op: "put"|"get"|"delete"|"search"|"namespaces", namespace: [label],
 * ...} as store/items.h and docs/store.md have it. Returns its answer, {fault} among them, or
 * NULL when the run was cancelled. A hook may run again after a crash: what it puts must not
 * depend on what it has put. */
const struct value *turn_store(struct turn *turn, const struct value *op);

/* Asks a human: value (any; in the turn's arena) is what the run's record shows. Returns the
 * answer, or NULL: there is none yet. Then return NULL from the hook at once: the run pauses, holds
 * no process, and survives every restart. When it is resumed the hook runs again from its first
 * line, and this call returns the answer (nil is one), so what stands before it must bear to
 * run twice. Several in one hook are matched by their order. docs/interrupts.md. */
const struct value *turn_interrupt(struct turn *turn, const struct value *value);

/* The same with a map of what is told beside the question (NULL: nothing): `response_schema`, a JSON
 * Schema: an answer that does not fit is refused when it is given, and the question waits on;
 * `tool_call_ids`, the calls that it is about. */
const struct value *turn_interrupt_about(
    struct turn *turn, const struct value *value, const struct value *about);

/* Lends the ids of the calls that the question was about whose answer turn_interrupt takes next. NULL: it will ask, or that question
 * named no calls. What it is about may depend on things that have changed since it was asked. */
const struct value *turn_answered_calls(const struct turn *turn);

#endif
