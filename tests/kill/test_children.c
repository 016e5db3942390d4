/* Runs that wait for child runs, whatever dies. */
#include <check.h>
#include <signal.h>
#include <string.h>

#include "child_bench.h"
#include "fiber.h"
#include "verdict.h"

#define PARENTS 200

TCase *tcase_children(void);

static void
end_well(struct children *children, unsigned count, unsigned tasks)
{
	cb_let_go_on(children);
	cb_check_reported(children, count, tasks);
	cb_check_leftovers(children);
}

/* --- room ------------------------------------------------------------------------------ */

static void
play_deep(struct children *children)
{
	cb_submit(children, "deep", 3);
	cb_let_go_on(children);
	end_well(children, 3, 1);
}

START_TEST(who_waits_takes_no_slot_from_a_child)
{
	cb_act(1, "1", play_deep);
}
END_TEST

static void
play_many(struct children *children)
{
	cb_submit(children, "pair", PARENTS);
	cb_let_go_on(children);
	end_well(children, PARENTS, 2);
	verdict_brokers(&children->storm);
}

START_TEST(many_parents_have_two_children_each)
{
	cb_act(1, "50", play_many);
}
END_TEST

/* --- coordinators ---------------------------------------------------------------------- */

static void
play_only_one_dies(struct children *children)
{
	struct storm *storm = &children->storm;

	cb_submit(children, "pair", 10);
	cb_wait_working(children, 20);
	storm_replace(storm, KIT_COORDINATOR, 0);
	end_well(children, 10, 2);
}

START_TEST(children_outlive_the_coordinator)
{
	cb_act(1, NULL, play_only_one_dies);
}
END_TEST

/* Dies at any place between the parents' calls and their ends. */
static void
play_dies_often(struct children *children)
{
	struct storm *storm = &children->storm;
	unsigned i;

	children->unsent = true;
	cb_let_go_on(children);
	cb_submit(children, "pair", 20);
	for (i = 1; i <= 3; i++) {
		cb_wait_working(children, 10 * i);
		storm_replace(storm, KIT_COORDINATOR, 0);
	}
	end_well(children, 20, 2);
}

START_TEST(coordinators_die_while_children_begin_and_end)
{
	cb_act(1, NULL, play_dies_often);
}
END_TEST

static bool
has_waited(void *arg)
{
	return value_get_int(cb_record(arg, "t1", "r1"), "attempts", 0) == 1;
}

/* As if it had taken nearly as many down as a run may: but what runs is its child. */
static void
play_waits_long(struct children *children)
{
	struct storm *storm = &children->storm;

	cb_submit(children, "boss", 1);
	cb_wait_working(children, 1);
	kit_redis_cli(storm->kit, 0, "HSET",
	    arena_printf(
		storm->arena, "%sr:r1", store_prefix(storm->arena, store_shard("t1"))),
	    "attempts", "4", NULL);
	storm_replace(storm, KIT_COORDINATOR, 0);
	ck_assert(client_wait(storm->client, has_waited, children, CB_WAIT_MS));
	storm_replace(storm, KIT_COORDINATOR, 0);
	end_well(children, 1, 1);
}

START_TEST(who_only_waits_takes_no_coordinator_down)
{
	cb_act(1, NULL, play_waits_long);
}
END_TEST

static void
play_one_of_two_dies(struct children *children)
{
	struct storm *storm = &children->storm;

	cb_submit(children, "deep", 20);
	cb_wait_working(children, 20);
	kit_kill(storm->kit, KIT_COORDINATOR, 0);
	end_well(children, 20, 1);
}

START_TEST(one_of_two_coordinators_dies)
{
	cb_act(2, NULL, play_one_of_two_dies);
}
END_TEST

/* It wakes up in the belief that it waits for its children, which another has gone on with. */
static void
play_sleeps(struct children *children)
{
	struct storm *storm = &children->storm;
	const char *owner;

	cb_submit(children, "deep", 20);
	cb_wait_working(children, 20);
	owner = storm_owner(storm, 0);
	kit_signal(storm->kit, KIT_COORDINATOR, 0, SIGSTOP);
	storm_wait_taken(storm, owner);
	cb_let_go_on(children);
	kit_signal(storm->kit, KIT_COORDINATOR, 0, SIGCONT);
	end_well(children, 20, 1);
}

START_TEST(one_that_slept_while_children_ran_is_fenced)
{
	cb_act(2, NULL, play_sleeps);
}
END_TEST

struct goal {
	struct children *children;
	const char *owner;
};

/* All parents are held by that one, though no child has ended. */
static bool
are_held_by(void *arg)
{
	const struct goal *goal = arg;
	struct storm *storm = &goal->children->storm;
	unsigned i;

	for (i = 1; i <= storm->runs; i++)
		if (!value_text_is(
			value_get(cb_record(goal->children, storm_thread(storm, i),
				      storm_run(storm, i)),
			    "owner"),
			goal->owner))
			return false;
	return true;
}

