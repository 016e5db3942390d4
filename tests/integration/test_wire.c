/* The wire between real processes: what happens to calls when processes die, stop, drain
 * and misbehave. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire_bench.h"

TCase *tcase_wire(void);

static struct wire_bench bench;
static char gate[160]; /* a file that calls wait for */

static void
setup(void)
{
	bench.broker_flag = NULL;
	wire_start(&bench);
	snprintf(gate, sizeof gate, "%s/gate", bench.folder);
}

static void
teardown(void)
{
	wire_stop(&bench);
}

static void
open_gate(void)
{
	int fd = open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* Starts a call that waits at the gate, and waits until it runs. */
static struct ask *
ask_at_gate(const char *service)
{
	struct ask *ask = wire_ask(&bench, service, "wait");
	char line[64];

	wire_set(ask, "path", gate);
	snprintf(line, sizeof line, "began %s ", ask->id);
	wire_wait_logged(&bench, line);
	return ask;
}

static void
expect_text(const struct value *answer, const char *key, const char *text)
{
	ck_assert_str_eq(value_get_text(answer, key), text);
}

/* --- the usual way -------------------------------------------------------------------- */

START_TEST(calls_are_answered_by_who_serves_them)
{
	struct child *a = wire_worker(&bench, "a", "tool:a,tool:both", 2, 10000);
	struct child *b = wire_worker(&bench, "b", "tool:b,tool:both", 2, 10000);
	struct ask *ask;
	size_t i;

	for (i = 0; i < 30; i++)
		wire_ask(&bench,
		    i % 3 == 0   ? "tool:a"
		    : i % 3 == 1 ? "tool:b"
				 : "tool:both",
		    "answer");
	wire_wait_all(&bench);
	for (i = 0; i < 30; i++) {
		ask = &bench.asks[i];
		expect_text(wire_answer(ask), "id", ask->id);
		expect_text(wire_answer(ask), "profile", "profile-1");
		if (i % 3 < 2)
			expect_text(wire_answer(ask), "worker", i % 3 == 0 ? "a" : "b");
	}
	ck_assert_int_eq(wire_counter(&bench, "settled"), 30);
	ck_assert_int_eq(value_get_int(value_get(bench.stats, "calls"), "kept", -1), 0);
	ck_assert_int_eq(value_get_int(value_get(bench.stats, "bodies"), "bytes", -1), 0);
	child_stop(&a);
	child_stop(&b);
}
END_TEST

START_TEST(a_call_may_call)
{
	struct child *outer = wire_worker(&bench, "outer", "tool:outer", 1, 10000);
	struct child *inner = wire_worker(&bench, "inner", "model:inner", 1, 10000);
	struct ask *ask = wire_ask(&bench, "tool:outer", "ask");

	wire_set(ask, "service", "model:inner");
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "worker", "inner");
	expect_text(wire_answer(ask), "id", "c0/1");
	child_stop(&outer);
	child_stop(&inner);
}
END_TEST

/* --- the status channel --------------------------------------------------------------- */

struct listener {
	struct arena *arena;
	unsigned hellos, ups, tokens;
	int64_t last_part;
};

static void
on_status(void *arg, struct parts *parts, bool truncated)
{
	struct listener *listener = arg;
	const struct value *body = NULL;
	const char *error;
	char topic[128] = "";

	ck_assert(!truncated);
	ck_assert_uint_eq(parts->count, 2);
	memcpy(topic, parts_data(parts, 0), parts_size(parts, 0));
	ck_assert_int_eq(value_unpack(listener->arena, parts_data(parts, 1),
			     parts_size(parts, 1), &body, &error),
	    0);
	listener->hellos += strcmp(topic, "test.hello") == 0;
	listener->ups += strcmp(topic, "worker.talker.up") == 0 &&
			 value_text_is(value_get(body, "worker"), "talker") &&
			 value_size(value_get(body, "services")) == 1;
	if (strcmp(topic, "run.r1.token") == 0) {
		listener->tokens++;
		ck_assert_int_gt(value_get_int(body, "part", 0), listener->last_part);
		listener->last_part = value_get_int(body, "part", 0);
	}
}

/* A subscription takes a moment to arrive: publish until one is heard. */
static bool
is_listening(void *arg)
{
	struct listener *listener = arg;

	if (listener->hellos == 0)
		peer_publish(bench.peer, "test.hello", value_nil());
	return listener->hellos > 0;
}

