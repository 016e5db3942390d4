/* hooks_tool: what wrap_tool_call, and tools that a middleware brings, may ask and do. They run in a tool worker. Part of
 * the contract: include middleware.h. */
#ifndef HOOKS_TOOL_H
#define HOOKS_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "fault.h"
#include "value.h"

struct tool_request; /* immutable */
struct tool_next;

/* What a tool call gives: commands [{update: {messages: [...], ...}, goto?}], or a fault.
 */
struct tool_result {
	const struct value *commands;
	const struct fault *fault;
};

struct arena *tool_arena(const struct tool_request *request);
const struct value *tool_settings_of(const struct tool_request *request); /* the use's */
const char *tool_name(const struct tool_request *request);
const char *tool_call_id(const struct tool_request *request);
const struct value *tool_args(const struct tool_request *request);
const struct value *tool_definition(
    const struct tool_request *request); /* or NULL: unknown */
const struct value *tool_state(const struct tool_request *request, const char *field);
const struct value *tool_whole_state(
    const struct tool_request *request); /* all of it that came along, one map */
const struct value *tool_context(const struct tool_request *request);
const char *tool_run(const struct tool_request *request);
const char *tool_thread(const struct tool_request *request);
const char *tool_agent(const struct tool_request *request);
const char *tool_tenant(const struct tool_request *request); /* as turn_tenant */
const char *tool_middleware(const struct tool_request *request);
/* Names this worker's process, for a pin (struct tool); NULL outside of a fleet. */
const char *tool_worker(const struct tool_request *request);
/* What is left of the call's time, in milliseconds, waiting included; then it is cancelled, and when
 * it must not run twice it counts as lost. UINT64_MAX: it has no end. */
uint64_t tool_left_ms(const struct tool_request *request);
/* Equal for every attempt of this call: give it to the outside world. */
const char *tool_idempotency_key(const struct tool_request *request);

/* A request like request with "args", "name", "tool" or "state" replaced: what tool_state gives beneath, a map of all
 * fields; the run's own stays as it is. */
struct tool_request *tool_override(
    struct tool_request *request, const char *field, const struct value *value);

/* The rest of the chain: never, once, often. Waits. Bad arguments and unknown tools come
 * back as an error tool message, an error of the tool's body as a fault. */
struct tool_result *tool_next(struct tool_next *next, struct tool_request *request);

/* Results in the request's arena: one tool message answering this call (status "success"
 * or "error"), a command with more, a failure. */
struct tool_result *tool_answer(
    struct tool_request *request, const char *content, const char *status);
struct tool_result *tool_command(
    struct tool_request *request, const struct value *update);
struct tool_result *tool_fail(struct tool_request *request, const struct fault *fault);
/* A command that also says where the run goes on: the name of a node, "end" as the jump does. All
 * commands of a step must agree. docs/middleware.md. */
struct tool_result *tool_goto(
    struct tool_request *request, const struct value *update, const char *node);
/* As model_note. */
void tool_note(struct tool_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As model_stream, model_streams. */
void tool_stream(const struct tool_request *request, const struct value *value);
bool tool_streams(const struct tool_request *request);
/* The (first) tool message of result that answers this call, or NULL. */
const struct value *tool_message_of(
    const struct tool_request *request, const struct tool_result *result);
/* As turn_interrupt, from wrap_tool_call and from a tool's body: on NULL return NULL at once.
 * No layer can catch it, and the whole call runs again with the answers, under the same
 * idempotency key; what other calls of the round gave is kept. All hooks of one call and its
 * tool share the answers, in the order in which they ask. A tool that must not run twice
 * (`once`) asks before its effect. */
const struct value *tool_interrupt(
    struct tool_request *request, const struct value *value);
/* As turn_interrupt_about. */
const struct value *tool_interrupt_about(
    struct tool_request *request, const struct value *value, const struct value *about);
/* From wrap_tool_call: whether the answer that tool_interrupt takes next is to a question of this middleware's. What it asks may depend
 * on things that have changed since. */
bool tool_was_answered(const struct tool_request *request);
/* For a tool that runs anew for each answer, such as a program: takes the answers that are
 * there and certainly its own, [value]. None when the agent has a wrap_tool_call, which may
 * have asked, too: then tool_interrupt gives them one by one. */
const struct value *tool_answers(struct tool_request *request);
/* tool_children: the use's (middleware_use), without sources.
 *
 * tool_child: has one of them do something, in a run of its own that belongs to this one:
 * messages are its input, beside the fields of this run's state that both know. Returns what came of it,
 * {content, structured_response?, update?, run} or {fault, run}; or NULL: nothing yet. Then return NULL at once:
 * the call leaves this worker, and runs again from its first line with what came of it when the child has
 * ended, as with tool_interrupt. Several in one call are matched by their order, one after the other.
 * content: the text of the child's last AI message that has one; update: what the child changed of
 * those fields, for a tool_command. What a child asks of a human its parent asks. docs/middleware/subagent.md. */
const struct value *tool_children(const struct tool_request *request);
const struct value *tool_child(
    struct tool_request *request, const char *name, const struct value *messages);
/* The same with runs that nobody waits for, and that belong to this run's thread alone: ask is {op: "start",
 * name, messages}, {op: "update", name, thread, messages} (what goes on there is cancelled), {op: "check",
 * runs: [{run, thread}]} or {op: "cancel", run, thread}. Returns {run, thread, status} of the first two and
 * the last, {runs: [{status, content?, fault?}]} of "check", of several runs the statuses alone; or {fault}; or NULL, as above.
 * Statuses are those of runs (docs/runs.md). */
const struct value *tool_children_ask(
    struct tool_request *request, const struct value *ask);
/* As model_store. */
const struct value *tool_store(struct tool_request *request, const struct value *op);
/* Asks a model, through the broker; as turn_call_model. Returns the RESULT body or NULL.
 */
const struct value *tool_call_model(
    struct tool_request *request, const struct value *wish);

#endif
