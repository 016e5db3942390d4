/* Several brokers at once: any of them may die, stand still or leave. */
#include <check.h>
#include <signal.h>

#include "storm.h"

TCase *tcase_links(void);

static void
brokers_die_in_turn(struct storm *storm)
{
	unsigned round;

	for (round = 0; round < 6; round++) {
		storm_replace(storm, KIT_BROKER, round % 2);
		storm_wait(storm, 25 + 12 * round);
	}
}

START_TEST(the_death_of_one_of_two_brokers_costs_no_run)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.brokers = 2,
		.brokers_empty = true,
		.happen = brokers_die_in_turn };

	storm_play(&plan);
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_does_not_when_brokers_die)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.brokers = 2,
		.once_tools = true,
		.brokers_empty = true,
		.happen = brokers_die_in_turn };

	storm_play(&plan);
}
END_TEST

/* Nobody starts another: the runs go on without it. */
static void
a_broker_is_gone_for_good(struct storm *storm)
{
	kit_kill(storm->kit, KIT_BROKER, 1);
	storm_submit(storm, 10);
	storm_wait(storm, 100);
}

START_TEST(the_runs_go_on_without_one_of_two_brokers)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 1,
		.coordinators = 2,
		.brokers = 2,
		.brokers_empty = true,
		.happen = a_broker_is_gone_for_good };

	storm_play(&plan);
}
END_TEST

static void
a_broker_stands_still(struct storm *storm)
{
	kit_signal(storm->kit, KIT_BROKER, 0, SIGSTOP);
	storm_wait(storm, 75);
	kit_signal(storm->kit, KIT_BROKER, 0, SIGCONT);
}

START_TEST(a_broker_that_stands_still_costs_no_run)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.brokers = 2,
		.brokers_empty = true,
		.happen = a_broker_stands_still };

	storm_play(&plan);
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_does_not_when_a_broker_stands_still)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.brokers = 2,
		.once_tools = true,
		.brokers_empty = true,
		.happen = a_broker_stands_still };

	storm_play(&plan);
}
END_TEST

/* --- leaving: nothing is lost, nothing runs twice --------------------------------------------- */

static void
brokers_roll(struct storm *storm)
{
	storm_roll(storm, KIT_BROKER, 0);
	storm_wait(storm, 50);
	storm_roll(storm, KIT_BROKER, 1);
	storm_wait(storm, 70);
	storm_roll(storm, KIT_BROKER, 0);
}

START_TEST(no_call_is_lost_or_repeated_when_brokers_are_restarted_in_turn)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.brokers = 2,
		.once_tools = true,
		.each_once = true,
		.brokers_empty = true,
		.happen = brokers_roll };

	storm_play(&plan);
}
END_TEST

static void
the_broker_rolls(struct storm *storm)
{
	storm_roll(storm, KIT_BROKER, 0);
	storm_wait(storm, 60);
	storm_roll(storm, KIT_BROKER, 0);
}

START_TEST(no_call_is_lost_or_repeated_when_the_only_broker_is_restarted)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.once_tools = true,
		.each_once = true,
		.brokers_empty = true,
		.happen = the_broker_rolls };

	storm_play(&plan);
}
END_TEST

static void
the_fleet_rolls(struct storm *storm)
{
	static const enum kit_kind order[] = { KIT_BROKER, KIT_MODEL, KIT_TOOLS,
		KIT_COORDINATOR };
	unsigned index;
	size_t i;

	for (i = 0; i < sizeof order / sizeof *order; i++) {
		for (index = 0; index < 2; index++) {
			storm_roll(storm, order[i], index);
			storm_submit(storm, 10);
		}
	}
}

START_TEST(the_whole_fleet_is_restarted_one_after_the_other_under_load)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.brokers = 2,
		.once_tools = true,
		.each_once = true,
		.happen = the_fleet_rolls };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_links(void)
{
	TCase *tcase = tcase_create("links");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_death_of_one_of_two_brokers_costs_no_run);
	tcase_add_test(tcase, a_call_that_must_not_run_twice_does_not_when_brokers_die);
	tcase_add_test(tcase, the_runs_go_on_without_one_of_two_brokers);
	tcase_add_test(tcase, a_broker_that_stands_still_costs_no_run);
	tcase_add_test(
	    tcase, a_call_that_must_not_run_twice_does_not_when_a_broker_stands_still);
	tcase_add_test(
	    tcase, no_call_is_lost_or_repeated_when_brokers_are_restarted_in_turn);
	tcase_add_test(
	    tcase, no_call_is_lost_or_repeated_when_the_only_broker_is_restarted);
	tcase_add_test(
	    tcase, the_whole_fleet_is_restarted_one_after_the_other_under_load);
	return tcase;
}
