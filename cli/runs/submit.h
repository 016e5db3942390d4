/* submit: an entry of the inbox, and what to do until its run has ended; for `submit` and
 * `resume`. */
#ifndef SUBMIT_H
#define SUBMIT_H

#include "command.h"
#include "submit_options.h"

struct submit_settings {
	struct common_settings common;
	const char *thread;
	const char *run;
	const char *parent;
	const char *input;
	const char *context;
	const char *multitask;
	const char *ttl, *ttl_action;
	const char **plugins;
	const char *models;
	int64_t checkpoint; /* 0: none */
	bool silent;        /* wait, and say nothing but what went wrong; no flag */
	bool wait;
	bool follow;
	struct submit_options options;
};

/* Adds an entry with the fields (name, text or NULL, ..., NULL), waits or follows as
 * settings say, and prints. */
enum status submit_entry(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields);

/* Adds the entry alone, and says nothing but what went wrong. */
enum status submit_add(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields);

/* The text of a checkpoint's version, or NULL for 0. */
const struct value *submit_version(struct arena *arena, int64_t version);

/* A fresh run id. */
const char *submit_run_id(struct arena *arena);

/* Whether id, given as flag, may name a run or thread; says so on stderr when not. NULL may. */
bool submit_check_id(const char *flag, const char *id);

#endif
