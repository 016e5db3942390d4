/* The wire between real processes: what happens to calls when processes die, stop, drain
 * and come back. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
	unsigned hellos, r1_hellos, ups, tokens;
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
	listener->hellos += strcmp(topic, "run.test.hello") == 0;
	listener->r1_hellos += strcmp(topic, "run.r1.hello") == 0;
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
		links_publish(bench.links, NULL, "run.test.hello", value_nil());
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

static bool
is_told(void *arg)
{
	struct listener *listener = arg;

	links_publish(bench.links, NULL, "run.r1.hello", value_nil());
	return listener->r1_hellos > 0;
}

/* Who listens to something else costs nothing; from the moment on that somebody listens to it all
 * of it comes. */
START_TEST(what_nobody_listens_to_is_not_sent)
{
	struct listener listener = { .arena = arena_new() };
	const char *error;
	struct socket *status =
	    socket_sub(bench.loop, bench.status, on_status, &listener, &error);
	struct child *talker = wire_worker(&bench, "talker", "tool:talk", 1, 10000);
	int64_t published;

	wire_served(&bench, "tool:talk", 1);
	socket_subscribe(status, "run.test.");
	wire_until(&bench, is_listening, &listener, "an event of one's own");
	published = wire_counter(&bench, "published");
	wire_wait(&bench, wire_ask(&bench, "tool:talk", "tell"));
	links_publish(bench.links, NULL, "run.r1.hello", value_nil());
	ck_assert_int_eq(wire_counter(&bench, "published"), published);
	socket_subscribe(status, "run.r1.");
	wire_until(&bench, is_told, &listener, "what is published once it is wanted");
	wire_wait(&bench, wire_ask(&bench, "tool:talk", "tell"));
	wire_until(&bench, has_heard_tokens, &listener, "three tokens");
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
	struct child *first = wire_worker(&bench, "first", "tool:a", 1, 4000), *second;
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

/* One that is under way, and one that is answered. */
START_TEST(a_call_that_is_given_back_leaves_its_own_calls_to_the_next)
{
	struct child *first = wire_worker(&bench, "first", "tool:a", 1, 500), *second;
	struct child *inner = wire_worker(&bench, "inner", "model:inner", 1, 10000);
	struct ask *ask = wire_ask(&bench, "tool:a", _i == 0 ? "ask" : "ask_first");

	wire_set(ask, "service", "model:inner");
	wire_set(ask, "path", gate);
	wire_wait_logged(&bench, "began c0/1 inner");
	second = wire_worker(&bench, "second", "tool:a", 1, 10000);
	wire_served(&bench, "tool:a", 2);
	child_stop(&first);
	wire_wait_logged(&bench, "began c0 second");
	open_gate();
	wire_wait(&bench, ask);
	expect_text(wire_answer(ask), "worker", "inner");
	ck_assert_uint_eq(wire_logged(&bench, "began c0/1"), 1);
	child_stop(&second);
	child_stop(&inner);
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
	tcase_add_test(tcase, what_nobody_listens_to_is_not_sent);
	tcase_add_test(tcase, a_killed_workers_call_is_answered_by_another);
	tcase_add_test(tcase, a_killed_workers_call_that_must_not_run_twice_is_lost);
	tcase_add_test(tcase,
	    a_stopped_workers_call_runs_elsewhere_and_it_is_told_to_stop_when_it_comes_back);
	tcase_add_test(tcase, a_draining_worker_gives_its_call_back_unharmed);
	tcase_add_loop_test(
	    tcase, a_call_that_is_given_back_leaves_its_own_calls_to_the_next, 0, 2);
	tcase_add_test(tcase, a_draining_worker_finishes_what_it_can);
	tcase_add_test(tcase, a_call_that_runs_while_the_broker_dies_is_answered_once);
	tcase_add_test(tcase, a_call_that_ends_while_there_is_no_broker_is_answered_once);
	tcase_add_test(tcase, calls_that_wait_while_the_broker_restarts_are_all_answered);
	return tcase;
}
