/* item_vectors: the vectors of the items on a page of a search by meaning: those that are kept, and those
 * that are made now.
 *
 * Who makes some has a claim to them first, so that of searches at once over the same fresh items each
 * vector is made by one; the others wait, and make what that one does not. Making goes on when the search
 * ends over it, its time being over or its caller gone: what a slow model says is kept, for the next one. */
#ifndef ITEM_VECTORS_H
#define ITEM_VECTORS_H

#include "digest.h"
#include "item_pages.h"

/* One on the page that may be found. */
struct candidate {
	const char *member;
	const struct value *bytes, *vector; /* NULL: it has none yet */
	const char *text;
	uint8_t digest[DIGEST_BYTES]; /* of the model and text */
};

/* Of one search. */
struct making {
	const struct item_op *at;
	const struct value *query; /* its vector; NULL: not known yet */
	const char *model;
	size_t made;
	const struct value
	    *trouble; /* the fault that ended it, in the operation's arena, or NULL */
	bool was_cancelled;
	bool is_unfinished; /* it may make no more, or has no time */
};

/* Sets trouble unless body is what an embed_fn returns of count texts, in vectors of the query's size. */
bool making_check(struct making *making, const struct value *body, size_t count);

/* Reads what is kept of candidates' vectors; *bytes_p grows by what was read. */
enum store_status item_vectors_read(const struct making *making, struct item_pages *pages,
    struct candidate *candidates, size_t count, uint64_t *bytes_p);

/* Has those made that are not there. Returns false when the search is over: making says why. */
bool item_vectors_make(struct making *making, struct item_pages *pages,
    struct candidate *candidates, size_t count);

#endif
