/* Threads whose time is over, and how much is done in one call; against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_expiry(void);

#define LONG 60000u
#define MANY "2500"

static const char *
key(const char *name)
{
	return arena_printf(
	    trial.arena, "%s%s", store_prefix(trial.arena, store_shard("t")), name);
}

/* Its run was the last one, and its time is over. */
static void
make_due(const char *action)
{
	trial_hset("t:t", "ttl", arena_printf(trial.arena, "1000 %s", action));
	trial_ask("ZADD", key("ttl"), "1", "t");
}

static const struct value *
expire(void)
{
	const struct value *threads = NULL;

	ck_assert_int_eq(
	    store_expire(trial.a, trial.arena, store_shard("t"), 10, NULL, &threads),
	    STORE_OK);
	return threads;
}

static bool
is_there(void)
{
	const struct value *state;

	return store_thread(trial.a, trial.arena, "t", &state) == STORE_OK;
}

static void
end_run(const char *status)
{
	struct store_claim claim;

	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, claim.run, status), STORE_OK);
}

static struct store_chores
look(void)
{
	struct store_chores chores = { .orphans = true };

	ck_assert_int_eq(
	    store_chores(trial.a, trial.arena, store_shard("t"), &chores), STORE_OK);
	return chores;
}

/* --- what keeps a thread ------------------------------------------------------------------ */

/* Nobody could find the children without what the parent has left. */
static void
play_parent(void)
{
	struct arena *arena = trial.arena;
	const struct value *runs;
	struct store_pruned pruned;
	bool is_late = true;

	trial_submit("t", "r");
	ck_assert_int_eq(
	    store_adopt(trial.a, arena, "t", "r", "child", "elsewhere", &is_late),
	    STORE_OK);
	ck_assert(!is_late);
	end_run("error");
	make_due("delete");
	ck_assert_uint_eq(value_size(expire()), 0);
	ck_assert(is_there());
	ck_assert_int_eq(store_erase(trial.a, arena, "t", true, &pruned), STORE_BUSY);
	ck_assert_str_eq(pruned.busy, "r");
	ck_assert_int_eq(
	    store_orphans(trial.a, arena, store_shard("t"), 10, NULL, &runs), STORE_OK);
	ck_assert_uint_eq(value_size(runs), 1);
	ck_assert_int_eq(
	    store_orphans(trial.a, arena, store_shard("t"), 0, runs, &runs), STORE_OK);
	ck_assert_uint_eq(value_size(runs), 0);
	make_due("delete");
	expire();
	ck_assert(!is_there());
}

START_TEST(a_parent_stays_until_its_children_are_cancelled)
{
	trial_play(play_parent);
}
END_TEST

static void
submit_child(const char *run, const char *task)
{
	bool is_late;

	ck_assert_int_eq(
	    store_submit(trial.a, trial.arena, run, run,
		value_map(trial.arena, "parent", value_str(trial.arena, "r"), "task",
		    task != NULL ? value_str(trial.arena, task) : NULL, NULL),
		&(int64_t){ 0 }),
	    STORE_OK);
	ck_assert_int_eq(
	    store_adopt(trial.a, trial.arena, "t", "r", run, run, &is_late), STORE_OK);
}

static void
end_child(const char *run)
{
	const char *answer, *ended;

	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, run, run, &answer, &ended), STORE_OK);
}

static bool
has_run(const char *run)
{
	const struct value *record;

	return store_run(trial.a, trial.arena, run, run, &record) == STORE_OK;
}

static void
forget_gone(void)
{
	ck_assert_int_eq(
	    store_forget_gone(trial.a, trial.arena, store_shard("t"), 10), STORE_OK);
}

/* One that a user has begun is the user's. */
static void
play_children(void)
{
	struct store_pruned pruned;

	trial_submit("t", "r");
	submit_child("over", "a");
	submit_child("busy", "b");
	submit_child("free", NULL);
	end_child("over");
	end_child("free");
	end_run("success");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	forget_gone();
	ck_assert(!has_run("over"));
	ck_assert(has_run("busy") && has_run("free"));
	ck_assert(look().gone);
	end_child("busy");
	forget_gone();
	ck_assert(!has_run("busy"));
}

