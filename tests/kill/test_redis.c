/* Redis dies, is away, forgets, or is another one. */
#include <check.h>
#include <signal.h>

#include "fiber.h"
#include "storm.h"

TCase *tcase_redis(void);

/* How long faults last: longer than leases. */
#define GONE_MS 10000u
#define GIVEN_UP_MS 4000u

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

static void
everything_is_taken_away(struct storm *storm)
{
	kit_redis_cli(storm->kit, 0, "FUNCTION", "FLUSH", NULL);
	storm_wait(storm, 50);
	kit_redis_cli(storm->kit, 0, "CLIENT", "KILL", "TYPE", "normal", NULL);
	kit_redis_cli(storm->kit, 0, "FUNCTION", "FLUSH", NULL);
}

START_TEST(lost_functions_and_connections_cost_no_run)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = everything_is_taken_away };

	storm_play(&plan);
}
END_TEST

/* --- failover ------------------------------------------------------------------------------ */

static void
replica_takes_over(struct storm *storm)
{
	storm_wait(storm, 40);
	kit_kill(storm->kit, KIT_REDIS, 0);
	kit_redis_cli(storm->kit, 1, "REPLICAOF", "NO", "ONE", NULL);
	storm_submit(storm, 5);
	/* Until it has a replica of its own, nothing is acknowledged. */
	kit_start(storm->kit, KIT_REDIS, 2);
}

START_TEST(a_failover_costs_nothing_that_replicas_have_acknowledged)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.replica = true,
		.coordinator_flag = "--wait-replicas",
		.coordinator_value = "1",
		.happen = replica_takes_over };

	storm_play(&plan);
}
END_TEST

/* What happens between the two is lost: claims, commits, ends. */
static void
stale_replica_takes_over(struct storm *storm)
{
	kit_redis_cli(storm->kit, 1, "REPLICAOF", "NO", "ONE", NULL);
	storm_wait(storm, 60);
	kit_kill(storm->kit, KIT_REDIS, 0);
}

START_TEST(a_failover_to_a_stale_replica_sets_runs_back_and_forks_none)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.replica = true,
		.happen = stale_replica_takes_over };

	storm_play(&plan);
}
END_TEST

/* --- patience ------------------------------------------------------------------------------ */

static void
redis_is_gone_for_too_long(struct storm *storm)
{
	kit_stop(storm->kit, KIT_REDIS, 0);
	fiber_sleep(GIVEN_UP_MS);
	kit_start(storm->kit, KIT_REDIS, 0);
}

START_TEST(runs_that_were_given_up_are_found_again)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.coordinator_flag = "--redis-wait-ms",
		.coordinator_value = "300",
		.happen = redis_is_gone_for_too_long };

	storm_play(&plan);
}
END_TEST

/* One reader of the inbox sleeps: what it was given meanwhile goes to the other. */
static void
reader_sleeps(struct storm *storm)
{
	unsigned sleeper = storm_busiest(storm);

	kit_signal(storm->kit, KIT_COORDINATOR, sleeper, SIGSTOP);
	storm_submit(storm, 10);
	storm_wait(storm, 70);
	kit_signal(storm->kit, KIT_COORDINATOR, sleeper, SIGCONT);
}

START_TEST(what_a_sleeping_reader_was_given_is_read_by_another)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = reader_sleeps };

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
	tcase_add_test(tcase, lost_functions_and_connections_cost_no_run);
	tcase_add_test(tcase, a_failover_costs_nothing_that_replicas_have_acknowledged);
	tcase_add_test(
	    tcase, a_failover_to_a_stale_replica_sets_runs_back_and_forks_none);
	tcase_add_test(tcase, runs_that_were_given_up_are_found_again);
	tcase_add_test(tcase, what_a_sleeping_reader_was_given_is_read_by_another);
	return tcase;
}
