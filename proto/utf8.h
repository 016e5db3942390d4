/* utf8: what is text and what is not. */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

/* True when the size bytes at text are UTF-8: no overlong forms, no surrogates, nothing
 * above U+10FFFF. NUL is a character. */
bool utf8_valid(const char *text, size_t size);

/* Returns how many bytes from the start are UTF-8: where what is not begins. */
size_t utf8_span(const char *data, size_t size);

/* Returns how many of the size bytes at text make whole characters within max bytes:
 * where to cut. */
size_t utf8_prefix(const char *text, size_t size, size_t max);

/* Returns how many of the size bytes at text, which is UTF-8, are its first most characters. */
size_t utf8_first(const char *text, size_t size, size_t most);

/* Returns a NUL-terminated copy with U+FFFD for each byte that is not UTF-8, lent by
 * arena, and its size. */
char *utf8_repair(struct arena *arena, const char *text, size_t size, size_t *size_r);

/* The same with a space for each NUL: text for a message. */
char *utf8_clean(struct arena *arena, const char *bytes, size_t size);

/* Returns what fits of text into max bytes, whole characters, repaired; lent by arena. For what is shown of
 * somebody's input. */
const char *utf8_shown(struct arena *arena, const char *text, size_t max);

#endif
