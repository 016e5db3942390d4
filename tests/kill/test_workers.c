#include <check.h>

#include "storm.h"

TCase *tcase_workers(void);

static void
model_worker_dies(struct storm *storm)
{
	storm_replace(storm, KIT_MODEL, 0);
	storm_wait(storm, 50);
	storm_replace(storm, KIT_MODEL, 1);
}

START_TEST(the_death_of_a_model_worker_costs_no_run)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 2,
		.coordinators = 1,
		.each_once = true,
		.happen = model_worker_dies };

	storm_play(&plan);
}
END_TEST

static void
tool_worker_dies(struct storm *storm)
{
	storm_wait_tool(storm, 0);
	storm_replace(storm, KIT_TOOLS, 0);
	storm_wait(storm, 60);
	storm_wait_tool(storm, 1);
	storm_replace(storm, KIT_TOOLS, 1);
}

START_TEST(the_death_of_a_tool_worker_costs_no_run)
{
	const struct storm_plan plan = {
		.tools = 2, .models = 1, .coordinators = 1, .happen = tool_worker_dies
	};

	storm_play(&plan);
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_does_not_when_its_worker_dies)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 1,
		.coordinators = 1,
		.once_tools = true,
		.happen = tool_worker_dies };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_workers(void)
{
	TCase *tcase = tcase_create("workers");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_death_of_a_model_worker_costs_no_run);
	tcase_add_test(tcase, the_death_of_a_tool_worker_costs_no_run);
	tcase_add_test(
	    tcase, a_call_that_must_not_run_twice_does_not_when_its_worker_dies);
	return tcase;
}
