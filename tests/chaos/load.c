#include "load.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "fiber.h"
#include "memory.h"
#include "store_fleet.h"

#define REDIS_WAIT_MS 3000u
#define AGAIN_MS 300u
#define CLIENT_PATIENCE_MS 1500u /* then it does not know, and asks again */
#define POLL_MS 200u
#define CANCEL_PER_MILLE 60u
#define BY_HTTP_PER_MILLE 350u
#define CANCEL_WITHIN_MS 2500u
#define OUST_PER_MILLE                                                                   \
	250u /* of the threads of several turns: the last one does not wait */

/* --- connections -------------------------------------------------------------------------- */

static struct redis *
connect_redis(struct load *load, const char *url, const char *library)
{
	const char *error;
	struct redis *redis = redis_new(load->fleet->loop, url, library, &error);

	if (redis == NULL) {
		fleet_say(load->fleet, "%s: %s", url, error);
		abort();
	}
	return redis;
}

struct load *
load_new(struct fleet *fleet, uint64_t seed, double runs_per_second)
{
	struct load *load = xcalloc(1, sizeof *load);

	load->fleet = fleet;
	load->arena = arena_new();
	load->interval_ms = (uint64_t)(1000 / runs_per_second);
	load->live_max = (unsigned)(40 * runs_per_second);
	random_seed(&load->random, seed);
	load->redis = connect_redis(load, fleet_redis(fleet, "client"), store_library());
	redis_allow_silence(load->redis, CLIENT_PATIENCE_MS);
	load->direct_redis = connect_redis(load, fleet_redis(fleet, NULL), NULL);
	load->store = store_new(load->redis, REDIS_WAIT_MS);
	load->direct = store_new(load->direct_redis, REDIS_WAIT_MS);
	load->client = client_new(fleet);
	return load;
}

void
load_destroy(struct load **load_p)
{
	struct load *load = *load_p;
	size_t i;

	for (i = 0; i < load->count; i++)
		if (load->runs[i]->told != NULL)
			client_run_release(load->runs[i]->told);
	client_destroy(&load->client);
	store_destroy(&load->store);
	store_destroy(&load->direct);
	redis_destroy(&load->redis);
	redis_destroy(&load->direct_redis);
	arena_destroy(&load->arena);
	free(load->runs);
	free(load);
	*load_p = NULL;
}

bool
load_prepare(struct load *load)
{
	struct fleet *fleet = load->fleet;
	const struct cli flotilla = { .program = arena_printf(
					  load->arena, "%s/bin/flotilla", fleet->build),
		.arena = load->arena };
	const char *const arguments[] = { "agents", "apply",
		fleet_write(fleet, "agents.yaml", sort_agents()), "--redis",
		fleet_redis(fleet, NULL), NULL };
	struct said said = cli_run(&flotilla, NULL, arguments);

	if (said.status != 0)
		fleet_say(fleet, "flotilla agents apply: %s", said.err);
	return said.status == 0;
}

/* --- one run --------------------------------------------------------------------------------- */

struct order {
	struct load *load;
	struct load_run *run;
	uint64_t begin_after_ms;
	uint64_t cancel_after_ms; /* 0: it is left alone */
};

static enum redis_status
submit_once(struct load *load, const struct load_run *run)
{
	struct arena *arena = arena_new();
	const char *words[] = { "XADD", STORE_INBOX, "*", "agent", run->sort->agent,
		"run", run->id, "thread", run->thread, "input",
		arena_printf(arena, "\"%s\"", run->input), "stream",
		run->sort->stream ? "1" : "0", "multitask", run->multitask };
	struct redis_arg args[sizeof words / sizeof *words];
	size_t count = sizeof words / sizeof *words - (run->multitask == NULL ? 2 : 0), i;
	const struct value *reply;
	enum redis_status status;

	for (i = 0; i < count; i++)
		args[i] = (struct redis_arg){ words[i], strlen(words[i]) };
	status = redis_call(load->redis, arena, REDIS_WAIT_MS, args, count, &reply);
	arena_destroy(&arena);
	return status;
}

