#include <check.h>

#include "storm.h"

TCase *tcase_everything(void);

static void
each_dies_in_turn(struct storm *storm)
{
	storm_replace(storm, KIT_MODEL, 0);
	storm_wait(storm, 35);
	storm_wait_tool(storm, 0);
	storm_replace(storm, KIT_TOOLS, 0);
	storm_wait(storm, 50);
	storm_replace(storm, KIT_BROKER, 0);
	storm_wait(storm, 65);
	storm_replace(storm, KIT_COORDINATOR, 0);
	storm_wait(storm, 80);
	storm_replace(storm, KIT_REDIS, 0);
}

START_TEST(one_of_each_kind_dies_after_the_other)
{
	const struct storm_plan plan = {
		.tools = 2, .models = 2, .coordinators = 2, .happen = each_dies_in_turn
	};

	storm_play(&plan);
}
END_TEST

static void
all_die_at_once(struct storm *storm)
{
	enum kit_kind kind;

	storm_wait_tool(storm, 0);
	for (kind = KIT_REDIS; kind < KIT_KINDS; kind++)
		kit_kill(storm->kit, kind, 0);
	for (kind = KIT_REDIS; kind < KIT_KINDS; kind++)
		kit_start(storm->kit, kind, 0);
}

START_TEST(all_processes_die_at_once)
{
	const struct storm_plan plan = {
		.tools = 1, .models = 1, .coordinators = 1, .happen = all_die_at_once
	};

	storm_play(&plan);
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_does_not_when_all_die)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 1,
		.once_tools = true,
		.happen = all_die_at_once };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_everything(void)
{
	TCase *tcase = tcase_create("everything");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, one_of_each_kind_dies_after_the_other);
	tcase_add_test(tcase, all_processes_die_at_once);
	tcase_add_test(tcase, a_call_that_must_not_run_twice_does_not_when_all_die);
	return tcase;
}
