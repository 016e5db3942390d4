/* bench-floor: one measurement of the floor (floor.h) as a line (../line.h).
 *
 *	bench-floor [--fsync everysec] [--in-flight 64] [--runs 8000] [--waiting 0]
 *
 * The process itself is the coordinator, and begins the runs: there is no inbox. With --waiting
 * nothing is run: the line says what the memory of all processes grows by when so many runs wait. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "children.h"
#include "coordinator.h"
#include "floor.h"
#include "../line.h"
#include "memory.h"
#include "../turn_options.h"
#include "../usage.h"

#define WARM_UP_RUNS 400u
#define SLOW_MS "120000" /* of a model that is waited for */

enum part { REDIS, BROKER, COORDINATOR, MODEL, TOOLS, PARTS };
static const char *const part_names[PARTS] = { "redis", "broker", "coordinator",
	"worker-model", "worker-tools" };

struct floor {
	struct arena *arena;
	char *folder;
	const char *self, *build, *endpoint;
	struct child *parts[PARTS], *server; /* no child: ourselves */
	struct coordinator *coordinator;
};

/* --- life ------------------------------------------------------------------------------ */

static const char *
in(const struct floor *floor, const char *name)
{
	return arena_printf(floor->arena, "%s/%s", floor->folder, name);
}

/* As rig.c starts it. */
static void
start_redis(struct floor *floor, const char *fsync)
{
	floor->parts[REDIS] = child_start(
	    (const char *[]){ "redis-server", "--port", "0", "--unixsocket",
		in(floor, "redis"), "--dir", floor->folder, "--save", "", "--appendonly",
		"yes", "--appendfsync", fsync, "--auto-aof-rewrite-percentage", "0",
		"--maxmemory-policy", "noeviction", "--supervised", "systemd",
		"--daemonize", "no", "--logfile", in(floor, "redis.log"), NULL },
	    NULL);
}

static const char *
start_server(struct floor *floor, const char *latency_ms)
{
	unsigned port;
	FILE *file;

	floor->server = child_start(
	    (const char *[]){ arena_printf(floor->arena, "%s/model-server", floor->build),
		"-f", in(floor, "port"), "-l", latency_ms, "-n", "calculate", "-a",
		"{\"expression\": \"17 * 3\"}", NULL },
	    NULL);
	file = fopen(in(floor, "port"), "re");
	if (file == NULL || fscanf(file, "%u", &port) != 1)
		err(EXIT_FAILURE, "port");
	fclose(file);
	return arena_printf(
	    floor->arena, "http://127.0.0.1:%u/v1/chat/completions", port);
}

static struct floor *
floor_start(const struct turn_options *options)
{
	struct floor *floor = xcalloc(1, sizeof *floor);
	char path[USAGE_PATH_BYTES];
	const char *url;

	floor->arena = arena_new();
	floor->folder = folder_new();
	floor->self = arena_strdup(floor->arena, usage_program(path));
	floor->build = arena_strdup(floor->arena, usage_build(path));
	floor->endpoint = arena_printf(floor->arena, "ipc://%s", in(floor, "broker"));
	start_redis(floor, options->fsync);
	url = start_server(floor, options->waiting > 0 ? SLOW_MS : "0");
	floor->parts[BROKER] = child_start(
	    (const char *[]){ floor->self, "broker", floor->endpoint, NULL }, NULL);
	floor->parts[MODEL] = child_start(
	    (const char *[]){ floor->self, "model", floor->endpoint, url, NULL }, NULL);
	floor->parts[TOOLS] = child_start(
	    (const char *[]){ floor->self, "tools", floor->endpoint, NULL }, NULL);
	floor->coordinator = coordinator_new(in(floor, "redis"), floor->endpoint);
	return floor;
}

static void
floor_stop(struct floor **floor_p)
{
	struct floor *floor = *floor_p;
	int part;

	coordinator_destroy(&floor->coordinator);
	for (part = BROKER; part < PARTS; part++)
		child_kill(&floor->parts[part]);
	child_kill(&floor->server);
	child_stop(&floor->parts[REDIS]);
	folder_remove(&floor->folder);
	arena_destroy(&floor->arena);
	free(floor);
	*floor_p = NULL;
}

/* --- measuring --------------------------------------------------------------------------- */

