/* Runs that wait for their time, in what order waiting ones are claimed, and deadlines; against a
 * real Redis. */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_fleet.h"

TCase *tcase_store_later(void);

#define NOT_LONG 0u
#define LONG 60000u
#define FAR "9000000000000"

static const struct value *
text(const char *bytes)
{
	return value_str(trial.arena, bytes);
}

/* Submits run with one field more. */
static void
submit(const char *thread, const char *run, const char *name, const char *value)
{
	struct arena *arena = trial.arena;
	const char *other;
	int64_t before;

	ck_assert_int_eq(store_bind_run(trial.a, arena, run, thread, &other), STORE_OK);
	ck_assert_int_eq(store_submit(trial.a, arena, thread, run,
			     value_map(arena, "agent", text("clerk"), "version",
				 text("1"), name, text(value), NULL),
			     &before),
	    STORE_OK);
}

static const char *
status_of(const char *thread, const char *run)
{
	const struct value *record = NULL;

	ck_assert_int_eq(store_run(trial.a, trial.arena, thread, run, &record), STORE_OK);
	return value_get_text(record, "status");
}

/* The threads that a sweep of the shard of "t" finds. */
static const struct value *
swept(void)
{
	const struct value *threads = NULL;

	ck_assert_int_eq(
	    store_sweep(trial.a, trial.arena, store_shard("t"), 100, &threads), STORE_OK);
	return threads;
}

/* A name of a thread in the shard of "t". */
static const char *
neighbour(unsigned number)
{
	const char *name;
	unsigned i = 0;

	do {
		name = arena_printf(trial.arena, "n%u-%u", number, i++);
	} while (store_shard(name) != store_shard("t"));
	return name;
}

/* --- delays -------------------------------------------------------------------------- */

static void
play_delayed(void)
{
	struct store_claim claim;
	const char *prefix = store_prefix(trial.arena, store_shard("t"));

	submit("t", "late", "at", FAR);
	ck_assert_str_eq(status_of("t", "late"), "delayed");
	ck_assert_uint_eq(value_size(swept()), 0);
	ck_assert_int_eq(
	    store_claim(trial.a, trial.arena, "t", LONG, &claim), STORE_NONE);
	/* Another run of the thread goes ahead of it. */
	trial_submit("t", "early");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "early");
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
	/* Its time has come. */
	trial_ask("ZADD", arena_printf(trial.arena, "%slater", prefix), "1", "late");
	ck_assert_uint_eq(value_size(swept()), 1);
	ck_assert_str_eq(status_of("t", "late"), "queued");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "late");
	ck_assert_int_eq(value_size(trial_ask("ZRANGE",
			     arena_printf(trial.arena, "%slater", prefix), "0", "-1")),
	    0);
}

START_TEST(a_delayed_run_waits_beside_its_thread_until_it_is_due)
{
	trial_play(play_delayed);
}
END_TEST

/* How many threads are listed. */
static uint64_t
listed(void)
{
	const struct value *threads = NULL;
	uint64_t total = 99;

	ck_assert_int_eq(
	    store_threads(trial.a, trial.arena, NULL, 100, &threads, &total), STORE_OK);
	ck_assert_uint_eq(value_size(threads), total);
	return total;
}

static void
play_thread_of_delayed(void)
{
	const char *prefix = store_prefix(trial.arena, store_shard("t"));
	const struct value *outline = NULL;
	struct store_claim claim;
	int64_t created;

	submit("t", "late", "at", FAR);
	ck_assert_int_eq(store_has_thread(trial.a, trial.arena, "t"), STORE_OK);
	ck_assert_int_eq(
	    store_thread_outline(trial.a, trial.arena, "t", &outline), STORE_OK);
	created = value_get_int(outline, "created", 0);
	ck_assert_int_gt(created, 0);
	ck_assert_uint_eq(listed(), 1);
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "t", NULL, NULL), STORE_KNOWN);
	/* Nobody looks for it before its time. */
	ck_assert(value_is_nil(
	    trial_ask("ZSCORE", arena_printf(trial.arena, "%sdue", prefix), "t")));
	submit("t", "later", "at", FAR);
	trial_ask("ZADD", arena_printf(trial.arena, "%slater", prefix), "1", "late");
	ck_assert_uint_eq(value_size(swept()), 1);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
	ck_assert_int_eq(
	    store_thread_outline(trial.a, trial.arena, "t", &outline), STORE_OK);
	ck_assert_int_eq(value_get_int(outline, "created", 0), created);
	ck_assert_uint_eq(listed(), 1);
}

