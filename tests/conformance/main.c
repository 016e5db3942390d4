/* conformance: plays scenarios on a real fleet and compares with what LangChain did.
 *
 *	conformance SCENARIOS [--only group/name[,...]] [--dump DIR]
 *
 * Prints a line for each scenario, the first difference of each that fails, and at the end
 * "N passed, N failed". Exit status 0 when none failed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "match.h"
#include "play.h"

struct harness {
	const char *scenarios, *only, *dump;
	struct player player;
	unsigned passed, failed;
};

/* --- files --------------------------------------------------------------------------------- */

static const struct value *
read_json(struct arena *arena, const char *path)
{
	FILE *file = fopen(path, "re");
	struct packet packet = { 0 };
	char buffer[65536];
	const struct value *value;
	const char *error;
	size_t size;

	if (file == NULL) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	while ((size = fread(buffer, 1, sizeof buffer, file)) > 0)
		packet_append(&packet, buffer, size);
	fclose(file);
	value = json_parse(arena, packet.data, packet.size, &error);
	if (value == NULL) {
		fprintf(stderr, "%s: %s\n", path, error);
		exit(EXIT_FAILURE);
	}
	packet_release(&packet);
	return value;
}

static void
make_folders(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
}

static void
dump(const struct harness *harness, struct arena *arena, const char *name,
    const struct value *actual)
{
	char *path = arena_printf(arena, "%s/%s.json", harness->dump, name);
	FILE *file;

	make_folders(path);
	file = fopen(path, "we");
	if (file == NULL) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fprintf(file, "%s\n", json_pretty(arena, actual));
	fclose(file);
}

/* --- scenarios -------------------------------------------------------------------------------- */

static bool
wanted(const char *only, const char *name)
{
	size_t size;

	if (only == NULL || *only == '\0')
		return true;
	for (; *only != '\0'; only += size + (only[size] == ',')) {
		size = strcspn(only, ",");
		if (strncmp(only, name, size) == 0 &&
		    (name[size] == '\0' || name[size] == '/'))
			return true;
	}
	return false;
}

/* The first difference, or NULL. */
static const char *
compare(struct arena *arena, const struct value *scenario, const struct value *actual)
{
	const struct value *steps = value_get(scenario, "steps");
	const struct value *done = value_get(actual, "steps");
	const char *refused = value_get_text(actual, "create_error");
	size_t i;

	for (i = 0; i < value_size(steps); i++) {
		const struct value *expected = value_get(value_at(steps, i), "expect");
		const char *found;

		if (value_has(expected, "create_error")) {
			found = match_text(arena, "create_error",
			    value_get_text(expected, "create_error"), refused);
			return found;
		}
		if (refused != NULL)
			return arena_printf(arena, "the agent was refused: %s", refused);
		found = match_step(arena, expected, value_at(done, i));
		if (found != NULL)
			return arena_printf(arena, "step %zu, %s", i + 1, found);
	}
	return NULL;
}

static void
play(struct harness *harness, const struct value *scenario)
{
	struct arena *arena = arena_new();
	const char *name = value_get_text(scenario, "name");
	const struct value *actual = play_scenario(&harness->player, arena, scenario);
	const char *found = compare(arena, scenario, actual);

	if (harness->dump != NULL)
		dump(harness, arena, name, actual);
	if (found == NULL) {
		harness->passed++;
		printf("ok   %s\n", name);
	} else {
		harness->failed++;
		printf("FAIL %s\n     %s\n", name, found);
	}
	fflush(stdout);
	arena_destroy(&arena);
}

static void
play_file(struct harness *harness, const char *path)
{
	struct arena *arena = arena_new();
	const struct value *scenarios = read_json(arena, path);
	size_t i;

	for (i = 0; i < value_size(scenarios); i++) {
		const char *name = value_get_text(value_at(scenarios, i), "name");

		if (name != NULL && wanted(harness->only, name))
			play(harness, value_at(scenarios, i));
	}
	arena_destroy(&arena);
}

static int
is_json(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > 5 && strcmp(entry->d_name + size - 5, ".json") == 0;
}

static void
play_all(struct harness *harness)
{
	struct dirent **names;
	int count = scandir(harness->scenarios, &names, is_json, alphasort), i;

	if (count == -1) {
		perror(harness->scenarios);
		exit(EXIT_FAILURE);
	}
	for (i = 0; i < count; i++) {
		char path[4096];

		snprintf(
		    path, sizeof path, "%s/%s", harness->scenarios, names[i]->d_name);
		play_file(harness, path);
		free(names[i]);
	}
	free(names);
}

/* --- life ----------------------------------------------------------------------------------------- */

static void
harness_main(struct fleet_client *client, void *arg)
{
	struct harness *harness = arg;

	harness->player.client = client;
	harness->player.http = http_new(client->loop);
	play_all(harness);
	http_destroy(&harness->player.http);
}

static void
read_arguments(struct harness *harness, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
			harness->only = argv[++i];
		else if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc)
			harness->dump = argv[++i];
		else if (argv[i][0] != '-' && harness->scenarios == NULL)
			harness->scenarios = argv[i];
		else
			harness->scenarios = NULL, i = argc;
	}
	if (harness->scenarios == NULL) {
		fprintf(stderr,
		    "usage: %s SCENARIOS [--only group/name,...] [--dump DIR]\n",
		    argv[0]);
		exit(2);
	}
	if (harness->only != NULL && *harness->only == '\0')
		harness->only = NULL;
	if (harness->dump != NULL && *harness->dump == '\0')
		harness->dump = NULL;
}

int
main(int argc, char *argv[])
{
	struct harness harness = { 0 };

	read_arguments(&harness, argc, argv);
	harness.player.fleet = fleet_start();
	client_run(fleet_redis(harness.player.fleet), harness_main, &harness);
	fleet_stop(&harness.player.fleet);
	printf("%u passed, %u failed\n", harness.passed, harness.failed);
	return harness.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
