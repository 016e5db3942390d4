#include <check.h>

#include "storm.h"

TCase *tcase_broker(void);

static void
broker_dies(struct storm *storm)
{
	storm_replace(storm, KIT_BROKER, 0);
	storm_wait(storm, 60);
	storm_replace(storm, KIT_BROKER, 0);
}

START_TEST(the_death_of_the_broker_costs_no_run)
{
	const struct storm_plan plan = {
		.tools = 2, .models = 2, .coordinators = 2, .happen = broker_dies
	};

	storm_play(&plan);
}
END_TEST

/* A new broker knows nothing: it waits for what the workers have before it believes that a call
 * runs nowhere. */
START_TEST(a_call_that_must_not_run_twice_does_not_when_the_broker_dies)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.once_tools = true,
		.happen = broker_dies };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_broker(void)
{
	TCase *tcase = tcase_create("broker");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_death_of_the_broker_costs_no_run);
	tcase_add_test(
	    tcase, a_call_that_must_not_run_twice_does_not_when_the_broker_dies);
	return tcase;
}
