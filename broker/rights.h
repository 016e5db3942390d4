/* rights: an allow list in force: found by key, with the sessions that each key has open.
 *
 * Pure as the core that asks it. Without a book there are no keys, and everybody may do
 * everything. */
#ifndef RIGHTS_H
#define RIGHTS_H

#include "allow_list.h"
#include "id_table.h"

struct rights_book;

/* What one key may do. */
struct rights {
	struct id_key link;
	const struct allow_entry *entry;
	size_t sessions; /* open with it; the core counts */
};

/* Returns new; list lives longer. */
struct rights_book *rights_book_new(const struct allow_list *list, uint64_t seed);
void rights_book_destroy(struct rights_book **book_p);

/* Returns the rights of key, or NULL for one that is not on the list (or no key). */
struct rights *rights_find(const struct rights_book *book, const char *key);

#endif
