/* Redis is there and refuses: without memory, or without room on its disk. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fiber.h"
#include "storm.h"

TCase *tcase_redis_full(void);

#define REFUSED_MS 3000u /* longer than leases */

static bool
says(struct storm *storm, const char *section, const char *words)
{
	return strstr(kit_redis_cli(storm->kit, 0, "INFO", section, NULL), words) != NULL;
}

/* Waits until Redis has refused something with code: then the fleet knows. */
static void
wait_refused(struct storm *storm, const char *code)
{
	const char *line = arena_printf(storm->arena, "errorstat_%s:", code);

	while (!says(storm, "errorstats", line))
		fiber_sleep(10);
	fiber_sleep(REFUSED_MS);
}

static void
memory_is_short(struct storm *storm)
{
	kit_redis_cli(storm->kit, 0, "CONFIG", "SET", "maxmemory", "1mb", NULL);
	while (!says(storm, "errorstats", "errorstat_OOM:"))
		fiber_sleep(10);
	fiber_sleep(REFUSED_MS);
	kit_redis_cli(storm->kit, 0, "CONFIG", "SET", "maxmemory", "0", NULL);
}

START_TEST(a_redis_without_memory_costs_no_run)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = memory_is_short };

	storm_play(&plan);
}
END_TEST

/* How many coordinators have noticed that Redis is nearly full. */
static unsigned
noticed(struct storm *storm)
{
	const char *all = kit_flotilla(storm->kit, "top", "--once", "--json", "--broker",
	    kit_broker(storm->kit), NULL);
	unsigned count = 0;

	while ((all = strstr(all, "is nearly full")) != NULL) {
		all++;
		count++;
	}
	return count;
}

static long
info_number(struct storm *storm, const char *section, const char *name)
{
	const char *text = kit_redis_cli(storm->kit, 0, "INFO", section, NULL);
	const char *line = strstr(text, name);

	ck_assert_ptr_nonnull(line);
	return strtol(line + strlen(name), NULL, 10);
}

static void
memory_is_nearly_full(struct storm *storm)
{
	unsigned i, before = storm->runs;
	const struct value *record = NULL;

	kit_redis_cli(storm->kit, 0, "SETRANGE", "ballast", "100000000", "x", NULL);
	kit_redis_cli(storm->kit, 0, "CONFIG", "SET", "maxmemory",
	    arena_printf(storm->arena, "%ld",
		info_number(storm, "memory", "used_memory:") / 85 * 100),
	    NULL);
	while (noticed(storm) < storm->plan->coordinators)
		fiber_sleep(10);
	storm_submit(storm, 5);
	/* What runs ends; what is new waits in the inbox. */
	for (i = 1; i <= before; i++)
		ck_assert(client_wait_end(storm->client, storm_thread(storm, i),
		    storm_run(storm, i), STORM_WAIT_MS));
	for (i = before + 1; i <= storm->runs; i++)
		ck_assert_int_eq(
		    store_run(storm->client->store, storm->arena, storm_thread(storm, i),
			storm_run(storm, i), &record),
		    STORE_NONE);
	ck_assert_int_eq(
	    atoi(kit_redis_cli(storm->kit, 0, "XLEN", STORE_INBOX, NULL)), 5);
	ck_assert_int_eq(info_number(storm, "stats", "evicted_keys:"), 0);
	kit_redis_cli(storm->kit, 0, "DEL", "ballast", NULL);
}

START_TEST(nearly_full_redis_takes_nothing_new_and_finishes_what_runs)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = memory_is_nearly_full };

	storm_play(&plan);
}
END_TEST

/* No file of Redis grows beyond what it has: as on a disk that is full. */
static void
limit_files(struct storm *storm, bool is_full)
{
	struct rlimit limit = { is_full ? 4096 : RLIM_INFINITY, RLIM_INFINITY };

	ck_assert_int_eq(
	    prlimit(kit_pid(storm->kit, KIT_REDIS, 0), RLIMIT_FSIZE, &limit, NULL), 0);
}

static void
disk_is_full(struct storm *storm)
{
	limit_files(storm, true);
	wait_refused(storm, "MISCONF");
	limit_files(storm, false);
	storm_submit(storm, 5);
}

START_TEST(a_full_disk_costs_no_run)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.everysec = true,
		.happen = disk_is_full };

	signal(SIGXFSZ, SIG_IGN); /* which Redis inherits: a write fails, and no more */
	storm_play(&plan);
}
END_TEST

/* With `always` Redis ends rather than answer what it cannot keep. */
static void
disk_is_full_and_redis_ends(struct storm *storm)
{
	limit_files(storm, true);
	kit_wait(storm->kit, KIT_REDIS, 0);
	kit_start(storm->kit, KIT_REDIS, 0);
}

START_TEST(a_redis_that_ends_since_its_disk_is_full_costs_no_run)
{
	const struct storm_plan plan = { .tools = 1,
		.models = 1,
		.coordinators = 2,
		.each_once = true,
		.happen = disk_is_full_and_redis_ends };

	signal(SIGXFSZ, SIG_IGN);
	storm_play(&plan);
}
END_TEST

TCase *
tcase_redis_full(void)
{
	TCase *tcase = tcase_create("redis_full");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_redis_without_memory_costs_no_run);
	tcase_add_test(tcase, nearly_full_redis_takes_nothing_new_and_finishes_what_runs);
	tcase_add_test(tcase, a_full_disk_costs_no_run);
	tcase_add_test(tcase, a_redis_that_ends_since_its_disk_is_full_costs_no_run);
	return tcase;
}
