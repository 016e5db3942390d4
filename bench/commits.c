/* commits: how long Redis is at a commit on a thread of so many messages, when nothing else
 * goes by: one commit behind the other, of one message each, without a fleet.
 *
 *	bench-commits COMMITS ROUNDS MESSAGES...      prints "alone MESSAGES us" lines
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "chat.h"
#include "children.h"
#include "fiber.h"
#include "loop.h"
#include "redis.h"
#include "store.h"

#define REDIS_WAIT_MS 10000u
#define LONG_LEASE_MS 600000u
#define LOT 1000u /* messages of one commit, while a thread is filled */

struct bench {
	struct loop *loop;
	struct redis *redis;
	struct store *store;
	unsigned long commits, rounds;
	char **sizes;
	bool done;
};

/* One thread, owned and filled. */
struct trial {
	struct store *store;
	const char *thread;
	uint64_t epoch, version;
};

static const struct value *
lot_of(struct arena *arena, size_t count)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&list,
		    chat_human(arena,
			"the quick brown fox jumps over the lazy dog, and runs away "
			"from it as fast as can be"));
	return value_list_end(&list);
}

static void
commit(struct trial *trial, size_t messages)
{
	struct arena *arena = arena_new();
	const struct value *text =
	    value_str(arena, "what stands in a head, and more of it");
	struct store_committed committed;
	const struct store_commit what = {
		.thread = trial->thread,
		.run = trial->thread,
		.epoch = trial->epoch,
		.version = trial->version,
		.id = arena_printf(
		    arena, "%s.%llu", trial->thread, (unsigned long long)trial->version),
		.last_id = arena_printf(arena, "%s.%llu", trial->thread,
		    (unsigned long long)trial->version - 1),
		.status = "running",
		.head = value_map(arena, "run", text, "next", text, NULL),
		.order = value_empty_array(),
		.checkpoint = value_map(arena, "version", text, NULL),
		.messages = lot_of(arena, messages),
		.fields = value_empty_map(),
		.events = value_array(arena, &text, 1),
		.last_event = trial->version + 1, /* it was queued */
		.run_fields = value_empty_map(),
		.drop_results = true,
	};

	if (store_commit(trial->store, arena, &what, &committed) != STORE_OK)
		errx(EXIT_FAILURE, "a commit: %s", store_error(trial->store));
	trial->version = committed.version;
	arena_destroy(&arena);
}

/* Queues a run on a new thread, claims it and gives it so many messages. */
static void
trial_start(struct trial *trial, struct arena *arena, size_t messages)
{
	struct store_claim claim;
	int64_t before;

	if (store_submit(trial->store, arena, trial->thread, trial->thread,
		value_map(arena, "agent", value_str(arena, "bench"), NULL),
		&before) != STORE_OK ||
	    store_claim(trial->store, arena, trial->thread, LONG_LEASE_MS, &claim) !=
		STORE_OK)
		errx(EXIT_FAILURE, "thread %s: %s", trial->thread,
		    store_error(trial->store));
	trial->epoch = claim.epoch;
	trial->version = claim.version;
	for (; messages > LOT; messages -= LOT)
		commit(trial, LOT);
	commit(trial, messages);
}

/* What Redis has spent on function calls since RESETSTAT, in microseconds a call. */
static double
call_us(struct redis *redis, struct arena *arena)
{
	static const char field[] = "usec_per_call=";
	const struct value *reply;
	const char *at;

	if (redis_text(redis, arena, REDIS_WAIT_MS, &reply, "INFO", "commandstats",
		NULL) != REDIS_OK ||
	    (at = strstr(redis_reply_text(reply), "cmdstat_fcall:")) == NULL ||
	    (at = strstr(at, field)) == NULL)
		errx(EXIT_FAILURE, "Redis does not say how long calls took");
	return strtod(at + sizeof field - 1, NULL);
}

static void
measure(struct bench *bench, unsigned long round, size_t messages)
{
	struct arena *arena = arena_new();
	struct trial trial = { .store = bench->store,
		.thread = arena_printf(arena, "thread%lu-%zu", round, messages) };
	const struct value *reply;
	unsigned long i;

	trial_start(&trial, arena, messages);
	if (redis_text(bench->redis, arena, REDIS_WAIT_MS, &reply, "CONFIG", "RESETSTAT",
		NULL) != REDIS_OK)
		errx(EXIT_FAILURE, "%s", redis_trouble(bench->redis));
	for (i = 0; i < bench->commits; i++)
		commit(&trial, 1);
	printf("alone %zu %.1f\n", messages, call_us(bench->redis, arena));
	arena_destroy(&arena);
}

static void
bench_main(void *arg)
{
	struct bench *bench = arg;
	unsigned long round;
	char **size;

	for (round = 0; round < bench->rounds; round++)
		for (size = bench->sizes; *size != NULL; size++)
			measure(bench, round, strtoul(*size, NULL, 10));
	bench->done = true;
}

static bool
is_done(void *arg)
{
	const struct bench *bench = arg;

	return bench->done;
}

static void
run(struct bench *bench, const char *url)
{
	const char *error = NULL;

	bench->loop = loop_new();
	bench->redis = redis_new(bench->loop, url, store_library(), &error);
	if (bench->redis == NULL)
		errx(EXIT_FAILURE, "%s", error);
	bench->store = store_new(bench->redis, REDIS_WAIT_MS);
	store_act_as(bench->store, "bench", "bench");
	if (fiber_start(bench->loop, "bench", bench_main, bench) == NULL)
		errx(EXIT_FAILURE, "no room for a fiber");
	loop_run_until(bench->loop, is_done, bench);
	store_destroy(&bench->store);
	redis_destroy(&bench->redis);
	loop_destroy(&bench->loop);
}

int
main(int argc, char *argv[])
{
	struct bench bench = { .commits = argc > 3 ? strtoul(argv[1], NULL, 10) : 0,
		.rounds = argc > 3 ? strtoul(argv[2], NULL, 10) : 0,
		.sizes = argv + 3 };
	struct arena *arena;
	struct child *redis;
	char *folder, *socket;

	if (bench.commits == 0 || bench.rounds == 0)
		errx(2, "usage: bench-commits COMMITS ROUNDS MESSAGES...");
	arena = arena_new();
	folder = folder_new();
	socket = arena_printf(arena, "%s/redis", folder);
	redis =
	    child_start((const char *[]){ "redis-server", "--port", "0", "--unixsocket",
			    socket, "--dir", folder, "--save", "", "--appendonly", "yes",
			    "--supervised", "systemd", "--daemonize", "no", "--logfile",
			    arena_printf(arena, "%s/log", folder), NULL },
		NULL);
	run(&bench, arena_printf(arena, "unix://%s", socket));
	child_stop(&redis);
	folder_remove(&folder);
	arena_destroy(&arena);
	return EXIT_SUCCESS;
}
