/* store_trial: the steps on Redis as two owners take them, against a real redis-server. */
#ifndef STORE_TRIAL_H
#define STORE_TRIAL_H

#include "redis_trial.h"
#include "store.h"

#define TRIAL_A "aaaa" /* the sessions of the two owners */
#define TRIAL_B "bbbb"

/* The one of a test's process. Keys are of shard 0 where a function takes them short: the threads
 * "t" and those of thread_of_shard. */
extern struct store_trial {
	struct arena *arena;
	struct redis *redis;
	struct store *a, *b;
	struct store_committed committed; /* by the last commit that was OK */
} trial;

void trial_open(void);
void trial_close(void);

/* Runs play on a fiber to its end. */
void trial_play(void (*play)(void));

/* For play. */
void trial_submit(const char *thread, const char *run);
/* Must succeed. */
void trial_claim(struct store *store, const char *thread, uint64_t lease_ms,
    struct store_claim *claim_r);
/* Commits to thread "t", for the run that was claimed. */
enum store_status trial_commit(struct store *store, const struct store_claim *claim,
    const char *id, const char *status);
/* The same, whose run fields have `dead`. */
enum store_status trial_commit_dead(
    struct store *store, const struct store_claim *claim, const char *reason);
/* Stores an outcome in thread "t". */
enum store_status trial_results(struct store *store, const struct store_claim *claim);

/* A command that Redis must not refuse. */
const struct value *trial_ask_words(const char *const *words, size_t count);
#define trial_ask(...)                                                                   \
	trial_ask_words((const char *const[]){ __VA_ARGS__ },                            \
	    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* Writes behind the store's back: key is what follows the prefix of thread "t"'s shard, of shard 0
 * for trial_zadd. */
void trial_hset(const char *key, const char *field, const char *text);
void trial_zadd(const char *key, const char *score, const char *member);
void trial_delete(const char *key);

/* Fails unless exactly these keys are there, beside the counts of runs that have ended: those of thread
 * "t"'s shard without their prefix. */
void trial_check_keys(const char *const *keys, size_t count);

#endif
