/* sim: runs schedules; see docs/internals/testing.md.
 *
 *	sim [--schedules N] [--seed S] [--go-on]  from seed S on, N of them
 *	sim --failed-once                         those of seeds.def
 *	sim --trace S [--without MASK]            one, told step by step
 *	sim --planted NAME | --planted all        with a bug in it, which must be found */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bugs.h"
#include "store.h"
#include "world.h"

#define LIVENESS_LIMIT_MS 90000u /* after healing: every run has ended by then */
/* Until all tables are empty, if nobody died with an answer: a call can be behind others, and tried again, where a
 * run goes on whose submission nobody knows of. */
#define REST_MS 12000u
/* The same, once what is kept for the dead is given up: it comes again. */
#define KEPT_REST_MS (RESULT_RESEND_MS_MAX + UINT64_C(50000))
/* A call that waits for a worker, and whose coordinator has left, ends at its deadline, which is in the first
 * sleep; its outcome is kept through the second one. An outcome that a deposed owner got in its sleep it leaves to
 * others for as long. */
#define SLEEPS 3u
#define EVENTS_MAX 2000000u

#define DEFAULT_SEED 1u

struct options {
	uint64_t seed, schedules, without;
	bool tracing, going_on, failed_once;
	const char *planted;
};

/* --- one schedule ----------------------------------------------------------------------- */

static struct redis_memory *memory;

static void
world_begin(struct world *world, uint64_t seed, const struct options *options)
{
	struct message *free_messages = world->free_messages;
	struct payload *free_payloads = world->free_payloads;
	struct region region = world->region;
	struct heap agenda = world->agenda;
	uint64_t events = world->events;

	memset(world, 0, sizeof *world);
	world->free_messages = free_messages;
	world->free_payloads = free_payloads;
	world->region = region;
	world->region.used = 0;
	world->agenda = agenda;
	world->events = events;
	world->tracing = options->tracing;
	world->now_ms = START_MS;
	plan_make(world, seed, options->without);
	world->redis.memory = memory;
	redis_memory_begin(memory, &world->region);
}

/* Runs tasks until until_ms, or until done says so. Returns whether it did. */
static bool
go(struct world *world, uint64_t until_ms, bool (*done)(struct world *world))
{
	struct heap_node *node;
	unsigned count = 0;

	while (world->violation[0] == '\0' &&
	       (node = heap_first(&world->agenda)) != NULL &&
	       node->rank >> 24 <= until_ms) {
		struct task *task = HEAP_ITEM(node, struct task, node);

		if (node->rank >> 24 > world->now_ms)
			world->now_ms = node->rank >> 24;
		heap_remove(&world->agenda, node);
		task->run(task);
		world->events++;
		if (++count % 16 == 0 && done != NULL && done(world))
			return true;
		if (count > EVENTS_MAX)
			violate(
			    world, "16: more than %u events: somebody spins", EVENTS_MAX);
	}
	if (world->violation[0] == '\0' && world->now_ms < until_ms)
		world->now_ms = until_ms;
	return done != NULL && done(world);
}

static bool
at_rest(struct world *world)
{
	return world_unrest(world) == NULL;
}

static bool
is_over(struct world *world)
{
	return runs_over(world) && everybody_is_up(world);
}

/* What waits for the dead is kept for RESULT_KEEP_MS. All processes sleep for as long: that is a
 * gap of each's own, nobody takes anybody for dead, and then all is given up. */
static void
sleep_over(struct world *world)
{
	TRACE(world, "SLEEP");
	world->now_ms += RESULT_KEEP_MS + 1000;
}

static void
play(struct world *world)
{
	uint64_t limit_ms;
	unsigned i;
	bool rested;

	faults_start(world);
	go(world, world->plan.heal_ms, NULL);
	world_heal(world);
	limit_ms = world->now_ms + LIVENESS_LIMIT_MS;
	if (!go(world, limit_ms, is_over))
		violate(world,
		    "16: not every run has ended %u ms after everything was healed",
		    LIVENESS_LIMIT_MS);
	rested = go(world, world->now_ms + REST_MS, at_rest);
	for (i = 0; i < SLEEPS && !rested; i++) {
		sleep_over(world);
		rested = go(world, world->now_ms + KEPT_REST_MS, at_rest);
	}
	if (world->violation[0] == '\0')
		check_end(world);
}

