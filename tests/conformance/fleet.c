#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "memory.h"
#include "play_provider.h"
#include "probe_log.h"

struct fleet {
	struct arena *arena;
	struct fleet_kit *kit;
	const char *server_url, *probe, *log;
	struct child *server, *tools;
	unsigned workers; /* started so far */
};

const char *
fleet_redis(const struct fleet *fleet)
{
	return kit_redis(fleet->kit);
}

const char *
fleet_folder(const struct fleet *fleet)
{
	return kit_path(fleet->kit, ".");
}

const char *
fleet_probe(const struct fleet *fleet)
{
	return fleet->probe;
}

const char *
fleet_cli(const struct fleet *fleet)
{
	return kit_program(fleet->kit, "flotilla");
}

const char *
fleet_server(const struct fleet *fleet)
{
	return fleet->server_url;
}

static const char *
log_variable(const struct fleet *fleet)
{
	return arena_printf(fleet->arena, PROBE_LOG_VARIABLE "=%s", fleet->log);
}

/* The probe is loaded where its hooks run, and writes to one log everywhere. */
static void
prepare(struct fleet *fleet)
{
	kit_flag(fleet->kit, KIT_MODEL, "--plugin", fleet->probe);
	kit_flag(fleet->kit, KIT_COORDINATOR, "--plugin", fleet->probe);
	kit_env(fleet->kit, KIT_MODEL, log_variable(fleet));
	kit_env(fleet->kit, KIT_COORDINATOR, log_variable(fleet));
	play_openai(fleet->kit, fleet->arena, fleet->server_url, "test");
}

struct fleet *
fleet_start(void)
{
	struct fleet *fleet = xcalloc(1, sizeof *fleet);

	fleet->arena = arena_new();
	fleet->kit = kit_new();
	fleet->probe = kit_built(fleet->kit, "probe.so");
	fleet->log = kit_path(fleet->kit, "probe.log");
	fleet->server = play_provider(fleet->kit, fleet->arena, NULL, &fleet->server_url);
	prepare(fleet);
	kit_start_all(fleet->kit, 0, 1, 1);
	return fleet;
}

void
fleet_stop(struct fleet **fleet_p)
{
	struct fleet *fleet = *fleet_p;

	kit_stop(fleet->kit, KIT_COORDINATOR, 0);
	child_stop(&fleet->tools);
	kit_destroy(&fleet->kit);
	child_stop(&fleet->server);
	arena_destroy(&fleet->arena);
	free(fleet);
	*fleet_p = NULL;
}

void
fleet_play_tools(struct fleet *fleet, struct arena *arena, const struct value *offered,
    const struct value *hidden)
{
	const char *name = arena_printf(arena, "outcomes-%u", ++fleet->workers);
	const char *file = kit_write(fleet->kit, "outcomes.json",
	    json_text(
		arena, value_map(arena, "offered", offered, "hidden", hidden, NULL)));

	child_stop(&fleet->tools);
	fleet->tools = child_start(
	    (const char *[]){ kit_built(fleet->kit, "outcome-worker"), "--broker",
		kit_broker(fleet->kit), "--outcomes", file, "--plugin", fleet->probe,
		"--name", name, "--log-level", "warn", NULL },
	    (const char *[]){ log_variable(fleet), NULL });
}

/* --- the probe's log ----------------------------------------------------------------------- */

long
fleet_log_end(const struct fleet *fleet)
{
	FILE *file = fopen(fleet->log, "re");
	long end = 0;

	if (file == NULL)
		return 0;
	if (fseek(file, 0, SEEK_END) == 0)
		end = ftell(file);
	fclose(file);
	return end;
}

const struct value *
fleet_log(const struct fleet *fleet, struct arena *arena, long from)
{
	struct value_list list = { .arena = arena };
	FILE *file = fopen(fleet->log, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t size;
	const char *error;

	if (file == NULL)
		return value_empty_array();
	if (fseek(file, from, SEEK_SET) == 0) {
		while ((size = getline(&line, &room, file)) > 0) {
			const struct value *one =
			    json_parse(arena, line, (size_t)size, &error);

			if (one != NULL)
				value_list_add(&list, one);
		}
	}
	free(line);
	fclose(file);
	return value_list_end(&list);
}
