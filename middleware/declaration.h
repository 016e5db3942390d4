/* declaration: whether what a middleware says of itself can be used: the gate for shared
 * objects, and a test of the built-in ones. */
#ifndef DECLARATION_H
#define DECLARATION_H

#include "middleware.h"

/* Returns what is wrong with middleware's tables, in arena, or NULL. */
const char *declaration_flaw(struct arena *arena, const struct middleware *middleware);

#endif
