/* run_trace: what a coordinator tells of a run that is traced (runtime/trace/trace.h): `invoke_agent`, its root, and a
 * `chat` or `execute_tool` for each call that it waited for.
 *
 * The root is told by whoever ends the run, once the end is committed; it began when the run's record says that the run
 * did. A call is told by whoever got its outcome from a worker. So a coordinator that is killed leaves nothing open:
 * who takes the run over makes the same calls under the same ids, and tells of them. What is missing then are calls
 * whose outcome was stored before the kill and that the dead one had not told of: at most its last second. One that
 * gives the run back (run_release) leaves the calls under way to the next one. */
#ifndef RUN_TRACE_H
#define RUN_TRACE_H

#include "caller.h"
#include "trace.h"

struct coordinator;
struct run;
struct run_call;

/* Of a run whose coordinator traces. */
struct run_trace {
	struct span root;
	int64_t started_ns; /* by its record; 0: just now */
};

/* A call under way. */
struct run_trace_call {
	struct span span;
	char traceparent[TRACEPARENT_BYTES + 1];
};

/* The run is claimed: sets run->trace, or NULL. */
void run_trace_begin(struct run *run);
/* It is left; takes run->trace. */
void run_trace_forget(struct run *run);

/* Its end, or its pause, is committed. */
void run_trace_end(struct run *run, const char *status);

/* For a run with a trace: call is about to be sent. Fills traced_r, which request then points to. */
void run_trace_call(struct run *run, struct arena *arena, const struct run_call *call,
    struct run_trace_call *traced_r, struct call_request *request);
/* It came to that outcome; NULL: to none. */
void run_trace_answered(
    struct run *run, struct run_trace_call *traced, const struct value *outcome);

/* What the record of a run says that call (an id; NULL: the run itself) has begun: `traceparent`, in arena; NULL: run
 * is not traced. */
const struct value *run_trace_child(
    const struct run *run, struct arena *arena, const char *call);

/* The same for a submission that names its parent, and brings no trace of its own. */
const struct value *run_trace_of_parent(
    struct coordinator *coordinator, struct arena *arena, const char *parent);

#endif