static void
world_end(struct world *world)
{
	plan_end(world);
	net_clear(world);
	world->agenda.count = 0;
	if (world->violation[0] == '\0' && world->payloads > 0)
		violate(world, "15: %zu bodies are nobody's", world->payloads);
}

/* Returns true when nothing was wrong. */
static bool
run_schedule(struct world *world, uint64_t seed, const struct options *options)
{
	world_begin(world, seed, options);
	if (options->tracing)
		plan_print(world);
	play(world);
	world_end(world);
	return world->violation[0] == '\0';
}

/* --- many ------------------------------------------------------------------------------- */

static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Leaves out one fault after the other as long as something is still wrong. */
static uint64_t
shrink(struct world *world, uint64_t seed)
{
	struct options options = { 0 };
	uint64_t tried;
	unsigned i, count = world->plan.fault_count;

	for (i = 0; i < count; i++) {
		tried = options.without;
		options.without |= UINT64_C(1) << i;
		if (run_schedule(world, seed, &options))
			options.without = tried;
	}
	return options.without;
}

static void
report(struct world *world, uint64_t seed, bool briefly)
{
	uint64_t without;
	char violation[sizeof world->violation];

	memcpy(violation, world->violation, sizeof violation);
	if (briefly) {
		printf("%llu: %s\n", (unsigned long long)seed, violation);
		return;
	}
	without = shrink(world, seed);
	run_schedule(world, seed, &(struct options){ .without = without });
	printf("sim: seed %llu: %s\n", (unsigned long long)seed, violation);
	plan_print(world);
	if (strcmp(violation, world->violation) != 0)
		printf("  without these faults: %s\n", world->violation);
	printf("  replay: build/tests-sim --trace %llu --without %llu%s%s\n",
	    (unsigned long long)seed, (unsigned long long)without,
	    planted_bug == PLANTED_NOTHING ? "" : " --planted ",
	    planted_bug == PLANTED_NOTHING ? "" : planted_name(planted_bug));
}

static int
run_many(struct world *world, const struct options *options)
{
	double begin = now_s(), took;
	uint64_t i, failed = 0;

	for (i = 0; i < options->schedules && (failed == 0 || options->going_on); i++) {
		if (run_schedule(world, options->seed + i, options))
			continue;
		failed++;
		report(world, options->seed + i, options->going_on);
	}
	if (failed > 0) {
		printf("0 passed, %llu failed\n", (unsigned long long)failed);
		return EXIT_FAILURE;
	}
	took = now_s() - begin;
	printf("sim: %llu schedules in %.1f s: %.0f us each, %.0f events each\n",
	    (unsigned long long)options->schedules, took,
	    took * 1e6 / (double)options->schedules,
	    (double)world->events / (double)options->schedules);
	printf("1 passed, 0 failed\n");
	return EXIT_SUCCESS;
}

