/* kit_clock: a wall clock of its own for a kit's Redis, which can be set (tests/chaos/parts/shim.c). */
#ifndef KIT_CLOCK_H
#define KIT_CLOCK_H

#include "fleet_kit.h"

/* Before Redis starts. */
void kit_have_clock(struct fleet_kit *kit);

/* So much ahead of ours, from now on. */
void kit_set_clock(struct fleet_kit *kit, int64_t ms);

#endif
