/* load: a user who submits runs at a steady rate through a network that fails, and what that
 * user knows: which submissions were acknowledged, which cancels.
 *
 * An outcome that is unknown is asked for again under the same run id until Redis answers. */
#ifndef LOAD_H
#define LOAD_H

#include "client.h"
#include "fleet.h"
#include "random.h"
#include "redis.h"
#include "sorts.h"
#include "store.h"

struct load_run {
	const char *id, *thread; /* id: of one that is begun by HTTP only from then on */
	struct load *load;
	const char *
	    input; /* what the user says: no other run's. Also what he writes into the field `seen` */
	bool by_command; /* as a command that updates the thread and goes to the model */
	struct client_run *told;       /* of one that is begun by HTTP; else NULL */
	const struct load_run *before; /* of its thread, or NULL */
	const struct sort *sort;
	unsigned turn; /* of its thread, as submitted */
	unsigned
	    version_at_least; /* of an agent that changes: the one when it was submitted */
	unsigned tries;       /* submissions; all but the last had no known outcome */
	bool acknowledged;
	const char *refused;   /* by HTTP, and why: it is nowhere; else NULL */
	const char *multitask; /* what it does to those before it; NULL: it waits */
	const struct load_run
	    *ousted_by;    /* a later run of its thread that does, or NULL */
	bool cancel_asked; /* a cancel went out, heard or not */
	bool cancels_back; /* with it the thread is to be put back */
	/* "CANCELLED", "CANCELLING", "ENDED", or NULL; by HTTP, which does not say all: "CANCELLING", "GONE" or "" */
	const char *cancel_answer;
	const char
	    *last; /* the run it ends with: its own id, or that of the last answer */
	unsigned
	    answers; /* that a human gave: a call's fate was unknown, or he was to decide */
	/* Of one that asks to be decided: what was written with the answer, and the answer by HTTP, begun twice under one key. */
	const char *decision;
	struct client_run *decided[2];
	struct mending *mending; /* of one that fails, from its first end on; else NULL */
	bool erased_when_done, is_erased; /* the run alone, its thread stays */
	bool ended, ended_well;
};

struct load {
	struct fleet *fleet;
	struct arena *arena;
	struct random random;
	struct redis *redis; /* through the proxy */
	struct store *store;
	struct redis *direct_redis;
	struct store *direct; /* past the proxy: for who looks on */
	struct client *client;
	struct lives *lives;
	struct versions *versions;
	uint64_t interval_ms;
	unsigned live_max; /* more threads than this, and it waits */
	struct load_run **runs;
	size_t count, room;
	int64_t live; /* threads that go on, as last seen */
	bool submitting;
	unsigned busy; /* fibers that have something to finish */
};

/* Keeps fleet, which has been started; on a fiber. Connects. */
struct load *load_new(struct fleet *fleet, uint64_t seed, double runs_per_second);
void load_destroy(struct load **load_p);

/* Applies the agents. False, with a reason said, when that fails. */
bool load_prepare(struct load *load);

/* Between the two a fiber submits. load_stop returns when every submission and cancel has its
 * answer, or wait_ms are over: then false. */
void load_begin(struct load *load);
bool load_stop(struct load *load, uint64_t wait_ms);

/* Waits until every run has ended, at most wait_ms; returns how many have not. Runs that ask
 * a human get an answer. */
size_t load_wait_ends(struct load *load, uint64_t wait_ms);

/* What the user says, as the value of "input" or "command". */
const char *load_input(struct arena *arena, const char *input);

#endif
