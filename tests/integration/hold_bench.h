/* hold_bench: a fleet whose tool `hold` stops while the test wants it to, so that its coordinator dies
 * exactly then. */
#ifndef HOLD_BENCH_H
#define HOLD_BENCH_H

#include "cli.h"
#include "fleet_kit.h"

struct hold_bench {
	struct arena *arena;
	struct fleet_kit *kit;
	struct cli flotilla;
	const char *ledger; /* a line for each run of the tool */
	const char *held;   /* the tool waits while there is this file */
};
extern struct hold_bench hold;

/* For fixtures: one process of each kind, with these agents. */
void hold_begin(const char *agents);
void hold_end(void);

#define HOLD_FLOTILLA(...)                                                               \
	CLI(&hold.flotilla, __VA_ARGS__, "--redis", kit_redis(hold.kit))

/* A run r1 of agent on thread t, whose owner dies while the tool runs, and another takes it over:
 * returns when it has ended, with success. */
void hold_take_over(const char *agent);

/* How often the tool was run. */
unsigned hold_runs(void);

/* The thread's messages, and "human ai tool ai", their types. */
const struct value *hold_messages(const char *thread);
const char *hold_types(const char *thread);

#endif
