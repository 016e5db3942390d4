/* Very many fibers, and those that end the process. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Interface under test */
#include "fiber.h"

#include "bounds.h"

TCase *tcase_fiber_limits(void);

static struct loop *loop;

static void
setup(void)
{
	loop = loop_new();
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

#define CROWD 1000

struct member {
	struct fiber *fiber;
	char *memory;
	int result;
};

/* Holds heap memory by its stack alone, and has touched a good part of that. */
static void
wait_in_crowd(void *arg)
{
	struct member *member = arg;
	char *volatile memory = malloc(100);
	char stack[20000];

	memset(stack, 1, sizeof stack);
	memory[0] = stack[member - (struct member *)arg];
	member->result = fiber_wait();
	free(memory);
}

static void
cancel_crowd(void *arg)
{
	struct member *crowd = arg;

	for (int i = 0; i < CROWD; i++)
		fiber_cancel(crowd[i].fiber);
}

/* Three times: the second and third run on the pool's stacks, warm and cold. */
START_TEST(a_thousand_fibers_are_started_cancelled_and_ended)
{
	struct member *crowd = calloc(CROWD, sizeof *crowd);
	struct timer *timer;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < CROWD; i++)
			crowd[i].fiber =
			    fiber_start(loop, "crowd", wait_in_crowd, &crowd[i]);
		ck_assert_uint_eq(fiber_count(loop), CROWD);
		timer = timer_start(loop, 1, 0, cancel_crowd, crowd);
		run();
		timer_stop(&timer);
		for (int i = 0; i < CROWD; i++)
			ck_assert_int_eq(crowd[i].result, -1);
	}
	free(crowd);
}
END_TEST

static void
do_nothing(void *arg)
{
	(void)arg;
}

static void
note_turn(void *arg)
{
	size_t *left = arg;

	ck_assert_uint_le(*left - fiber_count(loop), 256);
	*left = fiber_count(loop);
}

START_TEST(a_crowd_that_wakes_at_once_leaves_turns_to_others)
{
	size_t left = CROWD;

	for (int i = 0; i < CROWD; i++)
		fiber_start(loop, "crowd", do_nothing, NULL);
	loop_add_flush(loop, note_turn, &left);
	run();
	loop_remove_flush(loop, note_turn, &left);
	ck_assert_uint_eq(left, 0);
}
END_TEST

START_TEST(no_more_fibers_than_the_limit_are_alive)
{
	for (size_t i = 0; i < FIBERS_MAX; i++)
		ck_assert_ptr_nonnull(fiber_start(loop, "many", do_nothing, NULL));
	ck_assert_ptr_null(fiber_start(loop, "one too many", do_nothing, NULL));
	run();
	ck_assert_ptr_nonnull(fiber_start(loop, "again", do_nothing, NULL));
	run();
}
END_TEST

/* Bounded for the compiler's peace; the stack ends long before. */
static int
recurse(const volatile int *above, size_t depth)
{
	volatile int page[1024];

	page[0] = above == NULL ? 0 : above[0];
	if (depth * sizeof page > (size_t)2 * FIBER_STACK_BYTES)
		return page[0];
	return recurse(page, depth + 1) + page[0];
}

static void
overflow(void *arg)
{
	(void)arg;
	recurse(NULL, 0);
}

/* Without a core file, nor a report among the results. */
static void
die_quietly(void)
{
	static const struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	close(STDERR_FILENO);
}

START_TEST(a_stack_overflow_hits_the_guard_page)
{
	die_quietly();
	fiber_start(loop, "deep", overflow, NULL);
	run();
}
END_TEST

#define DEEP_BYTES (32u << 10)

static char *deep_page;

/* Returns whether the page that a deeper call has used is there. */
static bool
deep_page_is_there(void)
{
	unsigned char is_there = 0;

	ck_assert_int_eq(mincore(deep_page, 1, &is_there), 0);
	return (is_there & 1) != 0;
}

static __attribute__((noinline)) void
go_deep(void)
{
	volatile char room[DEEP_BYTES];
	size_t i, page = (size_t)sysconf(_SC_PAGESIZE);

	for (i = 0; i < sizeof room; i++)
		room[i] = 'x';
	deep_page = (char *)(((uintptr_t)room + page) / page * page);
	ck_assert(deep_page_is_there());
}

static void
rest(void *arg)
{
	char mine[64] = "mine";

	(void)arg;
	go_deep();
	ck_assert(deep_page_is_there());
	fiber_rest();
	ck_assert(!deep_page_is_there());
	ck_assert_str_eq(mine, "mine");
	go_deep();
}

START_TEST(a_fiber_that_rests_gives_back_what_deeper_calls_used)
{
	fiber_start(loop, "rests", rest, NULL);
	run();
}
END_TEST

static struct fiber *ended;

static void
remember_itself(void *arg)
{
	(void)arg;
	ended = fiber_current();
}

START_TEST(waking_an_ended_fiber_is_caught)
{
	die_quietly();
	fiber_start(loop, "short", remember_itself, NULL);
	run();
	fiber_wake(ended);
}
END_TEST

TCase *
tcase_fiber_limits(void)
{
	TCase *tcase = tcase_create("fiber_limits");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_thousand_fibers_are_started_cancelled_and_ended);
	tcase_add_test(tcase, a_crowd_that_wakes_at_once_leaves_turns_to_others);
	tcase_add_test(tcase, no_more_fibers_than_the_limit_are_alive);
	tcase_add_test(tcase, a_fiber_that_rests_gives_back_what_deeper_calls_used);
#ifdef __SANITIZE_ADDRESS__ /* it catches SIGSEGV, reports and exits */
	tcase_add_exit_test(tcase, a_stack_overflow_hits_the_guard_page, 1);
#elif defined(__SANITIZE_THREAD__) /* so does this one */
	tcase_add_exit_test(tcase, a_stack_overflow_hits_the_guard_page, 66);
#else
	tcase_add_test_raise_signal(tcase, a_stack_overflow_hits_the_guard_page, SIGSEGV);
#endif
	tcase_add_test_raise_signal(tcase, waking_an_ended_fiber_is_caught, SIGABRT);
	return tcase;
}
