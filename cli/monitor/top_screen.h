/* top_screen: one look at the fleet as lines for people. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <stdio.h>

#include "value.h"

struct top_broker {
	const char *endpoint;
	const struct value *tables; /* NULL: it does not answer */
};

struct top_look {
	struct arena *arena;
	const struct value *tables; /* of all brokers; NULL: none answered */
	const struct top_broker *brokers;
	size_t broker_count;
	const struct value *counts; /* Redis's; NULL: it does not answer */
	const char *redis_trouble;  /* then: why */
	uint64_t at_ms;
	/* What was counted of times some while before (top_times.h); NULL: nothing is known of then. */
	const struct value *since;
};

/* Writes the screen, no line wider than width columns, no more than rows lines. before: the
 * look before this one, for rates; its tables may be NULL. */
void top_screen_print(FILE *out, const struct top_look *now,
    const struct top_look *before, size_t width, size_t rows);

#endif