START_TEST(a_thread_is_there_before_its_first_run_is_due)
{
	trial_play(play_thread_of_delayed);
}
END_TEST

/* A run that comes at once is claimed as it comes, as on a thread that nobody has used. */
static void
play_arrival(void)
{
	struct store_claim claim;
	bool claimed = false;

	submit("t", "late", "at", FAR);
	trial_ask("HSET", STORE_AGENTS, "clerk", "v1");
	ck_assert_int_eq(store_arrive(trial.a, trial.arena,
			     &(struct store_newcomer){ "t", "r",
				 value_map(trial.arena, "agent", text("clerk"), "version",
				     text("v1"), NULL) },
			     LONG, &claimed, &claim),
	    STORE_OK);
	ck_assert(claimed);
	ck_assert_str_eq(claim.run, "r");
	ck_assert_uint_eq(listed(), 1);
	ck_assert_str_eq(status_of("t", "late"), "delayed");
}

START_TEST(a_delayed_run_is_in_no_others_way)
{
	trial_play(play_arrival);
}
END_TEST

/* Its run is cancelled before its time: the thread goes as others on which none ever began. */
static void
play_never_begun(void)
{
	const char *prefix = store_prefix(trial.arena, store_shard("t"));
	const char *ttl = arena_printf(trial.arena, "%sttl", prefix), *answer, *status;
	const struct value *threads = NULL, *keys;
	struct store_pruned pruned;
	unsigned i;

	for (i = 0; i < 2; i++) {
		submit("t", "late", "at", FAR);
		ck_assert_int_eq(
		    store_erase(trial.a, trial.arena, "t", true, &pruned), STORE_BUSY);
		trial_hset("t:t", "ttl", "1000 keep_latest");
		trial_ask("ZADD", ttl, "1", "t");
		ck_assert_int_eq(store_expire(trial.a, trial.arena, store_shard("t"), 10,
				     NULL, &threads),
		    STORE_OK);
		ck_assert_uint_eq(listed(), 1); /* it is not free */
		ck_assert_int_eq(
		    store_cancel(trial.a, trial.arena, "t", "late", &answer, &status),
		    STORE_OK);
		if (i == 0) {
			ck_assert_int_eq(
			    store_erase(trial.a, trial.arena, "t", false, &pruned),
			    STORE_OK);
		} else {
			trial_ask("ZADD", ttl, "1", "t");
			ck_assert_int_eq(store_expire(trial.a, trial.arena,
					     store_shard("t"), 10, NULL, &threads),
			    STORE_OK);
			ck_assert_uint_eq(value_size(threads), 0);
		}
		ck_assert_uint_eq(listed(), 0);
		keys = trial_ask("KEYS", arena_printf(trial.arena, "%st:*", prefix));
		ck_assert_uint_eq(value_size(keys), 0);
	}
}

START_TEST(a_thread_whose_only_run_never_began_is_forgotten)
{
	trial_play(play_never_begun);
}
END_TEST

static void
play_past(void)
{
	submit("t", "r", "at", "1000");
	ck_assert_str_eq(status_of("t", "r"), "queued");
	ck_assert_uint_eq(value_size(swept()), 1);
}

START_TEST(a_time_that_is_over_delays_nothing)
{
	trial_play(play_past);
}
END_TEST

