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

/* A new broker knows nothing: it learns what runs from the workers before it gives a call to
 * another. */
START_TEST(the_death_of_the_broker_costs_no_run_and_starts_no_call_twice)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.each_once = true,
		.happen = broker_dies };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_broker(void)
{
	TCase *tcase = tcase_create("broker");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(
	    tcase, the_death_of_the_broker_costs_no_run_and_starts_no_call_twice);
	return tcase;
}
