/* Threads that are copied while something happens to them, or to who copies; against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_past.h"

TCase *tcase_store_copy(void);

/* Thread "t" is to be copied into "u" as it is; run c1 does it. */
static struct store_copy
begin(uint64_t version, struct store_claim *claim_r)
{
	struct store_copy copy = { .source = "t", .version = version };

	ck_assert_int_eq(
	    store_history(trial.a, trial.arena, "t", &copy.history), STORE_OK);
	trial_submit("u", "c1");
	trial_claim(trial.a, "u", 0, claim_r);
	return copy;
}

static int64_t
length(const char *ending)
{
	return trial_ask("LLEN", arena_printf(trial.arena, "%s:%s",
				     store_thread_key(trial.arena, "u"), ending))
	    ->integer;
}

/* Who copied died again and again: what is there so far is nobody's. */
static void
play_quarantined(void)
{
	struct store_claim claim;
	struct store_copy copy;

	thread_play("r1", 3, "success");
	copy = begin(3, &claim);
	trial_delete("t:t:c");
	ck_assert_int_eq(
	    store_fill(trial.a, "u", "c1", claim.epoch, &copy), STORE_FAILED);
	ck_assert_int_eq(length("m"), 3);
	trial_ask("HSET", store_run_key(trial.arena, "u", "c1"), "attempts", "5");
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "u", 0, &claim), STORE_QUARANTINED);
	/* The next one's messages are numbered from 0 on. */
	trial_submit("u", "r2");
	trial_claim(trial.b, "u", 0, &claim);
	ck_assert_uint_eq(claim.version, 0);
	ck_assert_uint_eq(value_size(claim.messages), 0);
	ck_assert_int_eq(length("m"), 0);
	ck_assert_int_eq(length("c"), 0);
}

START_TEST(of_a_copy_that_was_given_up_nothing_is_left)
{
	trial_play(play_quarantined);
}
END_TEST

/* Nor by one that ends by itself: what it had copied so far would be its own past. */
static void
play_failed(void)
{
	struct arena *arena = trial.arena;
	struct store_commit commit = {
		.thread = "u",
		.run = "c1",
		.id = "c1",
		.status = "error",
		.head = value_map(arena, "run", value_str(arena, "c1"), NULL),
		.order = value_empty_array(),
		.checkpoint = value_map(arena, "version", value_int(arena, 1), "order",
		    value_empty_array(), NULL),
		.messages = value_empty_array(),
		.fields = value_empty_map(),
		.events = value_empty_array(),
		.run_fields = value_empty_map(),
	};
	struct store_committed committed;
	struct store_claim claim;
	struct store_copy copy;
	const struct value *history;

	thread_play("r1", 3, "success");
	copy = begin(3, &claim);
	trial_delete("t:t:c");
	ck_assert_int_eq(
	    store_fill(trial.a, "u", "c1", claim.epoch, &copy), STORE_FAILED);
	trial_ask("RPUSH",
	    arena_printf(trial.arena, "%s:c", store_thread_key(trial.arena, "u")),
	    "foreign", "foreign too");
	ck_assert_int_eq(length("m"), 3);
	commit.epoch = claim.epoch;
	ck_assert_int_eq(
	    store_commit(trial.a, trial.arena, &commit, &committed), STORE_OK);
	ck_assert_int_eq(length("c"), 1);
	ck_assert_int_eq(length("m"), 0);
	ck_assert_int_eq(store_history(trial.a, trial.arena, "u", &history), STORE_OK);
	ck_assert_uint_eq(value_size(history), 1);
}

START_TEST(of_a_copy_that_failed_nothing_is_left)
{
	trial_play(play_failed);
}
END_TEST

/* Behind what was pruned others stand: by their number they would be the copy's. */
static void
play_pruned(void)
{
	struct store_pruned pruned;
	struct store_claim claim;
	struct store_copy copy;

	thread_play("r1", 3, "success");
	copy = begin(2, &claim);
	thread_play("r2", 3, "success");
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 2, false, &pruned), STORE_OK);
	thread_play("r3", 3, "success");
	ck_assert_int_eq(
	    store_fill(trial.a, "u", "c1", claim.epoch, &copy), STORE_FAILED);
	ck_assert_ptr_nonnull(strstr(store_error(trial.a), "thread 't'"));
	trial_claim(trial.a, "u", 0, &claim);
	ck_assert_uint_eq(claim.version, 0);
}

START_TEST(what_is_pruned_meanwhile_is_not_copied)
{
	trial_play(play_pruned);
}
END_TEST

/* The name is another conversation's by now. */
static void
play_made_anew(void)
{
	struct store_pruned pruned;
	struct store_claim claim;
	struct store_copy copy;

	thread_play("r1", 3, "success");
	copy = begin(2, &claim);
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	thread_play("r2", 3, "success");
	ck_assert_int_eq(
	    store_fill(trial.a, "u", "c1", claim.epoch, &copy), STORE_FAILED);
}

START_TEST(another_conversation_of_that_name_is_not_copied)
{
	trial_play(play_made_anew);
}
END_TEST

TCase *
tcase_store_copy(void)
{
	TCase *tcase = tcase_create("store_copy");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, of_a_copy_that_was_given_up_nothing_is_left);
	tcase_add_test(tcase, of_a_copy_that_failed_nothing_is_left);
	tcase_add_test(tcase, what_is_pruned_meanwhile_is_not_copied);
	tcase_add_test(tcase, another_conversation_of_that_name_is_not_copied);
	return tcase;
}
