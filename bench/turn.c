/* bench-turn: one measurement of a fleet as a line (line.h), to be taken in turns with those of
 * its peers (compare.sh).
 *
 *	bench-turn [--fsync everysec] [--in-flight 64] [--runs 4000] [--waiting 0]
 *
 * With --waiting nothing is run: the line says what the memory of all processes grows by when so
 * many runs wait for a model. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "line.h"
#include "load.h"
#include "loop.h"
#include "rig.h"
#include "settings.h"
#include "socket.h"

#define WARM_UP_RUNS 200u
#define SLOW_MS 120000 /* of a model that is waited for */
#define SETTLE_MS 20u
#define SETTLE_TURNS_MAX 3000u
#define PARTS_BYTES 256u

struct options {
	const char *fsync;
	int64_t in_flight, runs, waiting;
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
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

typedef double part_value_fn(const struct rig *rig, enum rig_part part);

static double
resident_kb(const struct rig *rig, enum rig_part part)
{
	return (double)rig_resident_bytes(rig, part) / 1024;
}

static void
read_all(const struct rig *rig, part_value_fn *value, double values[RIG_FLEET])
{
	int part;

	for (part = 0; part < RIG_FLEET; part++)
		values[part] = value(rig, (enum rig_part)part);
}

/* What it has grown by since before, of one of count; text: of each part. Returns the sum. */
static double
growth(const struct rig *rig, part_value_fn *value, const double before[RIG_FLEET],
    double count, char text[PARTS_BYTES])
{
	double now[RIG_FLEET], all = 0;
	size_t used = 0;
	int part;

	read_all(rig, value, now);
	for (part = 0; part < RIG_FLEET; part++) {
		double one = (now[part] - before[part]) / count;

		all += one;
		used += (size_t)snprintf(text + used, PARTS_BYTES - used, "%s%s=%.1f",
		    part == 0 ? "" : " ", rig_part_name((enum rig_part)part), one);
	}
	return all;
}

static void
measure_runs(const struct rig *rig, struct load *load, const struct options *options)
{
	size_t runs = (size_t)options->runs, in_flight = (size_t)options->in_flight,
	       wrong;
	struct line line = { .measure = "run",
		.system = "fleet",
		.stored = options->fsync,
		.in_flight = in_flight,
		.count = runs };
	struct load_result result;
	double before[RIG_FLEET];
	char parts[PARTS_BYTES];

	load_run(load, WARM_UP_RUNS, in_flight, &result);
	free(result.latencies_ms);
	read_all(rig, rig_cpu_us, before);
	load_run(load, runs, in_flight, &result);
	line.cpu_us = growth(rig, rig_cpu_us, before, (double)runs, parts);
	wrong = load_check(load);
	if (wrong > 0)
		errx(EXIT_FAILURE, "%zu runs have not ended as they must", wrong);
	line.per_s = (double)runs / result.seconds;
	line.p50_ms = line_percentile(result.latencies_ms, runs, 0.50);
	line.p99_ms = line_percentile(result.latencies_ms, runs, 0.99);
	line.parts = parts;
	line_print(&line);
	free(result.latencies_ms);
}

/* Waits until the model server has a call of each. */
static void
let_settle(const struct rig *rig, size_t calls)
{
	const struct timespec pause = { .tv_nsec = SETTLE_MS * 1000000L };
	unsigned turns;

	for (turns = 0; rig_connections(rig) < calls && turns < SETTLE_TURNS_MAX; turns++)
		nanosleep(&pause, NULL);
	if (turns == SETTLE_TURNS_MAX)
		errx(EXIT_FAILURE, "%zu calls never came to the model", calls);
	nanosleep(&pause, NULL);
}

static void
measure_memory(const struct rig *rig, struct load *load, const struct options *options)
{
	size_t runs = (size_t)options->waiting;
	struct line line = { .measure = "waiting",
		.system = "fleet",
		.stored = options->fsync,
		.in_flight = runs,
		.count = runs };
	double before[RIG_FLEET];
	char parts[PARTS_BYTES];

	load_submit(load, 1); /* what every process makes once */
	let_settle(rig, 1);
	read_all(rig, resident_kb, before);
	load_submit(load, runs);
	let_settle(rig, runs + 1);
	line.memory_kb = growth(rig, resident_kb, before, (double)runs, parts);
	line.parts = parts;
	line_print(&line);
}

static void
measure(const struct options *options, struct loop *loop)
{
	size_t in_flight = (size_t)options->in_flight, waiting = (size_t)options->waiting;
	const struct rig_options rig_options = {
		.fsync = options->fsync,
		.latency_ms = waiting > 0 ? SLOW_MS : 0,
		.calls = waiting > 0      ? waiting + 1
			 : in_flight < 64 ? 64
					  : in_flight,
	};
	struct rig *rig = rig_start(&rig_options);
	struct load *load = load_new(loop, rig_redis(rig), rig_status(rig), &load_usual);

	if (waiting > 0)
		measure_memory(rig, load, options);
	else
		measure_runs(rig, load, options);
	load_destroy(&load);
	if (waiting > 0)
		rig_kill(&rig);
	else
		rig_stop(&rig);
}

/* A connection a call. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		err(EXIT_FAILURE, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		err(EXIT_FAILURE, "setrlimit");
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
	raise_file_limit();
	loop = loop_new();
	measure(&options, loop);
	loop_destroy(&loop);
	socket_shutdown();
	settings_release(table, &options);
	return EXIT_SUCCESS;
}
