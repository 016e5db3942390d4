/* bench: what a run of a whole fleet costs. bench/README.md says what is measured, what
 * is not, and has the last figures; scenarios.c has the rows.
 *
 *	make bench [ROUNDS=3] [SECONDS=3]               the short list
 *	make bench-full [ROUNDS=3] [SECONDS=3]          all
 *	make bench ONLY=bodies,tools-8                  what begins so
 *	make bench RUNS=3000 INFLIGHT=1,64 [FSYNC=always] [LATENCY=50] [WAITING=1000]   of your own
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "measure.h"
#include "memory.h"
#include "results.h"
#include "scenarios.h"
#include "settings.h"
#include "socket.h"
#include "usage.h"

#define PART_WIDTH 12 /* of a column of the table */
#define ROUNDS_MAX 99
#define IN_FLIGHT_MAX 10000
#define ROWS_MAX 128u
#define SLOW_MS 120000 /* of a model that is waited for */
#define NAME_BYTES 64u

struct bench {
	int64_t runs, latency_ms, rounds, waiting, seconds;
	const char **in_flight, **fsync, **only, *out;
	bool full, list;
	struct loop *loop;
	struct results *results;
	const struct scenario *rows; /* what is measured */
	struct figures figures[ROWS_MAX];
	size_t count;
};