static void
play_cancelled(void)
{
	const char *answer, *status;
	const char *prefix = store_prefix(trial.arena, store_shard("t"));

	submit("t", "late", "at", FAR);
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "late", &answer, &status), STORE_OK);
	ck_assert_str_eq(answer, "CANCELLED");
	ck_assert_str_eq(status_of("t", "late"), "cancelled");
	ck_assert_int_eq(value_size(trial_ask("ZRANGE",
			     arena_printf(trial.arena, "%slater", prefix), "0", "-1")),
	    0);
	ck_assert_uint_eq(value_size(swept()), 0);
}

START_TEST(a_delayed_run_can_be_cancelled)
{
	trial_play(play_cancelled);
}
END_TEST

static void
play_cancelled_waiting(void)
{
	const char *due = arena_printf(
	    trial.arena, "%sdue", store_prefix(trial.arena, store_shard("t")));
	const char *answer, *status;

	trial_submit("t", "r1");
	trial_submit("t", "r2");
	trial_ask("ZADD", due, "10000000000001", "t"); /* since long ago */
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "r2", &answer, &status), STORE_OK);
	ck_assert_str_eq(
	    redis_reply_text(trial_ask("ZSCORE", due, "t")), "10000000000001");
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "r1", &answer, &status), STORE_OK);
	ck_assert(value_is_nil(trial_ask("ZSCORE", due, "t")));
}

START_TEST(a_cancel_does_not_send_the_others_to_the_end_of_the_line)
{
	trial_play(play_cancelled_waiting);
}
END_TEST

static void
play_parent(void)
{
	bool is_late = true;

	submit("t", "parent", "at", FAR);
	ck_assert_int_eq(
	    store_adopt(trial.a, trial.arena, "t", "parent", "child", "child", &is_late),
	    STORE_OK);
	ck_assert(!is_late);
}

START_TEST(a_delayed_run_may_have_children)
{
	trial_play(play_parent);
}
END_TEST

static void
play_child(void)
{
	const struct value *record = NULL;

	submit("t", "child", "parent", "7");
	ck_assert_int_eq(
	    store_run(trial.a, trial.arena, "t", "child", &record), STORE_OK);
	ck_assert_str_eq(value_get_text(record, "parent"), "7");
}

START_TEST(a_child_knows_its_parent)
{
	trial_play(play_child);
}
END_TEST

/* --- order --------------------------------------------------------------------------- */

static void
play_priorities(void)
{
	static const char *const priorities[] = { "4", "2", "0", "1", "3" };
	static const unsigned order[] = { 2, 3, 1, 4, 0 };
	const struct value *threads;
	unsigned i;

	for (i = 0; i < 5; i++)
		submit(neighbour(i), arena_printf(trial.arena, "r%u", i), "priority",
		    priorities[i]);
	threads = swept();
	ck_assert_uint_eq(value_size(threads), 5);
	for (i = 0; i < 5; i++)
		ck_assert_str_eq(value_text(value_at(threads, i)), neighbour(order[i]));
}

START_TEST(waiting_runs_are_found_by_priority)
{
	trial_play(play_priorities);
}
END_TEST

/* An urgent run behind another one of its thread brings the thread forward. */
static void
play_behind(void)
{
	submit(neighbour(0), "r0", "priority", "4");
	submit(neighbour(1), "r1", "priority", "2");
	submit(neighbour(0), "r2", "priority", "0");
	ck_assert_str_eq(value_text(value_at(swept(), 0)), neighbour(0));
}

START_TEST(an_urgent_run_brings_its_thread_forward)
{
	trial_play(play_behind);
}
END_TEST

/* --- deadlines ----------------------------------------------------------------------- */

static int64_t
deadline_of(const char *run)
{
	const struct value *record = NULL;

	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", run, &record), STORE_OK);
	return value_get_int(record, "deadline", 0);
}

