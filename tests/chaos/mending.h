/* mending: a user whose run has failed of one call of a round of tools goes on behind that, as often as it fails: as
 * `flotilla retry` does, by the inbox, or over HTTP. What he is asked meanwhile he answers. */
#ifndef MENDING_H
#define MENDING_H

#include "load.h"

#define MENDING_RUNS_MAX 12u

struct mending {
	const char *runs[MENDING_RUNS_MAX]; /* behind the first one, in their order */
	unsigned count;
	unsigned failures;
	/* From that run on, 0 the first one, a call had ended: what its thread said when the one before it had failed. 0: it had not. */
	unsigned kept[SORT_CALLS_MAX];
	const char *odd; /* the first thing that was not as it must be, or NULL */
	struct client_run *told[MENDING_RUNS_MAX]; /* of those that were begun by HTTP */
};

/* On a fiber. Returns when run, or the last one that went on behind it, has ended otherwise: run->mending says what came of it. */
void mending_give(struct load *load, struct load_run *run);
void mending_release(struct load_run *run);

#endif
