/* Tasks with wraps around them, whose places are kept meanwhile, tasks in the background, and forks, whatever dies. */
#include <check.h>
#include <string.h>

#include "child_bench.h"
#include "fiber.h"

TCase *tcase_tasks(void);

#define KEPT 10u  /* runs whose tasks' places are kept */
#define BEGUN 20u /* runs that begin a task each */

/* --- places ---------------------------------------------------------------------------- */

static void
end_wrapped(struct children *children)
{
	struct arena *arena = children->storm.arena;
	unsigned i;

	cb_let_go_on(children);
	cb_check_reported(children, KEPT, 1);
	for (i = 1; i <= KEPT; i++)
		ck_assert_ptr_nonnull(
		    strstr(cb_said(children, arena_printf(arena, "r%u", i)),
			"Said.I worked.Said."));
	cb_check_leftovers(children);
}

static void
play_death(struct children *children, enum kit_kind kind)
{
	cb_submit(children, "wrapped", KEPT);
	cb_wait_working(children, KEPT);
	storm_replace(&children->storm, kind, 0);
	end_wrapped(children);
}

static void
play_worker_dies(struct children *children)
{
	play_death(children, KIT_TOOLS);
}

START_TEST(the_worker_that_keeps_the_places_dies)
{
	cb_act(1, NULL, play_worker_dies);
}
END_TEST

static void
play_coordinator_dies(struct children *children)
{
	play_death(children, KIT_COORDINATOR);
}

START_TEST(the_coordinator_dies_while_places_are_kept)
{
	cb_act(1, NULL, play_coordinator_dies);
}
END_TEST

static void
play_broker_dies(struct children *children)
{
	play_death(children, KIT_BROKER);
}

START_TEST(the_broker_dies_while_places_are_kept)
{
	cb_act(1, NULL, play_broker_dies);
}
END_TEST

static const char lingers[] =
    "name: lingers\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - lua:\n"
    "      name: lingers\n"
    "      code: |\n"
    "        function wrap_tool_call(request, handler)\n"
    "          local result = handler(request)\n"
    "          local asked = {messages = 'say', model = 'scripted:side'}\n"
    "          return result.text .. request.runtime.call_model(asked).text\n"
    "        end\n"
    "  - subagent: {general_purpose_agent: false, subagents: [{name: worker, "
    "description: "
    "works, agent: single}]}\n"
    "script:\n"
    "  side: [{delay_ms: 4000, content: Said.}]\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: task, args: {description: do it, subagent_type: "
    "worker}}]\n"
    "    - content: All is done.\n";

/* A thread is kept no longer than its time to live; its parent has read what it needs. */
static void
play_child_forgotten(struct children *children)
{
	struct storm *storm = &children->storm;
	struct store_pruned pruned;
	const char *child = "r1-2-0-1";

	kit_flotilla(storm->kit, "agents", "apply",
	    kit_write(storm->kit, "lingers.yaml", lingers), NULL);
	cb_let_go_on(children);
	cb_submit(children, "lingers", 1);
	cb_wait_working(children, 1);
	cb_check_status(children, child, "success");
	fiber_sleep(1000);
	ck_assert_int_eq(
	    store_erase(storm->client->store, storm->arena, child, false, &pruned),
	    STORE_OK);
	storm_replace(storm, KIT_COORDINATOR, 0);
	cb_check_reported(children, 1, 1);
	ck_assert_ptr_null(cb_record(children, child, child));
	ck_assert_uint_eq(cb_works(children), 1);
	cb_check_leftovers(children);
}

START_TEST(a_child_whose_thread_is_over_is_not_begun_anew)
{
	cb_act(1, NULL, play_child_forgotten);
}
END_TEST

static void
play_cancelled(struct children *children)
{
	struct arena *arena = children->storm.arena;
	unsigned i;

	cb_submit(children, "wrapped", KEPT);
	cb_wait_working(children, KEPT);
	for (i = 1; i <= KEPT; i++)
		cb_cancel(children, arena_printf(arena, "r%u", i));
	for (i = 1; i <= KEPT; i++)
		cb_check_status(children, arena_printf(arena, "r%u", i), "cancelled");
	cb_check_leftovers(children);
}

