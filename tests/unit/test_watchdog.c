/* A loop that really stands still, in a child process, and what its watchdog makes of it. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fiber.h"
#include "log.h"

/* Interface under test */
#include "watchdog.h"

TCase *tcase_watchdog(void);

static struct loop *loop;
static struct timer *timer;

static void
stand_still(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void
stand_still_in_a_call(void *arg)
{
	fiber_note("tool:forecast", "r1.2.0");
	stand_still(arg);
}

static void
stop_in_the_middle(void *arg)
{
	(void)arg;
	raise(SIGSTOP);
	loop_stop(loop);
}

static void
stop(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

enum behaviour {
	BLOCKS_IN_A_TIMER,
	BLOCKS_IN_A_FIBER,
	IS_STOPPED,
	SLEEPS,
	WORKS,
	STARVES,
	SPINS
};

#define SLEEP_MS 300u
#define STUCK_MS 100u
/* Of one whose turns go on, who may be without a processor for a while in each of them. */
#define PATIENT_MS 500u
/* A wait counts when it is over: who may stand still must do so for longer than a slice of the other. */
#define STARVED_MS 3000u
#define STARVE_S 9
#define TURNS 400

static int turns;

static void
work_a_little(void *arg)
{
	(void)arg;
	usleep(1000);
	if (++turns == TURNS)
		loop_stop(loop);
}

/* With another at its processor who comes first: a turn that is long, of which little is its own. */
static void
starve(void *arg)
{
	time_t end = time(NULL) + STARVE_S;
	cpu_set_t one;
	pid_t other;

	(void)arg;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
	other = fork();
	if (other == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (other == 0)
		continue;
	setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
	while (time(NULL) < end)
		continue;
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	loop_stop(loop);
}

static void
spin(void *arg)
{
	(void)arg;
	for (;;)
		getppid();
}

static int
run(enum behaviour behaviour)
{
	bool is_patient = behaviour == IS_STOPPED || behaviour == WORKS;
	uint64_t stuck_ms = behaviour == STARVES ? STARVED_MS
			    : is_patient         ? PATIENT_MS
						 : STUCK_MS;
	struct watchdog *watchdog;

	log_open("tool-3", LOG_LEVEL_WARN);
	loop = loop_new();
	watchdog = watchdog_start(loop, stuck_ms);
	ck_assert_ptr_nonnull(watchdog);
	if (behaviour == BLOCKS_IN_A_TIMER)
		timer = timer_start(loop, 1, 0, stand_still, NULL);
	else if (behaviour == BLOCKS_IN_A_FIBER)
		fiber_start(loop, "call", stand_still_in_a_call, NULL);
	else if (behaviour == IS_STOPPED)
		timer = timer_start(loop, 1, 0, stop_in_the_middle, NULL);
	else if (behaviour == STARVES)
		timer = timer_start(loop, 1, 0, starve, NULL);
	else if (behaviour == SPINS)
		timer = timer_start(loop, 1, 0, spin, NULL);
	else if (behaviour == SLEEPS)
		timer = timer_start(loop, SLEEP_MS, 0, stop, NULL);
	else
		timer = timer_start(loop, 1, 1, work_a_little, NULL);
	loop_run(loop);
	watchdog_stop(&watchdog);
	ck_assert_ptr_null(watchdog);
	timer_stop(&timer);
	loop_destroy(&loop);
	return EXIT_SUCCESS;
}

/* Returns the child; what it says is read from *said_r. */
static pid_t
start(enum behaviour behaviour, int *said_r)
{
	int ends[2];
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		exit(run(behaviour));
	}
	close(ends[1]);
	*said_r = ends[0];
	return child;
}

/* Waits for the child's end; the text is static. */
static const char *
end(pid_t child, int said, int expected)
{
	static char text[4096];
	size_t size = 0;
	ssize_t more;
	int status;

	while ((more = read(said, text + size, sizeof text - 1 - size)) > 0)
		size += (size_t)more;
	text[size] = '\0';
	close(said);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == expected,
	    "status %#x, said: %s", (unsigned)status, text);
	return text;
}

START_TEST(a_loop_that_stands_still_ends_the_process)
{
	int said;
	pid_t child = start(BLOCKS_IN_A_TIMER, &said);

	ck_assert_str_eq(end(child, said, WATCHDOG_STATUS),
	    "error tool-3: ends at once: the loop has not turned for 100 ms, "
	    "busy with timers and descriptors\n");
}
END_TEST

START_TEST(the_fiber_that_blocks_is_named_with_what_it_does)
{
	int said;
	pid_t child = start(BLOCKS_IN_A_FIBER, &said);

	ck_assert_str_eq(end(child, said, WATCHDOG_STATUS),
	    "error tool-3: ends at once: the loop has not turned for 100 ms, "
	    "busy with fiber call tool:forecast r1.2.0\n");
}
END_TEST

START_TEST(a_process_whose_stderr_nobody_reads_ends_as_well)
{
	int ends[2], status;
	pid_t child;
	char page[4096] = { 0 };

	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	while (write(ends[1], page, sizeof page) > 0)
		;
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		exit(run(BLOCKS_IN_A_TIMER));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WEXITSTATUS(status), WATCHDOG_STATUS);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(the_time_in_which_the_process_was_stopped_does_not_count)
{
	int said, status;
	pid_t child = start(IS_STOPPED, &said);

	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(WIFSTOPPED(status));
	usleep(1000000); /* longer than it may stand still */
	kill(child, SIGCONT);
	ck_assert_str_eq(end(child, said, EXIT_SUCCESS), "");
}
END_TEST

START_TEST(a_loop_that_sleeps_or_works_may_do_so_for_long)
{
	int said;
	pid_t child = start(_i == 0 ? SLEEPS : WORKS, &said);

	ck_assert_str_eq(end(child, said, EXIT_SUCCESS), "");
}
END_TEST

START_TEST(the_time_in_which_the_machine_had_no_processor_for_it_does_not_count)
{
	int said;
	pid_t child = start(STARVES, &said);

	ck_assert_str_eq(end(child, said, EXIT_SUCCESS), "");
}
END_TEST

START_TEST(a_loop_that_is_at_work_for_ever_ends_the_process)
{
	int said;
	pid_t child = start(SPINS, &said);

	ck_assert_ptr_nonnull(
	    strstr(end(child, said, WATCHDOG_STATUS), "has not turned"));
}
END_TEST

TCase *
tcase_watchdog(void)
{
	TCase *tcase = tcase_create("watchdog");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_loop_that_stands_still_ends_the_process);
	tcase_add_test(tcase, the_fiber_that_blocks_is_named_with_what_it_does);
	tcase_add_test(tcase, a_process_whose_stderr_nobody_reads_ends_as_well);
	tcase_add_test(tcase, the_time_in_which_the_process_was_stopped_does_not_count);
	tcase_add_test(
	    tcase, the_time_in_which_the_machine_had_no_processor_for_it_does_not_count);
	tcase_add_test(tcase, a_loop_that_is_at_work_for_ever_ends_the_process);
	tcase_add_loop_test(tcase, a_loop_that_sleeps_or_works_may_do_so_for_long, 0, 2);
	return tcase;
}