#define FIELD(field) offsetof(struct bench, field)
static const struct setting table[] = {
	{ "full", SETTING_BOOL, FIELD(full), NULL, 0, 0, NULL,
	    "all scenarios, not only the short list", 0 },
	{ "only", SETTING_LIST, FIELD(only), NULL, 0, 0, NULL,
	    "scenarios whose names begin so", 0 },
	{ "list", SETTING_BOOL, FIELD(list), NULL, 0, 0, NULL, "names them, and ends",
	    0 },
	{ "rounds", SETTING_INTEGER, FIELD(rounds), "3", 1, ROUNDS_MAX, NULL,
	    "measurements of which a row shows the middle one", 0 },
	{ "seconds", SETTING_INTEGER, FIELD(seconds), "3", 1, 3600, "s",
	    "that one measurement is to take, about", 0 },
	{ "runs", SETTING_INTEGER, FIELD(runs), "0", 0, 1000000, NULL,
	    "runs of one measurement; with one in flight a tenth of it; 0: by seconds",
	    0 },
	{ "out", SETTING_TEXT, FIELD(out), NULL, 0, 0, NULL,
	    "a file that gets a line for each row", 0 },
	{ "in-flight", SETTING_LIST, FIELD(in_flight), NULL, 0, 0, NULL,
	    "instead of scenarios: runs in flight, a row each", 0 },
	{ "fsync", SETTING_LIST, FIELD(fsync), NULL, 0, 0, NULL,
	    "with it: Redis's appendfsync, a table each (everysec, always)", 0 },
	{ "latency-ms", SETTING_INTEGER, FIELD(latency_ms), "0", 0, 60000, "ms",
	    "with it: how long the model takes", 0 },
	{ "waiting", SETTING_INTEGER, FIELD(waiting), "0", 0, IN_FLIGHT_MAX, NULL,
	    "instead of scenarios: runs that wait for a slow model while memory is "
	    "measured",
	    0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

/* --- tables -------------------------------------------------------------------------- */

static void
print_head(const struct scenario *row)
{
	int part;

	printf("\n%s\n\n", row->group);
	if (row->measure == MEASURE_WAITING)
		return;
	printf("%-24s %8s %8s %8s   CPU of a run, us: all =", "", "runs/s", "p50 ms",
	    "p99 ms");
	for (part = 0; part < RIG_FLEET; part++)
		printf("%s%*s", part == 0 ? "" : " +", PART_WIDTH,
		    rig_part_name((enum rig_part)part));
	printf("%15s%8s %8s\n", "| model-server", "bench", "peak MB");
}

static const struct figures *
figures_of(const struct bench *bench, const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < bench->count; i++)
		if (strcmp(bench->rows[i].name, name) == 0 && bench->figures[i].runs > 0)
			return &bench->figures[i];
	return NULL;
}

/* What follows from a row's figures. */
static void
print_notes(
    const struct bench *bench, const struct scenario *row, const struct figures *figures)
{
	const struct figures *base = figures_of(bench, row->base);
	double pace_s = scenario_pace_ms(row) / 1e3;

	if (base != NULL)
		printf("  %.2f us a layer and call",
		    (measure_all(figures->cpu_us) - measure_all(base->cpu_us)) /
			row->rig.layers / scenario_calls(row));
	if (pace_s > 0 && figures->runs == row->in_flight)
		printf("  %.2f s, of which %.2f s are the model's", figures->seconds,
		    pace_s);
	if (figures->tokens > 0)
		printf("  %.0f token events a run", figures->tokens);
	if (figures->unheard > 0)
		printf("  (%zu ends unheard)", figures->unheard);
}

/* There is none of a part that has used no time. */
static void
print_part(double cpu_us)
{
	if (cpu_us > 0)
		printf("%*.0f  ", PART_WIDTH, cpu_us);
	else
		printf("%*s  ", PART_WIDTH, "-");
}

static void
print_runs(
    const struct bench *bench, const struct scenario *row, const struct figures *figures)
{
	const double *cpu_us = figures->cpu_us;
	int part;

	printf("%-24s %8.0f %8.2f %8.2f %23.0f  ", row->name, figures->runs_per_s,
	    figures->p50_ms, figures->p99_ms, measure_all(cpu_us));
	for (part = 0; part < RIG_FLEET; part++)
		print_part(cpu_us[part]);
	printf("%15.0f%8.0f %8.1f", cpu_us[RIG_SERVER], cpu_us[RIG_PARTS],
	    measure_all(figures->memory_kb) / 1024);
	print_notes(bench, row, figures);
	putchar('\n');
}

static void
print_waiting(const struct scenario *row, const struct figures *figures)
{
	int part;

	printf("%-24s KB a run:", row->name);
	for (part = 0; part < RIG_FLEET; part++)
		if (figures->memory_kb[part] != 0)
			printf(" %s %.1f,", rig_part_name((enum rig_part)part),
			    figures->memory_kb[part]);
	printf(" all %.1f\n", measure_all(figures->memory_kb));
}

/* The middle one of them: by speed, or by memory. */
static int
by_rank(const void *a, const void *b)
{
	const struct figures *left = a, *right = b;
	double left_kb = measure_all(left->memory_kb),
	       right_kb = measure_all(right->memory_kb);

	if (left->runs_per_s > 0)
		return (left->runs_per_s > right->runs_per_s) -
		       (left->runs_per_s < right->runs_per_s);
	return (left_kb > right_kb) - (left_kb < right_kb);
}

static void
measure_row(struct bench *bench, size_t number)
{
	const struct scenario *row = &bench->rows[number];
	struct figures all[ROUNDS_MAX], *figures = &bench->figures[number];
	size_t rounds = row->is_long ? 1 : (size_t)bench->rounds, i;
	size_t runs = (size_t)bench->runs / (row->in_flight == 1 ? 10 : 1);

	for (i = 0; i < rounds; i++)
		measure_scenario(bench->loop, row, runs, (double)bench->seconds, &all[i]);
	qsort(all, rounds, sizeof *all, by_rank);
	*figures = all[rounds / 2];
	results_add(bench->results, row, figures);
	if (row->measure == MEASURE_WAITING)
		print_waiting(row, figures);
	else
		print_runs(bench, row, figures);
	fflush(stdout);
}

/* --- what is measured ---------------------------------------------------------------- */

static bool
is_asked_for(const struct bench *bench, const struct scenario *scenario)
{
	const char **only;

	if (bench->only[0] == NULL)
		return bench->full || scenario->is_short;
	for (only = bench->only; *only != NULL; only++)
		if (strncmp(scenario->name, *only, strlen(*only)) == 0)
			return true;
	return false;
}

static struct scenario *
chosen(const struct bench *bench, size_t *count_r)
{
	struct scenario *list = scenarios_new(count_r);
	size_t i, kept = 0;

	for (i = 0; i < *count_r; i++)
		if (is_asked_for(bench, &list[i]))
			list[kept++] = list[i];
	*count_r = kept;
	return list;
}

static size_t
number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end != '\0' || value < 1 || value > IN_FLIGHT_MAX)
		settings_refuse("bench", "--in-flight", text, "numbers from 1 to 10000");
	return value;
}

