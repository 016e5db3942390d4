/* pointer: where in a document something is (RFC 6901), and what is there: for reasons. */
#ifndef POINTER_H
#define POINTER_H

#include "arena.h"
#include "value.h"

/* Returns path with "/name" behind it, escaped as in a JSON pointer, in arena. */
const char *pointer_add(struct arena *arena, const char *path, const char *name);

/* "a string", "null": for reasons. */
const char *value_article_name(const struct value *value);

#endif
