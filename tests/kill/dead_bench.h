/* dead_bench: a fleet whose coordinators are taken down, by a run or by us, with one that waits for a long call. For
 * test_dead.c and test_suspects.c. */
#ifndef DEAD_BENCH_H
#define DEAD_BENCH_H

#include "fleet_client.h"
#include "fleet_kit.h"

#define DEAD_WAIT_MS 60000u
#define DEAD_OWNERS 5 /* that a run may take down */
/* Attempts of one that rests, however many there were (coordinator/suspects.h). */
#define DEAD_PROVED 2

/* For the middleware of `clerk`. */
#define DEAD_BEFORE "takes_down"

struct trouble {
	struct fleet_kit *kit;
	struct fleet_client *client;
	struct arena *arena;
	const char *plugin,
	    *let_go;  /* a file that lets the tools `hold` and `hold_any` go */
	bool forgets; /* nobody keeps an answer: it comes late, to each owner */
};

/* A fleet with the agents `clerk`, which has that middleware; `patient`, which calls `hold`; and `quick`. */
struct trouble trouble_new(const char *middleware);
void trouble_end(struct trouble *trouble);

/* On the fiber of trouble->client. A run and its thread have one name. */
void trouble_submit(struct trouble *trouble, const char *agent, const char *name);
const struct value *dead_record(
    const struct trouble *trouble, const char *thread, const char *run);
/* Of the claim that the thread has had last; "": none. */
const char *dead_epoch(const struct trouble *trouble, const char *thread);

/* For client_wait. trouble: p, a `patient`, has called its tool. */
bool trouble_calls(void *arg);

struct claim_wait {
	struct trouble *trouble;
	const char *epoch; /* of the owner before */
};
/* Another owner has p, and it rests. */
bool trouble_rests(void *arg);

#endif
