/* shape: what the fleet knows, in the forms of LangGraph's API. Pure; everything in arena. */
#ifndef SHAPE_H
#define SHAPE_H

#include "value.h"

/* "2026-11-25T22:18:44.188Z" of ms since 1970; nil for 0. */
const struct value *shape_time(struct arena *arena, int64_t ms);

/* A message with all keys that LangChain gives its kind. */
const struct value *shape_message(struct arena *arena, const struct value *message);
const struct value *shape_messages(struct arena *arena, const struct value *messages);

/* Which fields of a state are shown: those of names ([name]), or all but those. All, as { 0 }. */
struct shape_view {
	const struct value *names;
	bool has_shown; /* names are those that are shown */
};

/* Those of fields that are shown. */
const struct value *shape_fields(
    struct arena *arena, const struct value *fields, const struct shape_view *view);
/* A state: messages, and those fields. */
const struct value *shape_values(struct arena *arena, const struct value *messages,
    const struct value *fields, const struct shape_view *view);
/* What a node wrote: {messages?, field: value}. */
const struct value *shape_update(
    struct arena *arena, const struct value *messages, const struct value *fields);

/* Why a run has failed in front of a node ({type, message}), as text: clients read it as JSON. nil for what is no fault. */
const struct value *shape_error(struct arena *arena, const struct value *fault);

/* [{id, value}] of what a paused thread or run asks. */
const struct value *shape_interrupts(struct arena *arena, const struct value *asks);

/* "pending", "running", "success", "error", "timeout", "interrupted" of a run's record. */
const char *shape_run_status(const struct value *record);
/* The assistant that a run, or what is a thread's head, is of: its agent, unless another is named. Or NULL. */
const struct value *shape_assistant_id(const struct value *record);
/* Whether the run was rolled back, and has ended: LangGraph deletes such a run, and here its record is kept for who submits it
 * again. */
bool shape_run_is_gone(const struct value *record);
/* A run. */
const struct value *shape_run(struct arena *arena, const struct value *record);

/* A thread as of store_thread: "idle", "busy", "interrupted", "error". */
const char *shape_thread_status(const struct value *thread);
/* A thread; last: its newest checkpoint, or NULL; values: NULL where nothing has happened on it, or there is no room for them. */
const struct value *shape_thread(struct arena *arena, const struct value *thread,
    const struct value *last, const struct value *values);

/* {thread_id, checkpoint_ns, checkpoint_id, checkpoint_map} of a version, 0: the empty thread. */
const struct value *shape_checkpoint(
    struct arena *arena, const char *thread, int64_t version);
/* A state of a thread: thread as of store_thread_at, checkpoint its record; asks: what it waits for. */
const struct value *shape_state(struct arena *arena, const struct value *thread,
    const struct value *checkpoint, const struct value *values, const struct value *asks);
/* The same of the empty thread that its first run began on. */
const struct value *shape_first_state(
    struct arena *arena, const struct value *thread, const struct value *values);
/* The same of a thread on which nothing has happened. */
const struct value *shape_no_state(struct arena *arena);

/* An agent as an assistant: name, its version, and what was written of it; log: as of store_agent_log, or NULL. */
const struct value *shape_assistant(struct arena *arena, const char *name,
    const char *version, const struct value *source, const struct value *log);

/* What a worker published of a call: of what a tool told (worker_stream) its value alone. */
const struct value *shape_told(const struct value *event);

#endif
