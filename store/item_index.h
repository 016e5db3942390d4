/* item_index: which part of an item's value says what it means, for searches by meaning.
 *
 * A field is a name, or a path: names with dots between, behind one [n] (from the end where n is negative)
 * or [*], all of a list; "$" is the whole value. Pure. */
#ifndef ITEM_INDEX_H
#define ITEM_INDEX_H

#include "value.h"

/* Whether index, of a put, is one: false, or a list of at most ITEM_INDEX_MAX fields; NULL, nil: as for all items. Returns
 * 0, or -1 with a reason. */
int item_index_check(
    struct arena *arena, const struct value *index, const char **error_r);

/* The text that stands for value, of which fields, an array, are looked at; none: all of it. As JSON, or the field itself
 * where it is the only one and a text. NULL: it has none of them, or says nothing. */
const char *item_index_text(
    struct arena *arena, const struct value *value, const struct value *fields);

#endif
