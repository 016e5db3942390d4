/* item_pages: the members of a shard's items below a namespace, in their order, page by page. */
#ifndef ITEM_PAGES_H
#define ITEM_PAGES_H

#include "item_op.h"

#define ITEM_PAGE_ITEMS 200u

/* What is on a page is gone with the next one. */
struct item_pages {
	const struct item_op *at;
	const char *function; /* fl_item_page or fl_item_spaces */
	unsigned shard;
	const char *from;    /* of the next page, in the operation's arena */
	struct arena *arena; /* of this one */
	const struct value *page;
	bool is_last;
};

/* Whether the operation asks all shards. */
bool item_is_everywhere(const struct item_op *at);

struct item_pages item_pages_open(
    const struct item_op *at, const char *function, unsigned shard);
void item_pages_close(struct item_pages *pages);

/* Reads the next page, at most count members, and less where they are large. */
enum store_status item_pages_read(struct item_pages *pages, uint64_t count);

/* Of fl_item_page: how many items the page has. */
size_t item_pages_items(const struct item_pages *pages);
/* Likewise: goes on behind the page, for which so many were asked, or sets is_last. */
void item_pages_advance(struct item_pages *pages, uint64_t asked);

#endif