static void
cancel_run(struct load *load, struct load_run *run)
{
	const char *answer = NULL, *status = NULL;

	run->cancel_asked = true;
	while (answer == NULL || strcmp(answer, "UNKNOWN") == 0) {
		struct arena *arena = arena_new();

		if ((run->cancels_back ? store_cancel_back : store_cancel)(load->store,
			arena, run->thread, run->id, &answer, &status) != STORE_OK)
			answer = NULL;
		answer = answer != NULL ? arena_strdup(load->arena, answer) : NULL;
		arena_destroy(&arena);
		if (answer == NULL || strcmp(answer, "UNKNOWN") == 0)
			fiber_sleep(AGAIN_MS);
	}
	run->cancel_answer = answer;
}

/* To its end. */
static void
follower_main(void *arg)
{
	struct order *order = arg;

	client_follow(order->load->client, order->run->told);
	order->load->busy--;
	free(order);
}

static void
start_order(const struct order *wanted, void (*main)(void *arg))
{
	struct order *order = xcalloc(1, sizeof *order);
	struct load *load = wanted->load;

	*order = *wanted;
	load->busy++;
	if (fiber_start(load->fleet->loop, "order", main, order) == NULL)
		abort();
}

/* Who asks by HTTP asks for one behind the other. A server that refuses what is right is none that went on: the run is
 * missing then. */
static void
submit_by_http(struct load *load, struct load_run *run)
{
	const char *refused;

	while (run->before != NULL && !run->before->acknowledged)
		fiber_sleep(POLL_MS / 4);
	refused = client_begin(load->client, run->told);
	run->tries = run->told->asked;
	run->acknowledged = true;
	if (refused != NULL) {
		fleet_say(load->fleet, "REFUSED by HTTP: %s: %s", run->input, refused);
		return;
	}
	run->id = run->last = run->told->id;
	start_order(&(struct order){ .load = load, .run = run }, follower_main);
}

static void
submit_by_inbox(struct load *load, struct load_run *run)
{
	do {
		run->tries++;
		run->acknowledged = submit_once(load, run) == REDIS_OK;
		if (!run->acknowledged)
			fiber_sleep(AGAIN_MS);
	} while (!run->acknowledged);
}

static void
order_main(void *arg)
{
	struct order *order = arg;
	struct load *load = order->load;
	struct load_run *run = order->run;

	if (order->begin_after_ms > 0)
		fiber_sleep(order->begin_after_ms);
	if (run->told != NULL)
		submit_by_http(load, run);
	else
		submit_by_inbox(load, run);
	if (order->cancel_after_ms > 0) {
		fiber_sleep(order->cancel_after_ms);
		cancel_run(load, run);
	}
	load->busy--;
	free(order);
}

/* Returns the run, which nobody has submitted yet. */
static struct load_run *
add_run(struct load *load, const struct sort *sort, const char *thread, unsigned turn,
    bool by_http)
{
	struct load_run *run = arena_alloc(load->arena, sizeof *run);

	if (load->count == load->room) {
		load->room = load->room * 2 + 256;
		load->runs = xreallocarray(load->runs, load->room, sizeof *load->runs);
	}
	run->sort = sort;
	run->turn = turn;
	run->thread = thread;
	run->id = arena_printf(load->arena, "r%zu-%s.%u", load->count, sort->agent, turn);
	run->last = run->input = run->id;
	run->before = turn > 0 ? load->runs[load->count - 1] : NULL;
	if (by_http) {
		run->told = arena_alloc(load->arena, sizeof *run->told);
		client_run_init(run->told, thread, sort->agent, run->input, sort->stream);
	}
	load->runs[load->count++] = run;
	return run;
}

/* --- the rate ---------------------------------------------------------------------------------- */

static const struct sort *
choose_sort(struct load *load)
{
	uint64_t at = random_between(&load->random, 0, 999);
	size_t i;

	for (i = 0; i + 1 < sort_count && at >= sorts[i].per_mille; i++)
		at -= sorts[i].per_mille;
	return &sorts[i];
}

/* The last of count runs of a thread does not wait for the others. */
static void
oust_others(struct load *load, struct load_run **runs, unsigned count)
{
	struct load_run *last = runs[count - 1];
	unsigned i;

	last->multitask = random_chance(&load->random, 500) ? "rollback" : "interrupt";
	for (i = 0; i + 1 < count; i++)
		runs[i]->ousted_by = last;
}

