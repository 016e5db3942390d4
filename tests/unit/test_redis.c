#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "fiber.h"
#include "redis_trial.h"

/* Interface under test */
#include "redis.h"

TCase *tcase_redis(void);

/* --- answers --------------------------------------------------------------------------- */

START_TEST(answers_have_their_types)
{
	const struct value *reply;

	redis_trial_check(ASK("PING"), "PONG");
	redis_trial_check(ASK("SET", "k", "v"), "OK");
	redis_trial_check(ASK("GET", "k"), "v");
	ck_assert(value_is_nil(ASK("GET", "nothing")));
	ck_assert_int_eq(ASK("INCR", "n")->integer, 1);
	ck_assert_int_eq(ASK("INCR", "n")->type, VALUE_INT);
	reply = ASK("MGET", "k", "nothing");
	ck_assert_uint_eq(value_size(reply), 2);
	redis_trial_check(value_at(reply, 0), "v");
	ck_assert(value_is_nil(value_at(reply, 1)));
	ck_assert_uint_eq(value_size(ASK("LRANGE", "nothing", "0", "1")), 0);
	reply = ASK(
	    "EVAL", "return {redis.error_reply('MY own'), redis.status_reply('S')}", "0");
	ck_assert_str_eq(value_text(value_at(reply, 0)), "MY own");
	redis_trial_check(value_at(reply, 1), "S");
}
END_TEST

static void
call_binary(void *arg)
{
	static const char bytes[] = "a\0b\r\n\xff";
	const struct redis_arg args[] = { { "SET", 3 }, { "k\0k", 3 }, { bytes, 6 } };
	const struct redis_arg back[] = { { "GET", 3 }, { "k\0k", 3 } };
	const struct redis_arg empty[] = { { "APPEND", 6 }, { "k\0k", 3 }, { NULL, 0 } };
	const struct value *reply;

	(void)arg;
	ck_assert_int_eq(redis_call(redis_trial.redis, redis_trial.arena, REDIS_TRIAL_MS,
			     args, 3, &reply),
	    REDIS_OK);
	ck_assert_int_eq(redis_call(redis_trial.redis, redis_trial.arena, REDIS_TRIAL_MS,
			     back, 2, &reply),
	    REDIS_OK);
	ck_assert_uint_eq(reply->size, 6);
	ck_assert_mem_eq(reply->text, bytes, 7);
	ck_assert_int_eq(redis_call(redis_trial.redis, redis_trial.arena, REDIS_TRIAL_MS,
			     empty, 3, &reply),
	    REDIS_OK);
	ck_assert_int_eq(reply->integer, 6);
}

START_TEST(bytes_are_bytes)
{
	fiber_start(redis_trial.loop, "binary", call_binary, NULL);
	redis_trial_run();
}
END_TEST

static void
call_text(void *arg)
{
	const struct value *reply;

	(void)arg;
	ck_assert_int_eq(redis_text(redis_trial.redis, redis_trial.arena, REDIS_TRIAL_MS,
			     &reply, "HSET", "h", "f", "v", NULL),
	    REDIS_OK);
	ck_assert_int_eq(redis_text(redis_trial.redis, redis_trial.arena, REDIS_TRIAL_MS,
			     &reply, "HGET", "h", "f", NULL),
	    REDIS_OK);
	redis_trial_check(reply, "v");
	ck_assert_int_eq(redis_text(redis_trial.redis, redis_trial.arena, REDIS_TRIAL_MS,
			     &reply, "PING", NULL),
	    REDIS_OK);
}

START_TEST(text_is_short_for_arguments)
{
	fiber_start(redis_trial.loop, "text", call_text, NULL);
	redis_trial_run();
}
END_TEST

/* Returns a script that answers with depth arrays in each other. */
static const char *
nested(int depth)
{
	const char *text = "7";

	while (depth-- > 0)
		text = arena_printf(redis_trial.arena, "{%s}", text);
	return arena_printf(redis_trial.arena, "return %s", text);
}

START_TEST(answers_nest)
{
	const struct value *reply = ASK("EVAL", nested(7), "0");
	int depth;

	for (depth = 0; value_is(reply, VALUE_ARRAY); depth++)
		reply = value_at(reply, 0);
	ck_assert_int_eq(depth, 7);
	ck_assert_int_eq(reply->integer, 7);
}
END_TEST

