/* soak: a fleet under half of the load it can bear, for an hour: memory must be flat, latency
 * must not drift.
 *
 *	make bench-soak [MINUTES=60] [RATE=700] [FSYNC=always] [SAMPLE=60] [KEEP=30]
 *
 * Prints a line each SAMPLE seconds, then whether all stayed flat: the last third of the time beside
 * the third before it; the first is warm-up. Its exit status says the same. Threads are deleted KEEP
 * seconds after their run, so that Redis can be flat, too, and its append-only file is rewritten
 * as usual. Every run is read back. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "fiber.h"
#include "load.h"
#include "loop.h"
#include "redis.h"
#include "rig.h"
#include "settings.h"
#include "socket.h"

#define IN_FLIGHT 64u /* while it is found out what the fleet can bear */
#define TRIAL_RUNS 5000u
#define REDIS_WAIT_MS 10000u
#define SAMPLES_MAX 1440
#define SLOTS 4096u

/* The fleet, as a small one is. */
static const enum rig_part parts[] = { RIG_REDIS, RIG_HUB, RIG_MODEL, RIG_TOOLS };

/* What is looked at in each sample: the memory of the parts first. */
enum figure {
	REDIS_BYTES = sizeof parts / sizeof *parts, /* used_memory: what its data takes */
	REDIS_KEYS,
	P50_MS,
	P99_MS, /* told, not judged */
	FIGURES,
};

/* What may grow from the second third to the last: a share of it, and so much in any case. */
static const struct {
	const char *name, *unit;
	double divisor, share, slack;
} rules[FIGURES] = {
	{ "redis", "MB", 1 << 20, 0.05, 2 << 20 },
	{ "hub", "MB", 1 << 20, 0.05, 1 << 20 },
	{ "worker-model", "MB", 1 << 20, 0.05, 1 << 20 },
	{ "worker-tools", "MB", 1 << 20, 0.05, 1 << 20 },
	[REDIS_BYTES] = { "used_memory", "MB", 1 << 20, 0.05, 1 << 20 },
	[REDIS_KEYS] = { "keys", "", 1, 0.05, 100 },
	[P50_MS] = { "p50", "ms", 1, 0.10, 0.3 },
	[P99_MS] = { "p99", "ms", 1, 0, 1e9 },
};

struct soak {
	int64_t minutes, rate, sample_s, keep_s, latency_ms;
	const char *fsync, *out;
	struct loop *loop;
	struct rig *rig;
	struct load *load;
	struct redis *redis;
	FILE *file;
	double samples[SAMPLES_MAX][FIGURES];
	size_t count, runs; /* runs of one sample */
	bool told;
};

