#include "rights.h"

#include <stdlib.h>

#include "memory.h"

struct rights_book {
	struct id_table *table;
	struct rights *rights;
};

struct rights_book *
rights_book_new(const struct allow_list *list, uint64_t seed)
{
	struct rights_book *book = xcalloc(1, sizeof *book);
	size_t i;

	book->table = id_table_new(seed);
	book->rights = xcalloc(list->count + 1, sizeof *book->rights);
	for (i = 0; i < list->count; i++) {
		book->rights[i].entry = &list->entries[i];
		id_table_put(book->table, &book->rights[i].link, list->entries[i].key,
		    &book->rights[i]);
	}
	return book;
}

void
rights_book_destroy(struct rights_book **book_p)
{
	struct rights_book *book = *book_p;

	if (book == NULL)
		return;
	*book_p = NULL;
	id_table_destroy(&book->table);
	free(book->rights);
	free(book);
}

struct rights *
rights_find(const struct rights_book *book, const char *key)
{
	return key == NULL ? NULL : id_table_get(book->table, key);
}
