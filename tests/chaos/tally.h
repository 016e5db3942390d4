/* tally: the numbered invariants, and how often each was looked at and held. What did not
 * hold is written down, the first of each at length. */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>

#include "fleet.h"

enum invariant {
#define INVARIANT(NAME, number, text) HOLDS_##NAME,
#include "invariants.def"
#undef INVARIANT
	INVARIANTS,
};

struct tally {
	struct fleet *fleet;
	unsigned long held[INVARIANTS], broken[INVARIANTS];
};

/* Counts one look at an invariant; returns whether it held. format says what was wrong. */
bool tally(struct tally *tally, enum invariant invariant, bool holds, const char *format,
    ...) __attribute__((format(printf, 4, 5)));

unsigned tally_number(enum invariant invariant); /* as in docs/reliability.md; 0: none */
const char *tally_text(enum invariant invariant);
unsigned long tally_broken(const struct tally *tally);

#endif
