/* tally: what models have answered and used, by model, and how long runs took, by how they ended, told to Redis once a second
 * (fl:tokens, fl:times: store_fleet.h) for `flotilla metrics`. An answer counts when it has come, whatever becomes of it: what
 * providers bill. Nothing
 * waits for it, and no run fails of it. Each is there at most once: what a process that is killed has not told
 * yet is missing, a second of it while Redis is well, and so is a count that was lost on its way. What Redis refuses
 * is told later. */
#ifndef TALLY_H
#define TALLY_H

#include "loop.h"
#include "store.h"

struct tally;

/* Lends the store. */
struct tally *tally_new(struct loop *loop, struct store *store);

/* Counts an answer of model ("provider:name"; NULL: nothing is counted); usage: its usage_metadata, NULL or empty: its
 * provider does not tell. What is no number, or more than an answer can have used, is not counted. Models beyond
 * TALLY_MODELS_MAX, and names longer than a service's, are counted together, as "other". */
void tally_answer(struct tally *tally, const char *model, const struct value *usage);

/* Counts the model calls that a RESULT's body tells of (docs/protocol.md): those of its `usage`, or else the
 * one of its answer, by model; NULL: a tool's, which has no answer of a model. */
void tally_result(struct tally *tally, const char *model, const struct value *body);

/* Counts a run that has ended with status ("success"; one of which the store knows nothing is not told), ms after it was
 * submitted, or was to start. */
void tally_run(struct tally *tally, const char *status, uint64_t ms);

/* Tells the rest, and ends the fiber; the loop must run until it has. */
void tally_stop(struct tally *tally);
void tally_destroy(struct tally **tally_p);

#endif
