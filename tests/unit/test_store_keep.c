/* A thread as a whole: its past, pruning, deletion, expiry. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_past.h"

TCase *tcase_store_keep(void);

/* --- the past ------------------------------------------------------------------------------ */

static void
play_past(void)
{
	struct store_past past;

	thread_play("r1", 3, "success");
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 2, &past), STORE_OK);
	ck_assert_int_eq(value_get_int(past.fields, "f1", -1), 1);
	ck_assert(!value_has(past.fields, "f2"));
	ck_assert_str_eq(value_get_text(past.head, "version"), "v1");
	ck_assert(!value_has(past.head, "order"));
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 0, &past), STORE_OK);
	ck_assert_ptr_null(past.head);
	ck_assert_uint_eq(value_size(past.fields), 0);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 4, &past), STORE_NONE);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "no", 1, &past), STORE_NONE);
}

START_TEST(a_state_of_the_past_has_what_was_written_until_then)
{
	trial_play(play_past);
}
END_TEST

static void
play_prune(void)
{
	struct store_pruned pruned;
	struct store_past past;

	thread_play("r1", 2, "success");
	thread_play("r2", 2, "success");
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 2, false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.checkpoints, 2);
	ck_assert_uint_eq(pruned.messages, 2);
	ck_assert_uint_eq(pruned.runs, 1);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 2, &past), STORE_NONE);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 3, &past), STORE_OK);
	ck_assert_int_eq(value_get_int(past.fields, "f0", -1), 0);
	ck_assert(!value_has(past.fields, "f3"));
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 2, false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.checkpoints + pruned.messages + pruned.runs, 0);
	thread_play("r3", 1, "success");
	ck_assert_uint_eq(value_size(value_get(thread_state(), "messages")), 1);
}

START_TEST(pruned_again_nothing_more_goes)
{
	trial_play(play_prune);
}
END_TEST

static unsigned pruning;

static void
prune_to_four(void *arg)
{
	struct store_pruned pruned;
	enum store_status status =
	    store_prune(trial.a, trial.arena, "t", 4, false, &pruned);

	(void)arg;
	ck_assert(status == STORE_OK || status == STORE_STALE);
	pruning--;
}

/* Each has read the thread before the other has pruned it. The same is asked twice when an answer is lost. */
static void
play_prune_at_once(void)
{
	const struct value *history;
	struct store_past past;

	thread_play("r1", 6, "success");
	for (pruning = 0; pruning < 2; pruning++)
		fiber_start(redis_trial.loop, "prune", prune_to_four, NULL);
	while (pruning > 0)
		fiber_sleep(1);
	ck_assert_int_eq(store_history(trial.a, trial.arena, "t", &history), STORE_OK);
	ck_assert_uint_eq(value_size(history), 4);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 5, &past), STORE_OK);
	ck_assert_uint_eq(value_size(past.fields), 5);
}

START_TEST(who_prunes_at_once_prunes_once)
{
	trial_play(play_prune_at_once);
}
END_TEST

static const char *
key(const char *ending)
{
	return arena_printf(
	    trial.arena, "%s:%s", store_thread_key(trial.arena, "t"), ending);
}

static const struct value *
list(const char *ending)
{
	return trial_ask("LRANGE", key(ending), "0", "-1");
}

/* Pruning is refused, and the thread as it was. */
static void
refuses_prune(uint64_t keep, const char *says)
{
	struct store_pruned pruned;
	const struct value *checkpoints = list("c"), *messages = list("m");

	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", keep, false, &pruned), STORE_DAMAGED);
	ck_assert_msg(strstr(store_error(trial.a), says) != NULL, "'%s' is not in: %s",
	    says, store_error(trial.a));
	ck_assert(value_equal(list("c"), checkpoints));
	ck_assert(value_equal(list("m"), messages));
}

/* Bytes of no checkpoint, of a value that is none, of one that names no messages. */
static const char *const no_checkpoints[] = { "\xc1", "\x07",
	"\x82\xa7version\x02\xa5order\x01",
	"\x82\xa7version\x02\xa5order\x91\x92\x01\xa1x" };

