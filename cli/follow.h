/* follow: reads a run's event log from its beginning to its end, waiting for what comes, and for Redis, a minute,
 * where it goes away meanwhile. A run that is not there any more is not waited for. */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "session.h"

struct follow_options {
	bool quiet;  /* say nothing on the way */
	bool json;   /* one line of JSON an event, with its messages */
	bool tokens; /* show tokens from the status channel as they come */
};

struct follow;

/* Listens to the tokens of run on thread, from now on: before it is submitted, so that its first words are not missed.
 * Returns new, or NULL when Redis is not there, which has been said. Keeps thread and run. */
struct follow *follow_new(struct session *session, const char *thread, const char *run,
    const struct follow_options *options);
void follow_destroy(struct follow **follow_p);
/* The run is made of that entry of the inbox, which is kept: where both are gone it is waited for no more. */
void follow_expect(struct follow *follow, const char *entry);
/* Takes *follow_p, and follows until the run has ended; returns as follow_run. */
int follow_end(struct follow **follow_p, const struct value **last_r);

/* Both. Returns the exit status for how it ended,
 * with the final event in session's memory; STATUS_FAILED when interrupted by Ctrl-C. */
int follow_run(struct session *session, const char *thread, const char *run,
    const struct follow_options *options, const struct value **last_r);

/* The exit status for a run's status word ("success", "error", "refused", ...). */
int follow_exit(const char *status);

#endif
