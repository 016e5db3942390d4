/* submit: an entry of the inbox, and what to do until its run has ended; for `submit` and
 * `resume`. */
#ifndef SUBMIT_H
#define SUBMIT_H

#include "command.h"

struct submit_settings {
	struct common_settings common;
	const char *thread;
	const char *run;
	const char *input;
	const char *context;
	bool wait;
	bool follow;
};

/* Adds an entry with the fields (name, text or NULL, ..., NULL), waits or follows as
 * settings say, and prints. */
enum status submit_entry(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields);

/* A fresh run id. */
const char *submit_run_id(struct arena *arena);

#endif
