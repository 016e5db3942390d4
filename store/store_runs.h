/* store_runs: the runs of a thread that are not forgotten, as lists show them. As store.h, on a fiber. */
#ifndef STORE_RUNS_H
#define STORE_RUNS_H

#include "store.h"

/* Deletes a run that has ended, and leaves its thread as it is. *answer_r: "FORGOTTEN"; "BUSY": it has not ended; "TELLS": its end is
 * still to be told to a webhook, or to children; "CHILD": a tool's call of another run is waiting for it, or was; "UNKNOWN". */
enum store_status store_forget_run(struct store *store, struct arena *arena,
    const char *thread, const char *run, const char **answer_r);

/* A thread's runs, newest first, without the first offset of them, at most limit: records as of store_run. */
enum store_status store_thread_runs(struct store *store, struct arena *arena,
    const char *thread, size_t offset, size_t limit, const struct value **runs_r);
/* The ids of these alone, as Redis answers them, bytes: the oldest first. */
enum store_status store_newest_runs(struct store *store, struct arena *arena,
    const char *thread, size_t offset, size_t limit, const struct value **runs_r);
/* As store_run, but of what is shown of runs alone, without what the run was given and what came of it, which may be large:
 * run, thread, agent, status, created, started, ended, fault, metadata, multitask, events, fingerprint,
 * assistant, rolled_back. */
enum store_status store_run_brief(struct store *store, struct arena *arena,
    const char *thread, const char *run, const struct value **record_r);
/* The ids of the thread's runs in the order of their submission, from the one of number first on, at most limit. */
struct store_run_ids {
	const struct value *runs; /* [run], "" for one that was deleted alone */
	uint64_t
	    count;    /* how many there are; those that pruning took are not among them */
	uint64_t cut; /* how many it took in front of them */
};
enum store_status store_run_ids(struct store *store, struct arena *arena,
    const char *thread, uint64_t first, size_t limit, struct store_run_ids *ids_r);

#endif
