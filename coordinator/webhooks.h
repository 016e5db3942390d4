/* webhooks: tells those who asked for it that a run has ended: a CALL to the service `webhook`,
 * made again with back-off until they have heard it. What is to be told is in Redis, put there
 * by the step that ended the run; any coordinator may tell it. docs/runs.md. */
#ifndef WEBHOOKS_H
#define WEBHOOKS_H

#include "value.h"

struct coordinator;
struct call_outcome;

/* Tells what is due in shard, each on a fiber of its own. On a fiber. */
void webhooks_sweep(struct coordinator *coordinator, unsigned shard);

/* The same on a fiber of its own, now. */
void webhooks_wake(struct coordinator *coordinator, unsigned shard);

/* Lets go of the attempts that wait for an answer: we leave, and another coordinator makes the same
 * call when its time comes. */
void webhooks_leave(struct coordinator *coordinator);

/* What is told of a run, in arena: its record without what its submission brought (input,
 * context) and what is ours (owner, URL). What would make it larger than WEBHOOK_BYTES_MAX is left
 * out, `output` first; `output_omitted` says so, and the like. */
const struct value *webhook_body(struct arena *arena, const struct value *record);

/* What follows of an attempt. */
struct webhook_verdict {
	const char *outcome; /* as in struct store_told */
	uint64_t wait_ms;
	const char *text;   /* lent by arena */
	uint64_t waited_ms; /* as in struct store_told */
};

/* Judges attempt (1, 2, ...) of at most attempts by its outcome. first_wait_ms: between the first
 * two; it doubles, up to WEBHOOK_WAIT_MS_MAX. A receiver may ask for more (Retry-After). */
struct webhook_verdict webhook_judge(struct arena *arena,
    const struct call_outcome *outcome, uint64_t attempt, uint64_t attempts,
    uint64_t first_wait_ms);

/* What follows of one that could not be made ("later"), nor could any in the waited_ms before: after unserved_ms on end
 * it is given up, which is no attempt either. Others stay as they are. */
void webhook_wait_on(struct arena *arena, struct webhook_verdict *verdict,
    uint64_t waited_ms, uint64_t unserved_ms);

#endif
