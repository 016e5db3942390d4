/* crons: runs that recur, as they are kept in Redis, and the atomic steps on them.
 *
 * A cron belongs to the shard of its id (docs/redis.md). It is due at its next time, and then any coordinator fires it
 * (coordinator/firing.h): one step submits the run and sets the next time, so that whoever dies, it is done once or not
 * yet. As store.h, on a fiber. */
#ifndef CRONS_H
#define CRONS_H

#include "store.h"

#define CRON_NEVER INT64_C(-1) /* it is paused, or over */

struct cron {
	const char *id, *agent;
	const char *
	    assistant; /* whose runs they are (assistants.h): agent is its, as it was; or NULL */
	const char *schedule;
	const char *timezone; /* NULL: UTC */
	const char *thread;   /* NULL: each run has one of its own, named like it */
	int64_t end_ms;       /* not due later; 0: for ever */
	bool is_paused;
	bool keeps; /* threads of their own, which otherwise go an hour after the run */
	const struct value *metadata; /* a map; NULL: none */
	/* Its runs as entries of the inbox without `run` and `thread`: {name: text}; NULL where it was not read. */
	const struct value *entry;
	const struct value
	    *given; /* what takes the place of that when it is fired, or NULL */

	/* What the store knows besides. */
	uint64_t version; /* 1, and one more with each change */
	int64_t next_ms;  /* when it is due, or CRON_NEVER */
	int64_t created_ms, updated_ms;
	int64_t last_ms;      /* for when it was fired last; 0: never */
	const char *last_run; /* or NULL */
	const char *error;    /* what was known to be wrong then, or NULL */
};

/* --- pure ----------------------------------------------------------------------------- */

/* Whether id may be a cron's: a run's id, and not too long. */
bool cron_is_id(const char *id);
#define CRON_ID_RULE                                                                     \
	"a cron's id must be 1 to %u printable ASCII characters without spaces and "     \
	"without {}*?[]\\, and must not end in a colon and a small letter"

/* When a cron is due first behind after_ms, by its schedule, zone and end; CRON_NEVER: it is over, or paused. Returns
 * 0, or -1 with what is wrong with it in arena. */
int cron_next(struct arena *arena, const struct cron *cron, int64_t after_ms,
    int64_t *next_r, const char **error_r);

/* The id of the run for that time: "nightly-20300131T030000Z". */
const char *cron_run_id(struct arena *arena, const char *id, int64_t at_ms);

/* What cron's runs are submitted with, of fields of an entry of the inbox: its id is in their metadata, and of threads
 * of their own is said that they go, if nothing else is. */
const struct value *cron_entry(
    struct arena *arena, const struct cron *cron, const struct value *fields);

/* Why each of its runs would be refused, with the place ("input: ..."), in arena; NULL: none is for what the cron says. */
const char *cron_wrong(struct arena *arena, const struct cron *cron);

/* The thread of its last run, or NULL. */
const char *cron_last_thread(const struct cron *cron);

/* --- steps ---------------------------------------------------------------------------- */

/* The time by which crons are due: Redis's, ms. */
enum store_status crons_now(struct store *store, struct arena *arena, int64_t *now_r);

/* Keeps a new one, due at cron->next_ms. STORE_KNOWN: there is one of that id; STORE_REJECTED: the shard has as many
 * as it may, or as many of the tenant's. */
enum store_status crons_create(
    struct store *store, struct arena *arena, const struct cron *cron);

/* Changes cron->id to what cron is now, if it has cron->version still: else STORE_STALE, and it is to be read again. entry
 * NULL: that stays. moves: its next time, too, which else may be another one meanwhile. STORE_NONE: it is gone. */
enum store_status crons_change(
    struct store *store, struct arena *arena, const struct cron *cron, bool moves);

/* STORE_NONE: there is none; where an answer was lost, that is STORE_OK as well. What it has begun goes on. */
enum store_status crons_delete(struct store *store, struct arena *arena, const char *id);

/* One with its entry. STORE_NONE. */
enum store_status crons_read(
    struct store *store, struct arena *arena, const char *id, struct cron *cron_r);

struct cron_list {
	struct cron *items; /* without their entries */
	size_t count;
	int64_t now_ms;
};
struct cron_wish {
	/* cron lives until it returns; NULL: all are. */
	bool (*is_wanted)(const struct cron *cron, const void *arg);
	const void *arg;
	bool spares_metadata; /* those found have none, is_wanted has seen it */
};
/* Of all of the fleet those that are wanted, by id. Holds what else there is of one shard at a time. */
enum store_status crons_find(struct store *store, struct arena *arena,
    const struct cron_wish *wish, struct cron_list *list_r);
/* Those of a shard that are due, who has been for longest first, at most limit. What cannot be read is told by its id
 * alone, agent NULL; a time that cannot, as CRON_NEVER. */
enum store_status crons_due(struct store *store, struct arena *arena, unsigned shard,
    unsigned limit, struct cron_list *list_r);

/* Submits run for cron, which is as crons_due gave it, and has it due next at next_ms. error: what is known to be
 * wrong with the run, or NULL. STORE_STALE: somebody else has done that, it was changed, or next_ms is over; STORE_REJECTED: what it
 * submits cannot be read, ever; STORE_DAMAGED: a key that it needs is of a wrong type. */
enum store_status crons_fire(struct store *store, struct arena *arena,
    const struct cron *cron, const char *run, int64_t next_ms, const char *error);
/* Puts off what cannot be fired, and says why; if it is due then still, as crons_fire. */
enum store_status crons_put_off(struct store *store, struct arena *arena,
    const struct cron *cron, int64_t next_ms, const char *error);
/* Puts away what cannot even be read, or is in that shard and does not belong there: it is not due any more. Else it
 * would be in the others' way. */
enum store_status crons_put_away(
    struct store *store, struct arena *arena, unsigned shard, const char *id);

#endif
