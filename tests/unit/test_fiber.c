#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "fiber.h"

static struct loop *loop;
static char trace[256];

static void
setup(void)
{
	loop = loop_new();
	trace[0] = '\0';
}

static void
teardown(void)
{
	ck_assert_uint_eq(fiber_count(loop), 0);
	loop_destroy(&loop);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static void
run(void)
{
	loop_run_until(loop, all_ended, NULL);
}

static void
note(const char *text)
{
	size_t used = strlen(trace);

	snprintf(trace + used, sizeof trace - used, "%s", text);
}

/* Runs step(arg) on the loop's stack in the turn behind the fibers that are ready now. */
static void
soon(struct timer **timer_p, void (*step)(void *arg), void *arg)
{
	*timer_p = timer_start(loop, 1, 0, step, arg);
}

static char a[] = "a", b[] = "b";

static void
note_and_yield(void *arg)
{
	const char *name = arg;

	note(name);
	ck_assert_int_eq(fiber_yield(), 0);
	note(name);
}

START_TEST(fibers_start_in_order_in_the_next_batch_and_take_turns)
{
	fiber_start(loop, "a", note_and_yield, a);
	fiber_start(loop, "b", note_and_yield, b);
	ck_assert_str_eq(trace, "");
	ck_assert_uint_eq(fiber_count(loop), 2);
	run();
	ck_assert_str_eq(trace, "abab");
}
END_TEST

static void
start_another(void *arg)
{
	fiber_start(loop, "child", note_and_yield, arg);
	note("parent ");
}

START_TEST(a_fiber_started_by_a_fiber_runs_after_it)
{
	fiber_start(loop, "parent", start_another, a);
	run();
	ck_assert_str_eq(trace, "parent aa");
}
END_TEST

static void
wait_once(void *arg)
{
	int *result = arg;

	*result = fiber_wait();
}

static void
wake(void *arg)
{
	fiber_wake(arg);
}

START_TEST(a_waiting_fiber_goes_on_when_it_is_woken)
{
	struct timer *timer;
	int result = 7;
	struct fiber *fiber = fiber_start(loop, "w", wait_once, &result);

	soon(&timer, wake, fiber);
	run();
	ck_assert_int_eq(result, 0);
	timer_stop(&timer);
}
END_TEST

static void
be_woken_then_wait(void *arg)
{
	int *results = arg;

	fiber_wake(fiber_current());
	fiber_wake(fiber_current());
	results[0] = fiber_wait();
	results[1] = fiber_wait_ms(1);
}

START_TEST(a_wake_before_the_wait_is_kept_and_two_are_one)
{
	int results[2] = { 7, 7 };

	fiber_start(loop, "w", be_woken_then_wait, results);
	run();
	ck_assert_int_eq(results[0], 0);
	ck_assert_int_eq(results[1], 1);
}
END_TEST

START_TEST(a_wake_before_the_first_run_is_kept)
{
	int result = 7;

	fiber_wake(fiber_start(loop, "w", wait_once, &result));
	run();
	ck_assert_int_eq(result, 0);
}
END_TEST

static void
time_out(void *arg)
{
	int *results = arg;

	results[0] = fiber_wait_ms(0);
	results[1] = fiber_wait_ms(2);
	results[2] = fiber_sleep(0);
	results[3] = fiber_sleep(2);
}

START_TEST(a_wait_for_a_time_ends_with_it)
{
	uint64_t began = loop_now_us();
	int results[4] = { 7, 7, 7, 7 };

	fiber_start(loop, "t", time_out, results);
	run();
	ck_assert_int_eq(results[0], 1);
	ck_assert_int_eq(results[1], 1);
	ck_assert_int_eq(results[2], 0);
	ck_assert_int_eq(results[3], 0);
	ck_assert_uint_ge(loop_now_us() - began, 3000);
}
END_TEST

static void
wait_long(void *arg)
{
	int *result = arg;

	*result = fiber_wait_ms(UINT64_MAX);
}

START_TEST(a_wake_ends_a_wait_for_a_time)
{
	struct timer *timer;
	int result = 7;

	soon(&timer, wake, fiber_start(loop, "t", wait_long, &result));
	run();
	ck_assert_int_eq(result, 0);
	timer_stop(&timer);
}
END_TEST

static void
sleep_then_wait(void *arg)
{
	int *result = arg;
	uint64_t began = loop_now_us();

	ck_assert_int_eq(fiber_sleep(5), 0);
	ck_assert_uint_ge(loop_now_us() - began, 4000);
	*result = fiber_wait();
}

START_TEST(a_wake_does_not_shorten_a_sleep_and_is_kept_for_the_wait_behind_it)
{
	struct timer *timer;
	int result = 7;

	soon(&timer, wake, fiber_start(loop, "s", sleep_then_wait, &result));
	run();
	ck_assert_int_eq(result, 0);
	timer_stop(&timer);
}
END_TEST

static void
cancel(void *arg)
{
	fiber_cancel(arg);
}

static void
fail_all_waits(void *arg)
{
	int *results = arg;

	results[0] = fiber_wait();
	results[1] = fiber_wait();
	results[2] = fiber_wait_ms(60000);
	results[3] = fiber_sleep(60000);
	results[4] = fiber_yield();
	results[5] = fiber_cancelled();
}

static void
check_all_failed(const int *results)
{
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(results[i], -1);
	ck_assert_int_eq(results[5], true);
}

START_TEST(a_cancel_fails_the_present_wait_and_all_further_ones)
{
	struct timer *timer;
	int results[6] = { 0 };

	soon(&timer, cancel, fiber_start(loop, "c", fail_all_waits, results));
	run();
	check_all_failed(results);
	timer_stop(&timer);
}
END_TEST

START_TEST(a_fiber_cancelled_before_it_first_runs_still_runs)
{
	int results[6] = { 0 };

	fiber_cancel(fiber_start(loop, "c", fail_all_waits, results));
	run();
	check_all_failed(results);
}
END_TEST

static void
sleep_long(void *arg)
{
	int *result = arg;

	*result = fiber_sleep(600000);
}

START_TEST(a_cancel_ends_a_sleep)
{
	struct timer *timer;
	int result = 7;

	soon(&timer, cancel, fiber_start(loop, "c", sleep_long, &result));
	run();
	ck_assert_int_eq(result, -1);
	timer_stop(&timer);
}
END_TEST

static void
clean_up_shielded(void *arg)
{
	int *results = arg;

	fiber_cancel(fiber_current());
	fiber_shield(true);
	fiber_shield(true);
	results[0] = fiber_sleep(1);
	fiber_shield(false);
	results[1] = fiber_wait_ms(1);
	results[2] = fiber_cancelled();
	fiber_shield(false);
	results[3] = fiber_yield();
	results[4] = fiber_cancelled();
}

START_TEST(waits_in_a_shield_do_not_fail)
{
	int results[5] = { 7, 7, 7, 7, 7 };

	fiber_start(loop, "s", clean_up_shielded, results);
	run();
	ck_assert_int_eq(results[0], 0);
	ck_assert_int_eq(results[1], 1);
	ck_assert_int_eq(results[2], false);
	ck_assert_int_eq(results[3], -1);
	ck_assert_int_eq(results[4], true);
}
END_TEST

static void
wait_shielded_then_not(void *arg)
{
	int *results = arg;

	fiber_shield(true);
	results[0] = fiber_wait_ms(5);
	fiber_shield(false);
	results[1] = fiber_wait();
}

START_TEST(a_cancel_in_a_shield_takes_effect_behind_it)
{
	struct timer *timer;
	int results[2] = { 7, 7 };

	soon(&timer, cancel, fiber_start(loop, "s", wait_shielded_then_not, results));
	run();
	ck_assert_int_eq(results[0], 1);
	ck_assert_int_eq(results[1], -1);
	timer_stop(&timer);
}
END_TEST

static void
spoil_errno(void *arg)
{
	(void)arg;
	errno = EILSEQ;
	ck_assert_int_eq(fiber_yield(), 0);
	ck_assert_int_eq(errno, EILSEQ);
}

START_TEST(errno_stays_with_its_fiber)
{
	fiber_start(loop, "a", spoil_errno, NULL);
	fiber_start(loop, "b", note_and_yield, b);
	errno = EDOM;
	fiber_run_ready(loop);
	ck_assert_int_eq(errno, EDOM);
	run();
}
END_TEST

static void
know_itself(void *arg)
{
	struct fiber *fiber = fiber_current();

	ck_assert_ptr_nonnull(fiber);
	fiber_set_data(fiber, arg);
	ck_assert_int_eq(fiber_yield(), 0);
	ck_assert_ptr_eq(fiber_current(), fiber);
	ck_assert_ptr_eq(fiber_data(fiber), arg);
}

START_TEST(the_running_fiber_knows_itself_and_its_data)
{
	ck_assert_ptr_null(fiber_current());
	ck_assert(!fiber_cancelled());
	fiber_start(loop, "a", know_itself, a);
	fiber_start(loop, "b", know_itself, b);
	run();
	ck_assert_ptr_null(fiber_current());
}
END_TEST

TCase *tcase_fiber(void);

TCase *
tcase_fiber(void)
{
	TCase *tcase = tcase_create("fiber");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, fibers_start_in_order_in_the_next_batch_and_take_turns);
	tcase_add_test(tcase, a_fiber_started_by_a_fiber_runs_after_it);
	tcase_add_test(tcase, a_waiting_fiber_goes_on_when_it_is_woken);
	tcase_add_test(tcase, a_wake_before_the_wait_is_kept_and_two_are_one);
	tcase_add_test(tcase, a_wake_before_the_first_run_is_kept);
	tcase_add_test(tcase, a_wait_for_a_time_ends_with_it);
	tcase_add_test(tcase, a_wake_ends_a_wait_for_a_time);
	tcase_add_test(
	    tcase, a_wake_does_not_shorten_a_sleep_and_is_kept_for_the_wait_behind_it);
	tcase_add_test(tcase, a_cancel_fails_the_present_wait_and_all_further_ones);
	tcase_add_test(tcase, a_fiber_cancelled_before_it_first_runs_still_runs);
	tcase_add_test(tcase, a_cancel_ends_a_sleep);
	tcase_add_test(tcase, waits_in_a_shield_do_not_fail);
	tcase_add_test(tcase, a_cancel_in_a_shield_takes_effect_behind_it);
	tcase_add_test(tcase, errno_stays_with_its_fiber);
	tcase_add_test(tcase, the_running_fiber_knows_itself_and_its_data);
	return tcase;
}
