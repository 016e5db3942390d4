/* bench-turn: one measurement of a fleet as a line (line.h), to be taken in turns with those of
 * its peers (compare.sh).
 *
 *	bench-turn [--fsync everysec] [--in-flight 64] [--runs 4000] [--waiting 0] [--apart]
 *
 * With --waiting nothing is run: the line says what the memory of all processes grows by when so
 * many runs wait for a model. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "line.h"
#include "loop.h"
#include "measure.h"
#include "settings.h"
#include "socket.h"
#include "usage.h"

#define SLOW_MS 120000 /* of a model that is waited for */
#define PARTS_BYTES 256u

struct options {
	const char *fsync;
	int64_t in_flight, runs, waiting;
	bool apart;
};

#define FIELD(field) offsetof(struct options, field)
static const struct setting table[] = {
	{ "fsync", SETTING_TEXT, FIELD(fsync), "everysec", 0, 0, NULL,
	    "Redis's appendfsync", 0 },
	{ "in-flight", SETTING_INTEGER, FIELD(in_flight), "64", 1, 10000, NULL,
	    "runs in flight", 0 },
	{ "runs", SETTING_INTEGER, FIELD(runs), "4000", 1, 1000000, NULL, "runs", 0 },
	{ "waiting", SETTING_INTEGER, FIELD(waiting), "0", 0, 10000, NULL,
	    "runs that wait for a slow model while memory is measured; 0: none", 0 },
	{ "apart", SETTING_BOOL, FIELD(apart), NULL, 0, 0, NULL,
	    "broker and coordinator in two processes", 0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

/* "redis=276.1 broker=227.0 ..." */
static void
describe_parts(const double values[], char text[PARTS_BYTES])
{
	size_t used = 0;
	int part;

	for (part = 0; part < RIG_FLEET; part++)
		used += (size_t)snprintf(text + used, PARTS_BYTES - used, "%s%s=%.1f",
		    part == 0 ? "" : " ", rig_part_name((enum rig_part)part),
		    values[part]);
}

static void
measure(const struct options *options, struct loop *loop)
{
	bool is_waiting = options->waiting > 0;
	const struct scenario scenario = {
		.name = "turn",
		.measure = is_waiting ? MEASURE_WAITING : MEASURE_RUNS,
		.in_flight = (size_t)(is_waiting ? options->waiting : options->in_flight),
		.rig = { .fsync = options->fsync,
		    .latency_ms = is_waiting ? SLOW_MS : 0,
		    .apart = options->apart },
	};
	struct figures figures;
	char parts[PARTS_BYTES];
	struct line line = { .measure = is_waiting ? "waiting" : "run",
		.system = "fleet",
		.stored = options->fsync,
		.in_flight = scenario.in_flight,
		.parts = parts };

	measure_scenario(loop, &scenario, (size_t)options->runs, 0, &figures);
	line.count = figures.runs;
	if (is_waiting) {
		line.memory_kb = measure_all(figures.memory_kb);
		describe_parts(figures.memory_kb, parts);
	} else {
		line.per_s = figures.runs_per_s;
		line.p50_ms = figures.p50_ms;
		line.p99_ms = figures.p99_ms;
		line.cpu_us = measure_all(figures.cpu_us);
		describe_parts(figures.cpu_us, parts);
	}
	line_print(&line);
}

int
main(int argc, char *argv[])
{
	static const struct settings_help help = { "bench-turn", "",
		"Measures once what a run of 4 model calls and 3 tool calls costs a "
		"fleet." };
	struct options options;
	struct loop *loop;

	settings_parse(table, &options, &help, argc, argv, NULL);
	usage_raise_file_limit(); /* a connection a call */
	loop = loop_new();
	measure(&options, loop);
	loop_destroy(&loop);
	socket_shutdown();
	settings_release(table, &options);
	return EXIT_SUCCESS;
}
