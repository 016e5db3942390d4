/* literal: values in tests as JSON with ' for ", which needs no backslashes in C. */
#ifndef LITERAL_H
#define LITERAL_H

#include "value.h"

struct middleware_use;

/* Returns the value that text writes, in arena; a mistake in it fails the test. */
const struct value *literal(struct arena *arena, const char *text);

/* Fails the test, showing both, unless value equals what text writes. */
#define ck_assert_value(arena, value, text)                                              \
	literal_assert(__FILE__, __LINE__, arena, value, text)
void literal_assert(const char *file, int line, struct arena *arena,
    const struct value *value, const char *text);

/* A use of that middleware as an agent's spec makes it, whose settings must be right. */
const struct middleware_use *literal_use(
    struct arena *arena, const char *type, const char *settings);

/* Fails the test unless these settings are refused at path, for a reason with these words. */
void literal_refused(struct arena *arena, const char *type, const char *settings,
    const char *path, const char *reason);

#endif