static void
play_damage(void)
{
	struct store_copy copy = { .source = "t", .version = 3 };
	struct store_claim claim;
	const struct value *copied;
	struct store_past past;
	size_t i;

	thread_play("r1", 4, "success");
	for (i = 0; i < sizeof no_checkpoints / sizeof *no_checkpoints; i++) {
		trial_ask("LSET", key("c"), "1", no_checkpoints[i]);
		refuses_prune(1, "entry 1 of its list");
		refuses_prune(2, "entry 1 of its list");
		refuses_prune(9, "entry 1 of its list");
	}
	/* What was before is known. */
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 1, &past), STORE_OK);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 3, &past), STORE_DAMAGED);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 9, &past), STORE_DAMAGED);
	/* Each keeps its place, in a copy too. */
	ck_assert_int_eq(
	    store_history(trial.a, trial.arena, "t", &copy.history), STORE_OK);
	ck_assert_uint_eq(value_size(copy.history), 4);
	ck_assert(value_is_nil(value_at(copy.history, 1)));
	trial_submit("u", "c1");
	trial_claim(trial.a, "u", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_int_eq(store_fill(trial.a, "u", "c1", claim.epoch, &copy), STORE_OK);
	ck_assert_int_eq(store_history(trial.a, trial.arena, "u", &copied), STORE_OK);
	ck_assert_uint_eq(value_size(copied), 3);
	ck_assert_int_eq(value_get_int(value_at(copied, 2), "version", 0), 3);
}

START_TEST(one_damaged_checkpoint_moves_no_other)
{
	trial_play(play_damage);
}
END_TEST

/* The newest checkpoint is of a run that could not read the order, which somebody has restored since. */
static void
play_order(void)
{
	struct store_pruned pruned;
	const struct value *order;

	thread_play("r1", 2, "success");
	order = trial_ask("HGET", store_thread_key(trial.arena, "t"), "order");
	trial_ask("RPUSH", key("c"), "\x82\xa7version\x03\xa5order\x90");
	trial_hset("t:t", "order", "\xc1");
	refuses_prune(1, "order of thread 't'");
	trial_hset("t:t", "order", redis_reply_text(order));
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.messages, 1);
	ck_assert_uint_eq(value_size(value_get(thread_state(), "messages")), 1);
}

START_TEST(what_the_thread_names_itself_is_not_pruned)
{
	trial_play(play_order);
}
END_TEST

static void
play_erase(void)
{
	static const char *const rest[] = { "forgotten", "fl:run:r1", "fl:run:r1:g",
		"fl:run:r2", "fl:run:r2:g", "leases" };
	static const char *const left[] = { "fl:run:r1:g", "fl:run:r2:g", "leases" };
	struct store_claim claim;
	struct store_pruned pruned;

	thread_play("r1", 1, "interrupted");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_WAITS);
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_WAITS);
	trial_submit("t", "r2");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", true, &pruned), STORE_BUSY);
	ck_assert_str_eq(pruned.busy, "r2");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.runs, 2);
	trial_check_keys(rest, sizeof rest / sizeof *rest);
	ck_assert_int_eq(
	    store_forget_gone(trial.a, trial.arena, store_shard("t"), 10), STORE_OK);
	trial_check_keys(left, 3);
	ck_assert_int_gt(trial_ask("PTTL", "fl:run:r1:g")->integer, 0);
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_NONE);
}

START_TEST(of_a_deleted_thread_nothing_is_left)
{
	trial_play(play_erase);
}
END_TEST

/* Every chunk may come twice, and who took over begins again. */
static void
play_fill(void)
{
	struct store_copy copy = { .source = "t", .version = 2 };
	struct store_claim lost, claim;
	const struct value *copied;

	thread_play("r1", 3, "success");
	ck_assert_int_eq(
	    store_history(trial.a, trial.arena, "t", &copy.history), STORE_OK);
	trial_submit("u", "c1");
	trial_claim(trial.a, "u", 0, &lost);
	ck_assert_int_eq(store_fill(trial.a, "u", "c1", lost.epoch, &copy), STORE_OK);
	trial_claim(trial.b, "u", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_uint_eq(claim.version, 2);
	ck_assert_ptr_null(claim.head);
	ck_assert_int_eq(store_fill(trial.a, "u", "c1", lost.epoch, &copy), STORE_FENCED);
	ck_assert_int_eq(store_fill(trial.b, "u", "c1", claim.epoch, &copy), STORE_OK);
	ck_assert_int_eq(store_history(trial.b, trial.arena, "u", &copied), STORE_OK);
	ck_assert_uint_eq(value_size(copied), 2);
	copy.version = 9;
	ck_assert_int_eq(store_fill(trial.b, "u", "c1", claim.epoch, &copy), STORE_NONE);
}

START_TEST(a_copy_goes_on_after_a_death)
{
	trial_play(play_fill);
}
END_TEST

static size_t
expire(void)
{
	const struct value *threads = NULL;

	ck_assert_int_eq(
	    store_expire(trial.a, trial.arena, store_shard("t"), 10, NULL, &threads),
	    STORE_OK);
	return value_size(threads);
}

/* Where it is written when a thread's time is over. */
static const char *
due_key(void)
{
	return arena_printf(
	    trial.arena, "%sttl", store_prefix(trial.arena, store_shard("t")));
}

/* Its time is over. */
static void
make_due(void)
{
	trial_ask("ZADD", due_key(), "1", "t");
}

static const char *
due_at(void)
{
	return redis_reply_text(trial_ask("ZSCORE", due_key(), "t"));
}

static void
play_expiry(void)
{
	struct store_claim claim;
	const struct value *state;

	ck_assert_int_eq(thread_submit("r1", "ttl", "1000 keep_latest"), STORE_OK);
	make_due();
	ck_assert_uint_eq(expire(), 0);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	make_due();
	ck_assert_uint_eq(expire(), 0);
	thread_commit(&claim, "interrupted", "interrupted");
	make_due();
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_OK);
	thread_play("r2", 1, "success");
	make_due();
	ck_assert_uint_eq(expire(), 1);
	ck_assert_uint_eq(expire(), 0); /* for a minute */
	/* What is usual counts for threads of which nothing was said. */
	ck_assert_int_eq(thread_submit("r0", "usual_ttl", "1000 delete"), STORE_OK);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	make_due();
	ck_assert_uint_eq(expire(), 1);
	ck_assert_int_eq(thread_submit("r3", "ttl", "600000 delete"), STORE_OK);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_OK);
	make_due();
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_NONE);
}