static bool
has_heard_tokens(void *arg)
{
	return ((struct listener *)arg)->tokens == 3;
}

START_TEST(events_progress_and_workers_are_heard_on_the_status_channel)
{
	struct listener listener = { .arena = arena_new() };
	const char *error;
	struct socket *status =
	    socket_sub(bench.loop, bench.status, on_status, &listener, &error);
	struct child *talker;

	socket_subscribe(status, "");
	wire_until(&bench, is_listening, &listener, "an event of one's own");
	talker = wire_worker(&bench, "talker", "tool:talk", 1, 10000);
	wire_wait(&bench, wire_ask(&bench, "tool:talk", "tell"));
	wire_until(&bench, has_heard_tokens, &listener, "three tokens");
	ck_assert_uint_eq(listener.ups, 1);
	child_stop(&talker);
	socket_close(&status, 0);
	arena_destroy(&listener.arena);
}
END_TEST

/* --- workers die ---------------------------------------------------------------------- */

START_TEST(a_killed_workers_call_is_answered_by_another)
{
	struct child *first = wire_worker(&bench, "first", "tool:a", 1, 10000), *second;
	struct ask *ask = wire_ask(&bench, "tool:a", "first_hangs");

	wire_wait_logged(&bench, "began c0 first 1");
	second = wire_worker(&bench, "second", "tool:a", 1, 10000);
	wire_served(&bench, "tool:a", 2);
	child_kill(&first);
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "worker", "second");
	ck_assert_int_eq(value_get_int(wire_answer(ask), "attempt", 0), 2);
	child_stop(&second);
}
END_TEST

START_TEST(a_killed_workers_call_that_must_not_run_twice_is_lost)
{
	struct child *first = wire_worker(&bench, "first", "tool:a", 1, 10000), *second;
	struct ask *ask = wire_ask(&bench, "tool:a", "first_hangs");

	ask->request.flags = WIRE_ONCE;
	wire_wait_logged(&bench, "began c0 first 1");
	second = wire_worker(&bench, "second", "tool:a", 1, 10000);
	wire_served(&bench, "tool:a", 2);
	child_kill(&first);
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->outcome.code, CODE_WORKER_LOST);
	ck_assert_uint_eq(wire_logged(&bench, "began"), 1);
	child_stop(&second);
}
END_TEST

START_TEST(
    a_stopped_workers_call_runs_elsewhere_and_it_is_told_to_stop_when_it_comes_back)
{
	struct child *first = wire_worker(&bench, "first", "tool:a", 1, 10000), *second;
	struct ask *ask = ask_at_gate("tool:a");

	second = wire_worker(&bench, "second", "tool:a", 1, 10000);
	wire_served(&bench, "tool:a", 2);
	kill(child_pid(first), SIGSTOP);
	wire_wait_logged(&bench, "began c0 second 2");
	kill(child_pid(first), SIGCONT);
	wire_wait_logged(&bench, "stopped c0 first");
	open_gate();
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "worker", "second");
	child_stop(&first);
	child_stop(&second);
}
END_TEST

START_TEST(a_draining_worker_gives_its_call_back_unharmed)
{
	struct child *first = wire_worker(&bench, "first", "tool:a", 1, 1000), *second;
	struct ask *ask = ask_at_gate("tool:a");

	second = wire_worker(&bench, "second", "tool:a", 1, 10000);
	wire_served(&bench, "tool:a", 2);
	child_stop(&first);
	wire_wait_logged(&bench, "began c0 second 1"); /* it cost no attempt */
	open_gate();
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "worker", "second");
	child_stop(&second);
}
END_TEST

START_TEST(a_draining_worker_finishes_what_it_can)
{
	struct child *first = wire_worker(&bench, "first", "tool:a", 1, 10000);
	struct ask *ask = ask_at_gate("tool:a");

	kill(child_pid(first), SIGTERM);
	open_gate();
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "worker", "first");
	wire_served(&bench, "tool:a", 0);
	ck_assert_int_eq(child_wait(&first), 0);
}
END_TEST

/* --- the broker dies ------------------------------------------------------------------ */

static bool
is_up_again(void *arg)
{
	(void)arg;
	return bench.up && bench.ups > 1;
}

