/* bench-turn: one measurement of a fleet as a line (line.h), to be taken in turns with those of
 * its peers (compare.sh).
 *
 *	bench-turn [--fsync everysec] [--in-flight 64] [--runs 4000] [--waiting 0] [--apart]
 *
 * With --waiting nothing is run: the line says what the memory of all processes grows by when so
 * many runs wait for a model. */
#include <stdbool.h>
#include <stdlib.h>

#include "line.h"
#include "loop.h"
#include "measure.h"
#include "socket.h"
#include "turn_options.h"
#include "usage.h"

#define SLOW_MS 120000 /* of a model that is waited for */

static void
describe_parts(const double values[], char parts[LINE_PARTS_BYTES])
{
	int part;

	parts[0] = '\0';
	for (part = 0; part < RIG_FLEET; part++)
		if (values[part] != 0)
			line_add_part(
			    parts, rig_part_name((enum rig_part)part), values[part]);
}

static void
measure(const struct turn_options *options, struct loop *loop)
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
	char parts[LINE_PARTS_BYTES];
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
	struct turn_options options;
	struct loop *loop;

	settings_parse(turn_options, &options, &help, argc, argv, NULL);
	usage_raise_file_limit(); /* a connection a call */
	loop = loop_new();
	measure(&options, loop);
	loop_destroy(&loop);
	socket_shutdown();
	settings_release(turn_options, &options);
	return EXIT_SUCCESS;
}