START_TEST(what_hiredis_cannot_read_costs_the_connection_only)
{
	struct redis_question question = { .words = { "EVAL", nested(12), "0" } };

	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	redis_trial_check(ASK("PING"), "PONG");
}
END_TEST

START_TEST(a_refusal_is_an_error_at_once)
{
	struct redis_question question = { .words = { "HGET", "k", "f" } };

	ASK("SET", "k", "v");
	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert(value_is(question.reply, VALUE_STR));
	ck_assert_int_eq(strncmp(redis_reply_text(question.reply), "WRONGTYPE ", 10), 0);
	/* Not to be taken for BUSY. */
	ASK("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM");
	question =
	    (struct redis_question){ .words = { "XGROUP", "CREATE", "s", "g", "0" } };
	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert_int_eq(strncmp(redis_reply_text(question.reply), "BUSYGROUP ", 10), 0);
}
END_TEST

START_TEST(a_large_answer_is_whole)
{
	const size_t size = 5u << 20;
	char *text = arena_alloc(redis_trial.arena, size + 1);

	memset(text, 'x', size);
	ASK("SET", "k", text);
	redis_trial_check(ASK("GET", "k"), text);
}
END_TEST

START_TEST(commands_of_one_turn_travel_together)
{
	static struct redis_question questions[500];
	long reads;
	int i;

	ASK("PING");
	reads = redis_trial_info("stats", "total_reads_processed:");
	for (i = 0; i < 500; i++) {
		questions[i] = (struct redis_question){ .words = { "INCR", "n" } };
		redis_trial_begin(&questions[i]);
	}
	redis_trial_run();
	for (i = 0; i < 500; i++)
		ck_assert_int_eq(questions[i].reply->integer, i + 1);
	ck_assert_int_le(redis_trial_info("stats", "total_reads_processed:") - reads, 20);
}
END_TEST

/* --- coming and going ------------------------------------------------------------------- */

START_TEST(a_call_waits_for_the_server_to_come)
{
	struct redis_question question = { .words = { "PING" } };

	child_kill(&redis_trial.server);
	redis_trial_run_until(redis_trial_is_down, redis_trial.redis);
	redis_trial_begin(&question);
	redis_trial_run_until_trouble(redis_trial.path);
	redis_trial_start("0");
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert_str_eq(redis_trouble(redis_trial.redis), "");
}
END_TEST

START_TEST(a_call_waits_no_longer_than_asked)
{
	struct redis_question question = { .words = { "PING" }, .wait_ms = 30 };

	child_kill(&redis_trial.server);
	unlink(redis_trial.path);
	redis_trial_run_until(redis_trial_is_down, redis_trial.redis);
	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_AWAY);
	redis_trial_run_until_trouble("No such file");
}
END_TEST

START_TEST(a_call_under_way_is_lost_with_the_connection)
{
	struct redis_question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	redis_trial_begin_blocking(&question, &own);
	child_kill(&redis_trial.server);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	redis_trial_run_until(redis_trial_is_down, redis_trial.redis);
	redis_trial_start("0");
	/* It is not sent again: the item stays. */
	ck_assert_int_eq(ASK("RPUSH", "list", "item")->integer, 1);
	redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } });
	ck_assert_int_eq(ASK("LLEN", "list")->integer, 1);
	redis_destroy(&own);
}
END_TEST

START_TEST(comes_back_again_and_again)
{
	int i;

	for (i = 0; i < 5; i++) {
		ASK("SET", "k", "v");
		child_kill(&redis_trial.server);
		redis_trial_run_until(redis_trial_is_down, redis_trial.redis);
		redis_trial_start("0");
		redis_trial_check(ASK("PING"), "PONG");
	}
}
END_TEST

START_TEST(a_silent_server_is_given_up)
{
	struct redis_question question = { .words = { "PING" } };

	ASK("PING");
	redis_allow_silence(redis_trial.redis, 50);
	kill(child_pid(redis_trial.server), SIGSTOP);
	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	ck_assert_ptr_nonnull(strstr(redis_trouble(redis_trial.redis), "no answer"));
	kill(child_pid(redis_trial.server), SIGCONT);
	redis_trial_check(ASK("PING"), "PONG");
}
END_TEST

/* --- refusals that pass ------------------------------------------------------------------ */

START_TEST(waits_while_memory_is_short)
{
	struct redis_question question = { .words = { "SET", "k", "v" } };
	struct redis_question enough = { .words = { "CONFIG", "SET", "maxmemory", "0" } };
	struct redis *own;

	ASK("CONFIG", "SET", "maxmemory", "1");
	redis_trial_begin_refused(&question, &own, "OOM");
	redis_trial_begin(&enough);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_OK);
	redis_destroy(&own);
}
END_TEST

