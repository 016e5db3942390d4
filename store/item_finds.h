/* item_finds: what a search over long-term memory has found so far, bounded: the first offset + limit of
 * its order and no more, each as its bytes, so that what was looked at goes with its page. */
#ifndef ITEM_FINDS_H
#define ITEM_FINDS_H

#include "item_op.h"

struct find {
	char *member;
	double score; /* of a search by meaning */
	void *bytes;  /* what `item` holds of it; NULL: member is a namespace */
	size_t size;
};

/* Zero it but for at and order, a qsort's. What was found, over one shard or all. */
struct finds {
	const struct item_op *at;
	int (*order)(const void *a, const void *b);
	struct find *all;
	size_t count, room;
	size_t sorted;   /* the first so many, which those of this shard come behind */
	uint64_t passed; /* of the offset, that nothing has to be kept of */
	uint64_t bytes;
	uint64_t scanned, scanned_bytes;
	bool is_void; /* of_shard has a reason of its own for no answer */
};

int finds_by_member(const void *a, const void *b);
int finds_by_score(const void *a, const void *b); /* the highest first, then by member */

/* How many finds are worth being kept. */
uint64_t finds_wanted(const struct finds *finds);

/* Keeps a copy; bytes: of an item, or NULL. Returns 0, or -1: too much is found. */
int finds_keep(
    struct finds *finds, const char *member, const struct value *bytes, double score);

/* Brings all finds into their order, and drops what is behind the last that is wanted. */
void finds_settle(struct finds *finds);

/* Whether the bounds let it look at more. */
bool finds_may_go_on(const struct finds *finds);
/* Why there is no answer, in the operation's arena, or NULL. */
const char *finds_refusal(const struct finds *finds);

void finds_release(struct finds *finds);

/* Has of_shard find in each shard that may have some. Returns the operation's answer {name: [...]}, or why
 * there is none, NULL when that is of_shard's to say; finds is released (item_search.c). */
const struct value *item_gather(struct finds *finds, const char *name,
    enum store_status (*of_shard)(struct finds *finds, unsigned shard));

#endif
