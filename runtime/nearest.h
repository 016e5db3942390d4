/* nearest: "did you mean": the name in a list that is closest to a mistyped one. */
#ifndef NEAREST_H
#define NEAREST_H

#include <stddef.h>

/* Returns the name among count names with the smallest edit distance to text, or NULL
 * when none is near (distance over a third of the length, at least 2). */
const char *nearest_name(const char *text, const char *const *names, size_t count);

#endif