START_TEST(says_what_redis_said_when_it_does_not_pass)
{
	struct redis_question question = { .words = { "SET", "k", "v" }, .wait_ms = 120 };

	ASK("CONFIG", "SET", "maxmemory", "1");
	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert_int_eq(strncmp(redis_reply_text(question.reply), "OOM ", 4), 0);
}
END_TEST

static bool
is_told(void *arg)
{
	return strstr(redis_trouble(arg), "is a replica") != NULL;
}

START_TEST(looks_for_the_primary_again)
{
	struct redis *own = redis_trial_client(redis_trial.url, NULL);
	struct redis_question question = { .redis = own, .words = { "SET", "k", "v" } };
	struct redis_question promote = { .words = { "REPLICAOF", "NO", "ONE" } };

	redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } });
	ASK("REPLICAOF", "127.0.0.1", "1");
	/* Told READONLY it connects again, and again until the server is primary. */
	redis_trial_begin(&question);
	redis_trial_run_until(is_told, own);
	ck_assert(!question.has_ended);
	redis_trial_begin(&promote);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert_int_ge(redis_trial_info("errorstats", "errorstat_READONLY:count="), 1);
	ck_assert_uint_eq(redis_connects(own), 2);
	redis_destroy(&own);
}
END_TEST

/* Returns whether Redis says BUSY to another client. */
static bool
says_busy(void)
{
	struct redis_question probe = { .words = { "PING" }, .wait_ms = 1 };

	redis_trial_finish(&probe);
	return probe.status == REDIS_ERROR &&
	       strncmp(redis_reply_text(probe.reply), "BUSY ", 5) == 0;
}

START_TEST(waits_for_a_busy_script)
{
	struct redis *other = redis_trial_client(redis_trial.url, NULL);
	struct redis *own = redis_trial_client(redis_trial.url, NULL);
	struct redis_question busy = { .redis = other,
		.words = { "EVAL", "while true do end", "0" } };
	struct redis_question question = { .redis = own, .words = { "GET", "k" } };

	redis_trial_ask((struct redis_question){ .redis = other, .words = { "PING" } });
	redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } });
	redis_trial_begin(&busy);
	while (!says_busy())
		ck_assert(!busy.has_ended);
	redis_trial_begin(&question);
	while (!says_busy())
		;
	ck_assert(!question.has_ended);
	ck_assert_ptr_nonnull(redis_trial_ask_meanwhile("SCRIPT", "KILL"));
	redis_trial_run();
	ck_assert_int_eq(busy.status, REDIS_ERROR);
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert_int_ge(redis_trial_info("errorstats", "errorstat_BUSY:count="), 2);
	redis_destroy(&other);
	redis_destroy(&own);
}
END_TEST

static void
add_answers(TCase *tcase)
{
	tcase_add_test(tcase, answers_have_their_types);
	tcase_add_test(tcase, bytes_are_bytes);
	tcase_add_test(tcase, text_is_short_for_arguments);
	tcase_add_test(tcase, answers_nest);
	tcase_add_test(tcase, what_hiredis_cannot_read_costs_the_connection_only);
	tcase_add_test(tcase, a_refusal_is_an_error_at_once);
	tcase_add_test(tcase, a_large_answer_is_whole);
	tcase_add_test(tcase, commands_of_one_turn_travel_together);
}

static void
add_troubles(TCase *tcase)
{
	tcase_add_test(tcase, a_call_waits_for_the_server_to_come);
	tcase_add_test(tcase, a_call_waits_no_longer_than_asked);
	tcase_add_test(tcase, a_call_under_way_is_lost_with_the_connection);
	tcase_add_test(tcase, comes_back_again_and_again);
	tcase_add_test(tcase, a_silent_server_is_given_up);
	tcase_add_test(tcase, waits_while_memory_is_short);
	tcase_add_test(tcase, says_what_redis_said_when_it_does_not_pass);
	tcase_add_test(tcase, looks_for_the_primary_again);
	tcase_add_test(tcase, waits_for_a_busy_script);
}

TCase *
tcase_redis(void)
{
	TCase *tcase = tcase_create("redis");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, redis_trial_open, redis_trial_close);
	add_answers(tcase);
	add_troubles(tcase);
	return tcase;
}
