/* How runs end that wait for child runs, and what stays of them. */
#include <check.h>
#include <string.h>

#include "child_bench.h"
#include "verdict.h"

TCase *tcase_children_ends(void);

/* --- ends ------------------------------------------------------------------------------ */

static void
play_cancelled(struct children *children)
{
	cb_submit(children, "deep", 2);
	cb_wait_working(children, 2);
	cb_cancel(children, "r1");
	cb_check_status(children, "r1", "cancelled");
	cb_check_status(children, "r1-2-0-1", "cancelled");
	cb_check_status(children, "r1-2-0-1-2-0-1", "cancelled");
	/* Its parent is told, and goes on. */
	cb_cancel(children, "r2-2-0-1-2-0-1");
	cb_check_status(children, "r2-2-0-1-2-0-1", "cancelled");
	cb_check_status(children, "r2-2-0-1", "success");
	cb_check_status(children, "r2", "success");
	ck_assert_ptr_nonnull(strstr(cb_said(children, "r2-2-0-1"), "cancelled"));
	cb_let_go_on(children);
	cb_check_leftovers(children);
}

START_TEST(a_cancel_ends_children_and_one_of_a_child_is_told)
{
	cb_act(1, NULL, play_cancelled);
}
END_TEST

static void
play_cancelled_by_another(struct children *children)
{
	cb_submit(children, "deep", 1);
	cb_wait_working(children, 1);
	cb_cancel(children, "r1");
	storm_replace(&children->storm, KIT_COORDINATOR, 0);
	cb_check_status(children, "r1", "cancelled");
	cb_check_status(children, "r1-2-0-1", "cancelled");
	cb_check_status(children, "r1-2-0-1-2-0-1", "cancelled");
	cb_check_leftovers(children);
}

START_TEST(the_cancel_outlives_the_coordinator)
{
	cb_act(1, NULL, play_cancelled_by_another);
}
END_TEST

struct ending {
	struct children *children;
	const char *run;
	struct store_claim claim;
};

static bool
is_claimed(void *arg)
{
	struct ending *ending = arg;

	return store_claim(ending->children->storm.client->store,
		   ending->children->storm.arena, ending->run, 60000,
		   &ending->claim) == STORE_OK;
}

/* Takes the child over, whose coordinator is dead, and ends it as it does who was asked to. */
static void
end_cancelled(struct children *children, const char *run)
{
	struct storm *storm = &children->storm;
	struct arena *arena = storm->arena;
	struct ending ending = { children, run, { 0 } };
	struct store_committed committed;
	struct store_renewed renewed;

	store_act_as(
	    storm->client->store, "00000000000000000000000000000001", "the test");
	ck_assert(client_wait(storm->client, is_claimed, &ending, CB_WAIT_MS));
	ck_assert_int_eq(
	    store_commit(storm->client->store, arena,
		&(struct store_commit){ .thread = run,
		    .run = run,
		    .epoch = ending.claim.epoch,
		    .version = ending.claim.version,
		    .id = "end",
		    .status = "cancelled",
		    .checkpoint = value_map(arena, "version",
			value_int(arena, (int64_t)ending.claim.version + 1), NULL),
		    .messages = value_empty_array(),
		    .fields = value_empty_map(),
		    .events = value_empty_array(),
		    .run_fields = value_empty_map() },
		&committed),
	    STORE_OK);
	/* The lease is given up. */
	ck_assert_int_eq(
	    store_renew(storm->client->store, arena, store_shard(run), 0, &renewed),
	    STORE_OK);
}

/* Who ended the child died before it ended the parent: that says no "cancelled" to its model. */
static void
play_cancelled_in_part(struct children *children)
{
	cb_submit(children, "pair", 1);
	cb_wait_working(children, 2);
	kit_kill(children->storm.kit, KIT_COORDINATOR, 0);
	cb_cancel(children, "r1");
	end_cancelled(children, "r1-2-0-1");
	end_cancelled(children, "r1-2-1-1");
	kit_start(children->storm.kit, KIT_COORDINATOR, 0);
	cb_check_status(children, "r1", "cancelled");
	ck_assert_ptr_null(strstr(cb_said(children, "r1"), "RuntimeError"));
	cb_let_go_on(children);
	cb_check_leftovers(children);
}

START_TEST(a_child_found_cancelled_is_no_failure_of_a_parent_that_is_to_be)
{
	cb_act(1, NULL, play_cancelled_in_part);
}
END_TEST

static void
play_late(struct children *children)
{
	struct arena *arena = children->storm.arena;

	client_submit(children->storm.client, arena,
	    value_map(arena, "agent", value_str(arena, "deep"), "run",
		value_str(arena, "r1"), "thread", value_str(arena, "t1"), "input",
		value_str(arena, "\"hi\""), "deadline_ms", value_str(arena, "15000"),
		NULL));
	cb_check_status(children, "r1", "error");
	cb_check_status(children, "r1-2-0-1", "cancelled");
	cb_check_status(children, "r1-2-0-1-2-0-1", "cancelled");
	cb_check_leftovers(children);
}

START_TEST(a_parents_deadline_is_its_childrens_end)
{
	cb_act(1, NULL, play_late);
}
END_TEST

static void
play_failing(struct children *children)
{
	cb_submit(children, "failing", 1);
	cb_wait_working(children, 1);
	cb_let_fail(children);
	cb_check_status(children, "r1", "error");
	cb_check_status(children, "r1-2-0-1", "cancelled");
	cb_check_leftovers(children);
}

START_TEST(another_call_that_ends_the_parent_ends_the_child)
{
	cb_act(1, NULL, play_failing);
}
END_TEST

/* --- what stays ------------------------------------------------------------------------ */

static bool
are_gone(void *arg)
{
	static const char *const threads[] = { "t1", "r1-2-0-1", "r1-2-0-1-2-0-1" };
	struct children *children = arg;
	const struct value *state;
	size_t i;

	for (i = 0; i < sizeof threads / sizeof *threads; i++)
		if (store_thread(children->storm.client->store, children->storm.arena,
			threads[i], &state) != STORE_NONE)
			return false;
	return true;
}

static void
play_deleted(struct children *children)
{
	cb_let_go_on(children);
	cb_submit(children, "deep", 2);
	cb_check_reported(children, 2, 1);
	kit_flotilla(children->storm.kit, "prune", "t1", "--delete", NULL);
	ck_assert(client_wait(children->storm.client, are_gone, children, CB_WAIT_MS));
	cb_check_status(children, "r2-2-0-1-2-0-1", "success");
}

START_TEST(threads_of_children_go_with_their_parents)
{
	cb_act(1, NULL, play_deleted);
}
END_TEST

TCase *
tcase_children_ends(void)
{
	TCase *tcase = tcase_create("children_ends");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_cancel_ends_children_and_one_of_a_child_is_told);
	tcase_add_test(tcase, the_cancel_outlives_the_coordinator);
	tcase_add_test(
	    tcase, a_child_found_cancelled_is_no_failure_of_a_parent_that_is_to_be);
	tcase_add_test(tcase, a_parents_deadline_is_its_childrens_end);
	tcase_add_test(tcase, another_call_that_ends_the_parent_ends_the_child);
	tcase_add_test(tcase, threads_of_children_go_with_their_parents);
	return tcase;
}
