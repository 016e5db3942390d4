/* store_fleet: what is asked of all shards at once, and of Redis itself: lists, counts, health. As store.h, on a fiber. */
#ifndef STORE_FLEET_H
#define STORE_FLEET_H

#include "store.h"

/* The threads of all shards, newest first by when they came, without those of subagents' runs: [{thread, created}], at most
 * limit. tenant: those whose names begin with that and TENANT_MARK; NULL: all. *total_r: how many there are. Threads from
 * before there was this list are not in it. */
enum store_status store_threads(struct store *store, struct arena *arena,
    const char *tenant, size_t limit, const struct value **threads_r, uint64_t *total_r);

/* The names of those of one shard, [name], in no order. */
enum store_status store_threads_in(struct store *store, struct arena *arena,
    const char *tenant, unsigned shard, const struct value **names_r);

/* The newest runs of all shards, at most limit, newest first; status NULL: all. */
enum store_status store_runs(struct store *store, struct arena *arena, size_t limit,
    const char *status, const struct value **runs_r);
/* The same of those that are like it in all that is set. */
struct run_filter {
	const char *status, *tenant;
	const struct value *metadata; /* {name: text}: numbers and bools as their JSON */
};
enum store_status store_find_runs(struct store *store, struct arena *arena, size_t limit,
    const struct run_filter *filter, const struct value **runs_r);

struct store_health {
	uint64_t used, max; /* bytes that count against maxmemory; max 0: no limit */
	const char *policy; /* maxmemory-policy; NULL: we may not ask */
	bool is_logged;     /* appendonly */
	bool is_log_broken; /* its last write failed: the disk is full, say */
	bool is_cluster;    /* Redis Cluster, of one node or more */
};
/* Asks Redis, for at most wait_ms. */
enum store_status store_health(struct store *store, struct arena *arena, uint64_t wait_ms,
    struct store_health *health_r);
/* Of max, in per cent; 0 without a limit. */
unsigned store_fullness(const struct store_health *health);
/* From here on new submissions wait in the inbox, until it is below STORE_ROOM_AGAIN. */
#define STORE_FULL 80u
#define STORE_ROOM_AGAIN 75u

/* The threads that wait for a human, of all shards, who waits longest first: [{thread, since (ms since
 * 1970)}]. A thread that was answered meanwhile may be among them. */
enum store_status store_asks(
    struct store *store, struct arena *arena, const struct value **threads_r);

/* Adds count to what is counted of model as kind, a word ("input"): field "kind model" of fl:tokens. At most
 * once: STORE_OK also when the answer was lost. */
enum store_status store_count_tokens(struct store *store, struct arena *arena,
    const char *model, const char *kind, int64_t count);

/* The same of runs that have ended with status, a word: count of them took no longer than the bound of that index (spread.h;
 * SPREAD_BOUND_COUNT: longer than all), and more than the one before. Fields of fl:times. */
enum store_status store_count_ended(struct store *store, struct arena *arena,
    const char *status, unsigned bound, int64_t count);
/* And they took so long together. */
enum store_status store_count_took(
    struct store *store, struct arena *arena, const char *status, int64_t ms);

/* Counts over all shards, for `top` and `metrics`: {inbox, inbox_oldest_ms (of its first entry; absent
 * when it is empty), live_threads (on which a run goes on or waits), waiting_threads (of these: no
 * coordinator has them), runs, delayed, dead, asks (threads that wait for a human), asks_oldest_ms
 * (for how long the first of them has; absent without one), webhooks (that are still to be told),
 * crons (that are due some time), crons_late_ms (since when the first of them is; absent when none is now), leases (that coordinators have on shards), ended {success, error, interrupted, cancelled, refused}
 * (runs that have ended so since this Redis is in use), tokens [{model, kind, count}]
 * (store_count_tokens), times {bounds_ms, ended {status: {counts, sum_ms}}} (store_count_ended; as spreads are told in STATS)},
 * and how Redis is: {bytes, bytes_max (0: no limit), full (per cent), logged
 * (appendonly is on), log_broken (its last write failed)}. */
enum store_status store_counts(
    struct store *store, struct arena *arena, const struct value **counts_r);

#endif
