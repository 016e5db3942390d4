/* cron_command: what the verbs of `flotilla crons` share. */
#ifndef CRON_COMMAND_H
#define CRON_COMMAND_H

#include "crons.h"
#include "submit.h"

struct crons_settings {
	struct submit_settings submit; /* what its runs are to do */
	const char *id, *schedule, *timezone, *end;
	bool keep;
	bool paused;
};

/* Makes one of AGENT [TEXT...] and the flags. */
enum status crons_make(struct session *session, const struct crons_settings *settings,
    const char *const *rest);

/* Why a step on the cron of that id failed, on stderr; returns the exit status for it. */
enum status crons_failed(
    struct session *session, enum store_status status, const char *id);

/* One as a line below the titles of its columns, or with --json as a document, with its entry if that was read. */
void crons_print_one(struct session *session, const struct cron *cron);

#endif
