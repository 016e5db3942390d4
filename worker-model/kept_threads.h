/* kept_threads: messages that were decoded for an earlier call, kept by their digest, so that the next
 * call on their thread brings only what is new (docs/protocol.md, "A thread that is known").
 *
 * What is kept is exactly what came over the wire, and its digest is computed here: two threads
 * with equal messages share one entry, whoever's they are, and nobody can have another's messages
 * taken for his own.
 *
 * An entry grows at its end only: a call sees as many messages as there were when it came, in an
 * array that stays where it is. The least recently used entries go first. A call keeps its entry alive
 * until its arena goes, also one that was thrown out meanwhile. */
#ifndef KEPT_THREADS_H
#define KEPT_THREADS_H

#include "value.h"
#include "written.h"

struct kept_threads;

/* Returns new, empty, for at most bytes_max bytes; 0: nothing is kept. */
struct kept_threads *kept_threads_new(size_t bytes_max, uint64_t seed);

/* Takes *threads_p; every arena given to kept_threads_open must be gone. NULL is fine. */
void kept_threads_destroy(struct kept_threads **threads_p);

/* Returns request, of a call to model:<provider>, with all its messages in `messages`: itself when
 * they are there, in arena when it names a base that is kept. NULL: it names one that is not, and
 * must be asked for whole. *kept_r is what the answer says of it: the digest that the messages are
 * kept under now; when they are not, NULL, or nil for a request with a base. */
const struct value *kept_threads_open(struct kept_threads *threads, struct arena *arena,
    const struct value *request, const struct value **kept_r);

/* Of what kept_threads_open has just returned for a request with a base: the JSON that is kept of its
 * messages, in the words it was last sent in, lent until its arena goes. Others have none: NULL. */
struct written *kept_threads_written(
    struct kept_threads *threads, const struct value *request);

size_t kept_threads_count(const struct kept_threads *threads);
size_t kept_threads_bytes(const struct kept_threads *threads);

#endif
