/* profiles: decoded profiles, kept by their bytes: all calls of one agent version carry the
 * same one, and decoding it anew would cost more than most calls. The least recently used
 * go first; one in use stays. */
#ifndef PROFILES_H
#define PROFILES_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct profiles;
struct profile;

/* Returns new, empty, for about max profiles. */
struct profiles *profiles_new(uint64_t seed, size_t max);

/* Takes *profiles_p; every profile must be released. NULL is fine. */
void profiles_destroy(struct profiles **profiles_p);

/* Returns the profile of these bytes, lent until profile_release; or NULL with a reason,
 * lent for ever, when they are no value. */
struct profile *profile_get(
    struct profiles *profiles, const void *bytes, size_t size, const char **error_r);

/* The same value each time for the same bytes; lent as the profile is. */
const struct value *profile_value(const struct profile *profile);

/* From 1: another's for other bytes, never given twice. */
uint64_t profile_number(const struct profile *profile);

/* Gives *profile_p back and sets it to NULL; NULL is fine. */
void profile_release(struct profiles *profiles, struct profile **profile_p);

size_t profiles_count(const struct profiles *profiles);

#endif
