/* literal: values written down in C, readable: ' stands for ". */
#ifndef LITERAL_H
#define LITERAL_H

#include "value.h"

/* Returns the JSON text as a value in arena, with every ' taken for a ". Text that is no
 * JSON fails the test. */
const struct value *literal(struct arena *arena, const char *text);

/* Returns text with every ' taken for a ", in arena. */
const char *literal_text(struct arena *arena, const char *text);

/* Fails the test, showing both, unless value equals the JSON text (as for literal). */
void assert_literal(struct arena *arena, const struct value *value, const char *text);

#endif
