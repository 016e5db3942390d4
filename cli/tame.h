/* tame: what a tool, a model or a user wrote, shown on a terminal, neither drives it nor looks like other words. */
#ifndef TAME_H
#define TAME_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

/* The bytes of the character at at, which is valid UTF-8 or at least ends with a NUL. */
size_t tame_character(const char *at);

/* True when the character at at drives the terminal (C0, DEL, C1), or the order in which a line is read:
 * U+200E, U+200F, U+061C, U+2028 to U+202E, U+2066 to U+2069, with which a call that waits for approval shows as another. */
bool tame_is_control(const char *at);

/* Each of those in text but line breaks and tabs becomes a space. */
void tame(char *text);

/* Returns value as json_text has it, in arena, with escapes for each of those: the same JSON. NULL is null. */
const char *tame_json(struct arena *arena, const struct value *value);

#endif
