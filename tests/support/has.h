/* has: what a text has in it, or has not; both are shown when a test fails. */
#ifndef HAS_H
#define HAS_H

#include <stdbool.h>

/* Fails the test unless text (NULL: none) has piece in it; _has_not: if it has. Each is evaluated once. */
#define ck_assert_has(text, piece) has_assert(__FILE__, __LINE__, text, piece, true)
#define ck_assert_has_not(text, piece) has_assert(__FILE__, __LINE__, text, piece, false)
void has_assert(
    const char *file, int line, const char *text, const char *piece, bool wanted);

#endif
