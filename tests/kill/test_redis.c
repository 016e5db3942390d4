#include <check.h>
#include <signal.h>

#include "fiber.h"
#include "storm.h"

TCase *tcase_redis(void);

#define GONE_MS 10000u /* how long the fault lasts */

static void
redis_dies(struct storm *storm)
{
	storm_replace(storm, KIT_REDIS, 0);
	storm_wait(storm, 60);
	storm_replace(storm, KIT_REDIS, 0);
}

START_TEST(the_death_of_redis_costs_no_run)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = redis_dies };

	storm_play(&plan);
}
END_TEST

static void
redis_is_gone(struct storm *storm)
{
	kit_stop(storm->kit, KIT_REDIS, 0);
	fiber_sleep(GONE_MS);
	kit_start(storm->kit, KIT_REDIS, 0);
}

START_TEST(a_redis_that_is_gone_for_ten_seconds_costs_no_run)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = redis_is_gone };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_redis(void)
{
	TCase *tcase = tcase_create("redis");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_death_of_redis_costs_no_run);
	tcase_add_test(tcase, a_redis_that_is_gone_for_ten_seconds_costs_no_run);
	return tcase;
}
