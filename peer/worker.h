/* worker: the worker's side of the fleet: takes calls of all brokers, runs each on a fiber,
 * keeps results until they are acknowledged, announces, drains. worker-model and worker-tools
 * are this with a function that answers one call.
 *
 * A call id known already (running, or among the last finished) is not run again:
 * CALL_ACK, and the kept RESULT once more. The rules are a pure state machine in
 * peer/outbox.[ch]. */
#ifndef WORKER_H
#define WORKER_H

#include "links.h"
#include "trace.h"

struct worker;

/* One call on its fiber. All of it is lent until the answer function returns. */
struct worker_call {
	const struct header *header;
	struct arena *arena;
	const struct value
	    *profile; /* kept by its bytes: the same pointer for the same bytes */
	uint64_t profile_number; /* the same for the same bytes, another's for others */
	const struct value *request;
	struct worker *worker; /* NULL outside of a worker (a workbench, a test): progress
				  is dropped, nested calls end as NOT_SERVED */
	struct span *span;     /* of its handling, when it is traced; else NULL */
	void *private;
	bool
	    lost; /* set by the answer function: nobody knows whether this call, which must not
		      run twice, took effect. The RESULT's code says so */
};

/* Answers call: returns the RESULT's body (in call->arena). Runs on a fiber, may wait.
 * When the call is cancelled or late its waits fail; return a fault then
 * (fault_cancelled). */
typedef const struct value *worker_answer_fn(void *arg, struct worker_call *call);

struct worker_options {
	const char *const *endpoints; /* of the brokers, NULL-ended */
	const char *name;
	const char *session; /* 32 hex digits; NULL: a new one */
	const struct wire_service *services;
	size_t service_count;
	uint32_t capacity;
	const struct value *catalog;
	struct trace *trace; /* or NULL: nothing is traced */
	worker_answer_fn *answer;
	void *arg;
};

/* Returns new, or NULL when the list of endpoints is wrong: as links_new. */
struct worker *worker_new(struct loop *loop, const struct worker_options *options,
    const char **wrong_r, const char **allowed_r);

/* What each of the brokers at endpoints (NULL-ended) is told when a service is to have so many slots in all: each gives
 * out what it was told, for itself. One at least. */
uint32_t worker_part(const char *const *endpoints, uint32_t slots);

/* Takes *worker_p. Every call must have ended (see drain). */
void worker_destroy(struct worker **worker_p);

/* Publishes a PROGRESS of call under topic run.<run>.<kind>; droppable. Numbered also when nobody
 * wants it: who begins to listen sees by seq that something was before. */
void worker_progress(
    struct worker_call *call, const char *kind, const struct value *body);

/* Whether what is told with worker_stream now is sent: somebody listens, and this call has not told too much (telling.h). */
bool worker_streams(struct worker_call *call);
/* A PROGRESS of kind "custom": value is what a tool, or a hook of middleware (else NULL), tells whoever follows the run, live,
 * and not stored. Left out where worker_streams says so, or when it is too large. */
void worker_stream(
    struct worker_call *call, const char *middleware, const struct value *value);

/* Makes a call through the broker from inside a call (a middleware's model call); as
 * caller_call. Its id is equal each time that call runs, wherever: it is flagged RESEND when
 * another worker may have run that before, and the first answer may still be there. */
struct call_request;
struct call_outcome;
int worker_nested_call(struct worker_call *call, const struct call_request *request,
    struct call_outcome *outcome_r);

/* --- tracing (worker_trace.c) --------------------------------------------------------- */

/* For a call with a span: begins one beneath it, of something that it does. number: which of those, from 1; with it
 * the same work has the same id. */
void worker_span_begin(const struct worker_call *call, struct span *span_r,
    enum span_type type, const char *what, unsigned number);
/* Ends it, and tells of it. type: of the fault that it came to, or NULL. */
void worker_span_end(const struct worker_call *call, struct span *span, const char *type);

/* Starts the drain: DRAIN, no new calls; running ones may finish, the rest is stopped and
 * given back (RELEASE), results are flushed; then done(arg). All of it within drain_ms, of
 * which up to OUTBOX_FLUSH_MS are kept back for the end. */
void worker_drain(
    struct worker *worker, uint64_t drain_ms, void (*done)(void *arg), void *arg);

/* Changes what is served (a reload of tool files): HELLO is said anew. */
void worker_set_services(struct worker *worker, const struct wire_service *services,
    size_t service_count, const struct value *catalog);

#endif