START_TEST(a_call_that_runs_while_the_broker_dies_is_answered_once)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 2, 10000);
	struct ask *ask = ask_at_gate("tool:a");

	child_kill(&bench.broker);
	wire_broker_start(&bench);
	wire_until(&bench, is_up_again, NULL, "the new broker");
	open_gate();
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "id", "c0");
	wire_wait(&bench, wire_ask(&bench, "tool:a", "answer"));
	ck_assert_uint_eq(wire_logged(&bench, "began c0"), 1);
	child_stop(&worker);
}
END_TEST

START_TEST(a_call_that_ends_while_there_is_no_broker_is_answered_once)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 2, 10000);
	struct ask *ask = wire_ask(&bench, "tool:a", "wait");

	ask->request.flags =
	    WIRE_ONCE; /* the hardest kind: it must not be sent out again */
	wire_set(ask, "path", gate);
	wire_wait_logged(&bench, "began c0");
	child_kill(&bench.broker);
	open_gate();
	wire_broker_start(&bench);
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "id", "c0");
	ck_assert_uint_eq(wire_logged(&bench, "began c0"), 1);
	child_stop(&worker);
}
END_TEST

START_TEST(calls_that_wait_while_the_broker_restarts_are_all_answered)
{
	struct child *worker;
	char line[32];
	size_t i;

	for (i = 0; i < 20; i++)
		wire_ask(&bench, "tool:a", "answer");
	while (wire_counter(&bench, "accepted") < 20)
		;
	child_stop(&bench.broker); /* GOAWAY */
	wire_broker_start(&bench);
	worker = wire_worker(&bench, "w", "tool:a", 2, 10000);
	wire_wait_all(&bench);
	for (i = 0; i < 20; i++) {
		wire_answer(&bench.asks[i]);
		snprintf(line, sizeof line, "began c%zu ", i);
		ck_assert_uint_eq(wire_logged(&bench, line), 1);
	}
	child_stop(&worker);
}
END_TEST

/* --- what goes wrong ------------------------------------------------------------------ */

/* A broker that the test starts with one more flag. */
static void
restart_with(const char *flag)
{
	wire_stop(&bench);
	bench.broker_flag = flag;
	wire_start(&bench);
	snprintf(gate, sizeof gate, "%s/gate", bench.folder);
}

START_TEST(a_full_queue_is_waited_out)
{
	struct child *worker;
	size_t i;

	restart_with("--queue-calls-max=2");
	for (i = 0; i < 8; i++)
		wire_ask(&bench, "tool:a", "answer");
	while (wire_counter(&bench, "busy") < 6)
		;
	worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	wire_wait_all(&bench);
	for (i = 0; i < 8; i++)
		wire_answer(&bench.asks[i]);
	ck_assert_uint_eq(wire_logged(&bench, "began"), 8);
	child_stop(&worker);
}
END_TEST

START_TEST(a_cancelled_call_is_stopped_at_its_worker)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	struct ask *ask = ask_at_gate("tool:a");

	fiber_cancel(ask->fiber);
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->result, -1);
	wire_wait_logged(&bench, "stopped c0");
	ask = wire_ask(&bench, "tool:a", "answer");
	wire_wait(&bench, ask); /* the slot is free */
	wire_answer(ask);
	child_stop(&worker);
}
END_TEST

START_TEST(a_late_call_is_stopped_at_its_worker_and_expires)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	struct ask *ask = wire_ask(&bench, "tool:a", "first_hangs");

	ask->request.deadline_ms = 300;
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->outcome.code, CODE_EXPIRED);
	wire_wait_logged(&bench, "stopped c0");
	child_stop(&worker);
}
END_TEST

START_TEST(a_call_that_nobody_serves_says_so)
{
	struct child *worker = wire_worker(&bench, "w", "tool:search", 1, 10000);
	struct ask *ask;

	wire_served(&bench, "tool:search", 1);
	ask = wire_ask(&bench, "tool:serach", "answer");
	ask->request.deadline_ms = 300;
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->outcome.code, CODE_NOT_SERVED);
	ck_assert_ptr_nonnull(strstr(ask->outcome.reason, "tool:serach"));
	ck_assert_ptr_nonnull(strstr(ask->outcome.reason, "tool:search"));
	child_stop(&worker);
}
END_TEST

