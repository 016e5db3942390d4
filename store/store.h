/* store: what is in Redis, and the atomic steps on it.
 *
 * Redis Functions in the .lua files do each step in one call; this is their C face, used by
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
#define STORE_TOOLS_SEEN "fl:tools:seen" /* sorted set: name -> when last served (ms) */

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
	STORE_STALE, /* another version: Redis has forgotten commits; drop the run, claim it again */
	STORE_NONE,     /* nothing to claim; no such thread or run */
	STORE_BUSY,     /* its owner is alive */
	STORE_KNOWN,    /* the run exists already */
	STORE_REJECTED, /* its thread is busy, and it does not wait */
	STORE_TAKEN,    /* the run is one of another thread; store_error names that */
	STORE_OUTDATED, /* the agent has another version now, or is gone */
	STORE_WAITS,    /* the thread waits for an answer */
	STORE_DAMAGED, /* what the thread has in Redis cannot be read; store_error says what */
	STORE_QUARANTINED,
	STORE_SUSPECT, /* taken over more often than who asks wants to take over at once */
	STORE_CANCELLED, /* the fiber was cancelled: outcome unknown */
	STORE_FAILED,    /* Redis refused or is gone for longer than wait_ms */
};

struct store;

/* Returns new; keeps redis. wait_ms: how long a step waits for Redis to come back. */
struct store *store_new(struct redis *redis, uint64_t wait_ms);
void store_destroy(struct store **store_p);
/* Lends what went wrong in the last STORE_FAILED, STORE_REJECTED, STORE_TAKEN, STORE_OUTDATED or STORE_DAMAGED. */
const char *store_error(const struct store *store);
/* Whether the last STORE_FAILED was because Redis did not answer, not for what it said. */
bool store_is_gone(const struct store *store);
struct redis *store_redis(const struct store *store);

/* Who this process is, for claims: session is of this start alone, name is for people. Copied. */
void store_act_as(struct store *store, const char *session, const char *name);

/* From now on the messages of long threads whose last run was ours are kept in memory, so many bytes at
 * most, and are not read again by the next claim (warm.h). */
void store_keep_warm(struct store *store, size_t bytes_max);
/* Lends what is kept so, or NULL. */
struct warm *store_warm(const struct store *store);

/* From now on a commit, an outcome too, is done when so many replicas have it, which are asked for ms at a time until
 * wait_ms is over. */
void store_want_replicas(struct store *store, unsigned replicas, uint64_t ms);
/* Whether a commit waits because fewer have it. */
bool store_lacks_replicas(const struct store *store);

/* --- submitting --------------------------------------------------------------------- */

/* Adds an entry with these fields, {name: text}, to the inbox, as any client may (docs/submit.md). It names its run: when
 * the answer is lost it is added again, for ms, and the run runs once. Returns as redis_call does. */
enum redis_status store_add_entry(struct store *store, struct arena *arena,
    const struct value *fields, uint64_t ms, const struct value **said_r);

/* Remembers that run belongs to thread. Returns STORE_OK, or STORE_KNOWN with the thread
 * it belongs to when that is another. */
enum store_status store_bind_run(struct store *store, struct arena *arena,
    const char *run, const char *thread, const char **other_r);
/* Forgets it, if it is that thread. */
enum store_status store_unbind_run(
    struct store *store, struct arena *arena, const char *run, const char *thread);
/* STORE_NONE when the run is not known. */
enum store_status store_run_thread(
    struct store *store, struct arena *arena, const char *run, const char **thread_r);

/* Queues run on its thread, or notes it until its field `at`. fields: text or packed values kept with it ("agent",
 * "version", "input", "options", ...): a map of name to string or binary. before_r: runs
 * before it. `multitask` among them is what becomes of the thread's other runs (docs/submit.md);
 * STORE_REJECTED: the run is kept as refused; STORE_NONE: it came by that `entry` before, has ended
 * and was deleted; STORE_DAMAGED: a key of the thread is of a wrong type, and nothing is written. */
