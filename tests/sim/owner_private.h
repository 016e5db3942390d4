/* owner_private: between owner.c, owner_commit.c and owner_calls.c. */
#ifndef OWNER_PRIVATE_H
#define OWNER_PRIVATE_H

#include "world.h"

/* Redis says that the run is not ours, or not as we believe: FENCED, STALE. */
#define REFUSED(reply) ((reply)->count > 0 && strcmp((reply)->items[0].text, "OK") != 0)

static inline struct world *
world_of(const struct held_run *run)
{
	return run->coordinator->peer.process.world;
}

static inline const char *
owner_name(const struct held_run *run)
{
	return run->coordinator->peer.process.session;
}

static inline struct thread_fact *
thread_of(const struct held_run *run)
{
	return &world_of(run)->threads[run->thread];
}

static inline void
tell_ledger(struct held_run *run, enum ledger_event_type type, const char *id)
{
	coordinator_feed(
	    run->coordinator, &(struct ledger_event){ .type = type, .id = id });
}

static inline bool
must_stop(const struct held_run *run)
{
	return run->cancel_wanted || run->releasing;
}

/* Requests name the claim they are of: later ones do not get their answers. */
static inline void
ask(struct held_run *run, const char *function, const char *const *args, size_t count,
    redis_answer_fn *answer, void *arg)
{
	redis_send(run->coordinator, function, args, count, answer, arg)->arg_life =
	    run->life;
}

/* --- owner.c --- */

/* The run is not here any more; claims the next of its thread, when there is more or may be. */
void owner_leave(struct held_run *run, bool more);
/* It is somebody else's. */
void owner_drop(struct held_run *run);
/* What must_stop() asks for, or, when it asks for nothing, owner_drop(). */
void owner_stop(struct held_run *run);
/* Commits its end once its cancelled calls have ended. */
void owner_leave_calls(struct held_run *run);
void owner_commit_end(struct held_run *run, const char *status);
/* Something has come that it waited for. */
void owner_go_on(struct held_run *run);
/* To the next superstep, or to the end. */
void owner_advance(struct held_run *run);

/* --- owner_commit.c --- */

void owner_commit(struct held_run *run);

/* --- owner_calls.c --- */

/* Begins the calls of the next superstep; from there owner_advance() or owner_stop() goes on. */
void owner_call(struct held_run *run);

#endif