/* A socket that speaks ZMTP, but not our protocol. */
static void
send_rubbish(void *zmq, unsigned round)
{
	static char huge[BODY_BYTES_MAX + 1];
	char text[64];
	unsigned i;

	snprintf(text, sizeof text, "rubbish %u", round);
	zmq_send(zmq, text, strlen(text), ZMQ_DONTWAIT);
	zmq_send(zmq, "", 0, ZMQ_DONTWAIT);
	zmq_send(zmq, "FL\x01\x06\0\0\0\0\xdf\xff\xff\xff\xff", 13, ZMQ_DONTWAIT);
	for (i = 0; i < 20; i++)
		zmq_send(zmq, "FL\x01\x01\0\0\0\0\x80", 9,
		    ZMQ_DONTWAIT | (i < 19 ? ZMQ_SNDMORE : 0));
	if (round % 10 == 0)
		zmq_send(zmq, huge, sizeof huge, ZMQ_DONTWAIT);
}

/* A socket that does not even speak ZMTP. */
static void
send_noise(unsigned round)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = bench.endpoint + strlen("ipc://");
	char noise[512];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t i;

	memcpy(address.sun_path, path, strlen(path) + 1);
	srand(round);
	for (i = 0; i < sizeof noise; i++)
		noise[i] = (char)rand();
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		send(fd, noise, sizeof noise, MSG_NOSIGNAL);
	close(fd);
}

static void *
dealer(void *context, const char *identity)
{
	void *zmq = zmq_socket(context, ZMQ_DEALER);

	zmq_setsockopt(zmq, ZMQ_LINGER, &(int){ 0 }, sizeof(int));
	if (identity != NULL)
		zmq_setsockopt(zmq, ZMQ_ROUTING_ID, identity, strlen(identity));
	zmq_connect(zmq, bench.endpoint);
	return zmq;
}

START_TEST(garbage_and_oversized_frames_hurt_nobody_else)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 4, 10000);
	void *context = zmq_ctx_new();
	void *plain = dealer(context, NULL),
	     *named = dealer(context, "my-own-routing-id");
	struct ask *ask;
	unsigned i;

	for (i = 0; i < 60; i++) {
		send_rubbish(plain, i);
		send_rubbish(named, i);
		send_noise(i);
		ask = wire_ask(&bench, "tool:a", "answer");
		wire_wait(&bench, ask);
		wire_answer(ask);
	}
	ck_assert_int_gt(wire_counter(&bench, "protocol_errors"), 0);
	ck_assert_int_eq(wire_counter(&bench, "sessions_lost"), 0);
	zmq_close(plain);
	zmq_close(named);
	zmq_ctx_term(context);
	child_stop(&worker);
}
END_TEST

TCase *
tcase_wire(void)
{
	TCase *tcase = tcase_create("wire");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 90);
	tcase_add_test(tcase, calls_are_answered_by_who_serves_them);
	tcase_add_test(tcase, a_call_may_call);
	tcase_add_test(
	    tcase, events_progress_and_workers_are_heard_on_the_status_channel);
	tcase_add_test(tcase, a_killed_workers_call_is_answered_by_another);
	tcase_add_test(tcase, a_killed_workers_call_that_must_not_run_twice_is_lost);
	tcase_add_test(tcase,
	    a_stopped_workers_call_runs_elsewhere_and_it_is_told_to_stop_when_it_comes_back);
	tcase_add_test(tcase, a_draining_worker_gives_its_call_back_unharmed);
	tcase_add_test(tcase, a_draining_worker_finishes_what_it_can);
	tcase_add_test(tcase, a_call_that_runs_while_the_broker_dies_is_answered_once);
	tcase_add_test(tcase, a_call_that_ends_while_there_is_no_broker_is_answered_once);
	tcase_add_test(tcase, calls_that_wait_while_the_broker_restarts_are_all_answered);
	tcase_add_test(tcase, a_full_queue_is_waited_out);
	tcase_add_test(tcase, a_cancelled_call_is_stopped_at_its_worker);
	tcase_add_test(tcase, a_late_call_is_stopped_at_its_worker_and_expires);
	tcase_add_test(tcase, a_call_that_nobody_serves_says_so);
	tcase_add_test(tcase, garbage_and_oversized_frames_hurt_nobody_else);
	return tcase;
}
