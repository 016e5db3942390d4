#include "load.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "chat.h"
#include "fiber.h"
#include "line.h"
#include "memory.h"
#include "redis.h"
#include "rig.h"
#include "socket.h"
#include "store.h"

#define REDIS_WAIT_MS 10000u
#define LOOK_UP_MS                                                                       \
	2000u /* a run silent for so long, and longer than it may be, is looked up */
#define CHECKERS 32u /* fibers that read the runs back */
#define COMPLAINTS_MAX 5u
#define PACE_MS 2u
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
	struct socket *events[BROKERS_MAX];
	size_t brokers;
	struct load_kind kind;
	char *question; /* the input of every run, JSON */

	const char *thread, *input; /* NULL: a thread of its own, the question */
	unsigned round;             /* counts load_runs: part of the runs' ids */
	struct order *orders;
	size_t count, next, started, workers, unheard, wrong, messages, tokens;
	void (*work)(struct load *load, size_t order);

	struct timer *pace;
	double runs_per_s;
	uint64_t began_us;
};

const struct load_kind load_usual = {
	.rounds = RIG_ROUNDS, .parallel = 1, .answer = RIG_TOOL_ANSWER
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

static bool
ends_with(const char *topic, size_t size, const char *kind)
{
	size_t length = strlen(kind);

	return size > length && memcmp(topic + size - length, kind, length) == 0;
}

/* Only the topic is looked at: "ended.bench<round>-<order>", or of all events of a run that is watched
 * "run.bench<round>-<order>.finished". */
static void
on_event(void *arg, struct parts *parts, bool truncated)
{
	struct load *load = arg;
	size_t size = parts_size(parts, 0), number;
	char topic[RUN_ID_BYTES * 2];
	unsigned round;
	int read = 0, found;

	if (truncated || size >= sizeof topic)
		return;
	memcpy(topic, parts_data(parts, 0), size);
	topic[size] = '\0';
	if (ends_with(topic, size, ".token"))
		load->tokens++;
	if (load->kind.is_watched && !ends_with(topic, size, ".finished"))
		return;
	found = load->kind.is_watched
		    ? sscanf(topic, "run.bench%u-%zu.finished%n", &round, &number, &read)
		    : sscanf(topic, "ended.bench%u-%zu%n", &round, &number, &read);
	if (found == 2 && (size_t)read == size && round == load->round &&
	    number < load->count)
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
		"*", "agent", "bench", "run", id, "thread", thread_of(load, id), "stream",
		load->kind.stream ? "1" : "0", "input",
		load->input != NULL ? load->input : load->question, NULL) != REDIS_OK)
		errx(EXIT_FAILURE, "run %s is not submitted: %s", id,
		    redis_trouble(load->redis));
	arena_destroy(&arena);
}

static void
submit_and_wait(struct load *load, size_t number)
{
	struct order *order = &load->orders[number];
	uint64_t wait_ms = LOOK_UP_MS + (uint64_t)(load->kind.pace_ms * 1.25);

	order->fiber = fiber_current();
	submit(load, number);
	for (; !order->ended; wait_ms = LOOK_UP_MS)
		if (fiber_wait_ms(wait_ms) == 1)
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
	load->unheard = load->tokens = load->wrong = 0;
	load->began_us = loop_now_us();
}

static void
sum_up(const struct load *load, struct load_result *result_r)
{
	size_t i;

	*result_r = (struct load_result){
		.runs = load->count, .unheard = load->unheard, .tokens = load->tokens
	};
	result_r->seconds = (double)(loop_now_us() - load->began_us) / 1e6;
	result_r->latencies_ms = xcalloc(load->count, sizeof *result_r->latencies_ms);
	for (i = 0; i < load->count; i++)
		result_r->latencies_ms[i] = load->orders[i].latency_ms;
	qsort(result_r->latencies_ms, load->count, sizeof *result_r->latencies_ms,
	    line_by_size);
}

