#include "wire_bench.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_place.h"

/* Every line of it with a line's end before. */
static void
read_log(struct wire_bench *bench)
{
	int fd = open(bench->log, O_RDONLY | O_CLOEXEC);
	ssize_t size = 0;

	if (fd != -1) {
		size = read(fd, bench->log_text + 1, sizeof bench->log_text - 2);
		close(fd);
	}
	ck_assert_int_ge(size, 0);
	bench->log_text[0] = '\n';
	bench->log_text[1 + size] = '\0';
}

/* --- waiting -------------------------------------------------------------------------- */

struct until {
	bool (*done)(void *arg);
	void *arg;
	uint64_t end_ms;
	struct loop *loop;
};

static bool
is_through(void *arg)
{
	struct until *until = arg;

	return until->done(until->arg) || loop_now_ms(until->loop) > until->end_ms;
}

void
wire_until(struct wire_bench *bench, bool (*done)(void *arg), void *arg, const char *what)
{
	struct until until = { done, arg, loop_now_ms(bench->loop) + WIRE_WAIT_MS,
		bench->loop };

	loop_run_until(bench->loop, is_through, &until);
	if (!done(arg)) {
		read_log(bench);
		ck_abort_msg("waited in vain for: %s; logged:%s", what, bench->log_text);
	}
}

static void
turn(void *arg)
{
	(void)arg;
}

/* --- the caller ----------------------------------------------------------------------- */

static void
on_up(void *arg, uint32_t link)
{
	struct wire_bench *bench = arg;

	bench->up = true;
	bench->ups++;
	caller_up(bench->caller, link);
}

static void
on_down(void *arg, uint32_t link, const char *reason)
{
	struct wire_bench *bench = arg;

	(void)reason;
	bench->up = false;
	caller_down(bench->caller, link);
}

static void
keep_stats(struct wire_bench *bench, const struct parts *bodies)
{
	const char *error;

	ck_assert_uint_eq(bodies->count, 1);
	ck_assert_int_eq(value_unpack(bench->arena, parts_data(bodies, 0),
			     parts_size(bodies, 0), &bench->stats, &error),
	    0);
}

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	struct wire_bench *bench = arg;

	if (header->type == MSG_STATS)
		keep_stats(bench, bodies);
	else
		caller_message(bench->caller, link, header, bodies);
}

static bool
is_up(void *arg)
{
	return ((struct wire_bench *)arg)->up;
}

static void
connect_caller(struct wire_bench *bench)
{
	const char *const endpoints[] = { bench->endpoint, NULL };
	const struct links_options options = {
		.endpoints = endpoints,
		.role = ROLE_COORDINATOR,
		.name = "test",
		.on_up = on_up,
		.on_down = on_down,
		.on_message = on_message,
		.arg = bench,
	};
	const char *wrong, *allowed;

	bench->links = links_new(bench->loop, &options, &wrong, &allowed);
	ck_assert_ptr_nonnull(bench->links);
	bench->caller = caller_new(bench->loop, bench->links);
	wire_until(bench, is_up, bench, "the session");
}

/* --- children ------------------------------------------------------------------------- */

void
wire_broker_start(struct wire_bench *bench)
{
	bench->broker =
	    child_start((const char *const[]){ "broker", "--name=b", "--log-level=warn",
			    "--bind", bench->endpoint, "--status-bind", bench->status,
			    bench->broker_flag, NULL },
		NULL);
}

struct child *
wire_worker(struct wire_bench *bench, const char *name, const char *services,
    unsigned slots, unsigned drain_ms)
{
	char slots_text[16], drain_text[16];

	snprintf(slots_text, sizeof slots_text, "%u", slots);
	snprintf(drain_text, sizeof drain_text, "%u", drain_ms);
	setenv("FLOTILLA_SERVES", services, 1);
	return child_start(
	    (const char *const[]){ "small-worker", "--name", name, "--log-level=error",
		"--broker", bench->endpoint, "--log", bench->log, "--slots", slots_text,
		"--drain-ms", drain_text, NULL },
	    NULL);
}

void
wire_start(struct wire_bench *bench)
{
	const char *flag = bench->broker_flag;
	bool on_tcp = bench->on_tcp;

	*bench = (struct wire_bench){
		.folder = folder_new(), .broker_flag = flag, .on_tcp = on_tcp
	};
	bench->arena = arena_new();
	if (on_tcp)
		snprintf(bench->endpoint, sizeof bench->endpoint, "tcp://127.0.0.1:%s",
		    place_port(bench->arena));
	else
		snprintf(bench->endpoint, sizeof bench->endpoint, "ipc://%s/wire",
		    bench->folder);
	snprintf(bench->status, sizeof bench->status, "ipc://%s/status", bench->folder);
	snprintf(bench->log, sizeof bench->log, "%s/log", bench->folder);
	wire_broker_start(bench);
	bench->loop = loop_new();
	bench->turns = timer_start(bench->loop, 5, 5, turn, NULL);
	connect_caller(bench);
}

static bool
has_no_fibers(void *arg)
{
	return fiber_count(arg) == 0;
}

