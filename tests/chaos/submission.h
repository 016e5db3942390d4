/* submission: what a user puts into the inbox; as often as it is wanted, at once. */
#ifndef SUBMISSION_H
#define SUBMISSION_H

#include "loop.h"
#include "redis.h"

#define SUBMISSION_WAIT_MS 3000u
#define SUBMISSION_AGAIN_MS 300u

struct submission {
	const char *agent, *thread, *run;
	const char *field, *value; /* "input" or "command", as JSON */
	const char *multitask;     /* or NULL */
	bool stream;
};

/* On a fiber. REDIS_OK: it is in the inbox; else it may be. */
enum redis_status submission_send(
    struct redis *redis, const struct submission *submission, uint64_t wait_ms);

/* Until it is known to be there. Returns how often it was sent. */
unsigned submission_insist(
    struct redis *redis, const struct submission *submission, uint64_t wait_ms);

/* So many fibers do that at the same time; returns when all have. */
void submission_insist_all(struct redis *redis, const struct submission *submission,
    uint64_t wait_ms, unsigned fibers);

#endif
