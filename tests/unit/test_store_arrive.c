/* A submission that is a claim, where its thread is free; against a real Redis. */
#include <check.h>
#include <string.h>

#include "json.h"
#include "literal.h"
#include "redis_trial.h"
#include "store_agents.h"
#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_arrive(void);

#define LONG 60000u
#define NOT_LONG 0u

#define VERSION "7c0ffee"

static struct store_claim claim;
static bool claimed;
static bool claims = true;

static void
open_with_agent(void)
{
	trial_open();
	ASK("HSET", "fl:agents", "clerk", VERSION);
}

static enum store_status
begin_with(struct store *store, const char *run, const char *name, const char *text)
{
	struct arena *arena = trial.arena;

	return store_arrive(store, arena,
	    &(struct store_newcomer){ "t", run,
		value_map(arena, "agent", value_str(arena, "clerk"), "version",
		    value_str(arena, VERSION), "input",
		    value_freeze(arena, literal(arena, "{'messages': []}")), name,
		    value_str(arena, text), NULL) },
	    LONG, &claimed, claims ? &claim : NULL);
}

static enum store_status
begin(struct store *store, const char *run)
{
	return begin_with(store, run, "entry", "1-0");
}

static const char *
record_text(const char *name)
{
	return redis_reply_text(value_get(claim.record, name));
}

static void
must_be(const char *run, const char *status)
{
	ck_assert_str_eq(thread_status(run), status);
}

/* --- free threads --------------------------------------------------------------------- */

/* All that differs from a submission and a claim is how often Redis was asked. */
static const struct value *
record_as_made(const char *run, bool at_once)
{
	static const char *const of_the_moment[] = { "created", "started" };
	const struct value *record;
	size_t i;

	if (at_once) {
		ck_assert_int_eq(begin(trial.a, run), STORE_OK);
		ck_assert(claimed);
	} else {
		claims = false;
		ck_assert_int_eq(begin(trial.a, run), STORE_OK);
		ck_assert(!claimed);
		must_be(run, "queued");
		claims = true;
		trial_claim(trial.a, "t", LONG, &claim);
	}
	ck_assert_str_eq(claim.run, run);
	ck_assert(!claim.recovered);
	ck_assert_int_eq(claim.rollback, -1);
	ck_assert_int_eq(claim.left_ms, -1);
	ck_assert_str_eq(record_text("events"), "1");
	ck_assert_str_eq(record_text("agent"), "clerk");
	record = thread_record(run);
	for (i = 0; i < 2; i++) {
		ck_assert_msg(
		    value_has(record, of_the_moment[i]), "no %s", of_the_moment[i]);
		record = value_map_with(trial.arena, record, of_the_moment[i], NULL);
	}
	record = value_map_with(trial.arena, record, "run", NULL);
	return value_map_with(trial.arena, record, "input", NULL);
}

static void
play_free(void)
{
	const struct value *apart = record_as_made("r1", false), *at_once;

	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "success"), STORE_OK);
	at_once = record_as_made("r2", true);
	apart = value_map_with(trial.arena, apart, "base", value_get(at_once, "base"));
	ck_assert_msg(value_equal(apart, at_once), "%s and %s",
	    json_text(trial.arena, apart), json_text(trial.arena, at_once));
	ck_assert_uint_eq(claim.version, 1);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c2", "success"), STORE_OK);
	must_be("r2", "success");
}

START_TEST(a_free_thread_is_claimed_as_its_run_comes)
{
	trial_play(play_free);
}
END_TEST

static void
play_new(void)
{
	ck_assert_int_eq(begin(trial.a, "r"), STORE_OK);
	ck_assert(claimed);
	ck_assert_uint_eq(claim.version, 0);
	ck_assert_ptr_null(claim.head);
	ck_assert_uint_eq(value_size(claim.messages), 0);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", LONG, &claim), STORE_BUSY);
}

START_TEST(others_find_it_owned)
{
	trial_play(play_new);
}
END_TEST

