/* thread_walk: a thread's runs, one after the other, for as long as somebody watches them. */
#ifndef THREAD_WALK_H
#define THREAD_WALK_H

#include "api.h"
#include "bounds.h"

struct thread_walk {
	struct call *call;
	const char *thread;
	uint64_t number; /* of the run that is next, among those that are not forgotten */
	uint64_t count;  /* how many there were */
	uint64_t cut;    /* how many pruning had taken in front of them */
	char last
	    [RUN_ID_BYTES_MAX +
		1]; /* the run before that, if it was seen: the list may be cut in front */
};

/* Redis has not said, or there was no room for it (room.h). What it lacks is passed over. */
bool thread_walk_is_away(enum store_status status);

/* Puts the walk before the run that goes on, else the first that waits, else behind the last. Those that ended or were refused behind
 * it come after it. Returns STORE_OK, or that Redis is away. */
enum store_status thread_walk_begin(struct thread_walk *walk);

/* Puts it before the run of that number, counted with those that pruning took, or before the first that it has left behind that one. STORE_NONE: there are
 * fewer, and the thread was made again. */
enum store_status thread_walk_seek(struct thread_walk *walk, uint64_t number);

/* Puts it before run. STORE_NONE: there is no such run among the newest thousand. */
enum store_status thread_walk_find(struct thread_walk *walk, const char *run);

/* Returns 1: *run_r, in arena, is next; 0: it was waited for, for a second at most, or there may be one behind; -1: the fiber was cancelled, or Redis
 * is gone. Where the last that was seen is gone (pruned, or the thread was made again), all that are there are new. */
int thread_walk_next(struct thread_walk *walk, struct arena *arena, const char **run_r);
/* Returns 1: *record_r, in arena, is the run's, as of store_run_brief; 0: it has gone, or is delayed, and others go ahead of it; -1: Redis is gone. */
int thread_walk_read(struct thread_walk *walk, struct arena *arena, const char *run,
    const struct value **record_r);
/* That one was seen. */
void thread_walk_step(struct thread_walk *walk, const char *run);

/* A run has begun on thread: whoever waits for that here is told. */
void thread_walk_tell(struct api *api, const char *thread);

#endif
