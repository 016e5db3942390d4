/* item_op: one operation on long-term memory under way, as the files behind items.h share it. */
#ifndef ITEM_OP_H
#define ITEM_OP_H

#include "store_private.h"

struct item_op {
	struct store *store;
	struct arena *arena;
	const struct value *op;
	const char *space, *member; /* member of put, get, delete alone */
	uint64_t limit, offset;     /* of search and namespaces */
	uint64_t until_ms; /* of the loop's time: to answer by then; 0: whenever */
};

/* {fault}: what is wrong with the operation, or that Redis did not answer; NULL when the fiber was
 * cancelled. */
const struct value *item_refuse(const struct item_op *at, const char *reason);
const struct value *item_failed(const struct item_op *at, enum store_status status);

/* A function's call on a shard's items. arena: of the command and its reply. */
struct command item_command(struct arena *arena, const char *function, unsigned shard);

/* Whether what is read lasts again as long as it was put for. */
bool item_refreshes(const struct item_op *at);

/* The item at member, from what `item` holds of it, in arena; NULL for what is none of ours. */
const struct value *item_read(
    struct arena *arena, const char *member, const struct value *bytes);

/* Many at once (item_search.c). However many items there are, one of these holds
 * ITEMS_FOUND_BYTES_MAX and a page at most. */
const struct value *item_search(const struct item_op *at);
/* A search with a query: by what texts mean (item_rank.c). */
const struct value *item_rank(const struct item_op *at);
const struct value *item_namespaces(const struct item_op *at);

#endif
