/* A cancel ends all of a run: its calls, the programs of its tools with all they started; whoever dies
 * on the way. */
#include <check.h>
#include <string.h>

#include "cancel_bench.h"
#include "cli.h"
#include "patience.h"

TCase *tcase_cancel(void);

#define RUNS                                                                             \
	(50u /                                                                           \
	    PATIENCE) /* a cancel waits for CANCEL_WAIT_MS, however slow the build is */

/* --- one run ------------------------------------------------------------------------ */

static void
play_stubborn(struct scene *scene)
{
	cx_submit(scene, "clerk", "r1", NULL);
	cx_wait_hanging(scene, 2);
	cx_begin_to_ask(scene);
	kit_flotilla(scene->kit, "cancel", "r1", NULL);
	cx_note_alive(scene);
	cx_check_status(scene, "r1", "cancelled");
	cx_check_confirmed(scene);
	cx_check_next_run(scene, "r1");
}

START_TEST(when_a_cancel_returns_nothing_of_the_tools_is_left)
{
	cx_act("true", play_stubborn);
}
END_TEST

static bool
is_queued(void *arg)
{
	struct scene *scene = arg;
	const struct value *state = NULL;

	return store_thread(scene->client->store, scene->arena, "t-r1", &state) ==
		   STORE_OK &&
	       value_size(value_get(state, "queue")) == 1;
}

static void
play_thread(struct scene *scene)
{
	struct arena *arena = scene->arena;

	cx_submit(scene, "clerk", "r1", NULL);
	cx_wait_hanging(scene, 2);
	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "r2"), "thread", value_str(arena, "t-r1"), "input",
		value_str(arena, "\"hi\""), NULL));
	ck_assert(client_wait(scene->client, is_queued, scene, CX_WAIT_MS));
	cx_begin_to_ask(scene);
	kit_flotilla(scene->kit, "cancel", "--thread", "t-r1", NULL);
	cx_note_alive(scene);
	cx_check_status(scene, "r1", "cancelled");
	cx_check_confirmed(scene);
	ck_assert(client_wait_end(scene->client, "t-r1", "r2", CX_WAIT_MS));
	cx_check_next_run(scene, "r1");
}

START_TEST(a_threads_runs_are_cancelled_together)
{
	cx_act("true", play_thread);
}
END_TEST

static void
play_many(struct scene *scene)
{
	const char *arguments[RUNS + 5] = { "cancel" };
	const struct cli flotilla = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	struct said said;
	unsigned i;

	for (i = 1; i <= RUNS; i++) {
		arguments[i] = cx_nth(scene, "r", i);
		cx_submit(scene, "clerk", arguments[i], NULL);
	}
	arguments[RUNS + 1] = "--redis";
	arguments[RUNS + 2] = kit_redis(scene->kit);
	cx_wait_hanging(scene, 2 * RUNS);
	cx_begin_to_ask(scene);
	said = cli_run(&flotilla, NULL, arguments);
	cx_note_alive(scene);
	ck_assert_msg(said.status == 0, "%s", said.err);
	for (i = 1; i <= RUNS; i++)
		cx_check_status(scene, cx_nth(scene, "r", i), "cancelled");
	cx_check_confirmed(scene);
}

START_TEST(fifty_runs_are_cancelled_at_once)
{
	cx_act("true", play_many);
}
END_TEST

/* --- deaths on the way -------------------------------------------------------------- */

static void
play_coordinator_dies(struct scene *scene)
{
	cx_submit(scene, "clerk", "r1", NULL);
	cx_wait_hanging(scene, 2);
	cx_ask(scene, "r1");
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	cx_check_status(scene, "r1", "cancelled");
	cx_check_gone(scene);
	cx_check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_the_coordinator)
{
	cx_act(_i == 0 ? "true" : "false", play_coordinator_dies);
}
END_TEST

static void
play_worker_dies(struct scene *scene)
{
	cx_submit(scene, "clerk", "r1", NULL);
	cx_wait_hanging(scene, 2);
	cx_ask(scene, "r1");
	kit_kill(scene->kit, KIT_TOOLS, 0);
	cx_check_status(scene, "r1", "cancelled");
	cx_wait_gone(scene);
	kit_start(scene->kit, KIT_TOOLS, 1);
	cx_check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_the_tool_worker)
{
	cx_act(_i == 0 ? "true" : "false", play_worker_dies);
}
END_TEST

static void
play_broker_restarts(struct scene *scene)
{
	cx_submit(scene, "clerk", "r1", NULL);
	cx_wait_hanging(scene, 2);
	kit_kill(scene->kit, KIT_BROKER, 0);
	cx_ask(scene, "r1");
	kit_start(scene->kit, KIT_BROKER, 0);
	cx_check_status(scene, "r1", "cancelled");
	cx_check_gone(scene);
	cx_check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_the_broker)
{
	cx_act(_i == 0 ? "true" : "false", play_broker_restarts);
}
END_TEST

static void
play_everything_dies(struct scene *scene)
{
	cx_submit(scene, "clerk", "r1", NULL);
	cx_wait_hanging(scene, 2);
	cx_ask(scene, "r1");
	kit_restart_all(scene->kit);
	cx_check_status(scene, "r1", "cancelled");
	cx_wait_gone(scene);
	cx_check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_every_process)
{
	cx_act(_i == 0 ? "true" : "false", play_everything_dies);
}
END_TEST

TCase *
tcase_cancel(void)
{
	TCase *tcase = tcase_create("cancel");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, when_a_cancel_returns_nothing_of_the_tools_is_left);
	tcase_add_test(tcase, a_threads_runs_are_cancelled_together);
	tcase_add_test(tcase, fifty_runs_are_cancelled_at_once);
	tcase_add_loop_test(tcase, a_cancel_outlives_the_coordinator, 0, 2);
	tcase_add_loop_test(tcase, a_cancel_outlives_the_tool_worker, 0, 2);
	tcase_add_loop_test(tcase, a_cancel_outlives_the_broker, 0, 2);
	tcase_add_loop_test(tcase, a_cancel_outlives_every_process, 0, 2);
	return tcase;
}
