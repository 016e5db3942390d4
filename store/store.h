/* store: what is in Redis, and the atomic steps on it.
 *
 * Redis Functions in fleet.lua do each step in one call; this is their C face, used by
 * coordinators (all of it) and the command line (reading, submit, cancel). Keys are
 * described in docs/redis.md. Every thread belongs to one of SHARDS shards by the FNV-1a
 * hash of its id; all of its keys carry the shard's hash tag.
 *
 * Every function waits, so it runs on a fiber. */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "bounds.h"
#include "redis.h"
#include "value.h"

/* The source of the function library, for redis_new. */
const char *store_library(void);

#define STORE_INBOX "fl:inbox"
#define STORE_INBOX_GROUP "coordinators"
#define STORE_REFUSED "fl:refused"
#define STORE_AGENTS "fl:agents" /* hash: name -> version */
#define STORE_TOOLS "fl:tools"   /* hash: name -> packed definition, as last announced */

unsigned store_shard(const char *thread);
/* "fl:{s17}:" */
const char *store_prefix(struct arena *arena, unsigned shard);
/* The keys of a thread ("fl:{s17}:t:<thread>") and a run ("fl:{s17}:r:<run>"); what ends
 * in
 * ":m", ":f", ":c", ":q" and ":e", ":w" is made by appending. */
const char *store_thread_key(struct arena *arena, const char *thread);
const char *store_run_key(struct arena *arena, const char *thread, const char *run);

enum store_status {
	STORE_OK,
	STORE_FENCED, /* another owner: drop the run at once */
	STORE_STALE,  /* an old version: a bug, or a commit that was done */
	STORE_NONE,   /* nothing to claim; no such thread or run */
	STORE_BUSY,   /* its owner is alive */
	STORE_KNOWN,  /* the run exists already */
	STORE_QUARANTINED,
	STORE_CANCELLED, /* the fiber was cancelled: outcome unknown */
	STORE_FAILED,    /* Redis refused or is gone for longer than wait_ms */
};

struct store;

/* Returns new; keeps redis. wait_ms: how long a step waits for Redis to come back. */
struct store *store_new(struct redis *redis, uint64_t wait_ms);
void store_destroy(struct store **store_p);
/* Lends what went wrong in the last STORE_FAILED. */
const char *store_error(const struct store *store);
struct redis *store_redis(const struct store *store);

/* --- submitting --------------------------------------------------------------------- */

/* Remembers that run belongs to thread. Returns STORE_OK, or STORE_KNOWN with the thread
 * it belongs to when that is another. */
enum store_status store_bind_run(struct store *store, struct arena *arena,
    const char *run, const char *thread, const char **other_r);
/* STORE_NONE when the run is not known. */
enum store_status store_run_thread(
    struct store *store, struct arena *arena, const char *run, const char **thread_r);

/* Queues run on its thread. fields: text or packed values kept with it ("agent",
 * "version", "input", "options", ...): a map of name to string or binary. before_r: runs
 * before it. */
enum store_status store_submit(struct store *store, struct arena *arena,
    const char *thread, const char *run, const struct value *fields, int64_t *before_r);

enum store_status store_refuse(struct store *store, struct arena *arena,
    const char *thread, const char *run, const char *type, const char *reason,
    const struct value *fields);

/* answer_r: "CANCELLED", "CANCELLING", "ENDED", "UNKNOWN"; status_r: of an ended run. */
enum store_status store_cancel(struct store *store, struct arena *arena,
    const char *thread, const char *run, const char **answer_r, const char **status_r);

/* --- owning ------------------------------------------------------------------------- */

struct store_claim {
	const char *run;
	uint64_t epoch, version;
	bool recovered; /* its owner died with it */
	const struct value
	    *head; /* the thread's checkpoint head, or NULL for a new thread */
	const struct value *order;    /* [[first, last], ...], or NULL */
	const struct value *record;   /* the run's fields: map of name -> VALUE_BIN */
	const struct value *fields;   /* the thread's fields, decoded: {name: value} */
	const struct value *messages; /* [message], all that are stored, by number */
	const struct value
	    *results; /* stored outcomes of this superstep: {call id: value} */
};
enum store_status store_claim(struct store *store, struct arena *arena,
    const char *thread, const char *owner, uint64_t lease_ms,
    struct store_claim *claim_r);

