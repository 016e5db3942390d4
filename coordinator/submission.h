/* submission: one entry of the inbox, checked.
 *
 * An entry is what any client XADDs: fields of text. Pure: no Redis here. docs/submit.md.
 */
#ifndef SUBMISSION_H
#define SUBMISSION_H

#include "value.h"

struct submission {
	const char *agent;
	const char *run;           /* given, or made from the entry's id */
	const char *thread;        /* given, or the run's id */
	const struct value *input; /* {messages, field: value}; NULL for a resume */
	const struct value
	    *options;      /* {context?, stream?, resume?, tenant?, priority?} */
	const char *error; /* set when it is refused: the reason, with its place */
};

/* Reads entry (id and [name, text, ...] as Redis gives them) into *submission_r,
 * everything in arena. run and thread are usable even when it is refused. */
void submission_read(struct arena *arena, const char *id, const struct value *fields,
    struct submission *submission_r);

#endif
