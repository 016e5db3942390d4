/* bench: what a run of a whole fleet costs. bench/README.md says what is measured, what
 * is not, and has the last figures.
 *
 *	make bench [RUNS=3000] [INFLIGHT=1,16,64,256] [FSYNC=everysec,always] [LATENCY=0]
 *	    [ROUNDS=3] [WAITING=1000]
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "load.h"
#include "loop.h"
#include "memory.h"
#include "rig.h"
#include "settings.h"
#include "socket.h"

#define WARM_UP_RUNS 200u
#define ROUNDS_MAX 99
#define IN_FLIGHT_MAX 10000
#define SLOW_MS 120000 /* of a model that is waited for */
#define SETTLE_MS 20u
#define SETTLE_TURNS_MAX 3000u

struct bench {
	int64_t runs, latency_ms, rounds, waiting;
	const char **in_flight, **fsync;
	struct loop *loop;
};

#define FIELD(field) offsetof(struct bench, field)
static const struct setting table[] = {
	{ "runs", SETTING_INTEGER, FIELD(runs), "3000", 10, 1000000, NULL,
	    "runs of one measurement; with one in flight a tenth of it", 0 },
	{ "in-flight", SETTING_LIST, FIELD(in_flight), "1,16,64,256", 0, 0, NULL,
	    "runs in flight, a row each", 0 },
	{ "fsync", SETTING_LIST, FIELD(fsync), "everysec,always", 0, 0, NULL,
	    "Redis's appendfsync, a table each", 0 },
	{ "latency-ms", SETTING_INTEGER, FIELD(latency_ms), "0", 0, 60000, "ms",
	    "how long the model takes", 0 },
	{ "rounds", SETTING_INTEGER, FIELD(rounds), "3", 1, ROUNDS_MAX, NULL,
	    "measurements of which a row shows the middle one", 0 },
	{ "waiting", SETTING_INTEGER, FIELD(waiting), "1000", 0, IN_FLIGHT_MAX, NULL,
	    "runs that wait for a slow model while memory is measured; 0: none", 0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

/* One measurement. */
struct row {
	double runs_per_s, p50_ms, p99_ms;
	double cpu_us[RIG_PARTS + 1]; /* a run; behind the parts, our own */
	size_t unheard;
};

/* --- one row ------------------------------------------------------------------------- */

static double
own_cpu_us(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

static void
read_cpu(const struct rig *rig, double cpu_us[RIG_PARTS + 1])
{
	int part;

	for (part = 0; part < RIG_PARTS; part++)
		cpu_us[part] = rig_cpu_us(rig, (enum rig_part)part);
	cpu_us[RIG_PARTS] = own_cpu_us();
}

/* The value under which the share of the runs lies. */
static double
percentile(const struct load_result *result, double share)
{
	return result->latencies_ms[(size_t)(share * (double)(result->runs - 1) + 0.5)];
}

static void
check_all(struct load *load)
{
	size_t wrong = load_check(load);

	if (wrong > 0)
		errx(EXIT_FAILURE, "%zu runs have not ended as they must", wrong);
}

static void
measure_load(const struct rig *rig, struct load *load, size_t runs, size_t in_flight,
    struct row *row)
{
	double before_us[RIG_PARTS + 1];
	struct load_result result;
	int i;

	load_run(load, WARM_UP_RUNS, in_flight, &result);
	free(result.latencies_ms);
	read_cpu(rig, before_us);
	load_run(load, runs, in_flight, &result);
	read_cpu(rig, row->cpu_us);
	for (i = 0; i <= RIG_PARTS; i++)
		row->cpu_us[i] = (row->cpu_us[i] - before_us[i]) / (double)runs;
	row->runs_per_s = (double)runs / result.seconds;
	row->p50_ms = percentile(&result, 0.50);
	row->p99_ms = percentile(&result, 0.99);
	row->unheard = result.unheard;
	free(result.latencies_ms);
	check_all(load);
}

static void
measure(const struct bench *bench, const char *fsync, size_t in_flight, struct row *row)
{
	size_t runs = (size_t)bench->runs / (in_flight == 1 ? 10 : 1);
	const struct rig_options options = {
		.fsync = fsync,
		.latency_ms = bench->latency_ms,
		.calls = in_flight < 64 ? 64 : in_flight,
	};
	struct rig *rig = rig_start(&options);
	struct load *load =
	    load_new(bench->loop, rig_redis(rig), rig_status(rig), &load_usual);

	measure_load(rig, load, runs, in_flight, row);
	load_destroy(&load);
	rig_stop(&rig);
}

/* --- tables -------------------------------------------------------------------------- */

static void
print_head(const struct bench *bench, const char *fsync)
{
	printf("\nappendfsync %s, model latency %lld ms\n\n", fsync,
	    (long long)bench->latency_ms);
	printf("%9s %8s %8s %8s   CPU of a run, us: all =%7s +%7s +%12s +%13s +%13s%15s"
	       "%8s\n",
	    "in flight", "runs/s", "p50 ms", "p99 ms", rig_part_name(RIG_REDIS),
	    rig_part_name(RIG_BROKER), rig_part_name(RIG_COORDINATOR),
	    rig_part_name(RIG_MODEL), rig_part_name(RIG_TOOLS), "| model-server",
	    "bench");
}

static void
print_row(size_t in_flight, const struct row *row)
{
	const double *cpu_us = row->cpu_us;
	double fleet_us = 0;
	int part;

	for (part = 0; part < RIG_FLEET; part++)
		fleet_us += cpu_us[part];
	printf("%9zu %8.0f %8.2f %8.2f %23.0f  %7.0f  %7.0f  %12.0f  %13.0f  %13.0f"
	       "%15.0f%8.0f",
	    in_flight, row->runs_per_s, row->p50_ms, row->p99_ms, fleet_us,
	    cpu_us[RIG_REDIS], cpu_us[RIG_BROKER], cpu_us[RIG_COORDINATOR],
	    cpu_us[RIG_MODEL], cpu_us[RIG_TOOLS], cpu_us[RIG_SERVER], cpu_us[RIG_PARTS]);
	if (row->unheard > 0)
		printf("  (%zu ends unheard)", row->unheard);
	putchar('\n');
	fflush(stdout);
}

static int
by_speed(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return (left->runs_per_s > right->runs_per_s) -
	       (left->runs_per_s < right->runs_per_s);
}

static void
table_row(const struct bench *bench, const char *fsync, size_t in_flight)
{
	struct row rows[ROUNDS_MAX];
	size_t rounds = (size_t)bench->rounds, i;

	for (i = 0; i < rounds; i++)
		measure(bench, fsync, in_flight, &rows[i]);
	qsort(rows, rounds, sizeof *rows, by_speed);
	print_row(in_flight, &rows[rounds / 2]);
}

/* --- memory -------------------------------------------------------------------------- */

struct waiting {
	const struct rig *rig;
	size_t calls;
};

static bool
all_wait(void *arg)
{
	const struct waiting *waiting = arg;

	return rig_connections(waiting->rig) >= waiting->calls;
}

/* Waits until the model server has a call of every run. */
static void
let_settle(const struct rig *rig, size_t calls)
{
	const struct timespec pause = { .tv_nsec = SETTLE_MS * 1000000L };
	struct waiting waiting = { rig, calls };
	unsigned turns;

	for (turns = 0; !all_wait(&waiting) && turns < SETTLE_TURNS_MAX; turns++)
		nanosleep(&pause, NULL);
	if (turns == SETTLE_TURNS_MAX)
		errx(EXIT_FAILURE, "%zu calls never came to the model", calls);
	nanosleep(&pause, NULL);
}

static void
measure_memory(const struct bench *bench, size_t runs)
{
	const struct rig_options options = {
		.fsync = "everysec", .latency_ms = SLOW_MS, .calls = runs + 1
	};
	struct rig *rig = rig_start(&options);
	struct load *load =
	    load_new(bench->loop, rig_redis(rig), rig_status(rig), &load_usual);
	double before[RIG_FLEET], all = 0;
	int part;

	load_submit(load, 1); /* what every process makes once */
	let_settle(rig, 1);
	for (part = 0; part < RIG_FLEET; part++)
		before[part] = (double)rig_resident_bytes(rig, (enum rig_part)part);
	load_submit(load, runs);
	let_settle(rig, runs + 1);
	printf("\nmemory of a run that waits for a model, KB, %zu waiting:\n\n", runs);
	for (part = 0; part < RIG_FLEET; part++) {
		double grown =
		    (double)rig_resident_bytes(rig, (enum rig_part)part) - before[part];

		all += grown;
		printf("%s %.1f, ", rig_part_name((enum rig_part)part),
		    grown / (double)runs / 1024);
	}
	printf("all %.1f\n", all / (double)runs / 1024);
	load_destroy(&load);
	rig_kill(&rig);
}

/* --- life ---------------------------------------------------------------------------- */

static size_t
number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end != '\0' || value < 1 || value > IN_FLIGHT_MAX)
		settings_refuse("bench", "--in-flight", text, "numbers from 1 to 10000");
	return value;
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
	static const struct settings_help help = { "bench", "",
		"Measures what a run of 4 model calls and 3 tool calls costs a fleet." };
	struct bench bench;
	const char **fsync, **in_flight;

	settings_parse(table, &bench, &help, argc, argv, NULL);
	raise_file_limit();
	bench.loop = loop_new();
	for (fsync = bench.fsync; *fsync != NULL; fsync++) {
		print_head(&bench, *fsync);
		for (in_flight = bench.in_flight; *in_flight != NULL; in_flight++)
			table_row(&bench, *fsync, number(*in_flight));
	}
	if (bench.waiting > 0)
		measure_memory(&bench, (size_t)bench.waiting);
	loop_destroy(&bench.loop);
	socket_shutdown();
	settings_release(table, &bench);
	return EXIT_SUCCESS;
}