struct store_commit {
	const char *thread, *run;
	uint64_t epoch, version; /* version: the one the commit builds on */
	const char *id;          /* commit id: equal when it is repeated */
	const char
	    *status; /* "running", "success", "error", "interrupted", "cancelled" */
	const struct value *head; /* the new checkpoint head */
	const struct value *order;
	const struct value *checkpoint; /* the record for history */
	const struct value *messages;   /* [message], appended */
	const struct value *fields;     /* {name: value, nil: gone} */
	const struct value *events;     /* [event] */
	const struct value *run_fields; /* {name: value}, packed; or NULL */
	bool drop_results;              /* the superstep is complete */
};
struct store_committed {
	uint64_t version;
	bool cancel_wanted;
	uint64_t waiting; /* runs queued on the thread */
};
/* Repeats a commit whose answer was lost, under its id, until Redis answers or wait_ms.
 */
enum store_status store_commit(struct store *store, struct arena *arena,
    const struct store_commit *commit, struct store_committed *committed_r);

/* Stores outcomes {call id: value} of a superstep that is not complete. With none it only
 * asks whether epoch still owns the thread. */
enum store_status store_results(struct store *store, struct arena *arena,
    const char *thread, const char *run, uint64_t epoch, const struct value *outcomes);

/* Gives the run back. sent: [call id] of the superstep's calls that were sent, for the next
 * owner (the record's `sent`); NULL when that is not sure. */
enum store_status store_release(struct store *store, struct arena *arena,
    const char *thread, uint64_t epoch, const struct value *sent);

struct store_renewed {
	bool lapsed; /* there was no lease: others may have claimed what owner holds */
	const struct value *cancels; /* [run id] that somebody wants cancelled */
};
/* lease_ms 0 gives the lease up. */
enum store_status store_renew(struct store *store, struct arena *arena, unsigned shard,
    const char *owner, uint64_t lease_ms, struct store_renewed *renewed_r);

/* Whether somebody has asked for run to be cancelled; false when nothing can be said. */
bool store_cancel_wanted(
    struct store *store, struct arena *arena, const char *thread, const char *run);

/* threads_r: [thread id] that owner should claim if it does not hold them, recovered ones first. */
enum store_status store_sweep(struct store *store, struct arena *arena, unsigned shard,
    const char *owner, unsigned limit, const struct value **threads_r);

/* --- agents and tools --------------------------------------------------------------- */

/* Stores an agent's source under its version and makes it the name's current one. */
enum store_status store_put_agent(struct store *store, struct arena *arena,
    const char *name, const char *version, const struct value *source);
/* version_r: of the name's current spec. STORE_NONE: no such agent. */
enum store_status store_agent_version(
    struct store *store, struct arena *arena, const char *name, const char **version_r);
enum store_status store_agent_source(struct store *store, struct arena *arena,
    const char *version, const struct value **source_r);
/* {name: version} */
enum store_status store_agents(
    struct store *store, struct arena *arena, const struct value **agents_r);
/* {name: definition}; put writes those given. */
enum store_status store_tools(
    struct store *store, struct arena *arena, const struct value **tools_r);
enum store_status store_put_tools(
    struct store *store, struct arena *arena, const struct value *tools);

/* --- reading ------------------------------------------------------------------------ */

/* A run's record as a value: {run, thread, agent, version, status, created, started,
 * ended, attempts, input, fault?, output?, ...}. */
enum store_status store_run(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value **record_r);
/* A thread as a value: {thread, run, queue: [run], epoch, version, head, messages,
 * fields}. */
enum store_status store_thread(struct store *store, struct arena *arena,
    const char *thread, const struct value **thread_r);
/* The messages of a thread with the count storage numbers from first (what a step event
 * names): [message]. */
enum store_status store_messages(struct store *store, struct arena *arena,
    const char *thread, uint64_t first, uint64_t count, const struct value **messages_r);
/* The thread's checkpoints, oldest first: [{version, at, run, step, node, next, ...}]. */
enum store_status store_history(struct store *store, struct arena *arena,
    const char *thread, const struct value **history_r);
/* The newest runs of all shards, at most limit, newest first; status NULL: all. */
enum store_status store_runs(struct store *store, struct arena *arena, size_t limit,
    const char *status, const struct value **runs_r);
/* Events of a run with seq > after: [{seq, kind, at, ...}]; waits up to block_ms for one
 * (use a store on a redis of its own then). */
enum store_status store_events(struct store *store, struct arena *arena,
    const char *thread, const char *run, uint64_t after, uint64_t block_ms,
    const struct value **events_r);
/* Counts over all shards, for `top`: {inbox, live_threads, runs}. */
enum store_status store_counts(
    struct store *store, struct arena *arena, const struct value **counts_r);

#endif
