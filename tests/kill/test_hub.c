/* Broker and coordinator die at once, and leave at once: what one of them leaves to the other apart, workers and Redis
 * must have. */
#include <check.h>

#include "storm.h"

TCase *tcase_hub(void);

/* Once: each time, what no worker had begun of tools that must not run twice is told as lost. */
static void
hub_dies(struct storm *storm)
{
	storm_wait_tool(storm, 0);
	storm_replace(storm, KIT_BROKER, 0);
}

START_TEST(the_death_of_the_hub_costs_no_run_and_no_tool_runs_twice)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.hub = true,
		.once_tools = true,
		.happen = hub_dies };

	storm_play(&plan);
}
END_TEST

/* While tools run and model calls are under way. */
static void
hub_is_rolled(struct storm *storm)
{
	storm_wait_tool(storm, 0);
	storm_roll(storm, KIT_BROKER, 0);
	storm_wait(storm, 60);
	storm_roll(storm, KIT_BROKER, 0);
}

START_TEST(what_a_hub_gives_back_the_next_one_goes_on_with)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 2,
		.hub = true,
		.once_tools = true,
		.each_once = true,
		.happen = hub_is_rolled };

	storm_play(&plan);
}
END_TEST

/* It has what the hub gave back, and no broker until the next hub is there. */
static void
hub_leaves_another(struct storm *storm)
{
	storm_busiest(storm); /* the runs are shared */
	kit_stop(storm->kit, KIT_BROKER, 0);
	storm_submit(storm, 5);
	kit_start(storm->kit, KIT_BROKER, 0);
	storm_wait(storm, 60);
	storm_replace(storm, KIT_BROKER, 0);
}

START_TEST(a_coordinator_from_outside_shares_a_hubs_runs)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 1,
		.coordinators = 1,
		.hub = true,
		.happen = hub_leaves_another };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_hub(void)
{
	TCase *tcase = tcase_create("hub");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_death_of_the_hub_costs_no_run_and_no_tool_runs_twice);
	tcase_add_test(tcase, what_a_hub_gives_back_the_next_one_goes_on_with);
	tcase_add_test(tcase, a_coordinator_from_outside_shares_a_hubs_runs);
	return tcase;
}
