/* When something that recurs is due. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "run_options.h"

/* Interface under test */
#include "schedule.h"

TCase *tcase_cron_schedule(void);

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static int64_t
ms_of(const char *text)
{
	int64_t ms;

	ck_assert_msg(run_options_time(text, &ms) == 0, "%s", text);
	return ms;
}

static const struct zone *
zone_of(const char *name)
{
	const struct zone *zone;
	const char *error = "";

	ck_assert_msg(zone_open(arena, name, &zone, &error) == 0, "%s", error);
	return zone;
}

static struct schedule
parse(const char *text)
{
	struct schedule schedule;
	const char *error = "";

	ck_assert_msg(schedule_parse(arena, text, &schedule, &error) == 0, "%s", error);
	return schedule;
}

struct due {
	const char *zone, *text, *after;
	const char *next[4]; /* one behind the other, up to the first NULL */
};

static void
check(const struct due *due)
{
	struct schedule schedule = parse(due->text);
	const struct zone *zone = zone_of(due->zone);
	int64_t at = ms_of(due->after);
	size_t i;

	for (i = 0; i < 4 && due->next[i] != NULL; i++) {
		int64_t wanted = ms_of(due->next[i]);

		at = schedule_next(&schedule, zone, at);
		ck_assert_msg(at == wanted, "'%s' in %s behind %s: %lld, not %s (%lld)",
		    due->text, due->zone, due->after, (long long)at / 1000, due->next[i],
		    (long long)wanted / 1000);
	}
}

/* --- in UTC -------------------------------------------------------------------------- */

static const struct due plain[] = {
	{ "UTC", "* * * * *", "2026-11-26T02:03:04Z",
	    { "2026-11-26T02:04:00Z", "2026-11-26T02:05:00Z" } },
	{ "UTC", "* * * * *", "2026-12-31T23:59:00Z", { "2027-01-01T00:00:00Z" } },
	{ "UTC", "*/20 * * * *", "2026-11-26T02:20:00.500Z",
	    { "2026-11-26T02:40:00Z", "2026-11-26T03:00:00Z" } },
	{ "UTC", "0 9 * * mon-fri", "2026-11-27T09:00:00Z",
	    { "2026-11-30T09:00:00Z", "2026-12-01T09:00:00Z" } },
	{ "UTC", "0 9 * * MON,Wed", "2026-11-26T00:00:00Z",
	    { "2026-11-30T09:00:00Z", "2026-12-02T09:00:00Z" } },
	{ "UTC", "15,45 8-10/2 * * *", "2026-11-26T08:15:00Z",
	    { "2026-11-26T08:45:00Z", "2026-11-26T10:15:00Z", "2026-11-26T10:45:00Z",
		"2026-11-27T08:15:00Z" } },
	{ "UTC", "0 0 * * 7", "2026-11-26T00:00:00Z", { "2026-11-29T00:00:00Z" } },
	{ "UTC", "0 0 * * 0", "2026-11-26T00:00:00Z", { "2026-11-29T00:00:00Z" } },
	{ "UTC", "0 0 * * sat-sun", "2026-11-28T00:00:00Z",
	    { "2026-11-29T00:00:00Z", "2026-12-05T00:00:00Z" } },
	{ "UTC", "0 0 * * 5-7", "2026-11-26T00:00:00Z",
	    { "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z",
		"2026-12-04T00:00:00Z" } },
	{ "UTC", "\t 5  4 1 jan-mar/2 * ", "2026-11-26T00:00:00Z",
	    { "2027-01-01T04:05:00Z", "2027-03-01T04:05:00Z", "2028-01-01T04:05:00Z" } },
	/* Both days restricted: either; one begins with *: both. */
	{ "UTC", "0 0 13 * fri", "2026-11-01T00:00:00Z",
	    { "2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z" } },
	{ "UTC", "0 0 13 12 fri", "2026-11-01T00:00:00Z",
	    { "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z" } },
	{ "UTC", "0 0 13 * *", "2026-11-13T00:00:00Z", { "2026-12-13T00:00:00Z" } },
	{ "UTC", "0 0 */2 * fri", "2026-11-01T00:00:00Z",
	    { "2026-11-13T00:00:00Z", "2026-11-27T00:00:00Z" } },
	{ "UTC", "0 0 29 2 *", "2026-11-26T00:00:00Z",
	    { "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z" } },
	{ "UTC", "0 0 29 2 *", "2096-03-01T00:00:00Z", { "2104-02-29T00:00:00Z" } },
	{ "UTC", "0 0 31 * *", "2026-11-01T00:00:00Z",
	    { "2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z", "2027-03-31T00:00:00Z" } },
	{ "UTC", "0 0 30 2,4 *", "2026-11-01T00:00:00Z", { "2027-04-30T00:00:00Z" } },
	{ "UTC", "@hourly", "2026-11-26T02:03:04Z", { "2026-11-26T03:00:00Z" } },
	{ "UTC", "@daily", "2026-11-26T02:03:04Z", { "2026-11-27T00:00:00Z" } },
	{ "UTC", "@Weekly", "2026-11-26T02:03:04Z", { "2026-11-29T00:00:00Z" } },
	{ "UTC", "@monthly", "2026-11-26T02:03:04Z", { "2026-12-01T00:00:00Z" } },
	{ "UTC", "@yearly", "2026-11-26T02:03:04Z", { "2027-01-01T00:00:00Z" } },
};

