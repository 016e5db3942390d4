#include "kit_clock.h"

#include <stdio.h>
#include <stdlib.h>

#include "../chaos/parts/shim.h"
#include "arena.h"

static const char *
clock_file(struct fleet_kit *kit)
{
	return kit_path(kit, "clock");
}

void
kit_set_clock(struct fleet_kit *kit, int64_t ms)
{
	const struct shim shim = { .clock_ms = ms };
	FILE *file = fopen(clock_file(kit), "r+e");

	if (file == NULL || fwrite(&shim, sizeof shim, 1, file) != 1 ||
	    fclose(file) != 0) {
		perror(clock_file(kit));
		abort();
	}
}

void
kit_have_clock(struct fleet_kit *kit)
{
	struct arena *arena = arena_new();

	kit_write(kit, "clock", "");
	kit_set_clock(kit, 0);
	kit_env(kit, KIT_REDIS,
	    arena_printf(arena, "LD_PRELOAD=%s", kit_built(kit, "chaos-shim.so")));
	kit_env(kit, KIT_REDIS, arena_printf(arena, "CHAOS_SHIM=%s", clock_file(kit)));
	arena_destroy(&arena);
}