static struct scenario
row_of(const struct bench *bench, const char *fsync, const char *in_flight)
{
	static char names[ROWS_MAX][NAME_BYTES], groups[ROWS_MAX][NAME_BYTES];
	static size_t count;
	struct scenario row = { .name = names[count],
		.group = groups[count],
		.in_flight = number(in_flight),
		.rig = { .fsync = fsync, .latency_ms = bench->latency_ms } };

	snprintf(names[count], NAME_BYTES, "in-flight-%s", in_flight);
	snprintf(groups[count++], NAME_BYTES, "appendfsync %s, model latency %lld ms",
	    fsync, (long long)bench->latency_ms);
	return row;
}

/* Rows of the flags alone. */
static struct scenario *
own_rows(const struct bench *bench, size_t *count_r)
{
	static const char *const in_flights[] = { "1", "16", "64", "256", NULL };
	static const char *const fsyncs[] = { "everysec", "always", NULL };
	const char *const *first = (const char *const *)bench->in_flight, *const *
									      in_flight;
	const char *const *fsync = (const char *const *)bench->fsync;
	struct scenario *list = xcalloc(ROWS_MAX + 1, sizeof *list);
	size_t count = 0;

	if (*first == NULL && (*fsync != NULL || bench->waiting == 0))
		first = in_flights;
	if (*fsync == NULL)
		fsync = fsyncs;
	for (; *fsync != NULL; fsync++)
		for (in_flight = first; *in_flight != NULL && count + 1 < ROWS_MAX;
		     in_flight++)
			list[count++] = row_of(bench, *fsync, *in_flight);
	if (bench->waiting > 0)
		list[count++] = (struct scenario){ .name = "waiting",
			.group = "memory of a run that waits for a model",
			.measure = MEASURE_WAITING,
			.in_flight = (size_t)bench->waiting,
			.rig = { .fsync = "everysec", .latency_ms = SLOW_MS } };
	*count_r = count;
	return list;
}

static void
measure_rows(struct bench *bench)
{
	size_t i;

	for (i = 0; i < bench->count; i++) {
		if (bench->list) {
			printf("%-24s %s\n", bench->rows[i].name, bench->rows[i].group);
			continue;
		}
		if (i == 0 || strcmp(bench->rows[i].group, bench->rows[i - 1].group) != 0)
			print_head(&bench->rows[i]);
		measure_row(bench, i);
	}
}

/* --- life ---------------------------------------------------------------------------- */

int
main(int argc, char *argv[])
{
	static const struct settings_help help = { "bench", "",
		"Measures what a run of 4 model calls and 3 tool calls costs a fleet." };
	static struct bench bench;
	struct scenario *rows;
	bool is_own;

	settings_parse(table, &bench, &help, argc, argv, NULL);
	is_own =
	    bench.in_flight[0] != NULL || bench.fsync[0] != NULL || bench.waiting > 0;
	rows = is_own ? own_rows(&bench, &bench.count) : chosen(&bench, &bench.count);
	if (bench.count == 0 || bench.count > ROWS_MAX)
		errx(2, "%zu scenarios are asked for; --list --full names them",
		    bench.count);
	usage_raise_file_limit(); /* a connection a call */
	bench.rows = rows;
	bench.loop = loop_new();
	bench.results = results_open(bench.out);
	measure_rows(&bench);
	results_close(&bench.results);
	loop_destroy(&bench.loop);
	socket_shutdown();
	settings_release(table, &bench);
	free(rows);
	return EXIT_SUCCESS;
}