/* Whoever claimed it dies: it is found, and taken over with a higher epoch. */
static void
play_death(void)
{
	const struct value *threads = NULL;
	uint64_t epoch;

	ck_assert_int_eq(begin(trial.a, "r"), STORE_OK);
	epoch = claim.epoch;
	trial_hset("leases", TRIAL_A, "1 1");
	trial_ask("ZADD",
	    arena_printf(
		trial.arena, "%sdue", store_prefix(trial.arena, store_shard("t"))),
	    "1", "t");
	ck_assert_int_eq(
	    store_sweep(trial.b, trial.arena, store_shard("t"), 10, &threads), STORE_OK);
	ck_assert_uint_eq(value_size(threads), 1);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert(claim.recovered);
	ck_assert_uint_gt(claim.epoch, epoch);
	ck_assert_str_eq(record_text("attempts"), "1"); /* as it was */
}

START_TEST(it_is_taken_over_like_any_other)
{
	trial_play(play_death);
}
END_TEST

/* The answer was lost: asked again, it is known, and a claim by the same owner gives it. */
static void
play_repeated(void)
{
	ck_assert_int_eq(begin(trial.a, "r"), STORE_OK);
	ck_assert_int_eq(begin(trial.a, "r"), STORE_KNOWN);
	ck_assert(!claimed);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r");
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
	ck_assert_int_eq(begin(trial.a, "r"), STORE_KNOWN);
	must_be("r", "success");
}

START_TEST(one_that_is_known_is_not_begun_again)
{
	trial_play(play_repeated);
}
END_TEST

static void
play_deadline(void)
{
	ck_assert_int_eq(begin_with(trial.a, "r", "deadline_ms", "50000"), STORE_OK);
	ck_assert(claimed);
	ck_assert_int_gt(claim.left_ms, 0);
	ck_assert_int_le(claim.left_ms, 50000);
}

START_TEST(its_deadline_counts_from_here)
{
	trial_play(play_deadline);
}
END_TEST

/* --- threads that are not free -------------------------------------------------------- */

/* b may take over what a holds no more; but who comes does not take it from another run. */
static void
play_busy(void)
{
	struct store_claim first;

	ck_assert_int_eq(begin(trial.a, "r1"), STORE_OK);
	first = claim;
	ck_assert_int_eq(begin(trial.b, "r2"), STORE_OK);
	ck_assert(!claimed);
	must_be("r2", "queued");
	ck_assert_int_eq(trial_commit(trial.a, &first, "c1", "success"), STORE_OK);
	ck_assert_uint_eq(trial.committed.waiting, 1);
	/* One waits: it is next, not who comes. */
	ck_assert_int_eq(begin(trial.b, "r3"), STORE_OK);
	ck_assert(!claimed);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r2");
}

START_TEST(one_that_comes_later_waits)
{
	trial_play(play_busy);
}
END_TEST

static void
play_multitask(void)
{
	struct store_claim first;

	ck_assert_int_eq(begin_with(trial.a, "r1", "multitask", "reject"), STORE_OK);
	ck_assert(claimed);
	first = claim;
	ck_assert_int_eq(
	    begin_with(trial.b, "r2", "multitask", "reject"), STORE_REJECTED);
	must_be("r2", "refused");
	ck_assert_int_eq(begin_with(trial.b, "r3", "multitask", "interrupt"), STORE_OK);
	ck_assert(!claimed);
	ck_assert_int_eq(trial_commit(trial.a, &first, "c1", "running"), STORE_OK);
	ck_assert(trial.committed.cancel_wanted);
}

START_TEST(a_busy_thread_is_dealt_with_as_asked)
{
	trial_play(play_multitask);
}
END_TEST

static void
play_delayed(void)
{
	ck_assert_int_eq(begin_with(trial.a, "r", "at", "9999999999999"), STORE_OK);
	ck_assert(!claimed);
	must_be("r", "delayed");
	/* The thread is free until then. */
	ck_assert_int_eq(begin(trial.a, "now"), STORE_OK);
	ck_assert(claimed);
}

START_TEST(one_with_a_time_is_not_begun_before)
{
	trial_play(play_delayed);
}
END_TEST

/* --- names and agents ------------------------------------------------------------------- */