static int
run_failed_once(struct world *world, const struct options *options)
{
	static const struct {
		uint64_t seed;
		const char *what;
	} seeds[] = {
#define SEED(number, text) { number, text },
#include "seeds.def"
#undef SEED
	};
	unsigned failed = 0;
	size_t i, count = sizeof seeds / sizeof seeds[0];

	for (i = 0; i < count; i++) {
		if (run_schedule(world, seeds[i].seed, options))
			continue;
		failed++;
		report(world, seeds[i].seed, false);
		printf("  it failed before: %s\n", seeds[i].what);
	}
	printf("%zu passed, %u failed\n", count - failed, failed);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- planted bugs ----------------------------------------------------------------------- */

static uint64_t
first_seed(const struct options *options)
{
	static const struct {
		int bug;
		uint64_t seed;
	} begins[] = {
#define BEGIN(name, number) { PLANTED_##name, (number) },
#include "planted_seeds.def"
#undef BEGIN
	};
	size_t i;

	for (i = 0; i < sizeof begins / sizeof *begins; i++)
		if (options->seed == DEFAULT_SEED && (int)planted_bug == begins[i].bug)
			return begins[i].seed;
	return options->seed;
}

/* Returns whether the bug was found within as many schedules. */
static bool
find_planted(struct world *world, const struct options *options)
{
	char *library = planted_library(store_library());
	uint64_t i, first = first_seed(options);
	bool found = false;

	redis_memory_destroy(&memory);
	memory = redis_memory_new(library);
	for (i = 0; i < options->schedules && !found; i++)
		found = !run_schedule(world, first + i, options);
	if (found)
		printf("sim: planted %-24s found by schedule %6llu: %s\n",
		    planted_name(planted_bug), (unsigned long long)i, world->violation);
	else
		printf("sim: planted %-24s NOT found by %llu schedules\n",
		    planted_name(planted_bug), (unsigned long long)options->schedules);
	fflush(stdout);
	free(library);
	return found;
}

static int
find_all_planted(struct world *world, const struct options *options)
{
	unsigned found = 0, missed = 0;
	bool all = strcmp(options->planted, "all") == 0;

	for (planted_bug = PLANTED_NOTHING + 1; planted_bug < PLANTED_BUGS;
	     planted_bug++) {
		if (!all && strcmp(options->planted, planted_name(planted_bug)) != 0)
			continue;
		if (find_planted(world, options))
			found++;
		else
			missed++;
	}
	printf("%u passed, %u failed\n", found, missed);
	return missed == 0 && found > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- the command line ------------------------------------------------------------------- */

static int
usage(void)
{
	fprintf(stderr,
	    "usage: sim [--schedules N] [--seed S] [--go-on] [--planted NAME|all]\n"
	    "       sim --failed-once\n"
	    "       sim --trace S [--without MASK] [--planted NAME]\n");
	return 2;
}

static bool
read_options(int argc, char *argv[], struct options *options)
{
	static const struct option table[] = {
		{ "schedules", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "trace", required_argument, NULL, 't' },
		{ "without", required_argument, NULL, 'w' },
		{ "go-on", no_argument, NULL, 'g' },
		{ "failed-once", no_argument, NULL, 'f' },
		{ "planted", required_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (option) {
		case 'n':
			options->schedules = strtoull(optarg, NULL, 10);
			break;
		case 't':
			options->tracing = true;
			options->seed = strtoull(optarg, NULL, 10);
			break;
		case 's':
			options->seed = strtoull(optarg, NULL, 10);
			break;
		case 'g':
			options->going_on = true;
			break;
		case 'f':
			options->failed_once = true;
			break;
		case 'w':
			options->without = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			options->planted = optarg;
			break;
		default:
			return false;
		}
	}
	return optind == argc;
}

static int
trace(struct world *world, const struct options *options)
{
	char *library;

	for (planted_bug = PLANTED_NOTHING;
	     options->planted != NULL && planted_bug < PLANTED_BUGS; planted_bug++)
		if (strcmp(options->planted, planted_name(planted_bug)) == 0)
			break;
	library = planted_library(store_library());
	redis_memory_destroy(&memory);
	memory = redis_memory_new(library);
	free(library);
	if (!run_schedule(world, options->seed, options)) {
		printf("sim: seed %llu: %s\n", (unsigned long long)options->seed,
		    world->violation);
		return EXIT_FAILURE;
	}
	printf("sim: seed %llu: nothing wrong\n", (unsigned long long)options->seed);
	return EXIT_SUCCESS;
}

static void
world_free(struct world *world)
{
	struct message *message;
	struct payload *payload;

	while ((message = world->free_messages) != NULL) {
		world->free_messages = message->next;
		free(message);
	}
	while ((payload = world->free_payloads) != NULL) {
		world->free_payloads = payload->next_free;
		free(payload);
	}
	heap_release(&world->agenda);
	free(world->region.bytes);
	free(world);
}

int
main(int argc, char *argv[])
{
	struct options options = { .seed = DEFAULT_SEED, .schedules = 1000 };
	struct world *world = calloc(1, sizeof *world);
	int status;

	if (world == NULL || (world->region.bytes = malloc(REGION_BYTES)) == NULL)
		abort();
	if (!read_options(argc, argv, &options)) {
		world_free(world);
		return usage();
	}
	memory = redis_memory_new(store_library());
	if (options.tracing)
		status = trace(world, &options);
	else if (options.failed_once)
		status = run_failed_once(world, &options);
	else if (options.planted != NULL)
		status = find_all_planted(world, &options);
	else
		status = run_many(world, &options);
	redis_memory_destroy(&memory);
	world_free(world);
	return status;
}
