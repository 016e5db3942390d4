/* Runs that were deleted: what is left of them elsewhere, and what comes late. */
#include <check.h>

#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_gone(void);

static void
forget_gone(void)
{
	ck_assert_int_eq(
	    store_forget_gone(trial.a, trial.arena, store_shard("t"), 10), STORE_OK);
}

static void
erase(void)
{
	struct store_pruned pruned;

	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
}

static void
check_name(const char *run, const char *thread)
{
	const char *named;

	ck_assert_int_eq(store_run_thread(trial.a, trial.arena, run, &named), STORE_OK);
	ck_assert_str_eq(named, thread);
}

/* Somebody has deleted its name, and died before he could strike the run out. */
static void
play_name_elsewhere(void)
{
	thread_play("r1", 1, "success");
	erase();
	trial_ask("DEL", "fl:run:r1");
	trial_submit("elsewhere", "r1");
	forget_gone();
	check_name("r1", "elsewhere");
}

START_TEST(a_name_that_is_another_threads_by_now_stays)
{
	trial_play(play_name_elsewhere);
}
END_TEST

/* Somebody deleted the name between the two steps of a submission on the same thread. */
static void
play_name_again(void)
{
	struct store_claim claim;

	thread_play("r1", 1, "success");
	erase();
	trial_submit("t", "r1");
	trial_ask("DEL", "fl:run:r1");
	forget_gone();
	check_name("r1", "t");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	forget_gone();
	check_name("r1", "t");
}

START_TEST(a_run_that_lives_again_gets_its_name_back)
{
	trial_play(play_name_again);
}
END_TEST

/* Who moved the entry died before he could delete it; the run has ended and is deleted. */
static void
play_entry(void)
{
	static const char *const rest[] = { "leases", "fl:inbox", "fl:run:r1:g" };
	struct store_claim claim;

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	trial_ask("XADD", STORE_INBOX, "7-1", "run", "r1");
	trial_ask("XREADGROUP", "GROUP", STORE_INBOX_GROUP, "dead", "STREAMS",
	    STORE_INBOX, ">");
	ck_assert_int_eq(thread_submit("r1", "entry", "7-1"), STORE_OK);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	erase();
	ck_assert_int_eq(thread_submit("r1", "entry", "7-1"), STORE_NONE);
	ck_assert_int_eq(
	    store_refuse(trial.a, trial.arena, "t", "r1", "ValueError", "no",
		value_map(trial.arena, "entry", value_str(trial.arena, "7-1"), NULL)),
	    STORE_NONE);
	forget_gone();
	ck_assert_int_eq(trial_ask("XLEN", STORE_INBOX)->integer, 0);
	ck_assert_int_eq(
	    value_at(trial_ask("XPENDING", STORE_INBOX, STORE_INBOX_GROUP), 0)->integer,
	    0);
	trial_check_keys(rest, 3);
	/* Who has read it may have slept meanwhile. */
	ck_assert_int_eq(thread_submit("r1", "entry", "7-1"), STORE_NONE);
	/* Another entry is another run. */
	ck_assert_int_eq(thread_submit("r1", "entry", "7-2"), STORE_OK);
}

/* An entry that whoever has read it brings when all is over begins nothing: one of a run that was submitted twice, and of one
 * whose id was used again. */
static void
play_late_entry(void)
{
	struct store_claim claim;

	ck_assert_int_eq(thread_submit("r1", "entry", "7-1"), STORE_OK);
	ck_assert_int_eq(thread_submit("r1", "entry", "7-3"), STORE_KNOWN);
	ck_assert_int_eq(thread_submit("r1", "entry", "7-2"), STORE_KNOWN);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	erase();
	forget_gone();
	ck_assert_int_eq(thread_submit("r1", "entry", "7-3"), STORE_NONE);
	ck_assert_int_eq(thread_submit("r1", "entry", "8-0"), STORE_OK);
	/* It lives: what is late is this run once more. */
	ck_assert_int_eq(thread_submit("r1", "entry", "7-1"), STORE_KNOWN);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	erase();
	forget_gone();
	ck_assert_int_eq(thread_submit("r1", "entry", "7-1"), STORE_NONE);
	ck_assert_int_eq(thread_submit("r1", "entry", "8-0"), STORE_NONE);
	ck_assert_int_eq(thread_submit("r1", "entry", "10-0"), STORE_OK);
}

/* Brokers and workers know calls by the run's id, whatever its thread. */
static void
play_again(void)
{
	static const char *const said[] = { NULL, "1", "2" };
	struct store_claim claim;
	unsigned i;

	for (i = 0; i < 3; i++) {
		const char *thread = i == 2 ? "elsewhere" : "t", *again;

		trial_submit(thread, "r1");
		trial_claim(trial.a, thread, STORE_THREAD_LEASE_MS, &claim);
		again = redis_reply_text(value_get(claim.record, "again"));
		ck_assert_pstr_eq(again, said[i]);
		if (i == 2)
			break;
		thread_commit(&claim, "success", "success");
		erase();
		forget_gone();
	}
}

START_TEST(a_run_knows_that_its_id_was_used_before)
{
	trial_play(play_again);
}
END_TEST

static void
refuse(const char *run, const char *ttl)
{
	ck_assert_int_eq(
	    store_refuse(trial.a, trial.arena, "t", run, "ValueError", "no",
		value_map(trial.arena, "ttl", value_str(trial.arena, ttl), NULL)),
	    STORE_OK);
}

static const char *
kept_for(void)
{
	const char *key = arena_printf(
	    trial.arena, "%st:t", store_prefix(trial.arena, store_shard("t")));

	return redis_reply_text(trial_ask("HGET", key, "ttl"));
}

/* What was refused goes when the submission says; a thread that is there stays for its own time. */
static void
play_refused(void)
{
	const char *ends = arena_printf(
	    trial.arena, "%sttl", store_prefix(trial.arena, store_shard("t")));

	refuse("r1", "1000 delete");
	ck_assert_pstr_eq(kept_for(), "1000 delete");
	ck_assert_uint_eq(
	    value_size(trial_ask("ZRANGEBYSCORE", ends, "1000", "+inf")), 1);
	ck_assert_int_eq(thread_submit("r2", "ttl", "5000 delete"), STORE_OK);
	refuse("r3", "1000 delete");
	ck_assert_pstr_eq(kept_for(), "5000 delete");
}

START_TEST(what_was_refused_has_its_time_too)
{
	trial_play(play_refused);
}
END_TEST

START_TEST(an_entry_that_comes_late_begins_nothing_that_was_deleted)
{
	trial_play(play_late_entry);
}
END_TEST

START_TEST(an_entry_whose_run_was_deleted_is_none_any_more)
{
	trial_play(play_entry);
}
END_TEST

TCase *
tcase_store_gone(void)
{
	TCase *tcase = tcase_create("store_gone");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_name_that_is_another_threads_by_now_stays);
	tcase_add_test(tcase, a_run_that_lives_again_gets_its_name_back);
	tcase_add_test(tcase, a_run_knows_that_its_id_was_used_before);
	tcase_add_test(tcase, an_entry_that_comes_late_begins_nothing_that_was_deleted);
	tcase_add_test(tcase, an_entry_whose_run_was_deleted_is_none_any_more);
	tcase_add_test(tcase, what_was_refused_has_its_time_too);
	return tcase;
}
