/* versions: an agent that is applied again and again while its runs go on, each time another one: its texts end with a number. A run keeps
 * the version that was current when it was submitted (21). */
#ifndef VERSIONS_H
#define VERSIONS_H

#include "load.h"
#include "tally.h"

struct versions;

/* Keeps load. */
struct versions *versions_new(struct load *load);
void versions_destroy(struct versions **versions_p);

/* On a fiber. Applies the first one. False when that fails. */
bool versions_prepare(struct versions *versions);
/* Others are applied while load->submitting. */
void versions_begin(struct versions *versions);

/* The newest one that is known to be applied. */
unsigned versions_current(const struct versions *versions);
/* How many there were. */
unsigned versions_count(const struct versions *versions);

/* What a run said: its thread's messages, its own from one on to another; and its record. */
struct versions_said {
	const struct value *record, *messages;
	size_t from, end;
};
/* That all of it is of one version: one that was current behind its submission. *before_p: that of the run before it on the
 * thread, or 0; becomes this one's. */
void versions_check(const struct versions *versions, struct tally *t,
    const struct load_run *run, const struct versions_said *said, unsigned *before_p);

#endif