START_TEST(children_that_had_a_task_go_with_their_parent)
{
	trial_play(play_children);
}
END_TEST

/* Of many runs it is one in the middle. */
static void
play_many_runs(void)
{
	struct store_pruned pruned;
	const char *answer, *ended;

	trial_submit("t", "r");
	end_run("success");
	trial_ask("EVAL",
	    "for i = 1, " MANY " do redis.call('RPUSH', KEYS[1], 'x' .. i) "
	    "redis.call('ZADD', KEYS[2], '99999999999999', 'y' .. i) end "
	    "redis.call('RPUSH', KEYS[1], 'late') redis.call('RPUSH', KEYS[1], 'x0') "
	    "redis.call('ZADD', KEYS[2], '99999999999999', 'late') "
	    "redis.call('HSET', KEYS[3], 'status', 'delayed', 'thread', 't')",
	    "3", key("t:t:r"), key("later"), key("r:late"));
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_BUSY);
	ck_assert_str_eq(pruned.busy, "late");
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "late", &answer, &ended), STORE_OK);
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.runs, 2503);
}

START_TEST(one_run_of_many_keeps_a_thread)
{
	trial_play(play_many_runs);
}
END_TEST

/* Where nothing ever ran. */
static void
play_expiry_of_nothing(void)
{
	static const char *const rest[] = { "forgotten" };
	static const char *const fields[] = { "delete", "keep_latest" };
	const char *answer, *ended;
	const struct value *state;
	size_t i;

	for (i = 0; i < 2; i++) {
		const char *usual = arena_printf(trial.arena, "1000 %s", fields[i]);

		ck_assert_int_eq(
		    store_refuse(trial.a, trial.arena, "t", "r1", "ValueError", "no",
			value_map(trial.arena, "usual_ttl", value_str(trial.arena, usual),
			    NULL)),
		    STORE_OK);
		ck_assert_int_eq(
		    store_thread(trial.a, trial.arena, "t", &state), STORE_NONE);
		ck_assert_int_eq(store_submit(trial.a, trial.arena, "t", "r2",
				     value_map(trial.arena, "at",
					 value_str(trial.arena, "99999999999999"), "ttl",
					 value_str(trial.arena, usual), NULL),
				     &(int64_t){ 0 }),
		    STORE_OK);
		ck_assert_int_eq(
		    store_thread(trial.a, trial.arena, "t", &state), STORE_OK);
		trial_ask("ZADD", key("ttl"), "XX", "1", "t");
		ck_assert_uint_eq(value_size(expire()), 0);
		ck_assert_int_eq(trial_ask("EXISTS", key("r:r2"))->integer, 1);
		ck_assert_int_eq(
		    store_cancel(trial.a, trial.arena, "t", "r2", &answer, &ended),
		    STORE_OK);
		trial_ask("ZADD", key("ttl"), "XX", "1", "t");
		ck_assert_uint_eq(value_size(expire()), 0);
		trial_check_keys(rest, 1);
	}
}

START_TEST(a_thread_on_which_nothing_ran_expires_too)
{
	trial_play(play_expiry_of_nothing);
}
END_TEST

/* --- what there is to do ------------------------------------------------------------------- */

static void
play_look(void)
{
	struct store_chores chores = look();

	ck_assert(!chores.orphans && !chores.webhooks && !chores.items &&
		  !chores.threads && !chores.gone);
	trial_ask("SADD", key("bereft"), "r");
	trial_ask("ZADD", key("hooks"), "99999999999999", "r");
	trial_ask("ZADD", key("item-ends"), "99999999999999", "i");
	trial_ask("ZADD", key("ttl"), "99999999999999", "t");
	chores = look();
	ck_assert(chores.orphans && !chores.webhooks && !chores.items &&
		  !chores.threads && !chores.gone);
	trial_ask("ZADD", key("hooks"), "1", "r");
	trial_ask("ZADD", key("item-ends"), "1", "i");
	trial_ask("ZADD", key("ttl"), "1", "t");
	trial_ask("HSET", key("forgotten"), "r", "- t");
	chores = look();
	ck_assert(chores.orphans && chores.webhooks && chores.items && chores.threads &&
		  chores.gone);
}

