#include <check.h>
#include <signal.h>

#include "storm.h"

TCase *tcase_coordinator(void);

static void
busiest_dies(struct storm *storm)
{
	kit_kill(storm->kit, KIT_COORDINATOR, storm_busiest(storm));
}

START_TEST(a_coordinators_runs_are_taken_over_by_another)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = busiest_dies };

	storm_play(&plan);
}
END_TEST

static void
only_one_dies(struct storm *storm)
{
	storm_replace(storm, KIT_COORDINATOR, 0);
	storm_wait(storm, 60);
	storm_replace(storm, KIT_COORDINATOR, 0);
}

START_TEST(the_only_coordinators_runs_are_taken_over_by_the_next)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 1,
		.each_once = true,
		.unsent = true,
		.once_tools = true,
		.happen = only_one_dies };

	storm_play(&plan);
}
END_TEST

static unsigned
send_busiest_to_sleep(struct storm *storm)
{
	unsigned sleeper = storm_busiest(storm);
	const char *owner = storm_owner(storm, sleeper);

	kit_signal(storm->kit, KIT_COORDINATOR, sleeper, SIGSTOP);
	storm_wait_taken(storm, owner);
	return sleeper;
}

/* It wakes up in the belief that all is as before: its calls were answered while it slept,
 * and it wants to commit what another has committed. */
static void
busiest_sleeps(struct storm *storm)
{
	unsigned sleeper = send_busiest_to_sleep(storm);

	kit_signal(storm->kit, KIT_COORDINATOR, sleeper, SIGCONT);
	storm_wait(storm, 50);
	kit_stop(storm->kit, KIT_COORDINATOR, 1 - sleeper);
	storm_submit(storm, 10);
}

START_TEST(one_that_slept_longer_than_its_lease_is_fenced_and_goes_on_working)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = busiest_sleeps };

	storm_play(&plan);
}
END_TEST

/* It waits for answers that go to another by now, and that one dies. */
static void
busiest_sleeps_and_the_other_dies(struct storm *storm)
{
	unsigned sleeper = send_busiest_to_sleep(storm);

	kit_signal(storm->kit, KIT_COORDINATOR, sleeper, SIGCONT);
	kit_kill(storm->kit, KIT_COORDINATOR, 1 - sleeper);
}

START_TEST(one_that_lost_its_runs_takes_them_back_when_their_owner_dies)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.first_ms = 5000,
		.each_once = true,
		.happen = busiest_sleeps_and_the_other_dies };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_coordinator(void)
{
	TCase *tcase = tcase_create("coordinator");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_coordinators_runs_are_taken_over_by_another);
	tcase_add_test(tcase, the_only_coordinators_runs_are_taken_over_by_the_next);
	tcase_add_test(
	    tcase, one_that_slept_longer_than_its_lease_is_fenced_and_goes_on_working);
	tcase_add_test(
	    tcase, one_that_lost_its_runs_takes_them_back_when_their_owner_dies);
	return tcase;
}