START_TEST(runs_are_cancelled_while_places_are_kept)
{
	cb_act(1, NULL, play_cancelled);
}
END_TEST

/* --- in the background ----------------------------------------------------------------- */

static void
end_begun(struct children *children)
{
	struct arena *arena = children->storm.arena;
	unsigned i;

	for (i = 1; i <= BEGUN; i++) {
		cb_check_status(children, arena_printf(arena, "r%u", i), "success");
		cb_check_status(children, arena_printf(arena, "r%u-2-0-1", i), "success");
	}
	/* Who dies may have been about to send one: then its model is told. */
	ck_assert_uint_le(cb_works(children), BEGUN);
	cb_check_leftovers(children);
}

static void
play_dies_often(struct children *children, enum kit_kind kind)
{
	struct arena *arena = children->storm.arena;
	unsigned i;

	cb_let_go_on(children);
	cb_submit(children, "starts", BEGUN);
	for (i = 1; i <= 3; i++) {
		cb_check_status(children, arena_printf(arena, "r%u", 4 * i), "success");
		storm_replace(&children->storm, kind, 0);
	}
	end_begun(children);
}

static void
play_coordinators_die(struct children *children)
{
	play_dies_often(children, KIT_COORDINATOR);
}

START_TEST(coordinators_die_while_tasks_begin)
{
	cb_act(1, NULL, play_coordinators_die);
}
END_TEST

static void
play_workers_die(struct children *children)
{
	play_dies_often(children, KIT_TOOLS);
}

START_TEST(workers_die_while_tasks_begin)
{
	cb_act(1, NULL, play_workers_die);
}
END_TEST

/* They belong to nobody's run: a cancel of the one that began them is not theirs. */
static void
play_goes_on(struct children *children)
{
	cb_submit(children, "starts", 1);
	cb_check_status(children, "r1", "success");
	cb_wait_working(children, 1);
	storm_replace(&children->storm, KIT_COORDINATOR, 0);
	cb_let_go_on(children);
	cb_check_status(children, "r1-2-0-1", "success");
	ck_assert_uint_eq(cb_works(children), 1);
	cb_check_leftovers(children);
}

START_TEST(a_task_goes_on_behind_its_run)
{
	cb_act(1, NULL, play_goes_on);
}
END_TEST

static void
check_plan_said_once(struct children *children, const char *run)
{
	const char *said = cb_said(children, run), *plan = strstr(said, "I have a plan.");

	ck_assert_msg(plan != NULL && strstr(plan + 1, "I have a plan.") == NULL,
	    "%s: %s", run, said);
}

/* What a fork goes on with, and what of that is no report of it, is known to whoever has the two. */
static void
play_forks(struct children *children)
{
	struct storm *storm = &children->storm;
	unsigned i;

	cb_submit(children, "forked", 10);
	cb_wait_working(children, 10);
	storm_replace(storm, KIT_COORDINATOR, 0);
	cb_let_go_on(children);
	for (i = 1; i <= 10; i++) {
		const char *run = storm_run(storm, i);

		cb_check_status(children, run, "success");
		check_plan_said_once(children, run);
		check_plan_said_once(
		    children, arena_printf(storm->arena, "%s-6-0-1", run));
	}
	ck_assert_uint_eq(cb_works(children), 10);
	cb_check_leftovers(children);
}

START_TEST(forks_outlive_the_coordinator)
{
	cb_act(1, NULL, play_forks);
}
END_TEST

TCase *
tcase_tasks(void)
{
	TCase *tcase = tcase_create("tasks");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_worker_that_keeps_the_places_dies);
	tcase_add_test(tcase, the_coordinator_dies_while_places_are_kept);
	tcase_add_test(tcase, a_child_whose_thread_is_over_is_not_begun_anew);
	tcase_add_test(tcase, the_broker_dies_while_places_are_kept);
	tcase_add_test(tcase, runs_are_cancelled_while_places_are_kept);
	tcase_add_test(tcase, coordinators_die_while_tasks_begin);
	tcase_add_test(tcase, workers_die_while_tasks_begin);
	tcase_add_test(tcase, a_task_goes_on_behind_its_run);
	tcase_add_test(tcase, forks_outlive_the_coordinator);
	return tcase;
}
