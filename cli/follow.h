/* follow: reads a run's event log from its beginning to its end, waiting for what comes.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "session.h"

struct follow_options {
	bool quiet;  /* say nothing on the way */
	bool json;   /* one line of JSON an event, with its messages */
	bool tokens; /* show tokens from the status channel as they come */
};

/* Follows run on thread until it has ended. Returns the exit status for how it ended,
 * with the final event in session's memory; STATUS_FAILED when interrupted by Ctrl-C. */
int follow_run(struct session *session, const char *thread, const char *run,
    const struct follow_options *options, const struct value **last_r);

/* The exit status for a run's status word ("success", "error", "refused", ...). */
int follow_exit(const char *status);

#endif
