#include <check.h>
#include <stdio.h>
#include <string.h>

#include "fiber.h"
#include "registry.h"
#include "tool_trial.h"

/* Interfaces under test */
#include "../../worker-tools/function_tool.h"
#include "../../worker-tools/tools.h"

TCase *tcase_function_tool(void);

static struct tool_trial trial;
static struct tool tool;
static bool has_begun, has_ended;

static void
set_up(void)
{
	tool_trial_open(&trial);
	tool = (struct tool){ .name = "t", .description = "d", .parameters = "{}" };
}

static void
tear_down(void)
{
	tools_close();
	tool_trial_close(&trial);
}

static struct tool_result *
run_function(void *arg, struct tool_request *request)
{
	(void)arg;
	return function_tool_run(trial.loop, &tool, request);
}

static void
call(const char *args)
{
	tools_close();
	tools_open(trial.loop, false);
	trial.run = run_function;
	tool_trial_call(&trial, tool_to_value(trial.arena, &tool), args);
}

/* --- time ---------------------------------------------------------------------------- */

static struct tool_result *
answer_soon(struct tool_request *request)
{
	has_begun = true;
	if (fiber_sleep(1) == -1)
		return tool_fail(request, fault_cancelled(tool_arena(request)));
	has_ended = true;
	return tool_answer(request, "done", "success");
}

/* As long as nobody stops it; then it has something to clean up. */
static struct tool_result *
answer_never(struct tool_request *request)
{
	has_begun = true;
	while (fiber_sleep(1000) == 0)
		;
	fiber_shield(true);
	fiber_sleep(20);
	fiber_shield(false);
	has_ended = true;
	return tool_answer(request, "too late", "success");
}

START_TEST(answers_within_its_time)
{
	tool.run = answer_soon;
	tool.timeout_ms = 10000;
	call("{}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "done");
}
END_TEST

START_TEST(has_all_the_time_without_a_timeout)
{
	tool.run = answer_soon;
	call("{}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "done");
}
END_TEST

START_TEST(is_stopped_when_late_and_has_ended_before_the_call_does)
{
	tool.run = answer_never;
	tool.timeout_ms = 30;
	call("{}");
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "TimeoutError");
	ck_assert_ptr_nonnull(
	    strstr(tool_trial_fault(&trial)->message, "timeout_ms of 30"));
	ck_assert(has_ended);
}
END_TEST

static struct tool_result *
run_twice(void *arg, struct tool_request *request)
{
	struct tool_result *first = run_function(arg, request);

	ck_assert_str_eq(first->fault->type, "TimeoutError");
	ck_assert_int_eq(fiber_sleep(1), 0);
	tool.run = answer_soon;
	return run_function(arg, request);
}

START_TEST(leaves_the_caller_able_to_wait_and_try_again)
{
	tool.run = answer_never;
	tool.timeout_ms = 30;
	trial.run = run_twice;
	tool_trial_call(&trial, tool_to_value(trial.arena, &tool), "{}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "done");
}
END_TEST

static bool
cancels(void *arg)
{
	(void)arg;
	return has_begun;
}

START_TEST(ends_with_the_call_that_is_cancelled)
{
	tool.run = answer_never;
	tool.timeout_ms = 60000;
	trial.cancels = cancels;
	call("{}");
	ck_assert(tool_trial_fault(&trial)->control);
	ck_assert(has_ended);
}
END_TEST

static struct tool_result *
answer_as_it_is_cancelled(struct tool_request *request)
{
	fiber_cancel(trial.fiber);
	return tool_answer(request, "done", "success");
}

/* Both are ready in one turn of the loop: the function has ended before the call looks. */
START_TEST(may_have_ended_when_the_call_is_cancelled)
{
	tool.run = answer_as_it_is_cancelled;
	tool.timeout_ms = 60000;
	call("{}");
	ck_assert_ptr_null(trial.fiber);
}
END_TEST

/* --- the tools ----------------------------------------------------------------------- */

START_TEST(describes_each_tool_so_that_a_provider_takes_it)
{
	const struct tool *const *all = tools_builtin();
	const struct value *definition, *parameters;
	size_t i, count = 0;

	for (i = 0; all[i] != NULL; i++, count++) {
		definition = tool_to_value(trial.arena, all[i]);
		parameters = value_get(definition, "parameters");
		ck_assert_str_eq(value_get_text(parameters, "type"), "object");
		ck_assert(!value_get_bool(parameters, "additionalProperties", true));
		ck_assert_uint_gt(value_size(value_get(definition, "description")), 20);
		if (i > 0)
			ck_assert_int_lt(strcmp(all[i - 1]->name, all[i]->name), 0);
	}
	ck_assert_uint_ge(count, 3);
}
END_TEST

START_TEST(calculates)
{
	tool = tool_calculate;
	call("{\"expression\": \"2 * (3 + 4)^2\"}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "98");
	call("{\"expression\": \"1 / 0\"}");
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "ZeroDivisionError");
	call("{\"expression\": 5}");
	ck_assert_ptr_nonnull(strstr(tool_trial_answer(&trial, "error"), "/expression"));
}
END_TEST

static const struct {
	const char *args, *text;
} times[] = {
	{ "{\"format\": \"%Z %z\"}", "UTC +0000" },
	{ "{\"zone\": \"UTC\", \"format\": \"%Z %z\"}", "UTC +0000" },
	{ "{\"zone\": \"Z\", \"format\": \"%z\"}", "+0000" },
	{ "{\"zone\": \"+02:00\", \"format\": \"%z\"}", "+0200" },
	{ "{\"zone\": \"-0330\", \"format\": \"%z\"}", "-0330" },
	{ "{\"zone\": \"+9\", \"format\": \"%z\"}", "+0900" },
	{ "{\"zone\": \"-00:30\", \"format\": \"%z\"}", "-0030" },
	{ "{\"zone\": \"Asia/Kolkata\", \"format\": \"%Z %z\"}", "IST +0530" },
	{ "{\"format\": \"-x $(id) ; --help\"}", "-x $(id) ; --help" },
};

START_TEST(tells_the_time_of_a_zone)
{
	tool = tool_now;
	call(times[_i].args);
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), times[_i].text);
}
END_TEST

