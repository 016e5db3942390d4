/* store_webhooks: the ends of runs that somebody wants to be told (coordinator/webhooks.h). As store.h, on a fiber. */
#ifndef STORE_WEBHOOKS_H
#define STORE_WEBHOOKS_H

#include "store.h"

/* Ends of the shard's runs that are to be told now, which nobody else gets for lease_ms:
 * [TIME in ms, run, number of the attempt, run, number, ...], at most limit of them. */
enum store_status store_take_webhooks(struct store *store, struct arena *arena,
    unsigned shard, uint64_t lease_ms, unsigned limit, const struct value **taken_r);

struct store_told {
	unsigned shard;
	const char *run;
	uint64_t attempt;
	const char *outcome; /* "delivered", "failed", "again", "later" (no attempt) */
	uint64_t wait_ms;    /* after the last two: until the next one */
	uint64_t
	    waited_ms; /* above 0: it was no attempt, "failed" neither; for how long on end there could
				be none, the wait for the next one too */
	const char *text; /* for people */
};
/* What became of an attempt. seq_r: the number of the event that says so, or 0. STORE_NONE:
 * somebody else has told it meanwhile. */
enum store_status store_end_webhook(struct store *store, struct arena *arena,
    const struct store_told *told, uint64_t *seq_r);

#endif
