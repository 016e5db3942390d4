/* item_filter: which items a search means, by their value.
 *
 * {field: wanted}: the value's field equals wanted; {field: {$op: wanted, ...}} with $eq, $ne,
 * $gt, $gte, $lt, $lte compares numbers with numbers and texts with texts, and nothing else.
 * An absent field counts as null. All fields of a filter must agree. Pure. */
#ifndef ITEM_FILTER_H
#define ITEM_FILTER_H

#include "value.h"

/* Returns 0, or -1 with a reason: no map, an unknown operator. */
int item_filter_check(
    struct arena *arena, const struct value *filter, const char **error_r);

/* Whether filter, which was checked (NULL or nil: all), lets value through. */
bool item_filter_matches(const struct value *filter, const struct value *value);

#endif
