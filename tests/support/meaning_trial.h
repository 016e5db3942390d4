/* meaning_trial: a store trial whose store a searches by meaning, with a model that a test plays. */
#ifndef MEANING_TRIAL_H
#define MEANING_TRIAL_H

#include "store_trial.h"

/* A model that knows two things: how often a text says "tea", and how often "dog". */
extern struct meaning_model {
	const char *model, *fields;
	unsigned calls;
	size_t texts;
	const char *last;        /* text */
	size_t most, most_bytes; /* of one call */
	int size;                /* how many numbers a vector has */
	const char *answer;      /* instead of what is right; "cancelled": none */
	bool is_held;            /* says nothing of an item before it is let go */
	struct arena *arena;
} model;

/* A fixture; trial_close ends it. */
void meaning_open(void);

const struct value *meaning_run_op(const char *op);
void meaning_put(const char *where, const char *key, const char *value);
/* The keys that a search gives, in order. */
const char *meaning_keys_of(const char *more);
void meaning_put_four(void);

#endif
