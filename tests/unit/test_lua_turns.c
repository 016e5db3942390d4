#include <check.h>
#include <string.h>

#include "literal.h"
#include "lua_kit.h"

/* Interface under test: what hooks in Lua leave of the loop to the others. */
#include "fiber.h"
#include "lua_share.h"

#define FIBERS 4u

/* Computes for more than its share of a turn. */
#define BURN                                                                             \
	"local function burn(runtime) local begun = runtime.now_ms() "                   \
	"while runtime.now_ms() - begun < 150 do end end "

static struct arena *arena;
static struct loop *loop;
static const struct middleware_use *use;
static uint64_t turns[FIBERS]; /* in which the hooks ended */
static size_t ended;

static void
setup(void)
{
	arena = arena_new();
	loop = loop_new();
	ended = 0;
	stub_log_clear();
}

static void
teardown(void)
{
	loop_destroy(&loop);
	arena_destroy(&arena);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static void
use_code(const char *code)
{
	use = lua_use(arena, arena_printf(arena, BURN "%s", code),
	    "{'instruction_limit': 100000000}");
}

static void
run_turn(void *arg)
{
	(void)arg;
	lua_turn(arena, use, HOOK_BEFORE_MODEL, "{}");
	turns[ended++] = fiber_turn();
}

START_TEST(hooks_that_compute_for_long_have_a_turn_each_and_one_is_free_between)
{
	size_t i;

	use_code("function before_model(state, runtime) burn(runtime) end");
	for (i = 0; i < FIBERS; i++)
		fiber_start(loop, "hook", run_turn, NULL);
	loop_run_until(loop, all_ended, NULL);
	for (i = 1; i < FIBERS; i++)
		ck_assert_uint_ge(turns[i], turns[i - 1] + 2);
}
END_TEST

static void
count_turns(void *arg)
{
	uint64_t begun = fiber_turn();

	(void)arg;
	lua_turn(arena, use, HOOK_BEFORE_MODEL, "{}");
	turns[0] = fiber_turn() - begun;
}

START_TEST(a_sleep_of_0_lets_the_others_run)
{
	use_code("function before_model(state, runtime) for i = 1, 3 do runtime.sleep(0) "
		 "end end");
	fiber_start(loop, "hook", count_turns, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_uint_ge(turns[0], 3);
}
END_TEST

static const char *outcome;

static void
run_wrap(void *arg)
{
	uint64_t begun = fiber_turn();
	struct play play = { .arena = arena };

	play.profile = literal(arena, "{'model': 'x:y'}");
	play.request = literal(arena, "{'messages': []}");
	outcome = stub_outcome(arena, play_model(&play, stub_chain(arena, use, NULL)));
	turns[0] = fiber_turn() - begun;
	if (arg != NULL)
		fiber_cancel(*(struct fiber **)arg);
}

START_TEST(what_is_answered_at_once_is_no_wait_for_the_others)
{
	use_code("function wrap_model_call(request, handler) for i = 1, 4 do "
		 "burn(request.runtime) handler(request) end return 'fine' end");
	fiber_start(loop, "hook", run_wrap, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_uint_ge(turns[0], 8);
}
END_TEST

START_TEST(who_is_cancelled_while_it_lets_others_run_ends_so)
{
	struct fiber *other;

	use_code("function wrap_model_call(request, handler) burn(request.runtime) "
		 "return 'fine' end");
	fiber_start(loop, "first", run_wrap, &other);
	other = fiber_start(loop, "other", run_wrap, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_msg(strstr(outcome, "fault: CancelledError") != NULL, "%s", outcome);
}
END_TEST

static int waited;

static void
wait_for_share(void *arg)
{
	(void)arg;
	share_took(400000);
	waited = share_wait();
}

/* As one whose work is some round trips. */
static void
make_trips(void *arg)
{
	int i;

	for (i = 0; i < 5; i++)
		ck_assert_int_eq(fiber_sleep(1), 0);
	fiber_cancel(arg);
}

START_TEST(lua_rests_for_longer_when_it_took_longer)
{
	fiber_start(
	    loop, "trips", make_trips, fiber_start(loop, "lua", wait_for_share, NULL));
	waited = 0;
	loop_run_until(loop, all_ended, NULL);
	ck_assert_int_eq(waited, -1);
	/* Another turn. */
	share_took(0);
}
END_TEST

TCase *tcase_lua_turns(void);
TCase *
tcase_lua_turns(void)
{
	TCase *tcase = tcase_create("lua_turns");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(
	    tcase, hooks_that_compute_for_long_have_a_turn_each_and_one_is_free_between);
	tcase_add_test(tcase, a_sleep_of_0_lets_the_others_run);
	tcase_add_test(tcase, what_is_answered_at_once_is_no_wait_for_the_others);
	tcase_add_test(tcase, lua_rests_for_longer_when_it_took_longer);
	tcase_add_test(tcase, who_is_cancelled_while_it_lets_others_run_ends_so);
	return tcase;
}
