#include <check.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "fiber.h"

/* Interface under test */
#include "resolver.h"

TCase *tcase_resolver(void);

/* A name no resolver asks the network for. */
#define BAD_NAME "a..b"

static struct loop *loop;
static struct resolver *resolver;
static struct arena *arena;

static void
set_up(void)
{
	loop = loop_new();
	resolver = resolver_new(loop, RESOLVER_FRESH_MS);
	arena = arena_new();
}

static void
tear_down(void)
{
	resolver_destroy(&resolver);
	loop_destroy(&loop);
	arena_destroy(&arena);
}

struct question {
	const char *host;
	uint64_t wait_ms;
	enum resolver_result result;
	const char *text;
};

static void
find(void *arg)
{
	struct question *question = arg;

	question->result = resolver_find(
	    resolver, arena, question->host, question->wait_ms, &question->text);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static void
ask(struct question *question)
{
	fiber_start(loop, "question", find, question);
	loop_run_until(loop, all_ended, NULL);
}

static bool
is_loopback(const char *text)
{
	return strstr(text, "127.0.0.1") != NULL || strstr(text, "[::1]") != NULL;
}

START_TEST(finds_addresses)
{
	struct question question = { .host = "localhost", .wait_ms = 10000 };

	ask(&question);
	ck_assert_int_eq(question.result, RESOLVER_FOUND);
	ck_assert(is_loopback(question.text));
	ck_assert_int_ne(question.text[strlen(question.text) - 1], ',');
}
END_TEST

START_TEST(does_not_look_up_again_what_it_knows)
{
	struct question first = { .host = "localhost", .wait_ms = 10000 };
	struct question second = { .host = "LocalHost", .wait_ms = 0 };

	ask(&first);
	ask(&second);
	ck_assert_int_eq(second.result, RESOLVER_FOUND);
	ck_assert_str_eq(second.text, first.text);
}
END_TEST

START_TEST(all_who_ask_meanwhile_get_the_answer)
{
	struct question questions[50];
	int i;

	for (i = 0; i < 50; i++) {
		questions[i] = (struct question){ .host = "localhost", .wait_ms = 10000 };
		fiber_start(loop, "question", find, &questions[i]);
	}
	loop_run_until(loop, all_ended, NULL);
	for (i = 0; i < 50; i++)
		ck_assert_int_eq(questions[i].result, RESOLVER_FOUND);
}
END_TEST

START_TEST(says_why_not)
{
	struct question question = { .host = BAD_NAME, .wait_ms = 10000 };

	ask(&question);
	ck_assert_int_eq(question.result, RESOLVER_FAILED);
	ck_assert_uint_gt(strlen(question.text), 0);
	ask(&question);
	ck_assert_int_eq(question.result, RESOLVER_FAILED);
}
END_TEST

static sem_t gate;

static void
hold(uv_work_t *work)
{
	(void)work;
	sem_wait(&gate);
}

static void
on_held(uv_work_t *work, int status)
{
	bool *is_over = work->data;

	(void)status;
	*is_over = true;
}

static bool
is_true(void *arg)
{
	return *(bool *)arg;
}

START_TEST(does_not_wait_longer_than_asked)
{
	struct question question = { .host = "localhost", .wait_ms = 5 };
	bool is_over = false;
	uv_work_t work = { .data = &is_over };

	/* Its only thread has other work: no lookup begins. */
	setenv("UV_THREADPOOL_SIZE", "1", 1);
	sem_init(&gate, 0, 0);
	uv_queue_work(loop_uv(loop), &work, hold, on_held);
	ask(&question);
	ck_assert_int_eq(question.result, RESOLVER_TIMEOUT);
	resolver_destroy(&resolver); /* the lookup still waits for its turn */
	sem_post(&gate);
	loop_run_until(loop, is_true, &is_over);
}
END_TEST

/* Names of others that nobody answers for may keep all threads busy. */
START_TEST(what_is_known_is_used_while_a_lookup_hangs)
{
	struct question first = { .host = "localhost", .wait_ms = 10000 };
	struct question second = { .host = "localhost", .wait_ms = UINT32_MAX };
	struct question third = second;
	bool is_over = false;
	uv_work_t work = { .data = &is_over };

	setenv("UV_THREADPOOL_SIZE", "1", 1);
	resolver_destroy(&resolver);
	resolver = resolver_new(loop, 0);
	ask(&first);
	ck_assert_int_eq(first.result, RESOLVER_FOUND);
	sem_init(&gate, 0, 0);
	uv_queue_work(loop_uv(loop), &work, hold, on_held);
	ask(&second);
	ask(&third);
	ck_assert_int_eq(second.result, RESOLVER_FOUND);
	ck_assert_int_eq(third.result, RESOLVER_FOUND);
	ck_assert_str_eq(third.text, first.text);
	sem_post(&gate);
	loop_run_until(loop, is_true, &is_over);
	ask(&first);
	ck_assert_int_eq(first.result, RESOLVER_FOUND);
}
END_TEST

START_TEST(a_cancelled_fiber_leaves)
{
	struct question left = { .host = "localhost", .wait_ms = 10000 };
	struct question stays = left;

	fiber_cancel(fiber_start(loop, "left", find, &left));
	ask(&stays);
	ck_assert_int_eq(left.result, RESOLVER_CANCELLED);
	ck_assert_int_eq(stays.result, RESOLVER_FOUND);
}
END_TEST

START_TEST(forgets_the_oldest_names)
{
	struct question question = { .wait_ms = 10000 };
	int i;

	for (i = 0; i < 600; i++) {
		question.host = arena_printf(arena, BAD_NAME "%d", i);
		ask(&question);
		ck_assert_int_eq(question.result, RESOLVER_FAILED);
	}
}
END_TEST

TCase *
tcase_resolver(void)
{
	TCase *tcase = tcase_create("resolver");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, finds_addresses);
	tcase_add_test(tcase, does_not_look_up_again_what_it_knows);
	tcase_add_test(tcase, all_who_ask_meanwhile_get_the_answer);
	tcase_add_test(tcase, says_why_not);
	tcase_add_test(tcase, does_not_wait_longer_than_asked);
	tcase_add_test(tcase, what_is_known_is_used_while_a_lookup_hangs);
	tcase_add_test(tcase, a_cancelled_fiber_leaves);
	tcase_add_test(tcase, forgets_the_oldest_names);
	return tcase;
}