static void
play_deadline(void)
{
	struct store_claim claim;
	int64_t deadline;

	submit("t", "r", "deadline_ms", "50000");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(claim.left_ms, 50000);
	deadline = deadline_of("r");
	ck_assert_int_gt(deadline, 0);
	/* Whoever takes it over has what is left, not all of it again. */
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_int_le(claim.left_ms, 50000);
	ck_assert_int_eq(deadline_of("r"), deadline);
	trial_hset("r:r", "deadline", "1000");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(claim.left_ms, 0);
	/* The clock was set back. */
	trial_hset("r:r", "deadline", FAR);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_int_eq(claim.left_ms, 50000);
}

START_TEST(a_deadline_counts_from_the_first_claim)
{
	trial_play(play_deadline);
}
END_TEST

static void
play_no_deadline(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(claim.left_ms, -1);
}

START_TEST(without_one_there_is_no_deadline)
{
	trial_play(play_no_deadline);
}
END_TEST

/* --- finding ------------------------------------------------------------------------- */

static size_t
find(const char *tenant, const char *name, const char *value)
{
	const struct run_filter filter = { .tenant = tenant,
		.metadata = name != NULL ? value_map(trial.arena, name, text(value), NULL)
					 : NULL };
	const struct value *runs = NULL;

	ck_assert_int_eq(
	    store_find_runs(trial.a, trial.arena, 10, &filter, &runs), STORE_OK);
	return value_size(runs);
}

static void
play_filters(void)
{
	struct arena *arena = trial.arena;
	const struct value *metadata =
	    value_map(arena, "order", value_int(arena, 7), "of", text("ann"), NULL);
	const char *other;
	int64_t before;

	ck_assert_int_eq(store_bind_run(trial.a, arena, "r1", "t", &other), STORE_OK);
	ck_assert_int_eq(store_submit(trial.a, arena, "t", "r1",
			     value_map(arena, "agent", text("clerk"), "metadata",
				 value_freeze(arena, metadata), NULL),
			     &before),
	    STORE_OK);
	submit("t", "r2", "tenant", "acme");
	ck_assert_uint_eq(find(NULL, NULL, NULL), 2);
	ck_assert_uint_eq(find("acme", NULL, NULL), 1);
	ck_assert_uint_eq(find("acm", NULL, NULL), 0);
	ck_assert_uint_eq(find(NULL, "order", "7"), 1);
	ck_assert_uint_eq(find(NULL, "of", "ann"), 1);
	ck_assert_uint_eq(find(NULL, "of", "bob"), 0);
	ck_assert_uint_eq(find("acme", "of", "ann"), 0);
}

START_TEST(runs_are_found_by_tenant_and_metadata)
{
	trial_play(play_filters);
}
END_TEST

TCase *
tcase_store_later(void)
{
	TCase *tcase = tcase_create("store_later");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_delayed_run_waits_beside_its_thread_until_it_is_due);
	tcase_add_test(tcase, a_thread_is_there_before_its_first_run_is_due);
	tcase_add_test(tcase, a_delayed_run_is_in_no_others_way);
	tcase_add_test(tcase, a_thread_whose_only_run_never_began_is_forgotten);
	tcase_add_test(tcase, a_time_that_is_over_delays_nothing);
	tcase_add_test(tcase, a_delayed_run_can_be_cancelled);
	tcase_add_test(tcase, a_cancel_does_not_send_the_others_to_the_end_of_the_line);
	tcase_add_test(tcase, a_delayed_run_may_have_children);
	tcase_add_test(tcase, a_child_knows_its_parent);
	tcase_add_test(tcase, waiting_runs_are_found_by_priority);
	tcase_add_test(tcase, an_urgent_run_brings_its_thread_forward);
	tcase_add_test(tcase, a_deadline_counts_from_the_first_claim);
	tcase_add_test(tcase, without_one_there_is_no_deadline);
	tcase_add_test(tcase, runs_are_found_by_tenant_and_metadata);
	return tcase;
}
