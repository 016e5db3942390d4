/* Threads with very many runs: to do away with some costs what these cost, not all that are there; against a real
 * Redis. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_runs(void);

#define LONG 60000u
#define FEW "5000"
#define MANY "100000" /* 20 times as many: 150 times the work where all are looked at */

static const char *
key(const char *name)
{
	return arena_printf(
	    trial.arena, "%s%s", store_prefix(trial.arena, store_shard("t")), name);
}

/* The thread, and behind its run so many that ended long ago. */
static void
make_thread(const char *count)
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
	    "3", key("t:t:r"), key("r:"), key("later"), count);
}

/* The processor's time that Redis has taken, in seconds. */
static double
cpu_s(void)
{
	static const char name[] = "used_cpu_user:";
	const char *found = strstr(redis_reply_text(trial_ask("INFO", "cpu")), name);

	ck_assert_ptr_nonnull(found);
	return strtod(found + strlen(name), NULL);
}

/* One that waits for its time on another thread has all runs looked at. */
static double
erase(const char *count)
{
	struct store_pruned pruned;
	double from;

	make_thread(count);
	from = cpu_s();
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	return cpu_s() - from;
}

static void
play_erase(void)
{
	double few = erase(FEW), many = erase(MANY);

	ck_assert_msg(many < 70 * few, "%f, %f", few, many);
}

START_TEST(to_erase_costs_what_goes)
{
	trial_play(play_erase);
}
END_TEST

static double
prune(const char *count)
{
	const char *stamp, *reply_text;
	const struct value *reply;
	int64_t runs = 0;
	double from;

	make_thread(count);
	from = cpu_s();
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
	ck_assert_int_eq(runs, strtoll(count, NULL, 10));
	ck_assert_int_eq(trial_ask("LLEN", key("t:t:r"))->integer, 1);
	return cpu_s() - from;
}

static void
play_prune(void)
{
	double few = prune(FEW), many = prune(MANY);

	ck_assert_msg(many < 70 * few, "%f, %f", few, many);
}

START_TEST(to_prune_costs_what_goes)
{
	trial_play(play_prune);
}
END_TEST

TCase *
tcase_store_runs(void)
{
	TCase *tcase = tcase_create("store_runs");

	tcase_set_timeout(tcase, 180);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, to_erase_costs_what_goes);
	tcase_add_test(tcase, to_prune_costs_what_goes);
	return tcase;
}
