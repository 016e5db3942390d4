/* Threads with very many runs, of which some are done away with in several steps; against a real Redis. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_runs(void);

#define LONG 60000u
#define MANY "5000" /* some steps */

static const char *
key(const char *name)
{
	return arena_printf(
	    trial.arena, "%s%s", store_prefix(trial.arena, store_shard("t")), name);
}

/* The thread, and behind its run so many that ended long ago. */
static void
make_thread(void)
{
	struct store_claim claim;

	trial_ask("FLUSHALL");
	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
	trial_ask("EVAL",
	    "for i = 1, tonumber(ARGV[1]) do redis.call('LPUSH', KEYS[1], 'x' .. i) "
	    "redis.call('HSET', KEYS[2] .. 'x' .. i, 'ended', 1, 'created', 1, 'thread', "
	    "'t') "
	    "end "
	    "redis.call('ZADD', KEYS[3], '99999999999999', 'other') "
	    "redis.call('HSET', KEYS[2] .. 'other', 'thread', 'other', 'status', "
	    "'delayed')",
	    "3", key("t:t:r"), key("r:"), key("later"), MANY);
}

/* One that waits for its time on another thread has all runs looked at, and stays. */
static void
play_erase(void)
{
	struct store_pruned pruned;

	make_thread();
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	ck_assert_int_eq(trial_ask("EXISTS", key("t:t:r"))->integer, 0);
	ck_assert_int_eq(trial_ask("EXISTS", key("r:x1"))->integer, 0);
	ck_assert_int_eq(trial_ask("EXISTS", key("r:x" MANY))->integer, 0);
	ck_assert_int_eq(trial_ask("EXISTS", key("r:other"))->integer, 1);
}

START_TEST(all_runs_of_a_thread_go_with_it)
{
	trial_play(play_erase);
}
END_TEST

static void
play_prune(void)
{
	const char *stamp, *reply_text;
	const struct value *reply;
	int64_t runs = 0;

	make_thread();
	stamp = arena_printf(trial.arena, "1 %s",
	    redis_reply_text(trial_ask("HGET", key("t:t"), "created")));
	do {
		reply = trial_ask("FCALL", "fl_prune", "1", key("t:t"), key(""), "t",
		    stamp, "0", "0",
		    redis_reply_text(trial_ask("LINDEX", key("t:t:c"), "0")), "1000", "0",
		    "r");
		reply_text = redis_reply_text(value_at(reply, 0));
		ck_assert_str_eq(reply_text, "PRUNED");
		runs += value_at(reply, 1)->integer;
	} while (value_at(reply, 1)->integer > 0);
	ck_assert_int_eq(runs, strtoll(MANY, NULL, 10));
	ck_assert_int_eq(trial_ask("LLEN", key("t:t:r"))->integer, 1);
	ck_assert_int_eq(trial_ask("EXISTS", key("r:x1"))->integer, 0);
	ck_assert_int_eq(trial_ask("EXISTS", key("r:r"))->integer, 1);
}

START_TEST(all_runs_before_the_kept_one_go)
{
	trial_play(play_prune);
}
END_TEST

TCase *
tcase_store_runs(void)
{
	TCase *tcase = tcase_create("store_runs");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, all_runs_of_a_thread_go_with_it);
	tcase_add_test(tcase, all_runs_before_the_kept_one_go);
	return tcase;
}