void
load_run(struct load *load, size_t runs, size_t in_flight, struct load_result *result_r)
{
	new_orders(load, runs);
	work_all(load, in_flight, submit_and_wait);
	sum_up(load, result_r);
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
has_bytes(const struct value *message, size_t bytes)
{
	const struct value *content = value_get(message, "content");

	return value_is(content, VALUE_STR) && content->size == bytes;
}

static bool
is_answer(const struct load_kind *kind, const struct value *message)
{
	return chat_is(message, "ai") &&
	       (kind->content_bytes == 0 || has_bytes(message, kind->content_bytes));
}

static bool
is_tool_answer(const struct load_kind *kind, const struct value *message)
{
	if (!chat_is(message, "tool"))
		return false;
	return kind->answer != NULL
		   ? value_text_is(value_get(message, "content"), kind->answer)
		   : has_bytes(message, kind->content_bytes);
}

/* A question, in each round a message of the model and its tool calls' answers, at last the
 * model's answer. */
static bool
is_right(const struct load_kind *kind, const struct value *messages)
{
	size_t round_size = 1 + kind->parallel, i;

	if (value_size(messages) != 2 + kind->rounds * round_size ||
	    !chat_is(value_at(messages, 0), "human"))
		return false;
	for (i = 1; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if ((i - 1) % round_size == 0 ? !is_answer(kind, message)
					      : !is_tool_answer(kind, message))
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
	    !is_right(&load->kind, value_get(thread, "messages"))) {
		if (load->wrong++ < COMPLAINTS_MAX)
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

size_t
load_wrong(const struct load *load)
{
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

/* --- so many a second ------------------------------------------------------------------ */

static void
paced_main(void *arg)
{
	struct load *load = arg;
	size_t number = load->next++;

	submit_and_wait(load, number);
	check(load, number);
	load->workers--;
}

/* Starts what is due by now: a pause of ours is caught up with. */
static void
on_pace(void *arg)
{
	struct load *load = arg;
	double seconds = (double)(loop_now_us() - load->began_us) / 1e6;
	size_t due = (size_t)(seconds * load->runs_per_s) + 1;

	if (due > load->count)
		due = load->count;
	for (; load->started < due; load->started++, load->workers++)
		if (fiber_start(load->loop, "run", paced_main, load) == NULL)
			errx(EXIT_FAILURE, "%zu runs are in flight, too many",
			    load->workers);
}

static bool
all_paced(void *arg)
{
	const struct load *load = arg;

	return load->started == load->count && load->workers == 0;
}

void
load_pace(struct load *load, size_t runs, double runs_per_s, struct load_result *result_r)
{
	new_orders(load, runs);
	load->next = load->started = load->workers = 0;
	load->runs_per_s = runs_per_s;
	load->pace = timer_start(load->loop, 1, PACE_MS, on_pace, load);
	loop_run_until(load->loop, all_paced, load);
	timer_stop(&load->pace);
	sum_up(load, result_r);
}

/* --- life ---------------------------------------------------------------------------- */

/* A text of so many bytes, as JSON. */
static char *
question_of(size_t bytes)
{
	char *question;
	size_t i;

	if (bytes == 0)
		return xstrdup(INPUT);
	question = xcalloc(bytes + 3, 1);
	question[0] = question[bytes + 1] = '"';
	for (i = 1; i <= bytes; i++)
		question[i] = "the quick brown fox jumps over "[i % 31];
	return question;
}

struct load *
load_new(struct loop *loop, const char *redis_url, const char *const status[],
    const struct load_kind *kind)
{
	struct load *load = xcalloc(1, sizeof *load);
	const char *error = NULL;

	load->loop = loop;
	load->kind = *kind;
	load->question = question_of(kind->input_bytes);
	load->redis = redis_new(loop, redis_url, NULL, &error);
	if (load->redis == NULL)
		errx(EXIT_FAILURE, "%s", error);
	for (; *status != NULL; status++) {
		struct socket *events = socket_sub(loop, *status, on_event, load, &error);

		if (events == NULL ||
		    socket_subscribe(events, kind->is_watched ? "run." : "ended.") == -1)
			errx(EXIT_FAILURE, "%s", error);
		load->events[load->brokers++] = events;
	}
	load->store = store_new(load->redis, REDIS_WAIT_MS);
	return load;
}

void
load_destroy(struct load **load_p)
{
	struct load *load = *load_p;

	while (load->brokers > 0)
		socket_close(&load->events[--load->brokers], 0);
	store_destroy(&load->store);
	redis_destroy(&load->redis);
	free(load->orders);
	free(load->question);
	free(load);
	*load_p = NULL;
}
