/* caller: calls sent through the broker and watched until their outcome is stored.
 *
 * Owns each CALL until CALL_ACK or RESULT (sent again every resend_first_ms, and by another link
 * when its own goes down, flagged WIRE_RESEND, under the same id) and each RESULT until the
 * caller says that it is stored (then RESULT_ACK, again whenever the RESULT comes again).
 * The rules are a pure state machine in ledger.[ch]. */
#ifndef CALLER_H
#define CALLER_H

#include "links.h"

struct caller;

struct call_request {
	const char *id; /* deterministic: run, step, index */
	const char *run;
	const char *service; /* "model:openai" */
	uint64_t step, epoch;
	uint64_t deadline_ms; /* from now */
	uint64_t priority;
	const char *tenant;
	unsigned flags; /* WIRE_RESEND (a takeover: it may have been sent before), ONCE,
			   STREAM ... */
	const char *idempotency_key;
	const char *traceparent;     /* or NULL: the call is not traced */
	const struct value *profile; /* freeze it: its bytes are copied per call */
	const struct value *request;
};

struct call_outcome {
	enum wire_code code; /* CODE_OK: body is the worker's answer */
	const char *reason;  /* for other codes; may be NULL */
	const struct value
	    *body; /* with other codes: what the worker still said, or NULL */
};

/* Returns new; keeps links. */
struct caller *caller_new(struct loop *loop, struct links *links);
void caller_destroy(struct caller **caller_p);

/* The links' events that concern calls: hand them on. caller_message answers true when
 * the message was one of ours. */
void caller_up(struct caller *caller, uint32_t link);
void caller_leaving(struct caller *caller, uint32_t link);
void caller_down(struct caller *caller, uint32_t link);
bool caller_message(struct caller *caller, uint32_t link, const struct header *header,
    struct parts *bodies);

/* Sends request and waits, on a fiber. Returns 0 with the outcome decoded into arena, or
 * -1 when the fiber was cancelled: a CANCEL has been sent and the call is forgotten after
 * its outcome or CANCEL_WAIT_MS came. -1 too when the call was forgotten, or called again
 * by somebody else. BUSY is waited out inside. What no broker would take ends at once, unsent:
 * MALFORMED for a field that is out of bounds (fields.def), TOO_LARGE for a body. Every outcome
 * is one's own until caller_stored or caller_forget. */
int caller_call(struct caller *caller, struct arena *arena,
    const struct call_request *request, struct call_outcome *outcome_r);

/* Waits, on a fiber, until none of run's cancelled calls is under way any more: each has
 * ended at its worker, or CANCEL_WAIT_MS are over. Returns 0, or -1 when cancelled.
 * given_up_r: the ids of those that nobody has said to have ended, in arena. */
int caller_wait_left(struct caller *caller, struct arena *arena, const char *run,
    const struct value **given_up_r);

/* Says that the outcome of call id is stored (or that nobody wants it): the worker may
 * forget. */
void caller_stored(struct caller *caller, const char *id);

/* Forget call id, or all calls of run, without a word to the broker: another owner has
 * them, and their outcomes are kept for it. Who waits gets -1. For a run that is FENCED. */
void caller_forget(struct caller *caller, const char *id);
void caller_disown(struct caller *caller, const char *run);

/* True when call id is waited for and no broker has it: nobody has begun it, unless it was sent before by others. */
bool caller_is_unsent(const struct caller *caller, const char *id);

#endif