static void
add_thread(struct load *load)
{
	const struct sort *sort = choose_sort(load);
	const char *thread = arena_printf(load->arena, "t%zu", load->count);
	bool by_http = load->fleet->plan->counts[PARTY_SERVE] > 0 &&
		       random_chance(&load->random, BY_HTTP_PER_MILLE);
	bool ousts =
	    !by_http && sort->turns > 1 && random_chance(&load->random, OUST_PER_MILLE);
	unsigned cancelled = UINT32_MAX, turn;
	size_t first = load->count;

	if (random_chance(&load->random, CANCEL_PER_MILLE))
		cancelled = (unsigned)random_between(&load->random, 0, sort->turns - 1);
	for (turn = 0; turn < sort->turns; turn++) {
		struct load_run *run = add_run(load, sort, thread, turn, by_http);

		/* Who follows a run by HTTP is not told any more of one that is put back. */
		run->cancels_back = !by_http && random_chance(&load->random, 500);
	}
	if (ousts)
		oust_others(load, &load->runs[first], sort->turns);
	for (turn = 0; turn < sort->turns; turn++) {
		struct load_run *run = load->runs[first + turn];
		struct order order = { .load = load, .run = run };

		if (turn == cancelled)
			order.cancel_after_ms =
			    random_between(&load->random, 1, CANCEL_WITHIN_MS);
		if (run->multitask != NULL)
			order.begin_after_ms =
			    random_between(&load->random, 1, CANCEL_WITHIN_MS);
		start_order(&order, order_main);
	}
}

static void
submitter_main(void *arg)
{
	struct load *load = arg;

	while (load->submitting) {
		if (load->live < load->live_max)
			add_thread(load);
		fiber_sleep(load->interval_ms);
	}
	load->busy--;
}

static void
watcher_main(void *arg)
{
	struct load *load = arg;

	while (load->submitting) {
		struct arena *arena = arena_new();
		const struct value *counts = NULL;

		if (store_counts(load->direct, arena, &counts) == STORE_OK)
			load->live = value_get_int(counts, "live_threads", 0);
		arena_destroy(&arena);
		fiber_sleep(POLL_MS);
	}
	load->busy--;
}

void
load_begin(struct load *load)
{
	load->submitting = true;
	load->busy += 2;
	if (fiber_start(load->fleet->loop, "submitter", submitter_main, load) == NULL ||
	    fiber_start(load->fleet->loop, "watcher", watcher_main, load) == NULL)
		abort();
}

bool
load_stop(struct load *load, uint64_t wait_ms)
{
	uint64_t deadline = loop_now_ms(load->fleet->loop) + wait_ms;

	load->submitting = false;
	while (load->busy > 0 && loop_now_ms(load->fleet->loop) < deadline)
		fiber_sleep(POLL_MS);
	return load->busy == 0;
}

/* --- ends --------------------------------------------------------------------------------------- */

/* What a human would do who has found out that the call was done. */
static void
answer(struct load *load, struct load_run *run)
{
	struct arena *arena = arena_new();
	const struct value *reply;
	const char *id = arena_printf(load->arena, "%s+%u", run->id, run->answers + 1);

	if (redis_text(load->direct_redis, arena, REDIS_WAIT_MS, &reply, "XADD",
		STORE_INBOX, "*", "agent", run->sort->agent, "run", id, "thread",
		run->thread, "resume", "{\"respond\": \"noted sum\"}",
		NULL) == REDIS_OK) {
		run->answers++;
		run->last = id;
	}
	arena_destroy(&arena);
}

static bool
has_ended(struct load *load, struct load_run *run)
{
	struct arena *arena = arena_new();
	const struct value *record = NULL, *status;
	bool ended = false;

	if (store_run(load->direct, arena, run->thread, run->last, &record) == STORE_OK) {
		status = value_get(record, "status");
		ended = !value_is_nil(status) && !value_text_is(status, "queued") &&
			!value_text_is(status, "running");
		if (value_text_is(status, "interrupted")) {
			answer(load, run);
			ended = false;
		}
	}
	arena_destroy(&arena);
	return ended;
}

size_t
load_wait_ends(struct load *load, uint64_t wait_ms)
{
	uint64_t deadline = loop_now_ms(load->fleet->loop) + wait_ms;
	size_t left, i;

	do {
		fiber_sleep(POLL_MS);
		for (left = i = 0; i < load->count; i++) {
			struct load_run *run = load->runs[i];

			run->ended = run->ended || has_ended(load, run);
			left += run->ended ? 0 : 1;
		}
	} while (left > 0 && loop_now_ms(load->fleet->loop) < deadline);
	return left;
}
