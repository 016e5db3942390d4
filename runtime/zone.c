#include "zone.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* Of GLib's GTimeZone, whose interface is stable: what needs no header of its own is called without that. */
#define GLIB "libglib-2.0.so.0"
#define TIME_UNIVERSAL 2 /* G_TIME_TYPE_UNIVERSAL */
static struct glib {
	void *(*open)(const char *name);
	int (*find_interval)(void *zone, int type, int64_t seconds);
	int32_t (*get_offset)(void *zone, int interval);
	void (*unref)(void *zone);
	bool is_there;
} glib;

struct zone {
	void *handle;
};

static const char *
load_glib(struct arena *arena)
{
	const struct {
		const char *name;
		void **place;
	} symbols[] = {
		{ "g_time_zone_new_identifier", (void **)&glib.open },
		{ "g_time_zone_find_interval", (void **)&glib.find_interval },
		{ "g_time_zone_get_offset", (void **)&glib.get_offset },
		{ "g_time_zone_unref", (void **)&glib.unref },
	};
	void *library;
	size_t i;

	if (glib.is_there)
		return NULL;
	library = dlopen(GLIB, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return arena_printf(arena,
		    "time zones need GLib (Debian: libglib2.0-0), which is not here: %s",
		    dlerror());
	for (i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		*symbols[i].place = dlsym(library, symbols[i].name);
		if (*symbols[i].place == NULL)
			return arena_printf(arena, "time zones need GLib 2.68 or later");
	}
	glib.is_there = true;
	return NULL;
}

/* No way out of tzdata's folder, and none of the rules that POSIX has for TZ, which GLib takes as well. */
static bool
is_name(const char *name)
{
	size_t size = strlen(name);

	return size <= ZONE_NAME_BYTES_MAX && isalpha((unsigned char)*name) &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			    "0123456789_+-/") == size;
}

/* There are other files beside the zones. */
static bool
is_zone(struct arena *arena, const char *name)
{
	const char *folder = getenv("TZDIR");
	char magic[4] = "";
	FILE *file = fopen(
	    arena_printf(arena, "%s/%s",
		folder != NULL && *folder != '\0' ? folder : "/usr/share/zoneinfo", name),
	    "re");

	if (file == NULL)
		return false;
	if (fread(magic, 1, sizeof magic, file) != sizeof magic)
		magic[0] = '\0';
	fclose(file);
	return memcmp(magic, "TZif", sizeof magic) == 0;
}

static void
close_zone(void *data)
{
	glib.unref(data);
}

int
zone_open(struct arena *arena, const char *name, const struct zone **zone_r,
    const char **error_r)
{
	struct zone *zone;

	if (strcmp(name, "UTC") == 0) {
		*zone_r = NULL;
		return 0;
	}
	if (!is_name(name) || !is_zone(arena, name)) {
		*error_r = arena_printf(arena,
		    "timezone '%s': there is none of that name in this system's tzdata; "
		    "names are as Europe/Berlin, or UTC",
		    utf8_shown(arena, name, ZONE_NAME_BYTES_MAX));
		return -1;
	}
	*error_r = load_glib(arena);
	if (*error_r != NULL)
		return -1;
	zone = arena_alloc(arena, sizeof *zone);
	zone->handle = glib.open(name);
	if (zone->handle == NULL) {
		*error_r = arena_printf(arena, "timezone '%s' cannot be read", name);
		return -1;
	}
	arena_on_destroy(arena, close_zone, zone->handle);
	*zone_r = zone;
	return 0;
}

int64_t
zone_offset(const struct zone *zone, int64_t seconds)
{
	int interval;

	if (zone == NULL)
		return 0;
	interval = glib.find_interval(zone->handle, TIME_UNIVERSAL, seconds);
	return interval >= 0 ? glib.get_offset(zone->handle, interval) : 0;
}