#define FIELD(field) offsetof(struct soak, field)
static const struct setting table[] = {
	{ "minutes", SETTING_INTEGER, FIELD(minutes), "60", 1, 1440, NULL,
	    "how long it takes", 0 },
	{ "rate", SETTING_INTEGER, FIELD(rate), "0", 0, 100000, NULL,
	    "runs a second; 0: half of what the fleet does with 64 in flight", 0 },
	{ "sample-s", SETTING_INTEGER, FIELD(sample_s), "60", 1, 3600, "s",
	    "from one line to the next", 0 },
	{ "keep-s", SETTING_INTEGER, FIELD(keep_s), "30", 1, 86400, "s",
	    "how long a thread is kept", 0 },
	{ "latency-ms", SETTING_INTEGER, FIELD(latency_ms), "0", 0, 60000, "ms",
	    "how long the model takes", 0 },
	{ "fsync", SETTING_TEXT, FIELD(fsync), "everysec", 0, 0, NULL,
	    "Redis's appendfsync", 0 },
	{ "out", SETTING_TEXT, FIELD(out), NULL, 0, 0, NULL,
	    "a file that gets the lines, too, separated by tabs", 0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

/* --- what Redis says ------------------------------------------------------------------ */

static void
tell_main(void *arg)
{
	static const char name[] = "used_memory:";
	struct soak *soak = arg;
	struct arena *arena = arena_new();
	const struct value *memory, *keys;
	const char *at;

	if (redis_text(soak->redis, arena, REDIS_WAIT_MS, &memory, "INFO", "memory",
		NULL) != REDIS_OK ||
	    redis_text(soak->redis, arena, REDIS_WAIT_MS, &keys, "DBSIZE", NULL) !=
		REDIS_OK ||
	    (at = strstr(redis_reply_text(memory), name)) == NULL)
		errx(EXIT_FAILURE, "Redis: %s", redis_trouble(soak->redis));
	soak->samples[soak->count][REDIS_BYTES] = strtod(at + sizeof name - 1, NULL);
	soak->samples[soak->count][REDIS_KEYS] = (double)keys->integer;
	arena_destroy(&arena);
	soak->told = true;
}

static bool
is_told(void *arg)
{
	const struct soak *soak = arg;

	return soak->told;
}

/* --- samples -------------------------------------------------------------------------- */

static void
print_head(struct soak *soak)
{
	int i;

	printf("%8s %8s", "minute", "runs/s");
	if (soak->file != NULL)
		fputs("minute\truns_per_s", soak->file);
	for (i = 0; i < FIGURES; i++) {
		printf(" %9s %2s", rules[i].name, rules[i].unit);
		if (soak->file != NULL)
			fprintf(soak->file, "\t%s%s%s", rules[i].name,
			    rules[i].unit[0] == '\0' ? "" : "_", rules[i].unit);
	}
	putchar('\n');
	if (soak->file != NULL)
		fputc('\n', soak->file);
}

static void
print_sample(struct soak *soak, double runs_per_s, const double *sample)
{
	double minute = (double)(soak->count + 1) * (double)soak->sample_s / 60;
	int i;

	printf("%8.1f %8.0f", minute, runs_per_s);
	if (soak->file != NULL)
		fprintf(soak->file, "%.2f\t%.1f", minute, runs_per_s);
	for (i = 0; i < FIGURES; i++) {
		double value = sample[i] / rules[i].divisor;
		size_t width = strlen(rules[i].name);

		printf(" %*.2f", (int)(width > 9 ? width : 9) + 3, value);
		if (soak->file != NULL)
			fprintf(soak->file, "\t%.3f", value);
	}
	putchar('\n');
	if (soak->file != NULL)
		fputc('\n', soak->file);
	fflush(NULL);
}

static void
take_sample(struct soak *soak)
{
	double *sample = soak->samples[soak->count];
	struct load_result result;
	int i;

	load_pace(soak->load, soak->runs, (double)soak->rate, &result);
	if (load_wrong(soak->load) > 0)
		errx(EXIT_FAILURE, "%zu runs have not ended as they must",
		    load_wrong(soak->load));
	for (i = 0; i < REDIS_BYTES; i++)
		sample[i] = (double)rig_resident_bytes(soak->rig, parts[i]);
	sample[P50_MS] = result.latencies_ms[result.runs / 2];
	sample[P99_MS] = result.latencies_ms[result.runs * 99 / 100];
	free(result.latencies_ms);
	soak->told = false;
	if (fiber_start(soak->loop, "tell", tell_main, soak) == NULL)
		errx(EXIT_FAILURE, "no room for a fiber");
	loop_run_until(soak->loop, is_told, soak);
	print_sample(soak, (double)result.runs / result.seconds, sample);
	soak->count++;
}

/* --- the verdict ---------------------------------------------------------------------- */

static double
mean(const struct soak *soak, size_t from, size_t to, int figure)
{
	double sum = 0;
	size_t i;

	for (i = from; i < to; i++)
		sum += soak->samples[i][figure];
	return sum / (double)(to - from);
}

/* Says of each figure what it was in the second third and in the last. Returns how many have
 * grown. */
static unsigned
judge(const struct soak *soak)
{
	size_t third = soak->count / 3, begin = soak->count - third;
	double runs = (double)third * (double)soak->runs;
	unsigned grown = 0;
	int i;

	printf("\n%-14s %12s %12s\n", "", "second third", "last third");
	for (i = 0; i < FIGURES; i++) {
		double before = mean(soak, begin - third, begin, i),
		       after = mean(soak, begin, soak->count, i), more = after - before;
		bool is_flat = more <= rules[i].slack || more <= before * rules[i].share;

		printf("%-14s %12.2f %12.2f %s %+.1f %%", rules[i].name,
		    before / rules[i].divisor, after / rules[i].divisor, rules[i].unit,
		    before > 0 ? more / before * 100 : 0);
		if (rules[i].divisor > 1)
			printf(", %+.2f B a run", more / runs);
		puts(is_flat ? "" : "   NOT FLAT");
		grown += !is_flat;
	}
	puts(grown == 0 ? "flat" : "not flat");
	return grown;
}

/* --- life ----------------------------------------------------------------------------- */

/* Half of what it does with 64 in flight. */
static int64_t
half_load(struct soak *soak)
{
	struct load_result result;
	double runs_per_s;

	load_run(soak->load, TRIAL_RUNS, IN_FLIGHT, &result);
	runs_per_s = (double)result.runs / result.seconds;
	free(result.latencies_ms);
	printf("%.0f runs/s with %u in flight\n", runs_per_s, IN_FLIGHT);
	return (int64_t)(runs_per_s / 2) + 1;
}

static void
start(struct soak *soak)
{
	const struct rig_options options = { .fsync = soak->fsync,
		.latency_ms = soak->latency_ms,
		.calls = SLOTS,
		.keep_ms = soak->keep_s * 1000,
		.rewrites = true };
	const char *error = NULL;

	soak->loop = loop_new();
	soak->rig = rig_start(&options);
	soak->load = load_new(
	    soak->loop, rig_redis(soak->rig), rig_status(soak->rig), &load_usual);
	soak->redis = redis_new(soak->loop, rig_redis(soak->rig), NULL, &error);
	if (soak->redis == NULL)
		errx(EXIT_FAILURE, "%s", error);
	if (soak->out != NULL && (soak->file = fopen(soak->out, "we")) == NULL)
		err(EXIT_FAILURE, "%s", soak->out);
	if (soak->rate == 0)
		soak->rate = half_load(soak);
	soak->runs = (size_t)(soak->rate * soak->sample_s);
}

static void
stop(struct soak *soak)
{
	if (soak->file != NULL && fclose(soak->file) == EOF)
		err(EXIT_FAILURE, "%s", soak->out);
	redis_destroy(&soak->redis);
	load_destroy(&soak->load);
	rig_stop(&soak->rig);
	loop_destroy(&soak->loop);
	socket_shutdown();
}

int
main(int argc, char *argv[])
{
	static const struct settings_help help = { "bench-soak", "",
		"Runs a fleet under half of its load and says whether it stays flat." };
	static struct soak soak;
	size_t samples;
	unsigned grown;

	settings_parse(table, &soak, &help, argc, argv, NULL);
	samples = (size_t)(soak.minutes * 60 / soak.sample_s);
	if (samples < 3 || samples > SAMPLES_MAX)
		errx(2, "that makes %zu samples; 3 to %d are wanted", samples,
		    SAMPLES_MAX);
	start(&soak);
	printf("%lld runs/s, appendfsync %s, threads kept for %lld s\n\n",
	    (long long)soak.rate, soak.fsync, (long long)soak.keep_s);
	print_head(&soak);
	while (soak.count < samples)
		take_sample(&soak);
	grown = judge(&soak);
	stop(&soak);
	settings_release(table, &soak);
	return grown == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