static void
play_sleeps_and_other_dies(struct children *children)
{
	struct storm *storm = &children->storm;
	const char *owner;

	cb_submit(children, "deep", 20);
	cb_wait_working(children, 20);
	owner = storm_owner(storm, 0);
	kit_signal(storm->kit, KIT_COORDINATOR, 0, SIGSTOP);
	storm_wait_taken(storm, owner);
	kit_signal(storm->kit, KIT_COORDINATOR, 0, SIGCONT);
	kit_kill(storm->kit, KIT_COORDINATOR, 1);
	ck_assert(client_wait(
	    storm->client, are_held_by, &(struct goal){ children, owner }, CB_WAIT_MS));
	end_well(children, 20, 1);
}

START_TEST(one_that_lost_parents_takes_them_back_while_their_children_run)
{
	cb_act(2, NULL, play_sleeps_and_other_dies);
}
END_TEST

static void
play_rolled(struct children *children)
{
	struct storm *storm = &children->storm;

	cb_submit(children, "deep", 10);
	cb_wait_working(children, 10);
	storm_roll(storm, KIT_COORDINATOR, 0);
	storm_roll(storm, KIT_COORDINATOR, 1);
	end_well(children, 10, 1);
}

START_TEST(coordinators_are_drained_while_children_run)
{
	cb_act(2, NULL, play_rolled);
}
END_TEST

/* --- the others ------------------------------------------------------------------------ */

static void
play_broker_dies(struct children *children)
{
	cb_submit(children, "deep", 10);
	cb_wait_working(children, 10);
	storm_replace(&children->storm, KIT_BROKER, 0);
	end_well(children, 10, 1);
}

START_TEST(the_broker_dies_while_children_run)
{
	cb_act(1, NULL, play_broker_dies);
}
END_TEST

/* What it was at must not be done twice: the children are told, and report. */
static void
play_worker_dies(struct children *children)
{
	cb_submit(children, "pair", 5);
	cb_wait_working(children, 10);
	storm_replace(&children->storm, KIT_TOOLS, 0);
	end_well(children, 5, 2);
	ck_assert_ptr_nonnull(strstr(cb_said(children, "r1-2-1-1"), "nobody knows"));
}

START_TEST(the_tool_worker_dies_while_children_run)
{
	cb_act(1, NULL, play_worker_dies);
}
END_TEST

static void
play_redis_dies(struct children *children)
{
	struct storm *storm = &children->storm;

	cb_submit(children, "deep", 10);
	cb_wait_working(children, 10);
	kit_kill(storm->kit, KIT_REDIS, 0);
	cb_let_go_on(children);
	kit_start(storm->kit, KIT_REDIS, 0);
	end_well(children, 10, 1);
}

START_TEST(redis_dies_while_children_run)
{
	cb_act(2, NULL, play_redis_dies);
}
END_TEST

static bool
has_refused(void *arg)
{
	struct children *children = arg;

	return strstr(kit_redis_cli(children->storm.kit, 0, "INFO", "errorstats", NULL),
		   "errorstat_OOM:") != NULL;
}

/* At any place between the parents' calls and their ends, for longer than leases. */
static void
play_redis_full(struct children *children)
{
	struct fleet_kit *kit = children->storm.kit;

	cb_submit(children, "pair", 40);
	cb_wait_working(children, 1);
	kit_redis_cli(kit, 0, "CONFIG", "SET", "maxmemory", "1mb", NULL);
	cb_let_go_on(children);
	ck_assert(client_wait(children->storm.client, has_refused, children, CB_WAIT_MS));
	fiber_sleep(2 * LEASE_MS);
	kit_redis_cli(kit, 0, "CONFIG", "SET", "maxmemory", "0", NULL);
	end_well(children, 40, 2);
}

START_TEST(a_redis_without_memory_costs_no_task)
{
	cb_act(1, NULL, play_redis_full);
}
END_TEST

/* What one who died before he could queue the child has left. */
static void
play_bound(struct children *children)
{
	const char *other;

	ck_assert_int_eq(store_bind_run(children->storm.client->store,
			     children->storm.arena, "r1-2-0-1", "r1-2-0-1", &other),
	    STORE_OK);
	cb_submit(children, "boss", 1);
	end_well(children, 1, 1);
}

START_TEST(a_child_that_was_named_and_not_queued_is_queued)
{
	cb_act(1, NULL, play_bound);
}
END_TEST

TCase *
tcase_children(void)
{
	TCase *tcase = tcase_create("children");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, who_waits_takes_no_slot_from_a_child);
	tcase_add_test(tcase, many_parents_have_two_children_each);
	tcase_add_test(tcase, children_outlive_the_coordinator);
	tcase_add_test(tcase, coordinators_die_while_children_begin_and_end);
	tcase_add_test(tcase, who_only_waits_takes_no_coordinator_down);
	tcase_add_test(tcase, one_of_two_coordinators_dies);
	tcase_add_test(tcase, one_that_slept_while_children_ran_is_fenced);
	tcase_add_test(
	    tcase, one_that_lost_parents_takes_them_back_while_their_children_run);
	tcase_add_test(tcase, coordinators_are_drained_while_children_run);
	tcase_add_test(tcase, the_broker_dies_while_children_run);
	tcase_add_test(tcase, the_tool_worker_dies_while_children_run);
	tcase_add_test(tcase, redis_dies_while_children_run);
	tcase_add_test(tcase, a_redis_without_memory_costs_no_task);
	tcase_add_test(tcase, a_child_that_was_named_and_not_queued_is_queued);
	return tcase;
}
