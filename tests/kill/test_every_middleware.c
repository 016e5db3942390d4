#include <check.h>

#include "storm.h"

TCase *tcase_every_middleware(void);

static void
each_dies_under_load(struct storm *storm)
{
	storm_replace(storm, KIT_MODEL, 0);
	storm_wait(storm, 35);
	storm_wait_tool(storm, 0);
	storm_replace(storm, KIT_TOOLS, 0);
	storm_wait(storm, 60);
	storm_replace(storm, KIT_COORDINATOR, storm_busiest(storm));
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

TCase *
tcase_every_middleware(void)
{
	TCase *tcase = tcase_create("every_middleware");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_run_with_every_middleware_outlives_its_processes);
	return tcase;
}