enum store_status store_submit(struct store *store, struct arena *arena,
    const char *thread, const char *run, const struct value *fields, int64_t *before_r);
/* The same of a run that belongs to parent. STORE_FENCED: that does not go on, or is not to, and nothing is done. */
enum store_status store_submit_child(struct store *store, struct arena *arena,
    const char *parent_thread, const char *parent, const char *thread, const char *run,
    const struct value *fields);

/* `ttl` among fields is of a thread that is not there otherwise: one that is keeps its own.
 * STORE_KNOWN, STORE_NONE: as store_submit. STORE_DAMAGED: the record is there if that could be, though its
 * thread may not know of it. */
enum store_status store_refuse(struct store *store, struct arena *arena,
    const char *thread, const char *run, const char *type, const char *reason,
    const struct value *fields);

/* Keeps a submission that cannot run, with the reason, in fl:refused. agent and input: texts, as they came, or
 * empty. */
struct store_refusal {
	const char *entry, *run, *reason;
	const struct value *agent, *input;
};
enum store_status store_keep_refused(
    struct store *store, struct arena *arena, const struct store_refusal *refusal);

/* Reads entries of the inbox, at most count and about INBOX_BATCH_BYTES: from ">" on those that nobody has read, from an id on
 * those behind it that reader has read and not dealt with. As XREADGROUP answers them. */
enum store_status store_inbox_read(struct store *store, struct arena *arena,
    const char *reader, const char *from, unsigned count, const struct value **entries_r);

/* The same of entries that somebody has read so long ago; they are reader's then. from_p: where to begin, "0-0" at first; and
 * where to go on, in arena. */
enum store_status store_inbox_orphans(struct store *store, struct arena *arena,
    const char *reader, uint64_t idle_ms, const char **from_p,
    const struct value **entries_r);

/* Forgets readers of the inbox who have left nothing behind: the one called name, and all that
 * have not read for idle_ms. */
enum store_status store_tidy_inbox(
    struct store *store, struct arena *arena, const char *name, uint64_t idle_ms);

/* Deletes entries of the inbox that are dealt with, count of them. Asks once, and fails at once where no
 * connection is up: another Redis, behind a failover, may not have what was made of them. */
enum store_status store_inbox_dealt(struct store *store, struct arena *arena,
    const struct value *const *ids, size_t count);

/* Whether an entry of the inbox, or with NULL any, is there still. STORE_NONE: it is dealt with. */
enum store_status store_has_entry(
    struct store *store, struct arena *arena, const char *entry);

/* What the inbox has of a run that nobody has taken yet; "": nothing is said. In the arena. */
struct store_untaken {
	const char *run, *thread, *agent, *assistant;
};
/* Looks for the entry that submits run, among the newest INBOX_LOOKS_MAX, or as many as have INPUT_BYTES_MAX together, one at
 * a time. STORE_NONE: it is not there. */
enum store_status store_inbox_find(struct store *store, struct arena *arena,
    const char *run, struct store_untaken *untaken_r);
/* The same of the newest entry that submits any of these runs to thread: the inbox is gone through once. */
enum store_status store_inbox_find_any(struct store *store, struct arena *arena,
    const char *thread, const char *const *runs, size_t count,
    struct store_untaken *untaken_r);

/* Of entries of the inbox that somebody has read and not dealt with: which stand before the last one of own
 * (count ids, in their order), and are none of them. ahead_r: ["", id, name of the thread, id of the run, ...];
 * when there are too many to be looked at, the id of the last one that was stands for "". */
enum store_status store_inbox_ahead(struct store *store, struct arena *arena,
    const char *const *own, size_t count, const struct value **ahead_r);

/* answer_r: "CANCELLED", "CANCELLING", "ENDED", "UNKNOWN"; status_r: of an ended run. */
enum store_status store_cancel(struct store *store, struct arena *arena,
    const char *thread, const char *run, const char **answer_r, const char **status_r);
