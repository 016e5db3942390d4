/* zone: a time zone by its IANA name, as this system's tzdata has it (TZDIR, else /usr/share/zoneinfo).
 *
 * GLib reads it, which is loaded when the first zone is opened: a process that needs none never has it. UTC needs
 * neither: it is NULL. */
#ifndef ZONE_H
#define ZONE_H

#include <stdint.h>

#include "arena.h"

#define ZONE_NAME_BYTES_MAX 64u

struct zone;

/* *zone_r lives in arena, NULL for "UTC". What tzdata says now counts: who asks again later gets what is new. Returns
 * 0, or -1 with the reason in arena. */
int zone_open(struct arena *arena, const char *name, const struct zone **zone_r,
    const char **error_r);

/* Seconds east of Greenwich at that time (s since 1970), daylight saving included. */
int64_t zone_offset(const struct zone *zone, int64_t seconds);

#endif