void
wire_stop(struct wire_bench *bench)
{
	size_t i;

	for (i = 0; i < bench->ask_count; i++)
		if (!bench->asks[i].ended)
			fiber_cancel(bench->asks[i].fiber);
	wire_until(bench, has_no_fibers, bench->loop, "the fibers' ends");
	caller_destroy(&bench->caller);
	links_destroy(&bench->links);
	timer_stop(&bench->turns);
	socket_shutdown();
	loop_destroy(&bench->loop);
	child_stop(&bench->broker);
	for (i = 0; i < bench->ask_count; i++)
		arena_destroy(&bench->asks[i].arena);
	arena_destroy(&bench->arena);
	folder_remove(&bench->folder);
}

/* --- asking --------------------------------------------------------------------------- */

static void
ask_main(void *arg)
{
	struct ask *ask = arg;
	struct wire_bench *bench = fiber_data(fiber_current());

	ask->result =
	    caller_call(bench->caller, ask->arena, &ask->request, &ask->outcome);
	if (ask->result == 0)
		caller_stored(bench->caller, ask->request.id);
	ask->ended = true;
}

struct ask *
wire_ask(struct wire_bench *bench, const char *service, const char *what)
{
	struct ask *ask = &bench->asks[bench->ask_count];

	ck_assert_uint_lt(bench->ask_count, ASKS_MAX);
	snprintf(ask->id, sizeof ask->id, "c%zu", bench->ask_count++);
	ask->arena = arena_new();
	ask->request = (struct call_request){
		.id = ask->id,
		.run = "r1",
		.service = service,
		.deadline_ms = 60000,
		.priority = 2,
		.profile = value_map(
		    ask->arena, "name", value_str(ask->arena, "profile-1"), NULL),
		.request = value_map(ask->arena, "do", value_str(ask->arena, what), NULL),
	};
	ask->fiber = fiber_start(bench->loop, "ask", ask_main, ask);
	fiber_set_data(ask->fiber, bench);
	return ask;
}

void
wire_set(struct ask *ask, const char *key, const char *text)
{
	ask->request.request = value_map_with(
	    ask->arena, ask->request.request, key, value_str(ask->arena, text));
}

static bool
has_ended(void *arg)
{
	return ((struct ask *)arg)->ended;
}

/* A worker whose result is not acknowledged waits for that when it is told to end, and the
 * acknowledgement waits for something to go with. */
static void
settle(struct wire_bench *bench)
{
	if (bench->up)
		wire_stats(bench);
}

void
wire_wait(struct wire_bench *bench, const struct ask *ask)
{
	wire_until(bench, has_ended, (void *)ask, "an outcome");
	settle(bench);
}

void
wire_wait_all(struct wire_bench *bench)
{
	size_t i;

	for (i = 0; i < bench->ask_count; i++)
		wire_until(bench, has_ended, &bench->asks[i], "an outcome");
	settle(bench);
}

const struct value *
wire_answer(const struct ask *ask)
{
	ck_assert(ask->ended);
	ck_assert_int_eq(ask->result, 0);
	ck_assert_msg(ask->outcome.code == CODE_OK, "%s: %s %s", ask->id,
	    wire_code_name(ask->outcome.code),
	    ask->outcome.reason == NULL ? "" : ask->outcome.reason);
	return ask->outcome.body;
}

/* --- looking -------------------------------------------------------------------------- */

unsigned
wire_logged(struct wire_bench *bench, const char *line)
{
	unsigned count = 0;
	const char *at;

	read_log(bench);
	for (at = bench->log_text; (at = strstr(at, line)) != NULL; at++)
		count += at[-1] == '\n';
	return count;
}

struct wanted {
	struct wire_bench *bench;
	const char *text;
	unsigned workers;
};

static bool
is_logged(void *arg)
{
	struct wanted *wanted = arg;

	return wire_logged(wanted->bench, wanted->text) > 0;
}

void
wire_wait_logged(struct wire_bench *bench, const char *line)
{
	wire_until(
	    bench, is_logged, &(struct wanted){ .bench = bench, .text = line }, line);
}

static bool
has_stats(void *arg)
{
	return ((struct wire_bench *)arg)->stats != NULL;
}

const struct value *
wire_stats(struct wire_bench *bench)
{
	const struct header header = { .type = MSG_STATS };

	bench->stats = NULL;
	ck_assert_int_eq(links_send(bench->links, 0, &header, NULL), 0);
	wire_until(bench, has_stats, bench, "STATS");
	return bench->stats;
}

int64_t
wire_counter(struct wire_bench *bench, const char *name)
{
	return value_get_int(value_get(wire_stats(bench), "counters"), name, -1);
}

/* A service that nobody offers and nobody waits for is not in the list. */
static int64_t
workers_of(const struct value *stats, const char *service)
{
	const struct value *services = value_get(stats, "services");
	size_t i;

	for (i = 0; i < value_size(services); i++)
		if (value_text_is(value_get(value_at(services, i), "name"), service))
			return value_get_int(value_at(services, i), "workers", 0);
	return 0;
}

/* Asks once more when the last answer did not say so. */
static bool
is_served(void *arg)
{
	const struct header header = { .type = MSG_STATS };
	struct wanted *wanted = arg;

	if (wanted->bench->stats != NULL &&
	    workers_of(wanted->bench->stats, wanted->text) == (int64_t)wanted->workers)
		return true;
	links_send(wanted->bench->links, 0, &header, NULL);
	return false;
}

void
wire_served(struct wire_bench *bench, const char *service, unsigned workers)
{
	bench->stats = NULL;
	wire_until(bench, is_served,
	    &(struct wanted){ .bench = bench, .text = service, .workers = workers },
	    service);
}
