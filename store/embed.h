/* embed: texts to vectors, by a model.
 *
 * Coordinators that were given a model (--embed) have a model worker do it. Everybody else asks one of
 * them through Redis (docs/redis.md, `fl:embed`). */
#ifndef EMBED_H
#define EMBED_H

#include "store.h"

/* Texts become vectors (proto/vector.h) of model, or of the usual one where that is NULL. Returns in arena {model,
 * fields: [name], vectors: [vector]}, a vector for each text in its order, or {fault}; NULL when the fiber was
 * cancelled. fields: what of a value is looked at; none: all. texts: EMBEDDED_TEXTS_MAX at most. */
typedef const struct value *embed_fn(
    void *arg, struct arena *arena, const char *model, const struct value *texts);

/* Returns {fault}, for an embed_fn. */
const struct value *embed_refused(
    struct arena *arena, const char *type, const char *reason, bool retryable);

/* From now on this process does it so. */
void store_embed_with(struct store *store, embed_fn *embed, void *arg);

/* Ends what is being made of items' vectors, also of those that nobody waits for; the loop must run until
 * its fibers have ended. */
void store_embed_stop(struct store *store);

/* An embed_fn, but for the store. */
const struct value *store_embed(struct store *store, struct arena *arena,
    const char *model, const struct value *texts);

/* --- for who does it for others ----------------------------------------------------------------------- */

#define STORE_EMBED "fl:embed"
#define STORE_EMBED_BEAT_MS 1000u /* store_embed_beat at least so often */

/* Says that somebody does, and is at these still: ids, an array. */
enum store_status store_embed_beat(
    struct store *store, struct arena *arena, const struct value *ids);

/* What was asked for. model: NULL for the usual one. */
struct embed_asked {
	const char *id, *model;
	const struct value *texts;
};

/* Reads an entry of the list STORE_EMBED. Returns 0, or -1: it is damaged. */
int store_embed_read(
    struct arena *arena, const struct value *entry, struct embed_asked *asked_r);

/* Begins with it: no other does while store_embed_beat has its id. STORE_NONE: nobody waits for it any more, or somebody
 * is at it. */
enum store_status store_embed_take(
    struct store *store, struct arena *arena, const char *id);

/* Gives entry back for another to take; within wait_ms. */
void store_embed_return(struct store *store, struct arena *arena,
    const struct value *entry, const char *id, uint64_t wait_ms);

/* Gives what embed_fn returns to who waits. */
enum store_status store_embed_answer(
    struct store *store, struct arena *arena, const char *id, const struct value *answer);

#endif
