#include <check.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <semaphore.h>

/* Interface under test */
#include "loop.h"

#include "fiber.h"
#include "bounds.h"

#define GAP_MS (UINT64_C(2) * HEARTBEAT_MS)

static struct loop *loop;
static struct timer *timer, *other;
static unsigned fired;

static void
setup(void)
{
	loop = loop_new();
	timer = other = NULL;
	fired = 0;
}

static void
teardown(void)
{
	timer_stop(&timer);
	timer_stop(&other);
	loop_destroy(&loop);
	ck_assert_ptr_null(loop);
}

static void
stop(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

static void
count(void *arg)
{
	(void)arg;
	fired++;
}

static bool
has_fired(void *arg)
{
	return fired >= *(unsigned *)arg;
}

static void
run_until_fired(unsigned times)
{
	loop_run_until(loop, has_fired, &times);
}

START_TEST(a_loop_runs_until_it_is_stopped)
{
	timer = timer_start(loop, 1, 0, stop, NULL);
	loop_run(loop);
	timer_stop(&timer);
	timer = timer_start(loop, 1, 0, stop, NULL);
	loop_run(loop);
}
END_TEST

START_TEST(a_stop_before_the_run_is_not_lost)
{
	loop_stop(loop);
	loop_run(loop);
}
END_TEST

START_TEST(a_timer_fires_once_and_not_early)
{
	uint64_t began = loop_now_us();

	timer = timer_start(loop, 5, 0, count, NULL);
	other = timer_start(loop, 20, 0, stop, NULL);
	loop_run(loop);
	ck_assert_uint_eq(fired, 1);
	ck_assert_uint_ge(loop_now_us() - began, 19000);
}
END_TEST

START_TEST(a_repeating_timer_fires_again_and_again)
{
	timer = timer_start(loop, 0, 1, count, NULL);
	run_until_fired(5);
	ck_assert_uint_eq(fired, 5);
}
END_TEST

static void
count_and_stop_own_timer(void *arg)
{
	(void)arg;
	fired++;
	timer_stop(&timer);
	ck_assert_ptr_null(timer);
}

START_TEST(a_timer_may_be_stopped_while_it_fires)
{
	timer = timer_start(loop, 1, 1, count_and_stop_own_timer, NULL);
	other = timer_start(loop, 20, 0, stop, NULL);
	loop_run(loop);
	ck_assert_uint_eq(fired, 1);
	timer_stop(&timer);
}
END_TEST

static void
block(void *arg)
{
	usleep(*(unsigned *)arg * 1000);
}

/* 100 ms of blocking, 1 ms of period: whoever caught up would fire 100 times at once. */
START_TEST(a_repeating_timer_does_not_catch_up)
{
	unsigned ms = 100;

	other = timer_start(loop, 1, 0, block, &ms);
	timer = timer_start(loop, 2, 1, count, NULL);
	run_until_fired(1);
	ck_assert_uint_eq(fired, 1);
}
END_TEST

/* A delay counts from when it is asked for, however long the turn is by then. */
START_TEST(a_delay_counts_from_now_and_not_from_the_begin_of_the_turn)
{
	uint64_t began;

	usleep(50000);
	began = loop_now_us();
	timer = timer_start(loop, 30, 0, stop, NULL);
	loop_run(loop);
	ck_assert_uint_ge(loop_now_us() - began, 29000);
}
END_TEST

START_TEST(a_blocked_loop_notices_its_gap)
{
	unsigned ms = (unsigned)GAP_MS + 50;

	timer = timer_start(loop, 1, 0, stop, NULL);
	loop_run(loop);
	ck_assert_uint_eq(loop_gap_ms(loop), 0);
	timer_stop(&timer);

	timer = timer_start(loop, 1, 0, block, &ms);
	other = timer_start(loop, 2, 0, stop, NULL);
	loop_run(loop);
	ck_assert_uint_gt(loop_gap_ms(loop), 0);
	ck_assert_uint_le(loop_gap_ms(loop), loop_now_ms(loop));
}
END_TEST

START_TEST(a_long_turn_is_seen_as_lag)
{
	unsigned ms = 50;

	timer = timer_start(loop, 1, 0, block, &ms);
	other = timer_start(loop, 2, 0, stop, NULL);
	loop_run(loop);
	ck_assert_uint_ge(loop_lag_ms(loop), 49);
}
END_TEST

static void
block_for_arg(void *arg)
{
	block(arg);
}

static void
check_gap_is_known(void *arg)
{
	(void)arg;
	ck_assert_uint_gt(loop_gap_ms(loop), 0);
	loop_stop(loop);
}

/* A timer that expires peers must see the gap in its first turn behind it. */
START_TEST(a_gap_is_known_before_the_timers_that_it_delayed)
{
	unsigned ms = (unsigned)GAP_MS + 50;

	timer = timer_start(loop, 10, 0, check_gap_is_known, NULL);
	fiber_start(loop, "blocks", block_for_arg, &ms);
	loop_run(loop);
}
END_TEST

START_TEST(a_long_sleep_is_no_gap)
{
	uint64_t sleep_ms = GAP_MS + 100, began = loop_now_us();

	timer = timer_start(loop, sleep_ms, 0, stop, NULL);
	loop_run(loop);
	/* Unless this machine really stopped us. */
	if (loop_now_us() - began < (sleep_ms + GAP_MS) * 1000)
		ck_assert_uint_eq(loop_gap_ms(loop), 0);
}
END_TEST

static bool
knows_gap(void *arg)
{
	(void)arg;
	return loop_gap_ms(loop) != 0;
}

/* Stops us from outside for longer than a gap must be to be noticed. */
static void
have_us_stopped(void *arg)
{
	pid_t us = getpid();
	pid_t *child = arg;

	*child = fork();
	if (*child == 0) {
		kill(us, SIGSTOP);
		usleep((useconds_t)(GAP_MS + 200) * 1000);
		kill(us, SIGCONT);
		_exit(0);
	}
}

START_TEST(a_process_that_was_stopped_notices_its_gap)
{
	pid_t child;

	timer = timer_start(loop, 1, 0, have_us_stopped, &child);
	other = timer_start(loop, 50, 50, count, NULL);
	loop_run_until(loop, knows_gap, NULL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

static void
on_poll(uv_poll_t *handle, int status, int events)
{
	int fd = *(int *)handle->data;
	char byte;

	(void)events;
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(fd, &byte, 1), 1);
	loop_stop(loop);
}

static void
watch(void *arg)
{
	uv_poll_start(arg, UV_READABLE, on_poll);
}

/* libuv tells the kernel of a new descriptor in its own next run: we must give it one
 * before we sleep. */
START_TEST(a_descriptor_watched_from_a_fiber_or_flush_wakes_the_loop)
{
	uv_poll_t handle;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	uv_poll_init(loop_uv(loop), &handle, fds[0]);
	handle.data = &fds[0];
	if (_i == 0)
		fiber_start(loop, "watches", watch, &handle);
	else
		loop_add_flush(loop, watch, &handle);
	loop_run(loop);
	loop_remove_flush(loop, watch, &handle);
	uv_close((uv_handle_t *)&handle, NULL);
	uv_run(loop_uv(loop), UV_RUN_NOWAIT);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

static void
count_and_remove_flush(void *arg)
{
	fired++;
	loop_remove_flush(loop, count_and_remove_flush, arg);
}

START_TEST(a_flush_runs_each_turn_and_may_remove_itself)
{
	loop_add_flush(loop, count_and_remove_flush, NULL);
	timer = timer_start(loop, 2, 0, stop, NULL);
	other = timer_start(loop, 1, 0, block, &(unsigned){ 1 });
	loop_run(loop);
	ck_assert_uint_eq(fired, 1);
	timer_stop(&other);
	other = timer_start(loop, 1, 1, block, &(unsigned){ 0 });
	loop_add_flush(loop, count, NULL);
	run_until_fired(3);
	loop_remove_flush(loop, count, NULL);
	timer_stop(&timer);
	timer = timer_start(loop, 2, 0, stop, NULL);
	loop_run(loop);
	ck_assert_uint_eq(fired, 3);
}
END_TEST

static void
yield_until_stopped(void *arg)
{
	bool *is_over = arg;

	while (!*is_over)
		ck_assert_int_eq(fiber_yield(), 0);
}

static void
set(void *arg)
{
	*(bool *)arg = true;
}

static bool
no_fibers(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

START_TEST(timers_fire_beside_a_fiber_that_is_always_ready)
{
	bool is_over = false;

	fiber_start(loop, "busy", yield_until_stopped, &is_over);
	timer = timer_start(loop, 2, 0, set, &is_over);
	loop_run_until(loop, no_fibers, NULL);
}
END_TEST

START_TEST(an_idle_loop_sleeps)
{
	timer = timer_start(loop, 300, 0, stop, NULL);
	loop_add_flush(loop, count, NULL); /* once a turn */
	loop_run(loop);
	loop_remove_flush(loop, count, NULL);
	ck_assert_uint_le(fired, 10);
}
END_TEST

static void
on_signal(uv_signal_t *handle, int signal)
{
	(void)handle;
	ck_assert_int_eq(signal, SIGTERM);
	loop_stop(loop);
}

static void
raise_term(void *arg)
{
	(void)arg;
	kill(getpid(), SIGTERM);
}

START_TEST(a_signal_wakes_the_sleeping_loop_even_if_a_parent_had_blocked_it)
{
	static uv_signal_t handle; /* until the teardown has run libuv once more */
	sigset_t all;
	pid_t us = getpid();
	pid_t child;

	loop_destroy(&loop);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	loop = loop_new();
	uv_signal_init(loop_uv(loop), &handle);
	uv_signal_start(&handle, on_signal, SIGTERM);
	if (_i == 0) {
		timer = timer_start(loop, 1, 0, raise_term, NULL);
	} else if ((child = fork()) == 0) {
		usleep(20000);
		kill(us, SIGTERM);
		_exit(0);
	}
	loop_run(loop);
	uv_close((uv_handle_t *)&handle, NULL);
	if (_i == 1)
		waitpid(child, NULL, 0);
}
END_TEST

START_TEST(a_broken_pipe_is_an_error_and_no_death)
{
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	close(fds[0]);
	ck_assert_int_eq(write(fds[1], "x", 1), -1);
	close(fds[1]);
}
END_TEST

TCase *tcase_loop(void);

static sem_t gate;

static void
hold(uv_work_t *work)
{
	(void)work;
	sem_wait(&gate);
}

/* As getaddrinfo does where no server answers: nobody can take it back. */
START_TEST(a_lookup_that_hangs_does_not_keep_the_process_from_its_end)
{
	static uv_work_t work;

	sem_init(&gate, 0, 0);
	uv_queue_work(loop_uv(loop), &work, hold, NULL);
	ck_assert(!loop_destroy(&loop));
	ck_assert_ptr_null(loop);
	sem_post(&gate);
}
END_TEST

TCase *
tcase_loop(void)
{
	TCase *tcase = tcase_create("loop");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_loop_runs_until_it_is_stopped);
	tcase_add_test(tcase, a_stop_before_the_run_is_not_lost);
	tcase_add_test(tcase, a_timer_fires_once_and_not_early);
	tcase_add_test(tcase, a_repeating_timer_fires_again_and_again);
	tcase_add_test(tcase, a_timer_may_be_stopped_while_it_fires);
	tcase_add_test(tcase, a_repeating_timer_does_not_catch_up);
	tcase_add_test(tcase, a_delay_counts_from_now_and_not_from_the_begin_of_the_turn);
	tcase_add_test(tcase, a_blocked_loop_notices_its_gap);
	tcase_add_test(tcase, a_long_turn_is_seen_as_lag);
	tcase_add_test(tcase, a_gap_is_known_before_the_timers_that_it_delayed);
	tcase_add_test(tcase, a_long_sleep_is_no_gap);
	tcase_add_test(tcase, a_process_that_was_stopped_notices_its_gap);
	tcase_add_loop_test(
	    tcase, a_descriptor_watched_from_a_fiber_or_flush_wakes_the_loop, 0, 2);
	tcase_add_test(tcase, a_flush_runs_each_turn_and_may_remove_itself);
	tcase_add_test(tcase, timers_fire_beside_a_fiber_that_is_always_ready);
	tcase_add_test(tcase, an_idle_loop_sleeps);
	tcase_add_loop_test(tcase,
	    a_signal_wakes_the_sleeping_loop_even_if_a_parent_had_blocked_it, 0, 2);
	tcase_add_test(tcase, a_broken_pipe_is_an_error_and_no_death);
	tcase_add_test(tcase, a_lookup_that_hangs_does_not_keep_the_process_from_its_end);
	return tcase;
}
