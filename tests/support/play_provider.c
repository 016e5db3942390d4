#include "play_provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
read_port(struct arena *arena, const char *path)
{
	FILE *file = fopen(path, "re");
	char port[16] = "";

	if (file == NULL || fgets(port, sizeof port, file) == NULL) {
		perror(path);
		abort();
	}
	fclose(file);
	return arena_copy(arena, port, strcspn(port, "\n"));
}

struct child *
play_provider(
    struct fleet_kit *kit, struct arena *arena, const char *script, const char **url_r)
{
	const char *port_path = kit_path(kit, "port"), *program;
	struct child *server;

	program = kit_built(kit, "scripted-server");
	server = child_start(script == NULL
				 ? (const char *[]){ program, "-f", port_path, NULL }
				 : (const char *[]){ program, "-f", port_path, "-s",
				       kit_write(kit, "script.json", script), NULL },
	    NULL);
	*url_r = arena_printf(arena, "http://127.0.0.1:%s", read_port(arena, port_path));
	return server;
}

void
play_openai(struct fleet_kit *kit, struct arena *arena, const char *url, const char *key)
{
	kit_env(kit, KIT_MODEL, arena_printf(arena, "OPENAI_BASE_URL=%s/v1", url));
	kit_env(kit, KIT_MODEL, arena_printf(arena, "OPENAI_API_KEY=%s", key));
}

void
play_anthropic(
    struct fleet_kit *kit, struct arena *arena, const char *url, const char *key)
{
	kit_env(kit, KIT_MODEL, arena_printf(arena, "ANTHROPIC_BASE_URL=%s", url));
	kit_env(kit, KIT_MODEL, arena_printf(arena, "ANTHROPIC_API_KEY=%s", key));
}
