#include "load.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "fiber.h"
#include "memory.h"
#include "redis.h"
#include "rig.h"
#include "socket.h"
#include "store.h"

#define REDIS_WAIT_MS 10000u
#define LOOK_UP_MS 2000u /* a run silent for so long is looked up */
#define CHECKERS 32u     /* fibers that read the runs back */
#define RUN_ID_BYTES 48u
#define INPUT "\"What is three times seventeen? Work it out, then check it twice.\""

struct order {
	struct fiber *fiber; /* waits for the end */
	uint64_t begin_us;
	double latency_ms;
	bool ended;
};

struct load {
	struct loop *loop;
	struct redis *redis;
	struct store *store;
	struct socket *events;

	const char *thread, *input; /* NULL: a thread of its own, INPUT */
	unsigned round;             /* counts load_runs: part of the runs' ids */
	struct order *orders;
	size_t count, next, workers, unheard, wrong, messages;
	void (*work)(struct load *load, size_t order);
};

static void
run_id(const struct load *load, size_t order, char id[RUN_ID_BYTES])
{
	snprintf(id, RUN_ID_BYTES, "bench%u-%zu", load->round, order);
}

static const char *
thread_of(const struct load *load, const char *id)
{
	return load->thread != NULL ? load->thread : id;
}

/* --- events -------------------------------------------------------------------------- */

static void
end_order(struct load *load, size_t number)
{
	struct order *order = &load->orders[number];

	if (order->ended)
		return;
	order->ended = true;
	order->latency_ms = (double)(loop_now_us() - order->begin_us) / 1e3;
	if (order->fiber != NULL)
		fiber_wake(order->fiber);
}

/* Only the topic is looked at: "run.bench<round>-<order>.finished". */
static void
on_event(void *arg, struct parts *parts, bool truncated)
{
	struct load *load = arg;
	size_t size = parts_size(parts, 0), number;
	char topic[RUN_ID_BYTES * 2];
	unsigned round;
	int read = 0;

	if (truncated || size >= sizeof topic)
		return;
	memcpy(topic, parts_data(parts, 0), size);
	topic[size] = '\0';
	if (size < 9 || strcmp(topic + size - 9, ".finished") != 0)
		return;
	if (sscanf(topic, "run.bench%u-%zu.finished%n", &round, &number, &read) == 2 &&
	    (size_t)read == size && round == load->round && number < load->count)
		end_order(load, number);
}

/* The end may have been dropped on its way. */
static void
look_up(struct load *load, size_t number)
{
	struct arena *arena = arena_new();
	const struct value *record;
	char id[RUN_ID_BYTES];

	run_id(load, number, id);
	if (store_run(load->store, arena, thread_of(load, id), id, &record) == STORE_OK &&
	    value_has(record, "ended") && !load->orders[number].ended) {
		load->unheard++;
		end_order(load, number);
	}
	arena_destroy(&arena);
}

/* --- work on every run, by a number of fibers ------------------------------------------ */

static void
worker_main(void *arg)
{
	struct load *load = arg;

	while (load->next < load->count)
		load->work(load, load->next++);
	load->workers--;
}

static bool
no_worker(void *arg)
{
	const struct load *load = arg;

	return load->workers == 0;
}

static void
work_all(struct load *load, size_t workers, void (*work)(struct load *load, size_t order))
{
	load->work = work;
	load->next = 0;
	for (load->workers = 0; load->workers < workers; load->workers++)
		if (fiber_start(load->loop, "worker", worker_main, load) == NULL)
			errx(EXIT_FAILURE, "no room for %zu fibers", workers);
	loop_run_until(load->loop, no_worker, load);
}

/* --- submitting ---------------------------------------------------------------------- */

static void
submit(struct load *load, size_t number)
{
	struct arena *arena = arena_new();
	const struct value *reply;
	char id[RUN_ID_BYTES];

	run_id(load, number, id);
	load->orders[number].begin_us = loop_now_us();
	if (redis_text(load->redis, arena, REDIS_WAIT_MS, &reply, "XADD", STORE_INBOX,
		"*", "agent", "bench", "run", id, "thread", thread_of(load, id), "input",
		load->input != NULL ? load->input : INPUT, NULL) != REDIS_OK)
		errx(EXIT_FAILURE, "run %s is not submitted: %s", id,
		    redis_trouble(load->redis));
	arena_destroy(&arena);
}

static void
submit_and_wait(struct load *load, size_t number)
{
	struct order *order = &load->orders[number];

	order->fiber = fiber_current();
	submit(load, number);
	while (!order->ended)
		if (fiber_wait_ms(LOOK_UP_MS) == 1)
			look_up(load, number);
	order->fiber = NULL;
}

