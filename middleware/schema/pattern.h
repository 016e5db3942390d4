/* pattern: regular expressions of users: PCRE2 read as ECMA 262 where the two differ,
 * with a limit on the work of a match. Only pattern_work.[ch] and this file's .c include PCRE2. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

struct pattern;

/* Returns a new pattern, or NULL with a reason in arena that names the place. */
struct pattern *pattern_new(
    struct arena *arena, const char *text, size_t size, const char **error_r);
void pattern_destroy(struct pattern **pattern_p);

/* Looks for pattern in the size bytes at text (UTF-8) from offset on. Returns 1 with the
 * bytes of the match in *from_r and *to_r (either may be NULL), 0 when there is none, -1
 * when the match took more work than is allowed, text is not UTF-8, or the match is said to
 * begin in front of offset or behind its end (\K). */
int pattern_find(const struct pattern *pattern, const char *text, size_t size,
    size_t offset, size_t *from_r, size_t *to_r);

/* As pattern_find from the begin, without the place, in one of many texts: each may take as much work as one may by
 * itself, but not all of them. */
int pattern_find_next(const struct pattern *pattern, const char *text, size_t size);

/* For one who looks for all matches of a text, with one limit for all of them: says that size
 * bytes are to be looked through from now on. */
void pattern_allow(const struct pattern *pattern, size_t size);
/* The same, where they are another one of many texts. */
void pattern_allow_next(const struct pattern *pattern, size_t size);

/* As pattern_find, within what pattern_allow left, with text known to be UTF-8, offset at the
 * start of a character; an empty match is none.
 *
 * more: behind text there may be more of it. Then PATTERN_PARTIAL when it depends on what
 * follows whether there is a match that begins at *from_r (or how long it is): nothing that
 * begins earlier, from offset on, can match. */
#define PATTERN_PARTIAL 2
int pattern_seek(const struct pattern *pattern, const char *text, size_t size,
    size_t offset, bool more, size_t *from_r, size_t *to_r);

#endif
