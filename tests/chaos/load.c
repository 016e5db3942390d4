#include "load.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "decision.h"
#include "erasure.h"
#include "fiber.h"
#include "lives.h"
#include "memory.h"
#include "mending.h"
#include "store_fleet.h"
#include "submission.h"
#include "versions.h"

#define REDIS_WAIT_MS SUBMISSION_WAIT_MS
#define AGAIN_MS SUBMISSION_AGAIN_MS
#define CLIENT_PATIENCE_MS 1500u /* then it does not know, and asks again */
#define POLL_MS 200u
#define CANCEL_PER_MILLE 60u
#define BY_HTTP_PER_MILLE 350u
#define ERASE_PER_MILLE 300u /* of what is asked for by HTTP */
#define COMMAND_PER_MILLE 250u
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
	load->lives = lives_new(load, seed);
	load->versions = versions_new(load);
	return load;
}

void
load_destroy(struct load **load_p)
{
	struct load *load = *load_p;
	size_t i;

	for (i = 0; i < load->count; i++) {
		if (load->runs[i]->told != NULL)
			client_run_release(load->runs[i]->told);
		decision_release(load->runs[i]);
		mending_release(load->runs[i]);
	}
	lives_destroy(&load->lives);
	versions_destroy(&load->versions);
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
		fleet_write(fleet, "agents.yaml", sort_agents(load->arena)), "--redis",
		fleet_redis(fleet, NULL), NULL };
	struct said said = cli_run(&flotilla, NULL, arguments);

	if (said.status != 0)
		fleet_say(fleet, "flotilla agents apply: %s", said.err);
	return said.status == 0 && versions_prepare(load->versions);
}

/* --- one run --------------------------------------------------------------------------------- */

struct order {
	struct load *load;
	struct load_run *run;
	uint64_t begin_after_ms;
	uint64_t cancel_after_ms; /* 0: it is left alone */
};

static void
cancel_by_http(struct load *load, struct load_run *run)
{
	long status =
	    client_cancel(load->client, run->thread, run->id, run->cancels_back);

	if (status != 202 && status != 204 && status != 404)
		fleet_say(
		    load->fleet, "REFUSED by HTTP: the end of %s: %ld", run->id, status);
	run->cancel_answer = status == 202 ? "CANCELLING" : status == 404 ? "GONE" : "";
}

static void
cancel_run(struct load *load, struct load_run *run)
{
	const char *answer = NULL, *status = NULL;

	run->cancel_asked = true;
	if (run->told != NULL) {
		cancel_by_http(load, run);
		return;
	}
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
	if (order->run->erased_when_done)
		erasure_give(order->load, order->run);
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

const char *
load_input(struct arena *arena, const char *input)
{
	return arena_printf(arena,
	    "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}], "
	    "\"seen\": [\"%s\"]}",
	    input, input);
}

static const char *
run_value(struct load *load, const struct load_run *run)
{
	const char *input = load_input(load->arena, run->input);

	return run->by_command ? arena_printf(load->arena,
				     "{\"update\": %s, \"goto\": \"model\"}", input)
			       : input;
}

/* Whether a run that is followed by HTTP was put back. */
static bool
is_gone(void *arg)
{
	const struct load_run *run = arg;
	struct arena *arena = arena_new();
	const struct value *record = NULL;
	bool is_back = store_run(run->load->direct, arena, run->thread, run->id,
			   &record) == STORE_OK &&
		       !value_is_nil(value_get(record, "rolled_back")) &&
		       !value_is_nil(value_get(record, "ended"));

	arena_destroy(&arena);
	return is_back;
}

/* Who asks by HTTP asks for one behind the other. */
static void
submit_by_http(struct load *load, struct load_run *run)
{
	while (run->before != NULL && !run->before->acknowledged)
		fiber_sleep(POLL_MS / 4);
	run->told->multitask = run->multitask;
	run->told->what = arena_printf(load->arena, "\"%s\": %s",
	    run->by_command ? "command" : "input", run_value(load, run));
	if (run->cancels_back || run->ousted_by != NULL) {
		run->told->is_gone = is_gone;
		run->told->arg = run;
	}
	run->refused = client_begin(load->client, run->told);
	run->tries = run->told->asked;
	run->acknowledged = true;
	if (run->refused != NULL) {
		fleet_say(
		    load->fleet, "REFUSED by HTTP: %s: %s", run->input, run->refused);
		return;
	}
	run->id = run->last = run->told->id;
	start_order(&(struct order){ .load = load, .run = run }, follower_main);
}

static void
submit_by_inbox(struct load *load, struct load_run *run)
{
	const struct submission submission = { run->sort->agent, run->thread, run->id,
		run->by_command ? "command" : "input", run_value(load, run),
		run->multitask, run->sort->stream };

	run->tries = submission_insist(load->redis, &submission, REDIS_WAIT_MS);
	run->acknowledged = true;
}

/* What a user does with a run that was begun. */
static void
tend(const struct order *order)
{
	struct load *load = order->load;
	struct load_run *run = order->run;

	if (order->cancel_after_ms > 0) {
		fiber_sleep(order->cancel_after_ms);
		cancel_run(load, run);
	}
	if (run->sort->asks)
		decision_give(load, run);
	if (run->sort->fails)
		mending_give(load, run);
}

static void
order_main(void *arg)
{
	struct order *order = arg;
	struct load *load = order->load;
	struct load_run *run = order->run;

	if (order->begin_after_ms > 0)
		fiber_sleep(order->begin_after_ms);
	run->version_at_least = versions_current(load->versions);
	if (run->told != NULL)
		submit_by_http(load, run);
	else
		submit_by_inbox(load, run);
	if (run->refused == NULL)
		tend(order);
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
	run->load = load;
	run->sort = sort;
	run->turn = turn;
	run->thread = thread;
	run->id = arena_printf(load->arena, "r%zu-%s.%u", load->count, sort->agent, turn);
	run->last = run->input = run->id;
	run->before = turn > 0 ? load->runs[load->count - 1] : NULL;
	if (by_http) {
		run->told = arena_alloc(load->arena, sizeof *run->told);
		client_run_init(
		    run->told, thread, sort->agent, run->input, NULL, sort->stream);
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
	bool ousts = sort->turns > 1 && random_chance(&load->random, OUST_PER_MILLE);
	unsigned cancelled = UINT32_MAX, turn;
	size_t first = load->count;

	if (random_chance(&load->random, CANCEL_PER_MILLE))
		cancelled = (unsigned)random_between(&load->random, 0, sort->turns - 1);
	for (turn = 0; turn < sort->turns; turn++) {
		struct load_run *run = add_run(load, sort, thread, turn, by_http);

		run->cancels_back =
		    turn == cancelled && random_chance(&load->random, 500);
		run->erased_when_done = by_http && !sort->asks && !sort->fails &&
					random_chance(&load->random, ERASE_PER_MILLE);
		run->by_command = random_chance(&load->random, COMMAND_PER_MILLE);
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
	lives_begin(load->lives);
	versions_begin(load->versions);
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
		if (value_text_is(status, "interrupted") &&
		    value_is_nil(value_get(record, "rolled_back"))) {
			if (!run->sort->asks && !run->sort->fails)
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

			run->ended = run->ended || run->is_erased ||
				     run->refused != NULL || has_ended(load, run);
			left += run->ended ? 0 : 1;
		}
	} while (left > 0 && loop_now_ms(load->fleet->loop) < deadline);
	return left;
}