START_TEST(one_look_tells_what_is_due)
{
	trial_play(play_look);
}
END_TEST

/* --- what stands in nobody's way ---------------------------------------------------------- */

static void
play_damaged(void)
{
	trial_submit("t", "r");
	end_run("success");
	make_due("delete");
	trial_ask("SET", key("t:bad"), "no hash");
	trial_hset("t:worse", "ttl", "1000 delete");
	trial_hset("t:worse", "head", "\xc1");
	trial_ask("ZADD", key("ttl"), "0", "bad", "0", "worse");
	ck_assert_uint_eq(value_size(expire()), 0);
	ck_assert(!is_there());
	/* Somebody should look at them; they are not deleted unseen. */
	ck_assert_int_eq(trial_ask("EXISTS", key("t:bad"), key("t:worse"))->integer, 2);
	ck_assert_uint_eq(value_size(expire()), 0);
}

START_TEST(a_damaged_thread_keeps_no_other)
{
	trial_play(play_damaged);
}
END_TEST

/* --- pruning ------------------------------------------------------------------------------ */

static void
play_long(void)
{
	struct store_pruned pruned;

	trial_submit("t", "r1");
	end_run("success");
	trial_ask("EVAL",
	    "for i = 1, " MANY " do redis.call('RPUSH', KEYS[1], 'unnamed') end", "1",
	    key("t:t:m"));
	make_due("keep_latest");
	ck_assert_uint_eq(value_size(expire()), 1);
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_OK);
	ck_assert_uint_ge(pruned.messages, 2500);
	ck_assert_int_eq(
	    trial_ask("EVAL",
		"local count = 0 for _, one in ipairs(redis.call('LRANGE', KEYS[1], 0, "
		"-1)) do if one == 'unnamed' then count = count + 1 end end return count",
		"1", key("t:t:m"))
		->integer,
	    0);
	ck_assert(value_is_nil(trial_ask("ZSCORE", key("ttl"), "t")));
}

START_TEST(a_long_thread_is_pruned_in_steps)
{
	trial_play(play_long);
}
END_TEST

static const char *
prune_at(const char *stamp, const char *number)
{
	return redis_reply_text(
	    value_at(trial_ask("FCALL", "fl_prune", "1", key("t:t"), key(""), "t", stamp,
			 "0", "0", "checkpoint", "0", "1", number, "r"),
		0));
}

/* The thread that was read may be deleted by now, and another of its name be at that version; and what
 * was read may be damaged. Nothing is done by half. */
static void
play_stamp(void)
{
	const char *created, *stamp;

	trial_submit("t", "r");
	end_run("success");
	created = redis_reply_text(trial_ask("HGET", key("t:t"), "created"));
	stamp = arena_printf(trial.arena, "1 %s", created);
	ck_assert_str_eq(prune_at("1 7", "0"), "STALE");
	ck_assert_str_eq(prune_at("1", "0"), "STALE");
	ck_assert_str_eq(prune_at(stamp, "99"), "STALE");
	ck_assert_str_ne(
	    redis_reply_text(trial_ask("LINDEX", key("t:t:c"), "0")), "checkpoint");
	trial_ask("RPUSH", key("t:t:m"), "message");
	ck_assert_str_eq(prune_at(stamp, "0"), "PRUNED");
}

START_TEST(another_thread_of_that_name_is_not_pruned)
{
	trial_play(play_stamp);
}
END_TEST

/* --- thousands of runs -------------------------------------------------------------------- */