/* The same; one that goes on is also rolled back: the thread is put back to what it was before it. */
enum store_status store_cancel_back(struct store *store, struct arena *arena,
    const char *thread, const char *run, const char **answer_r, const char **status_r);

/* --- owning: by a store that acts as somebody ---------------------------------------- */

struct warm_thread;
struct store_claim {
	const char *run;
	uint64_t epoch, version;
	bool recovered; /* its owner died with it */
	/* The version that the thread is to be put back to before run begins, 0: nothing; -1: it
	 * stays as it is. */
	int64_t rollback;
	const struct value
	    *head; /* the thread's checkpoint head, or NULL for a new thread */
	const struct value *order;      /* [[first, last], ...], or NULL */
	const struct value *record;     /* the run's fields: map of name -> VALUE_BIN */
	const struct value *fields;     /* the thread's fields, decoded: {name: value} */
	const struct value *messages;   /* [message], all that are stored, by number */
	const struct warm_thread *kept; /* they are kept (warm.h), or NULL */
	const struct value
	    *results;      /* stored outcomes of this superstep: {call id: value} */
	int64_t left_ms;   /* until the run's deadline; -1: it has none */
	uint64_t attempts; /* claims of it without progress, this one too (fl_attempts) */
	uint64_t
	    late; /* of those before this one, the late ones (coordinator/suspects.h) */
	/* What of the thread is there and cannot be read, so that the run must not go on from what is: "order", the
	 * "head" of a run that is taken over, or STORE_DAMAGED_FIELD; or NULL. */
	const char *damaged;
};
#define STORE_DAMAGED_FIELD "a field"
enum store_status store_claim(struct store *store, struct arena *arena,
    const char *thread, uint64_t lease_ms, struct store_claim *claim_r);
/* The same, but a run of which this were more than the attempts_max-th attempt is left where it is: STORE_SUSPECT, and of
 * claim_r run and attempts are there. */
enum store_status store_claim_within(struct store *store, struct arena *arena,
    const char *thread, uint64_t lease_ms, uint64_t attempts_max,
    struct store_claim *claim_r);

/* A run that comes: fields as for store_submit, with the texts `agent` and `version`. */
struct store_newcomer {
	const char *thread, *run;
	const struct value *fields;
};
/* store_bind_run (STORE_TAKEN), store_submit if that is the agent's version still (STORE_OUTDATED: nothing is
 * done), and where the thread is free store_claim, all in one step: *claimed_r, and claim_r is it. claim_r NULL: nothing
 * is claimed. STORE_KNOWN may be a run that we have claimed so: the answer was lost. Then store_claim gives it. */
enum store_status store_arrive(struct store *store, struct arena *arena,
    const struct store_newcomer *comer, uint64_t lease_ms, bool *claimed_r,
    struct store_claim *claim_r);