START_TEST(it_is_due_when_its_fields_say)
{
	check(&plain[_i]);
}
END_TEST

/* --- where clocks are set ------------------------------------------------------------- */

#define BERLIN "Europe/Berlin"
#define NEW_YORK "America/New_York"

static const struct due zoned[] = {
	{ BERLIN, "0 9 * * *", "2027-03-27T00:00:00Z",
	    { "2027-03-27T08:00:00Z", "2027-03-28T07:00:00Z" } },
	/* 28 March 2027: 02:00 to 03:00 are left out. */
	{ BERLIN, "30 2 * * *", "2027-03-27T00:00:00Z",
	    { "2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z" } },
	{ BERLIN, "0,15,30 2 * * *", "2027-03-27T02:00:00Z",
	    { "2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z" } },
	{ BERLIN, "0 2,3 * * *", "2027-03-27T02:00:00Z",
	    { "2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z" } },
	{ BERLIN, "30 * * * *", "2027-03-28T00:00:00Z",
	    { "2027-03-28T00:30:00Z", "2027-03-28T01:30:00Z", "2027-03-28T02:30:00Z" } },
	/* 31 October 2027: 02:00 to 03:00 come twice. */
	{ BERLIN, "30 2 * * *", "2027-10-30T12:00:00Z",
	    { "2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z" } },
	{ BERLIN, "30 2 * * *", "2027-10-31T01:10:00Z", { "2027-11-01T01:30:00Z" } },
	{ BERLIN, "0 3 * * *", "2027-10-31T00:30:00Z", { "2027-10-31T02:00:00Z" } },
	{ BERLIN, "30 * * * *", "2027-10-31T00:00:00Z",
	    { "2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z", "2027-10-31T02:30:00Z" } },
	{ BERLIN, "*/30 * * * *", "2027-10-31T00:15:00Z",
	    { "2027-10-31T00:30:00Z", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z",
		"2027-10-31T02:00:00Z" } },
	{ BERLIN, "0 0 1 1 *", "2026-11-26T00:00:00Z", { "2026-12-31T23:00:00Z" } },
	/* 14 March and 7 November 2027. */
	{ NEW_YORK, "30 2 * * sun", "2027-03-10T00:00:00Z",
	    { "2027-03-14T07:00:00Z", "2027-03-21T06:30:00Z" } },
	{ NEW_YORK, "15 1 * * *", "2027-11-06T12:00:00Z",
	    { "2027-11-07T05:15:00Z", "2027-11-08T06:15:00Z" } },
	{ NEW_YORK, "*/5 * * * *", "2027-11-07T05:55:00Z",
	    { "2027-11-07T06:00:00Z", "2027-11-07T06:05:00Z" } },
	/* Half an hour; and what tzdata tells by its rule alone. */
	{ "Australia/Lord_Howe", "10 2 * * *", "2027-10-01T16:00:00Z",
	    { "2027-10-02T15:30:00Z", "2027-10-03T15:10:00Z" } },
	{ BERLIN, "0 12 * * *", "2051-07-01T00:00:00Z", { "2051-07-01T10:00:00Z" } },
	{ "Asia/Kathmandu", "0 6 * * *", "2026-11-26T00:00:00Z",
	    { "2026-11-26T00:15:00Z" } },
};

