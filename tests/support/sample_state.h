/* sample_state: states and supersteps written as text in tests (JSON as for literal). */
#ifndef SAMPLE_STATE_H
#define SAMPLE_STATE_H

#include <check.h>
#include <string.h>

#include "state.h"

/* Returns new: the state of an agent with these fields, YAML, the text of `state`. */
struct state *sample_state(struct arena *arena, const char *fields);

/* Begins a run with the ids "r1-0-<n>"; input NULL: none. It must not fail. */
void sample_begin(struct state *state, struct arena *arena, const char *input);

/* Applies one superstep of up to three writers "A", "B" and "C", each an update or NULL.
 * Returns the error, or NULL. */
const char *sample_step(struct state *state, struct arena *arena, const char *a,
    const char *b, const char *c);

/* Redis as far as a thread is concerned. */
struct sample_stored {
	const struct value *messages; /* by number */
	const struct value *order, *fields;
};

/* Commits state's changes there; what it says of them must fit what is stored. */
void sample_commit(
    struct state *state, struct arena *arena, struct sample_stored *stored);

/* sample_step in a test that has `state` and `arena`: it must not fail. */
#define ck_assert_step(a, b, c)                                                          \
	do {                                                                             \
		const char *step_error = sample_step(state, arena, a, b, c);             \
		ck_assert_msg(step_error == NULL, "%s", step_error);                     \
	} while (0)

#define ck_assert_says(error, words)                                                     \
	ck_assert_msg(                                                                   \
	    error != NULL && strstr(error, words) != NULL, "\"%s\": %s", words, error)

#endif