struct store_commit {
	const char *thread, *run;
	uint64_t epoch, version; /* version: the one the commit builds on */
	const char *id; /* commit id: equal when it is repeated, else another; no space */
	/* Of the owner's commit before this one; NULL: none since its claim. Another one is right
	 * as well, and costs a look at more of the thread. */
	const char *last_id;
	const char
	    *status; /* "running", "success", "error", "interrupted", "cancelled" */
	/* The new checkpoint head, and the order; of a run that ends NULL: both stay as they are. */
	const struct value *head, *order;
	const struct value *checkpoint; /* the record for history */
	const struct value *messages;   /* [message], appended */
	const struct value *fields;     /* {name: value, nil: gone} */
	const struct value *events;     /* [event] */
	uint64_t last_event; /* the number of the one before them in the run's log */
	/* Of a run that ends, {name: value}, packed, or NULL; `input` at any time. With `dead`, the reason, it is kept
	 * among the dead letters. */
	const struct value *run_fields;
	bool drop_results; /* the superstep is complete */
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

/* A run as its owner believes to hold it. */
struct store_hold {
	const char *thread, *run;
	uint64_t epoch, version; /* version: of its last commit, or STORE_ANY_VERSION */
};
#define STORE_ANY_VERSION UINT64_MAX

/* Stores outcomes {call id: value} of a superstep that is not complete. With none it only
 * asks whether hold is true: STORE_FENCED, STORE_STALE. */
enum store_status store_results(struct store *store, struct arena *arena,
    const struct store_hold *hold, const struct value *outcomes);

/* As many of the run's claims count as attempts, and as many of these are late, by what its owner knows (coordinator/suspects.h);
 * says nothing once it has made progress. STORE_FENCED: it is another's. */
enum store_status store_attempts(struct store *store, struct arena *arena,
    const struct store_hold *hold, uint64_t attempts, uint64_t late);

/* Gives the run back. sent: [call id] of the superstep's calls that were sent, for the next
 * owner (the record's `sent`, if the thread is at hold's version); NULL when that is not sure. */
enum store_status store_release(struct store *store, struct arena *arena,
    const struct store_hold *hold, const struct value *sent);

struct store_renewed {
	bool lapsed; /* there was no lease: others may have claimed what owner holds */
	const struct value *cancels; /* [run id] that somebody wants cancelled */
};
/* lease_ms 0 gives the lease up. */
enum store_status store_renew(struct store *store, struct arena *arena, unsigned shard,
    uint64_t lease_ms, struct store_renewed *renewed_r);

/* Whether somebody has asked for run to be cancelled; false when nothing can be said. */
bool store_cancel_wanted(
    struct store *store, struct arena *arena, const char *thread, const char *run);

/* threads_r: [thread id], twice limit at most, that we should claim if we do not hold them; recovered ones
 * first, whatever waits. */
enum store_status store_sweep(struct store *store, struct arena *arena, unsigned shard,
    unsigned limit, const struct value **threads_r);

/* --- threads as a whole --------------------------------------------------------------- */

/* What another thread has stored up to a checkpoint. */
struct store_copy {
	const char *source;
	const struct value *history; /* its checkpoints, as of store_history */
	uint64_t version;
};
/* Fills thread, which run owns and nobody has used, with the copy's messages and checkpoints. Fields,
 * order and head are the commit's that follows, on that version. May be repeated. STORE_BUSY: thread
 * is used; STORE_STALE: somebody else filled it at the same time; STORE_NONE: no such version. */
enum store_status store_fill(struct store *store, const char *thread, const char *run,
    uint64_t epoch, const struct store_copy *copy);

struct store_pruned {
	uint64_t checkpoints, messages, runs; /* that are gone */
	/* With STORE_BUSY: the run that goes on, waits, or will; NULL: the thread's next one puts it back first. */
	const char *busy;
};
/* Drops all but the newest keep checkpoints (at least one), the messages that only the others name,
 * and the runs that ended before the oldest that is left, with their event logs. force: also of a
 * thread that waits for an answer, else STORE_WAITS. STORE_STALE: the thread changed meanwhile,
 * ask again; STORE_NONE: no such thread; STORE_DAMAGED: nobody can know what the checkpoints that are
 * left need, so all stays. */
enum store_status store_prune(struct store *store, struct arena *arena,
    const char *thread, uint64_t keep, bool force, struct store_pruned *pruned_r);
/* Deletes a thread with all its runs; as store_prune. One with many loses them in steps, the oldest first: when
 * it is used meanwhile, the others stay, and so does the thread. */
enum store_status store_erase(struct store *store, struct arena *arena,
    const char *thread, bool force, struct store_pruned *pruned_r);

/* Makes thread, which nobody has used, so that it is found before its first run; metadata: a map that is kept with it;
 * ttl: "ms action" as fl_submit takes it, or NULL. STORE_KNOWN: it is there, and stays as it is. */
enum store_status store_open_thread(struct store *store, struct arena *arena,
    const char *thread, const struct value *metadata, const char *ttl);
/* Merges metadata (a map; nil: the key goes; NULL: none) into what is kept with the thread, and says how long it is kept;
 * ttl NULL: as before. STORE_NONE: no such thread; STORE_REJECTED: all of it would be more than METADATA_BYTES_MAX. */
enum store_status store_note_thread(struct store *store, struct arena *arena,
    const char *thread, const struct value *metadata, const char *ttl);

/* Whether a change that another came before is to be tried again; *tries: how often it was, 0 at first. Waits, on a fiber, the longer the
 * oftener, so that of many at once each has its turn. */
bool store_try_again(unsigned *tries);

/* How long a thread is kept, "ms action", in arena, NULL: nothing was said; and until when, in ms since 1970, 0: for ever. */
enum store_status store_thread_ttl(struct store *store, struct arena *arena,
    const char *thread, const char **ttl_r, uint64_t *until_ms_r);

/* Deletes the shard's threads whose time is over; threads_r: [thread], limit at most, that are to be
 * pruned instead. usual: the ttl, "ms action", of threads that were opened without; NULL: for ever. */
enum store_status store_expire(struct store *store, struct arena *arena, unsigned shard,
    unsigned limit, const struct value *usual, const struct value **threads_r);
/* Finishes what the deletion of at most limit runs has left: the strings that name their threads,
 * entries of the inbox that nobody deleted. May be done twice, and at the same time as a submission
 * under one of their ids. */
enum store_status store_forget_gone(
    struct store *store, struct arena *arena, unsigned shard, unsigned limit);

/* What is to be done in a shard. */
struct store_chores {
	bool orphans, webhooks,
	    items;          /* store_orphans, store_take_webhooks, items_sweep */
	bool threads, gone; /* store_expire, store_forget_gone */
	bool crons;         /* crons_due */
	/* A key of these that is of a wrong type, in arena, or NULL. The others are told all the same. */
	const char *damaged;
};
enum store_status store_chores(struct store *store, struct arena *arena, unsigned shard,
    struct store_chores *chores_r);

/* --- children ----------------------------------------------------------------------- */

/* What there is of run, which is to be the first of a thread that has its name: STORE_OK with its record; STORE_NONE; STORE_KNOWN:
 * the thread, without it. Who submits it meanwhile is no other: its thread comes with it. */
enum store_status store_first_run(struct store *store, struct arena *arena,
    const char *run, const struct value **record_r);
/* Notes child, which is queued on its thread, as one of parent's. *late_r: it is to be cancelled,
 * since the parent has ended by error or cancel, or is about to. STORE_NONE: no such parent. */
enum store_status store_adopt(struct store *store, struct arena *arena,
    const char *parent_thread, const char *parent, const char *child,
    const char *child_thread, bool *late_r);
/* children_r: {run: thread}, all that run ever had. */
enum store_status store_children(struct store *store, struct arena *arena,
    const char *thread, const char *run, const struct value **children_r);
/* Some of the shard's runs that have ended by error or cancel and whose children are to be
 * cancelled: [run], at most limit. done (or NULL): those of which that was done. */
enum store_status store_orphans(struct store *store, struct arena *arena, unsigned shard,
    unsigned limit, const struct value *done, const struct value **runs_r);

/* --- dead letters ------------------------------------------------------------------- */

/* Runs that were given up (quarantined, or ended by a call that takes workers down) and that nobody
 * has retried or discarded, of all shards, newest first: records as of store_run, with `dead` (the
 * reason), `coordinator` (the last), `attempts`. limit 0: all. */
enum store_status store_dead(
    struct store *store, struct arena *arena, size_t limit, const struct value **runs_r);

struct store_retry {
	const char *thread, *run, *new_run;
	const char *version; /* of its agent */
	/* For a run that is not dead, but has failed or was cancelled: the version that it has left its thread at, which is the newest
	 * still; 0: only a dead one. */
	uint64_t left;
	const struct value
	    *options; /* with which it goes on there; NULL: its input, and its own */
};
/* Queues what dead run was to do as new_run, on the same thread.
 * STORE_KNOWN: new_run is taken; STORE_NONE: run is not dead, nor has it left the thread so; instead_r is the one that was
 * retried in its place, or ""; STORE_DAMAGED: a key of the thread is of a wrong type, and run stays dead. */
enum store_status store_retry(struct store *store, struct arena *arena,
    const struct store_retry *retry, const char **instead_r);

/* Takes run out of the dead letters; its record stays. STORE_NONE: it is not among them. */
enum store_status store_discard(
    struct store *store, struct arena *arena, const char *thread, const char *run);

/* --- cache -------------------------------------------------------------------------- */

/* Keeps value, a map, under key, for ttl_ms (0: until somebody deletes it). */
enum store_status store_cache(struct store *store, struct arena *arena, const char *key,
    const struct value *value, uint64_t ttl_ms);
/* STORE_NONE: nothing is kept under key. */
enum store_status store_cached(struct store *store, struct arena *arena, const char *key,
    const struct value **value_r);

/* --- reading ------------------------------------------------------------------------ */

/* A run's record as a value: {run, thread, agent, version, status, created, started,
 * ended, attempts, input, fault?, output?, ...}. */
enum store_status store_run(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value **record_r);
/* The same of a run of that shard: its name need not be there. */
enum store_status store_run_in(struct store *store, struct arena *arena, unsigned shard,
    const char *run, const struct value **record_r);
/* Whether run has ended, or paused; whether it waits for somebody to begin it. STORE_NONE: no such run. */
enum store_status store_has_ended(struct store *store, struct arena *arena,
    const char *thread, const char *run, bool *ended_r, bool *queued_r);
/* STORE_NONE: there is no such thread. */
enum store_status store_has_thread(
    struct store *store, struct arena *arena, const char *thread);
/* Whether run is one of thread's: STORE_NONE when it is none, or another's. */
enum store_status store_has_run(
    struct store *store, struct arena *arena, const char *thread, const char *run);
/* The head of thread's last commit ({run, status, next, round, ...}); STORE_NONE: it has none. */
enum store_status store_head(struct store *store, struct arena *arena, const char *thread,
    const struct value **head_r);
/* A thread as a value: {thread, run, queue: [run], epoch, version, head, messages,
 * fields, created (ms since 1970), metadata?, standing: the version that it stands at, an older one where a run was
 * rolled back}. */
enum store_status store_thread(struct store *store, struct arena *arena,
    const char *thread, const struct value **thread_r);
/* The same without messages and fields, whatever their size: to see what it is. */
enum store_status store_thread_outline(struct store *store, struct arena *arena,
    const char *thread, const struct value **thread_r);
/* The messages of a thread with the count storage numbers from first (what a step event
 * names): [message]. */
enum store_status store_messages(struct store *store, struct arena *arena,
    const char *thread, uint64_t first, uint64_t count, const struct value **messages_r);
/* Events of a run with seq > after, at most STORE_EVENTS_MAX: [{seq, kind, at, ...}]; waits up to block_ms for one
 * (use a store on a redis of its own then). */
#define STORE_EVENTS_MAX 500u
enum store_status store_events(struct store *store, struct arena *arena,
    const char *thread, const char *run, uint64_t after, uint64_t block_ms,
    const struct value **events_r);
/* The same without waiting, at most limit of them: each may be as large as a state. */
enum store_status store_some_events(struct store *store, struct arena *arena,
    const char *thread, const char *run, uint64_t after, unsigned limit,
    const struct value **events_r);
/* The number of the last event that a run's log has; 0: none. */
enum store_status store_last_event(struct store *store, struct arena *arena,
    const char *thread, const char *run, uint64_t *seq_r);

#endif
