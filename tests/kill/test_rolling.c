/* Orderly ends under load: whoever is told to end gives back what it has. No attempt is counted,
 * nothing starts twice, nothing is lost. */
#include <check.h>
#include <signal.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "storm.h"

TCase *tcase_rolling(void);

/* What the broker has counted since it started. */
static int64_t
counter(struct storm *storm, const char *name)
{
	const struct cli flotilla = { .program = kit_program(storm->kit, "flotilla"),
		.arena = storm->arena };
	const struct said said = CLI(&flotilla, "top", "--once", "--json", "--redis",
	    kit_redis(storm->kit), "--broker", kit_broker(storm->kit));
	const char *error = NULL;
	const struct value *top =
	    json_parse(storm->arena, said.out, strlen(said.out), &error);
	const struct value *counters = value_get(value_get(top, "broker"), "counters");

	ck_assert_msg(value_is(counters, VALUE_MAP), "%s%s", said.out, said.err);
	return value_get_int(counters, name, -1);
}

static void
all_but_the_broker_are_replaced(struct storm *storm)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		storm_roll(storm, KIT_TOOLS, i);
		storm_roll(storm, KIT_COORDINATOR, i);
		storm_roll(storm, KIT_MODEL, i);
		storm_wait(storm, 40 + 30 * i);
	}
	ck_assert_int_eq(counter(storm, "requeued"), 0);
	ck_assert_int_eq(counter(storm, "lost"), 0);
	ck_assert_int_eq(counter(storm, "expired"), 0);
}

START_TEST(coordinators_and_workers_are_replaced_one_by_one)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 2,
		.coordinators = 2,
		.each_once = true,
		.once_tools = true,
		.happen = all_but_the_broker_are_replaced };

	storm_play(&plan);
}
END_TEST

/* The workers finish what they have; what they say of it waits for the broker. */
static void
workers_end_without_a_broker(struct storm *storm)
{
	storm_wait_tool(storm, 0);
	kit_kill(storm->kit, KIT_BROKER, 0);
	kit_signal(storm->kit, KIT_TOOLS, 0, SIGTERM);
	kit_signal(storm->kit, KIT_COORDINATOR, 0, SIGTERM);
	kit_start(storm->kit, KIT_BROKER, 0);
	kit_await_end(storm->kit, KIT_TOOLS, 0);
	kit_await_end(storm->kit, KIT_COORDINATOR, 0);
	kit_start(storm->kit, KIT_TOOLS, 0);
	kit_start(storm->kit, KIT_COORDINATOR, 0);
}

START_TEST(they_are_told_to_end_while_the_broker_restarts)
{
	const struct storm_plan plan = { .tools = 2,
		.models = 1,
		.coordinators = 2,
		.happen = workers_end_without_a_broker };

	storm_play(&plan);
}
END_TEST

/* A commit that is under way when Redis goes is shielded: the drain has to bear with it. */
static void
coordinator_ends_without_redis(struct storm *storm)
{
	storm_wait(storm, 30);
	kit_signal(storm->kit, KIT_REDIS, 0, SIGSTOP);
	kit_signal(storm->kit, KIT_COORDINATOR, 0, SIGTERM);
	kit_kill(storm->kit, KIT_REDIS, 0);
	kit_start(storm->kit, KIT_REDIS, 0);
	kit_await_end(storm->kit, KIT_COORDINATOR, 0);
	kit_start(storm->kit, KIT_COORDINATOR, 0);
}

START_TEST(a_coordinator_is_told_to_end_while_redis_restarts)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = coordinator_ends_without_redis };

	storm_play(&plan);
}
END_TEST

TCase *
tcase_rolling(void)
{
	TCase *tcase = tcase_create("rolling");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, coordinators_and_workers_are_replaced_one_by_one);
	tcase_add_test(tcase, they_are_told_to_end_while_the_broker_restarts);
	tcase_add_test(tcase, a_coordinator_is_told_to_end_while_redis_restarts);
	return tcase;
}