START_TEST(clocks_that_are_set_lose_and_repeat_nothing)
{
	check(&zoned[_i]);
}
END_TEST

/* --- what is wrong ---------------------------------------------------------------------- */

static const struct {
	const char *text, *why;
} wrong[] = {
	{ "", "has 0 fields" },
	{ "* * * *", "has 4 fields; it must have five" },
	{ "* * * * * *", "has 6 fields" },
	{ "60 * * * *", "minute '60': must be *, a number from 0 to 59" },
	{ "* 24 * * *", "hour '24'" },
	{ "* * 0 * *", "day of month '0'" },
	{ "* * * 13 *", "month '13': must be *, a number from 1 to 12 or a name" },
	{ "* * * * 8", "day of week '8'" },
	{ "* * * january *", "month 'january'" },
	{ "* * * * monday", "day of week 'monday'" },
	{ "mon * * * *", "minute 'mon'" },
	{ "5, * * * *", "minute ''" },
	{ ",5 * * * *", "minute ''" },
	{ "1-2-3 * * * *", "minute '1-2-3'" },
	{ "1- * * * *", "minute '1-'" },
	{ "-5 * * * *", "minute '-5'" },
	{ "+5 * * * *", "minute '+5'" },
	{ "5/15 * * * *", "a step goes with * or a range: 5-59/n" },
	{ "*/0 * * * *", "a step is from 1 to 59" },
	{ "*/60 * * * *", "a step is from 1 to 59" },
	{ "*/ * * * *", "a step is from 1 to 59" },
	{ "* 22-2 * * *", "hour '22-2': a range goes up" },
	{ "0000 * * * *", "minute '0000'" },
	{ "? * * * *", "minute '?'" },
	{ "0 0 L * *", "day of month 'L'" },
	{ "0 0 30 2 *", "so it would never be due" },
	{ "0 0 31 4,6,9,11 *", "so it would never be due" },
	{ "@reboot", "a word is one of @hourly" },
	{ "@daily x", "a word is one of @hourly" },
	{ "@daily * * * *", "a word is one of @hourly" },
};

START_TEST(what_is_wrong_is_refused_with_its_place)
{
	struct schedule schedule;
	const char *error = NULL;

	ck_assert_int_eq(schedule_parse(arena, wrong[_i].text, &schedule, &error), -1);
	ck_assert_has(error, wrong[_i].why);
	ck_assert_has(error, arena_printf(arena, "schedule '%s': ", wrong[_i].text));
}
END_TEST

START_TEST(a_long_one_is_refused)
{
	struct schedule schedule;
	const char *error = NULL;
	char *text = arena_alloc(arena, SCHEDULE_BYTES_MAX + 2);

	memset(text, '1', SCHEDULE_BYTES_MAX + 1);
	ck_assert_int_eq(schedule_parse(arena, text, &schedule, &error), -1);
	ck_assert_has(error, "is longer than any");
}
END_TEST

static const char *const no_zones[] = { "", "Nowhere/City", "/etc/passwd",
	"../../../etc/passwd", "europe/berlin", "Foo3", "EST5EDT,M3.2.0,M11.1.0",
	"zone.tab", "Europe", "+02:00", "tzdata.zi",
	"A/a-name-that-is-longer-than-any-zone-of-the-tz-database-has-ever-been" };

START_TEST(what_is_no_zone_is_refused)
{
	const struct zone *zone;
	const char *error = NULL;

	ck_assert_int_eq(zone_open(arena, no_zones[_i], &zone, &error), -1);
	ck_assert_has(error, "there is none of that name in this system's tzdata");
}
END_TEST

TCase *
tcase_cron_schedule(void)
{
	TCase *tcase = tcase_create("cron_schedule");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, it_is_due_when_its_fields_say, 0, sizeof plain / sizeof *plain);
	tcase_add_loop_test(tcase, clocks_that_are_set_lose_and_repeat_nothing, 0,
	    sizeof zoned / sizeof *zoned);
	tcase_add_loop_test(tcase, what_is_wrong_is_refused_with_its_place, 0,
	    sizeof wrong / sizeof *wrong);
	tcase_add_test(tcase, a_long_one_is_refused);
	tcase_add_loop_test(
	    tcase, what_is_no_zone_is_refused, 0, sizeof no_zones / sizeof *no_zones);
	return tcase;
}