static pid_t
pid_of(const struct floor *floor, int part)
{
	return part == COORDINATOR ? getpid() : child_pid(floor->parts[part]);
}

static void
read_all(const struct floor *floor, double values[PARTS], bool memory)
{
	int part;

	for (part = 0; part < PARTS; part++)
		values[part] =
		    memory ? (double)usage_resident_bytes(pid_of(floor, part)) / 1024
			   : usage_cpu_us(pid_of(floor, part));
}

/* What it has grown by since before, of one of count; text: of each part. Returns the sum. */
static double
growth(const struct floor *floor, const double before[PARTS], bool memory, double count,
    char text[LINE_PARTS_BYTES])
{
	double now[PARTS], all = 0;
	int part;

	text[0] = '\0';
	read_all(floor, now, memory);
	for (part = 0; part < PARTS; part++) {
		double one = (now[part] - before[part]) / count;

		all += one;
		line_add_part(text, part_names[part], one);
	}
	return all;
}

static void
measure_runs(const struct floor *floor, const struct turn_options *options)
{
	size_t runs = (size_t)options->runs, in_flight = (size_t)options->in_flight,
	       wrong;
	double *latencies_ms = xcalloc(runs, sizeof *latencies_ms), before[PARTS],
	       seconds;
	struct line line = { .measure = "run",
		.system = "floor",
		.stored = options->fsync,
		.in_flight = in_flight,
		.count = runs };
	char parts[LINE_PARTS_BYTES];

	coordinator_run(floor->coordinator, WARM_UP_RUNS, in_flight, NULL);
	read_all(floor, before, false);
	seconds = coordinator_run(floor->coordinator, runs, in_flight, latencies_ms);
	line.cpu_us = growth(floor, before, false, (double)runs, parts);
	wrong = coordinator_check(floor->coordinator);
	if (wrong > 0)
		errx(EXIT_FAILURE, "%zu runs have not ended as they must", wrong);
	qsort(latencies_ms, runs, sizeof *latencies_ms, line_by_size);
	line.per_s = (double)runs / seconds;
	line.p50_ms = line_percentile(latencies_ms, runs, 0.50);
	line.p99_ms = line_percentile(latencies_ms, runs, 0.99);
	line.parts = parts;
	line_print(&line);
	free(latencies_ms);
}

static void
measure_memory(const struct floor *floor, const struct turn_options *options)
{
	size_t runs = (size_t)options->waiting;
	pid_t server = child_pid(floor->server);
	size_t files = usage_open_files(server);
	struct line line = { .measure = "waiting",
		.system = "floor",
		.stored = options->fsync,
		.in_flight = runs,
		.count = runs };
	char parts[LINE_PARTS_BYTES];
	double before[PARTS];

	coordinator_begin(floor->coordinator, 1); /* what every process makes once */
	usage_await_files(server, files + 1);
	read_all(floor, before, true);
	coordinator_begin(floor->coordinator, runs);
	usage_await_files(server, files + 1 + runs);
	line.memory_kb = growth(floor, before, true, (double)runs, parts);
	line.parts = parts;
	line_print(&line);
}

/* --- main -------------------------------------------------------------------------------- */

/* The floor's other programs are this one, too. */
static void
be_part(int argc, char *argv[])
{
	if (argc == 3 && strcmp(argv[1], "broker") == 0)
		exit(floor_broker(argv[2]));
	if (argc == 4 && strcmp(argv[1], "model") == 0)
		exit(floor_model_worker(argv[2], argv[3]));
	if (argc == 3 && strcmp(argv[1], "tools") == 0)
		exit(floor_tool_worker(argv[2]));
}

int
main(int argc, char *argv[])
{
	static const struct settings_help help = { "bench-floor", "",
		"Measures what a run costs a fleet that does nothing but pass it on." };
	struct turn_options options;
	struct floor *floor;

	be_part(argc, argv);
	settings_parse(turn_options, &options, &help, argc, argv, NULL);
	usage_raise_file_limit();
	floor = floor_start(&options);
	if (options.waiting > 0)
		measure_memory(floor, &options);
	else
		measure_runs(floor, &options);
	floor_stop(&floor);
	settings_release(turn_options, &options);
	return EXIT_SUCCESS;
}
