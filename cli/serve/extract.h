/* extract: `extract` of a search of threads: single values of each, by a path ("values.messages[-1].content"). */
#ifndef EXTRACT_H
#define EXTRACT_H

#include "api.h"

/* Reads it: *paths_r {alias: path}, or nil. False after answering what of it cannot be asked for. */
bool extract_read(struct call *call, const struct value **paths_r);

/* {alias: value}, of item; null where it has no such value. */
const struct value *extract(
    struct arena *arena, const struct value *item, const struct value *paths);

#endif
