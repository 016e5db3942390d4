/* How a client comes up and how it leaves. */
#include <check.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "children.h"
#include "fiber.h"
#include "redis_trial.h"
#include "test_place.h"

/* Interface under test */
#include "redis.h"

TCase *tcase_redis_session(void);

/* --- greetings --------------------------------------------------------------------------- */

static const char library[] = "#!lua name=test\n"
			      "redis.register_function('double', function(keys, args)\n"
			      "  return args[1] * 2\n"
			      "end)\n";

START_TEST(the_library_is_there_and_comes_back)
{
	struct redis *own = redis_trial_client(redis_trial.url, library);
	struct redis_question twice = { .redis = own,
		.words = { "FCALL", "double", "0", "21" } };

	ck_assert_int_eq(redis_trial_ask(twice)->integer, 42);
	ASK("FUNCTION", "FLUSH");
	ck_assert_int_eq(redis_trial_ask(twice)->integer, 42);
	child_kill(&redis_trial.server);
	redis_trial_run_until(redis_trial_is_down, own);
	redis_trial_start("0");
	ck_assert_int_eq(redis_trial_ask(twice)->integer, 42);
	redis_destroy(&own);
}
END_TEST

START_TEST(a_function_nobody_has_is_an_error_in_the_end)
{
	struct redis *own = redis_trial_client(redis_trial.url, library);
	struct redis_question question = {
		.redis = own, .wait_ms = 120, .words = { "FCALL", "triple", "0" }
	};

	redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } });
	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert_str_eq(redis_reply_text(question.reply), "ERR Function not found");
	redis_destroy(&own);
}
END_TEST

START_TEST(a_bad_library_is_trouble)
{
	redis_destroy(&redis_trial.redis);
	redis_trial.redis =
	    redis_trial_client(redis_trial.url, "#!lua name=bad\nthis is no Lua");
	redis_trial_run_until_trouble("ERR Error compiling function");
}
END_TEST

static const char *const hosts[] = { "127.0.0.1", "localhost" };

/* It may well be connected: nobody knows before it answers. */
START_TEST(one_that_never_answered_is_said_not_to_answer)
{
	kill(child_pid(redis_trial.server), SIGSTOP);
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client(redis_trial.url, NULL);
	ck_assert_ptr_nonnull(strstr(redis_trouble(redis_trial.redis), "no answer yet"));
	kill(child_pid(redis_trial.server), SIGCONT);
	redis_trial_check(ASK("PING"), "PONG");
}
END_TEST

START_TEST(a_refused_connection_is_tried_again)
{
	const char *port = place_port(redis_trial.arena);

	child_kill(&redis_trial.server);
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client(
	    arena_printf(redis_trial.arena, "redis://%s:%s", hosts[_i], port), NULL);
	redis_trial_run_until_trouble("refused");
	redis_trial_start(port);
	redis_trial_check(ASK("PING"), "PONG");
}
END_TEST

START_TEST(gives_its_name_and_chooses_its_database)
{
	const char *port = place_port(redis_trial.arena);

	child_kill(&redis_trial.server);
	redis_trial_start(port);
	ASK("ACL", "SETUSER", "me", "on", ">pa:ss", "~*", "+@all");
	ASK("CONFIG", "SET", "requirepass", "p@ss");
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client(
	    arena_printf(redis_trial.arena, "redis://:p%%40ss@localhost:%s/3", port),
	    NULL);
	ck_assert_ptr_nonnull(strstr(redis_reply_text(ASK("CLIENT", "INFO")), " db=3 "));
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client(
	    arena_printf(redis_trial.arena, "redis://me:pa%%3ass@127.0.0.1:%s", port),
	    NULL);
	redis_trial_check(ASK("ACL", "WHOAMI"), "me");
	ASK("ACL", "SETUSER", "open", "on", "nopass", "~*", "+@all");
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client(
	    arena_printf(redis_trial.arena, "redis://open@127.0.0.1:%s", port), NULL);
	redis_trial_check(ASK("ACL", "WHOAMI"), "open");
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client(
	    arena_printf(redis_trial.arena, "redis://:wrong@127.0.0.1:%s", port), NULL);
	redis_trial_run_until_trouble("WRONGPASS");
	ck_assert_ptr_null(strstr(redis_trouble(redis_trial.redis), ":wrong"));
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client(redis_trial.url, NULL);
	redis_trial_run_until_trouble("NOAUTH");
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

/* Where no name server answers, a lookup takes half a minute and more. */
START_TEST(while_a_name_is_looked_for_the_next_address_is_tried)
{
	const char *urls =
	    arena_printf(redis_trial.arena, "redis://localhost:1,%s", redis_trial.url);
	bool is_over = false;
	uv_work_t work = { .data = &is_over };
	struct redis *own;

	/* Its only thread has other work: no lookup begins. */
	setenv("UV_THREADPOOL_SIZE", "1", 1);
	sem_init(&gate, 0, 0);
	uv_queue_work(loop_uv(redis_trial.loop), &work, hold, on_held);
	own = redis_trial_client(urls, NULL);
	redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } });
	redis_destroy(&own); /* the lookup still waits for its turn */
	sem_post(&gate);
	redis_trial_run_until(is_true, &is_over);
}
END_TEST

START_TEST(an_unknown_host_is_trouble)
{
	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client("redis://a..b", NULL);
	redis_trial_run_until_trouble("a..b:6379: ");
}
END_TEST

static const char *const no_urls[] = { "", "nothing", "http://h", "valkey://h",
	"unix://relative", "unix://", "redis://h/x", "redis://h:99999", "redis://h/1x" };

