/* match: the comparison of scenarios/README.md, "How exact the comparison is". */
#ifndef MATCH_H
#define MATCH_H

#include "value.h"

/* Compares what was expected of a step with what the fleet did (the same shape, every field
 * filled in). Returns NULL when it matches, else the first difference in arena: its place,
 * what was expected, what came. */
const char *match_step(
    struct arena *arena, const struct value *expected, const struct value *actual);

/* Compares two texts by the rules for strings ("<any>", "<contains:x>"). */
const char *match_text(
    struct arena *arena, const char *place, const char *expected, const char *actual);

#endif
