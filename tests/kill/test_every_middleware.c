/* The agent that has every built-in middleware, under load, while its runs wait for a human, and with a
 * shell each. */
#include <check.h>

#include "shells.h"

TCase *tcase_every_middleware(void);

static void
each_dies_under_load(struct storm *storm)
{
	unsigned busiest = storm_busiest(storm); /* as long as all of them go on */

	storm_replace(storm, KIT_MODEL, 0);
	storm_wait(storm, 35);
	storm_wait_tool(storm, 0);
	storm_replace(storm, KIT_TOOLS, 0);
	storm_wait(storm, 60);
	storm_replace(storm, KIT_COORDINATOR, busiest);
}

START_TEST(a_run_with_every_middleware_outlives_its_processes)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.everything = true,
		.happen = each_dies_under_load };

	storm_play(&plan);
}
END_TEST

/* --- a human, and a shell ---------------------------------------------------------------- */

/* All but the tool workers, one after the other. */
static void
each_dies(struct storm *storm)
{
	storm_replace(storm, KIT_BROKER, 0);
	storm_replace(storm, KIT_MODEL, 0);
	storm_replace(storm, KIT_COORDINATOR, 0);
	storm_replace(storm, KIT_MODEL, 1);
	storm_replace(storm, KIT_COORDINATOR, 1);
	storm_replace(storm, KIT_REDIS, 0);
}

static void
play_waiting(struct shells *shells)
{
	shells_ask(shells);
	each_dies(&shells->storm);
	shells_approve(shells);
	shells_check(shells);
}

START_TEST(runs_that_wait_for_a_human_keep_their_shells_whoever_dies)
{
	shells_play((struct shells){ .play = play_waiting });
}
END_TEST

static void
play_approved(struct shells *shells)
{
	shells_ask(shells);
	shells_approve_until_held(shells);
	each_dies(&shells->storm);
	shells_let_go_on(shells);
	shells_check(shells);
}

START_TEST(what_was_approved_is_carried_out_once_whoever_dies)
{
	shells_play((struct shells){ .play = play_approved });
}
END_TEST

static void
play_worker_dies_waiting(struct shells *shells)
{
	shells_ask(shells);
	shells_kill_worker(shells);
	shells_approve(shells);
	shells_check(shells);
}

START_TEST(a_shell_that_died_while_a_human_thought_is_told_as_lost)
{
	shells_play((struct shells){ .play = play_worker_dies_waiting });
}
END_TEST

static void
play_worker_dies(struct shells *shells)
{
	shells_ask(shells);
	shells_approve_until_held(shells);
	shells_kill_worker(shells);
	shells_let_go_on(shells);
	shells_check(shells);
}

START_TEST(a_shell_that_died_in_a_command_is_told_as_lost)
{
	shells_play((struct shells){ .play = play_worker_dies });
}
END_TEST

TCase *
tcase_every_middleware(void)
{
	TCase *tcase = tcase_create("every_middleware");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_run_with_every_middleware_outlives_its_processes);
	tcase_add_test(tcase, runs_that_wait_for_a_human_keep_their_shells_whoever_dies);
	tcase_add_test(tcase, what_was_approved_is_carried_out_once_whoever_dies);
	tcase_add_test(tcase, a_shell_that_died_while_a_human_thought_is_told_as_lost);
	tcase_add_test(tcase, a_shell_that_died_in_a_command_is_told_as_lost);
	return tcase;
}