/* Behind the first run, r1, of an ended thread, which is as old; the last one is a dead letter. */
static void
add_runs(void)
{
	trial_ask("EVAL",
	    "redis.call('HSET', KEYS[2] .. 'r1', 'created', 1) "
	    "for i = 1, " MANY " do redis.call('RPUSH', KEYS[1], 'x' .. i) "
	    "redis.call('HSET', KEYS[2] .. 'x' .. i, 'ended', 1, 'thread', 't') end "
	    "redis.call('ZADD', KEYS[3], 1, 'x" MANY "')",
	    "3", key("t:t:r"), key("r:"), key("dead"));
}

static int64_t
runs_left(void)
{
	return trial_ask("LLEN", key("t:t:r"))->integer;
}

static void
play_many_erased(void)
{
	const struct value *reply;
	struct store_pruned pruned;

	trial_submit("t", "r1");
	end_run("success");
	add_runs();
	reply = trial_ask("FCALL", "fl_erase", "1", key("t:t"), key(""), "t", "0");
	ck_assert_str_eq(redis_reply_text(value_at(reply, 0)), "MORE");
	ck_assert_int_eq(value_at(reply, 1)->integer, 1000);
	ck_assert_int_eq(runs_left(), 1501);
	ck_assert(is_there());
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.runs, 1501);
	ck_assert(!is_there());
	ck_assert_int_eq(trial_ask("EXISTS", key("t:t:r"), key("r:x1"), key("r:x" MANY),
			     key("runs"), key("dead"))
			     ->integer,
	    0);
	ck_assert_int_eq(trial_ask("HLEN", key("forgotten"))->integer, 2501);
}

START_TEST(of_a_thread_with_many_runs_some_go_at_a_time)
{
	trial_play(play_many_erased);
}
END_TEST

static void
play_many_expired(void)
{
	trial_submit("t", "r1");
	end_run("success");
	add_runs();
	make_due("delete");
	expire();
	ck_assert_int_eq(runs_left(), 1501);
	expire();
	ck_assert_int_eq(runs_left(), 501);
	ck_assert(is_there());
	expire();
	ck_assert(!is_there());
	ck_assert(value_is_nil(trial_ask("ZSCORE", key("ttl"), "t")));
}

START_TEST(so_it_ends_when_its_time_is_over)
{
	trial_play(play_many_expired);
}
END_TEST

static void
play_many_pruned(void)
{
	struct store_pruned pruned;

	trial_submit("t", "r1");
	end_run("success");
	add_runs();
	make_due("keep_latest");
	/* Ended long ago, but for the oldest that is left. */
	trial_ask("LSET", key("t:t:c"), "0",
	    "\x84\xa7version\x01\xa5order\x90\xa3run\xa2r1\xa2"
	    "at\x05");
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.runs, 2499);
	ck_assert_int_eq(runs_left(), 2);
	ck_assert_str_eq(redis_reply_text(trial_ask("LINDEX", key("t:t:r"), "0")), "r1");
	ck_assert_str_eq(
	    redis_reply_text(trial_ask("LINDEX", key("t:t:r"), "1")), "x" MANY);
	ck_assert(value_is_nil(trial_ask("ZSCORE", key("ttl"), "t")));
}

START_TEST(so_it_is_pruned)
{
	trial_play(play_many_pruned);
}
END_TEST

TCase *
tcase_store_expiry(void)
{
	TCase *tcase = tcase_create("store_expiry");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_parent_stays_until_its_children_are_cancelled);
	tcase_add_test(tcase, children_that_had_a_task_go_with_their_parent);
	tcase_add_test(tcase, one_run_of_many_keeps_a_thread);
	tcase_add_test(tcase, a_thread_on_which_nothing_ran_expires_too);
	tcase_add_test(tcase, one_look_tells_what_is_due);
	tcase_add_test(tcase, a_damaged_thread_keeps_no_other);
	tcase_add_test(tcase, a_long_thread_is_pruned_in_steps);
	tcase_add_test(tcase, another_thread_of_that_name_is_not_pruned);
	tcase_add_test(tcase, of_a_thread_with_many_runs_some_go_at_a_time);
	tcase_add_test(tcase, so_it_ends_when_its_time_is_over);
	tcase_add_test(tcase, so_it_is_pruned);
	return tcase;
}
