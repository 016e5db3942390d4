/* nemesis: carries out a schedule on a fleet, and undoes it. */
#ifndef NEMESIS_H
#define NEMESIS_H

#include "fleet.h"
#include "schedule.h"
#include "space.h"

/* Who was killed when: what the times of takeovers are counted from. */
struct death {
	const char *name;
	pid_t pid;
	int64_t at_ms; /* since 1970 */
};

/* While Redis's clock was wrong nothing can be measured by it. */
struct wrong_time {
	int64_t from_ms, to_ms;
};

struct nemesis {
	struct fleet *fleet;
	struct arena *arena;
	const struct space *space; /* NULL: none */
	const char *disk;          /* NULL: none */
	const struct fault *faults;
	size_t count;
	unsigned done[FAULT_KINDS],
	    passed_over[FAULT_KINDS]; /* whoever was down already */
	struct death *deaths;
	size_t death_count, death_room;
	struct wrong_time *wrong_times; /* as many as there are faults, at most */
	size_t wrong_count;
	unsigned busy;
};

/* Returns what there is to hurt; in the fleet's arena. */
void nemesis_targets(struct fleet *fleet, struct schedule_targets *targets_r);

/* Runs the schedule, on a fiber, from its begin to its end; then everything is healed. */
void nemesis_attack(struct nemesis *nemesis);

/* Kills, and remembers it. False: it did not run. */
bool nemesis_kill(struct nemesis *nemesis, struct party *party, uint64_t down_ms);

/* The time of this process's wall clock. */
int64_t nemesis_wall_ms(void);
/* Whether nobody touched Redis's clock between a death and a claim: else the claim's time is not of
 * the clock that the death's is of. */
bool nemesis_clock_was_right(
    const struct nemesis *nemesis, long long from_ms, long long to_ms);

void nemesis_release(struct nemesis *nemesis);

#endif