START_TEST(is_no_url_of_a_redis)
{
	const char *error = NULL;

	ck_assert_ptr_null(redis_new(redis_trial.loop, no_urls[_i], NULL, &error));
	ck_assert_ptr_nonnull(error);
	ck_assert_uint_gt(strlen(error), 0); /* its text is still there */
}
END_TEST

/* --- leaving ----------------------------------------------------------------------------- */

START_TEST(a_cancelled_call_leaves_and_its_answer_goes_to_nobody)
{
	struct redis_question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	fiber_cancel(redis_trial_begin_blocking(&question, &own));
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_CANCELLED);
	ASK("RPUSH", "list", "item");
	redis_trial_check(redis_trial_ask((struct redis_question){
			      .redis = own, .words = { "ECHO", "mine" } }),
	    "mine");
	redis_destroy(&own);
}
END_TEST

START_TEST(a_cancelled_fiber_sends_nothing)
{
	struct redis_question question = { .words = { "INCR", "n" } };

	ASK("PING");
	fiber_cancel(redis_trial_begin(&question));
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_CANCELLED);
	ck_assert(value_is_nil(ASK("GET", "n")));
}
END_TEST

START_TEST(a_cancelled_call_does_not_wait_for_the_server)
{
	struct redis_question question = { .words = { "PING" } };
	struct fiber *fiber;

	child_kill(&redis_trial.server);
	redis_trial_run_until(redis_trial_is_down, redis_trial.redis);
	fiber = redis_trial_begin(&question);
	redis_trial_run_until_trouble(redis_trial.path);
	fiber_cancel(fiber);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_CANCELLED);
}
END_TEST

START_TEST(what_is_under_way_is_lost_at_the_end)
{
	struct redis_question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	redis_trial_begin_blocking(&question, &own);
	redis_destroy(&own);
	ck_assert_ptr_null(own);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_LOST);
}
END_TEST

START_TEST(an_answer_nobody_waits_for_may_never_come)
{
	struct redis_question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	fiber_cancel(redis_trial_begin_blocking(&question, &own));
	redis_trial_run();
	redis_destroy(&own);
}
END_TEST

START_TEST(who_waits_for_a_server_is_lost_at_the_end)
{
	struct redis_question question = { .words = { "PING" } };

	redis_destroy(&redis_trial.redis);
	redis_trial.redis = redis_trial_client("unix:///nowhere/redis", NULL);
	redis_trial_begin(&question);
	redis_trial_run_a_little();
	ck_assert(!question.has_ended);
	redis_destroy(&redis_trial.redis);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_LOST);
}
END_TEST

START_TEST(who_waits_for_better_times_is_lost_at_the_end)
{
	struct redis_question question = { .words = { "SET", "k", "v" } };
	struct redis *own;

	ASK("CONFIG", "SET", "maxmemory", "1");
	redis_trial_begin_refused(&question, &own, "OOM");
	redis_destroy(&own);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_LOST);
}
END_TEST

static const char *const anywhere[] = { NULL, "unix:///nowhere/redis",
	"redis://127.0.0.1:1", "redis://localhost:1", "redis://a..b" };

START_TEST(a_client_may_go_at_any_time)
{
	const char *to = anywhere[_i] == NULL ? redis_trial.url : anywhere[_i];
	struct redis *own = redis_trial_client(to, library);

	redis_destroy(&own);
	own = redis_trial_client(to, library);
	redis_trial_run_a_little();
	redis_destroy(&own);
	own = redis_trial_client(to, library);
	ASK("PING");
	redis_trial_run_a_little();
	redis_destroy(&own);
	redis_destroy(&own);
}
END_TEST

static void
add_greetings(TCase *tcase)
{
	tcase_add_test(tcase, the_library_is_there_and_comes_back);
	tcase_add_test(tcase, a_function_nobody_has_is_an_error_in_the_end);
	tcase_add_test(tcase, a_bad_library_is_trouble);
	tcase_add_test(tcase, one_that_never_answered_is_said_not_to_answer);
	tcase_add_loop_test(tcase, a_refused_connection_is_tried_again, 0,
	    sizeof hosts / sizeof hosts[0]);
	tcase_add_test(tcase, gives_its_name_and_chooses_its_database);
	tcase_add_test(tcase, an_unknown_host_is_trouble);
	tcase_add_loop_test(
	    tcase, is_no_url_of_a_redis, 0, sizeof no_urls / sizeof no_urls[0]);
}

TCase *
tcase_redis_session(void)
{
	TCase *tcase = tcase_create("redis_session");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, redis_trial_open, redis_trial_close);
	add_greetings(tcase);
	tcase_add_test(tcase, a_cancelled_call_leaves_and_its_answer_goes_to_nobody);
	tcase_add_test(tcase, a_cancelled_fiber_sends_nothing);
	tcase_add_test(tcase, a_cancelled_call_does_not_wait_for_the_server);
	tcase_add_test(tcase, what_is_under_way_is_lost_at_the_end);
	tcase_add_test(tcase, an_answer_nobody_waits_for_may_never_come);
	tcase_add_test(tcase, who_waits_for_a_server_is_lost_at_the_end);
	tcase_add_test(tcase, who_waits_for_better_times_is_lost_at_the_end);
	tcase_add_loop_test(
	    tcase, a_client_may_go_at_any_time, 0, sizeof anywhere / sizeof anywhere[0]);
	tcase_add_test(tcase, while_a_name_is_looked_for_the_next_address_is_tried);
	return tcase;
}