static void
new_orders(struct load *load, size_t count)
{
	load->round++;
	free(load->orders);
	load->orders = xcalloc(count, sizeof *load->orders);
	load->count = count;
	load->unheard = 0;
}

static int
by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

void
load_run(struct load *load, size_t runs, size_t in_flight, struct load_result *result_r)
{
	uint64_t begin_us = loop_now_us();
	size_t i;

	new_orders(load, runs);
	work_all(load, in_flight, submit_and_wait);
	*result_r = (struct load_result){ .runs = runs, .unheard = load->unheard };
	result_r->seconds = (double)(loop_now_us() - begin_us) / 1e6;
	result_r->latencies_ms = xcalloc(runs, sizeof *result_r->latencies_ms);
	for (i = 0; i < runs; i++)
		result_r->latencies_ms[i] = load->orders[i].latency_ms;
	qsort(result_r->latencies_ms, runs, sizeof *result_r->latencies_ms, by_size);
}

double
load_turn(struct load *load, const char *thread, const char *input)
{
	double latency_ms;

	load->thread = thread;
	load->input = input;
	new_orders(load, 1);
	work_all(load, 1, submit_and_wait);
	latency_ms = load->orders[0].latency_ms;
	load->input = NULL;
	return latency_ms;
}

void
load_submit(struct load *load, size_t runs)
{
	new_orders(load, runs);
	work_all(load, CHECKERS, submit);
}

/* --- checking ------------------------------------------------------------------------ */

static bool
is_right(const struct value *messages)
{
	static const char *const types[] = { "human", "ai", "tool", "ai", "tool", "ai",
		"tool", "ai" };
	size_t count = sizeof types / sizeof *types, i;

	if (value_size(messages) != count)
		return false;
	for (i = 0; i < count; i++) {
		const struct value *message = value_at(messages, i);

		if (!chat_is(message, types[i]))
			return false;
		if (chat_is(message, "tool") &&
		    !value_text_is(value_get(message, "content"), RIG_TOOL_ANSWER))
			return false;
	}
	return true;
}

static void
check(struct load *load, size_t number)
{
	struct arena *arena = arena_new();
	const struct value *record, *thread;
	char id[RUN_ID_BYTES];

	run_id(load, number, id);
	if (store_run(load->store, arena, thread_of(load, id), id, &record) != STORE_OK ||
	    !value_text_is(value_get(record, "status"), "success") ||
	    store_thread(load->store, arena, thread_of(load, id), &thread) != STORE_OK ||
	    !is_right(value_get(thread, "messages"))) {
		load->wrong++;
		warnx("run %s has not ended as it must", id);
	}
	arena_destroy(&arena);
}

size_t
load_check(struct load *load)
{
	load->wrong = 0;
	work_all(load, CHECKERS, check);
	return load->wrong;
}

static void
count_messages(struct load *load, size_t number)
{
	struct arena *arena = arena_new();
	const struct value *record, *thread;
	char id[RUN_ID_BYTES];

	run_id(load, number, id);
	load->messages = 0;
	if (store_run(load->store, arena, load->thread, id, &record) == STORE_OK &&
	    value_text_is(value_get(record, "status"), "success") &&
	    store_thread(load->store, arena, load->thread, &thread) == STORE_OK)
		load->messages = value_size(value_get(thread, "messages"));
	arena_destroy(&arena);
}

size_t
load_messages(struct load *load)
{
	work_all(load, 1, count_messages);
	load->thread = NULL;
	return load->messages;
}

/* --- life ---------------------------------------------------------------------------- */

struct load *
load_new(struct loop *loop, const char *redis_url, const char *status)
{
	struct load *load = xcalloc(1, sizeof *load);
	const char *error = NULL;

	load->loop = loop;
	load->redis = redis_new(loop, redis_url, NULL, &error);
	load->events = socket_sub(loop, status, on_event, load, &error);
	if (load->redis == NULL || load->events == NULL ||
	    socket_subscribe(load->events, "run.") == -1)
		errx(EXIT_FAILURE, "%s", error);
	load->store = store_new(load->redis, REDIS_WAIT_MS);
	return load;
}

void
load_destroy(struct load **load_p)
{
	struct load *load = *load_p;

	socket_close(&load->events, 0);
	store_destroy(&load->store);
	redis_destroy(&load->redis);
	free(load->orders);
	free(load);
	*load_p = NULL;
}
