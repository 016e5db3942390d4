/* storm: 50 runs in flight on a real fleet, something that goes wrong meanwhile, and what
 * must hold afterwards whatever it was (verdict.h). */
#ifndef STORM_H
#define STORM_H

#include "fleet_client.h"
#include "fleet_kit.h"

#define STORM_RUNS 50u
/* How long anything is waited for before the test has failed; nothing is measured by it. */
#define STORM_WAIT_MS 60000u

struct storm {
	struct fleet_kit *kit;
	struct fleet_client *client;
	struct arena *arena;
	const struct storm_plan *plan;
	unsigned
	    runs; /* submitted so far: their ids are r1, r2, ..., on threads t1, ... */
	const char *prefix; /* of the runs looked at, ids and all; NULL: "r" */
	const char
	    *ledger; /* file: a line "call-id worker-pid" for each start of a tool */
	struct value_list
	    told; /* ids of calls whose fate the model was told to be unknown */
};

struct storm_plan {
	unsigned tools, models, coordinators; /* how many processes */
	unsigned brokers;                     /* 0: one */
	unsigned first_ms; /* how long the first model call takes; 0: not long */
	bool once_tools; /* the tools are not idempotent: a lost call ends as an error */
	bool each_once; /* no worker or broker dies: no call starts twice, none is lost */
	bool unsent;    /* but those that a coordinator was to send when it was killed */
	bool hub;       /* the broker is one: coordinators come from outside, if at all */
	bool replica;   /* Redis has one, which gets all that it gets */
	bool everysec;  /* Redis' appendfsync; else always */
	const char *coordinator_flag, *coordinator_value; /* one more, or NULL */
	bool brokers_empty; /* no coordinator dies: at the end no broker knows a call */
	bool
	    everything; /* the agent has every built-in middleware (tests/support/everything.h):
			    what comes out is the same */
	/* What goes wrong. All runs are in flight when it begins. */
	void (*happen)(struct storm *storm);
};

/* Starts the fleet, submits the runs, lets it happen, waits for the ends, checks, stops the
 * fleet: each process must end with status 0. */
void storm_play(const struct storm_plan *plan);

const char *storm_run(struct storm *storm, unsigned number);
const char *storm_thread(struct storm *storm, unsigned number);
/* How many events a run has got so far. */
int64_t storm_events(struct storm *storm, unsigned number);

/* --- for what happens ------------------------------------------------------------------- */

/* Waits until the runs have got that far: per cent of all the events of their logs. */
void storm_wait(struct storm *storm, unsigned per_cent);

/* Submits count runs more; they are checked like the others. */
void storm_submit(struct storm *storm, unsigned count);

/* SIGKILL, and at once another of its name. */
void storm_replace(struct storm *storm, enum kit_kind kind, unsigned index);

/* SIGTERM, its end in good order, and then another of its name. */
void storm_roll(struct storm *storm, enum kit_kind kind, unsigned index);

/* Waits until a tool runs at worker index. */
void storm_wait_tool(struct storm *storm, unsigned index);

/* How many runs another coordinator has gone on with than began them. */
unsigned storm_moved(struct storm *storm);

/* The coordinator that has begun most of the runs that go on: there is one. */
unsigned storm_busiest(struct storm *storm);
/* The same of all that have begun, for runs that may have ended, or come to a question, before all were looked at. */
unsigned storm_beginner(struct storm *storm);

/* What the coordinator signs its leases with; it has begun a run. */
const char *storm_owner(struct storm *storm, unsigned index);

/* Waits until owner holds no run any more. */
void storm_wait_taken(struct storm *storm, const char *owner);

#endif
