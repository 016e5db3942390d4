/* submission: one entry of the inbox, checked.
 *
 * An entry is what any client XADDs: fields of text. Pure: no Redis here. docs/submit.md. Coordinators refuse what is wrong with
 * one; who keeps entries for later, crons.h, asks before.
 */
#ifndef SUBMISSION_H
#define SUBMISSION_H

#include "run_options.h"
#include "value.h"

struct submission {
	const char *agent;
	const char *run;       /* given, or made from the entry's id */
	const char *thread;    /* given, or the run's id */
	const char *parent;    /* the run it belongs to, or NULL */
	const char *multitask; /* what becomes of the thread's other runs; or NULL */
	const struct value
	    *input; /* {messages, field: value}; NULL: resume, command or replay */
	const struct value *options; /* {context?, stream?, resume?, checkpoint?,
				       recursion_limit?, max_concurrency?, update? as?, copy_of?, command?} */
	struct run_options more;     /* when, how urgent, ... */
	const char *ttl; /* of its thread, "ms action", as fl_submit takes it; or NULL */
	const char *error; /* set when it is refused: the reason, with its place */
};

/* "delete" or "keep_latest". */
bool submission_is_ttl_action(const char *text);

/* Reads entry (id and a map of name to VALUE_BIN or VALUE_STR) into *submission_r,
 * everything in arena. run and thread are usable even when it is refused. */
void submission_read(struct arena *arena, const char *id, const struct value *fields,
    struct submission *submission_r);

#endif
