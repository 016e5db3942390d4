/* facts: what a seed means, and what is known of its runs and calls while it is played: what the
 * checker holds the fleet to. Part of world.h. */
#ifndef FACTS_H
#define FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"

#define BROKERS 3u
#define WORKERS 3u
#define COORDINATORS 3u
#define THREADS 2u
#define RUNS 4u
#define ROUNDS 3u /* model and tools, at most so often; then a last model call */
#define STEPS (2 * ROUNDS + 2) /* 0 is not used */
#define CALLS 3u               /* of one superstep */
#define FAULTS 12u

struct world;

/* --- tasks: what happens at some time -------------------------------------------------- */

struct task {
	struct heap_node node;
	void (*run)(struct task *task);
	void *arg;
};

/* --- what is known of runs and calls: the checker's --------------------------------------- */

struct call_fact {
	char id[40];
	struct run_fact *run;
	unsigned step, index;
	bool once, poison;
	bool pinned;  /* it is for one worker alone: */
	char pin[48]; /* that one's service, once it was sent */
	bool asked;   /* somebody has sent it, */
	bool was_new; /* and as what nobody has sent before */
	unsigned executions, effects, kills;
	unsigned good;   /* executions that came to their end */
	bool stored;     /* its outcome is in Redis */
	bool was_stored; /* it is, or was in one that a failover has replaced */
	bool given_up;   /* and that is that it is uncertain */
	bool failed;     /* it was delivered with a code that is not OK */
	unsigned value;  /* of what is stored */
	struct sent_fact {
		unsigned life; /* of a broker, that has sent it, */
		uint64_t attempt;
	} sent[BROKERS];
};

#define BLAME_TAKEN 32u

/* Of a run since its last progress. check_blame.c's. */
struct blame_fact {
	unsigned
	    claims; /* that count: releases, rests, and those lost by who lives, taken off */
	unsigned number;             /* of the present claim */
	bool rests;                  /* that was taken off */
	uint64_t taken[BLAME_TAKEN]; /* epochs of claims that counted when another came */
	unsigned taken_count, lost;  /* of them, to be taken off by the next claim */
	unsigned slow;
	uint64_t held_ms, held_until_ms; /* 0: nobody holds it */
};

struct run_fact {
	struct world *world;
	char id[16];
	unsigned index, thread;
	unsigned rounds, tools[ROUNDS];
	struct call_fact calls[STEPS][CALLS];
	bool submitted; /* the entry is in the inbox: the client has its answer */
	bool inbox;     /* it is still there */
	bool known, cancel_asked, over;
	bool was_cancelled, was_over; /* also in a Redis that a failover has replaced */
	uint64_t read_ms; /* when a coordinator read the entry last; 0: never */
	uint64_t submit_ms, cancel_ms;
	uint64_t cancel_epoch; /* whose owner has committed once after the cancel */
	struct blame_fact blame;
	unsigned next_step; /* to be committed */
	const char *floor;  /* of its last claim, with the owner the claim's ticket */
	bool
	    unsaid; /* an owner of next_step is gone and nobody can know what it has sent */
	struct task submit, cancel;
};

#define CLAIMS 256u

struct thread_fact {
	char id[16];
	char key[40];
	uint64_t epochs[CLAIMS]; /* of all claims */
	const char *owners[CLAIMS];
	bool heard[CLAIMS]; /* the answer has come */
	unsigned claim_count;
	/* Of the last one; owner NULL: released, or the run ended. */
	uint64_t epoch;
	const char *owner;
	uint64_t version;
	size_t messages;
	const char *last_commit, *last_end; /* what `look` was behind it */
};

/* --- the plan ----------------------------------------------------------------------------- */

enum fault_type {
#define FAULT(name, text) FAULT_##name,
#include "sim_faults.def"
#undef FAULT
	FAULT_TYPES,
};

struct fault_text {
	const char *name, *text;
};
extern const struct fault_text fault_texts[]; /* by type */

struct fault {
	struct world *world;
	enum fault_type type;
	unsigned target, other;
	uint64_t at_ms, lasting_ms;
	bool skipped; /* while shrinking */
	bool copied;  /* FAILOVER: the replica has its copy */
	struct task task;
};

struct plan {
	unsigned brokers, workers, coordinators, threads, runs;
	uint64_t latency_ms, heartbeat_ms, heal_ms, deadline_ms;
	uint64_t work_ms; /* a call's time at its worker, at most */
	unsigned slow_percent;
	unsigned slots;
	bool shared_services; /* every worker serves everything */
	bool gathers;         /* acknowledgements wait for others */
	uint64_t ack_wait_ms; /* how long: 0: for the end of a turn */
	struct fault faults[FAULTS];
	unsigned fault_count;
};

#endif