static void
play_name(void)
{
	const char *thread = NULL, *other;

	ck_assert_int_eq(begin(trial.a, "r"), STORE_OK);
	ck_assert_int_eq(store_run_thread(trial.a, trial.arena, "r", &thread), STORE_OK);
	ck_assert_str_eq(thread, "t");
	ck_assert_int_eq(
	    store_bind_run(trial.a, trial.arena, "taken", "u", &other), STORE_OK);
	ck_assert_int_eq(begin(trial.a, "taken"), STORE_TAKEN);
	ck_assert_str_eq(store_error(trial.a), "u");
	ck_assert(!claimed);
	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", "taken",
			     &(const struct value *){ NULL }),
	    STORE_NONE);
}

START_TEST(a_run_gets_its_name_in_the_same_step)
{
	trial_play(play_name);
}
END_TEST

/* Nothing is left behind by one that comes with what the agent was. */
static void
play_outdated(void)
{
	const char *thread;

	trial_ask("HSET", "fl:agents", "clerk", "2");
	ck_assert_int_eq(begin(trial.a, "r"), STORE_OUTDATED);
	trial_ask("HDEL", "fl:agents", "clerk");
	ck_assert_int_eq(begin(trial.a, "r"), STORE_OUTDATED);
	ck_assert_int_eq(
	    store_run_thread(trial.a, trial.arena, "r", &thread), STORE_NONE);
	trial_ask("DEL", "fl:agents");
	trial_ask("SET", "fl:agents", "damaged");
	ck_assert_int_eq(begin(trial.a, "r"), STORE_OUTDATED);
	ck_assert_int_eq(
	    store_agent_version(trial.a, trial.arena, "clerk", &thread), STORE_DAMAGED);
	trial_ask("DEL", "fl:agents");
	trial_ask("HSET", "fl:agents", "clerk", VERSION);
	ck_assert_int_eq(begin(trial.a, "r"), STORE_OK);
	ck_assert(claimed);
}

START_TEST(one_of_an_agent_that_has_changed_is_not_begun)
{
	trial_play(play_outdated);
}
END_TEST

/* --- what a claim reads --------------------------------------------------------------- */

static void
play_state(void)
{
	struct store_claim first;

	ck_assert_int_eq(begin(trial.a, "r1"), STORE_OK);
	first = claim;
	thread_commit(&first, "interrupted", "interrupted");
	ck_assert_int_eq(begin(trial.b, "r2"), STORE_OK);
	ck_assert(claimed);
	ck_assert_str_eq(value_get_text(claim.head, "status"), "interrupted");
	ck_assert_uint_eq(value_size(claim.messages), 1);
	ck_assert_uint_eq(value_size(claim.fields), 1);
	ck_assert_ptr_null(redis_reply_text(trial_ask("ZSCORE",
	    arena_printf(
		trial.arena, "%sasks", store_prefix(trial.arena, store_shard("t"))),
	    "t")));
}

START_TEST(it_is_told_what_the_thread_holds)
{
	trial_play(play_state);
}
END_TEST

TCase *
tcase_store_arrive(void)
{
	TCase *tcase = tcase_create("store_arrive");

	tcase_add_checked_fixture(tcase, open_with_agent, trial_close);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, a_free_thread_is_claimed_as_its_run_comes);
	tcase_add_test(tcase, others_find_it_owned);
	tcase_add_test(tcase, it_is_taken_over_like_any_other);
	tcase_add_test(tcase, one_that_is_known_is_not_begun_again);
	tcase_add_test(tcase, its_deadline_counts_from_here);
	tcase_add_test(tcase, one_that_comes_later_waits);
	tcase_add_test(tcase, a_busy_thread_is_dealt_with_as_asked);
	tcase_add_test(tcase, one_with_a_time_is_not_begun_before);
	tcase_add_test(tcase, a_run_gets_its_name_in_the_same_step);
	tcase_add_test(tcase, one_of_an_agent_that_has_changed_is_not_begun);
	tcase_add_test(tcase, it_is_told_what_the_thread_holds);
	return tcase;
}