START_TEST(who_waits_for_an_answer_does_not_expire)
{
	trial_play(play_expiry);
}
END_TEST

/* The run is cancelled, and what it was before it is to be. */
static void
play_back(const char *run)
{
	const char *answer, *status;
	struct store_claim claim;

	trial_submit("t", run);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", run, &answer, &status),
	    STORE_OK);
	thread_commit(&claim, "cancelled", "cancelled");
}

/* A thread is pruned no sooner than its next run has put it back; until then nobody reads it for that. */
static void
play_put_back(void)
{
	long long now_s;

	thread_play("r1", 2, "success");
	trial_hset("t:t", "ttl", "600000 keep_latest");
	play_back("r2");
	now_s = strtoll(redis_reply_text(value_at(trial_ask("TIME"), 0)), NULL, 10);
	make_due();
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_ge(strtoll(due_at(), NULL, 10), (now_s + 600) * 1000);
	thread_play("r3", 1, "success");
	make_due();
	ck_assert_uint_eq(expire(), 1);
	/* One that is to be deleted is. */
	play_back("r4");
	trial_hset("t:t", "ttl", "600000 delete");
	make_due();
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_eq(
	    trial_ask("EXISTS", store_thread_key(trial.arena, "t"))->integer, 0);
}

START_TEST(who_is_put_back_is_looked_at_again_when_its_time_is_over)
{
	trial_play(play_put_back);
}
END_TEST

/* Whoever else prunes a thread changes nothing of when its time is over: it is as it was, whatever is to be done then. */
static void
play_pruned_by_hand(void)
{
	static const char *const ttls[] = { "600000 delete", "600000 keep_latest" };
	struct store_pruned pruned;
	const char *run, *at;

	for (size_t i = 0; i < 2; i++) {
		run = arena_printf(trial.arena, "r%zu", i);
		trial_hset("t:t", "ttl", ttls[i]);
		thread_play(run, 3, "success");
		at = due_at();
		ck_assert_ptr_nonnull(at);
		ck_assert_int_eq(
		    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_OK);
		ck_assert_str_eq(due_at(), at);
	}
}

START_TEST(pruning_by_hand_leaves_a_threads_time)
{
	trial_play(play_pruned_by_hand);
}
END_TEST

TCase *
tcase_store_keep(void)
{
	TCase *tcase = tcase_create("store_keep");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_state_of_the_past_has_what_was_written_until_then);
	tcase_add_test(tcase, pruned_again_nothing_more_goes);
	tcase_add_test(tcase, who_prunes_at_once_prunes_once);
	tcase_add_test(tcase, one_damaged_checkpoint_moves_no_other);
	tcase_add_test(tcase, what_the_thread_names_itself_is_not_pruned);
	tcase_add_test(tcase, of_a_deleted_thread_nothing_is_left);
	tcase_add_test(tcase, a_copy_goes_on_after_a_death);
	tcase_add_test(tcase, who_waits_for_an_answer_does_not_expire);
	tcase_add_test(tcase, who_is_put_back_is_looked_at_again_when_its_time_is_over);
	tcase_add_test(tcase, pruning_by_hand_leaves_a_threads_time);
	return tcase;
}