START_TEST(tells_date_time_and_weekday)
{
	int year, month, day, hour, minute, second, end = 0;
	char weekday[16];

	tool = tool_now;
	call("{\"zone\": \"+01:00\"}");
	ck_assert_int_eq(sscanf(tool_trial_answer(&trial, "success"),
			     "%4d-%2d-%2dT%2d:%2d:%2d+01:00, %15s%n", &year, &month, &day,
			     &hour, &minute, &second, weekday, &end),
	    7);
	ck_assert_int_gt(year, 2020);
	ck_assert_ptr_nonnull(strstr(weekday, "day"));
}
END_TEST

static const char *const no_zones[] = { "Europe/Berln", "../../../etc/passwd",
	"/etc/passwd", ":/etc/passwd", "Europe", "", "+15:00", "+02:60", "+02:00x",
	"+1e1", "+", "-x", "+2:5", "<X>5", "EST5EDT,M3.2.0", "Europe/../Europe/Berlin" };

START_TEST(knows_what_is_no_zone)
{
	char args[128];

	tool = tool_now;
	snprintf(args, sizeof args, "{\"zone\": \"%s\"}", no_zones[_i]);
	call(args);
	ck_assert_ptr_nonnull(
	    strstr(tool_trial_answer(&trial, "error"), "there is no time zone"));
}
END_TEST

TCase *
tcase_function_tool(void)
{
	TCase *tcase = tcase_create("function_tool");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, answers_within_its_time);
	tcase_add_test(tcase, has_all_the_time_without_a_timeout);
	tcase_add_test(tcase, is_stopped_when_late_and_has_ended_before_the_call_does);
	tcase_add_test(tcase, leaves_the_caller_able_to_wait_and_try_again);
	tcase_add_test(tcase, ends_with_the_call_that_is_cancelled);
	tcase_add_test(tcase, may_have_ended_when_the_call_is_cancelled);
	tcase_add_test(tcase, describes_each_tool_so_that_a_provider_takes_it);
	tcase_add_test(tcase, calculates);
	tcase_add_loop_test(
	    tcase, tells_the_time_of_a_zone, 0, sizeof times / sizeof times[0]);
	tcase_add_test(tcase, tells_date_time_and_weekday);
	tcase_add_loop_test(
	    tcase, knows_what_is_no_zone, 0, sizeof no_zones / sizeof no_zones[0]);
	return tcase;
}
