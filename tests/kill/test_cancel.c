/* A cancel ends all of a run: its calls, the programs of its tools with all they started, its
 * child runs; whoever dies on the way. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "patience.h"

TCase *tcase_cancel(void);

#define WAIT_MS 60000u
#define RUNS                                                                             \
	(50u /                                                                           \
	    PATIENCE) /* a cancel waits for CANCEL_WAIT_MS, however slow the build is */

/* Two hang at once; the next run of the thread only answers. */
static const char agents[] = "name: clerk\n"
			     "model: scripted:clerk\n"
			     "tools: [hang]\n"
			     "script:\n"
			     "  clerk:\n"
			     "    - content: ''\n"
			     "      tool_calls:\n"
			     "        - {id: a, name: hang, args: {}}\n"
			     "        - {id: b, name: hang, args: {}}\n"
			     "    - content: And so it stays.\n"
			     "---\n"
			     "name: failing\n"
			     "model: scripted:failing\n"
			     "tools: [fail]\n"
			     "tool_errors: raise\n"
			     "script:\n"
			     "  failing:\n"
			     "    - content: ''\n"
			     "      tool_calls:\n"
			     "        - {id: a, name: fail, args: {}}\n";

/* Four processes a call, of which three mind no SIGTERM and one has left the group. */
static const char tools[] = "name: hang\n"
			    "description: never ends\n"
			    "input: none\n"
			    "idempotent: %s\n"
			    "command: |\n"
			    "  trap '' TERM\n"
			    "  sleep 600 & a=$!\n"
			    "  (sleep 600 & echo $!; exec sleep 600) > %s.$$ & b=$!\n"
			    "  setsid sleep 600 & c=$!\n"
			    "  while ! [ -s %s.$$ ]; do sleep 0.01; done\n"
			    "  echo $$ $a $b $c $(cat %s.$$) >> %s\n"
			    "  wait\n"
			    "---\n"
			    "name: fail\n"
			    "description: fails, when it may\n"
			    "input: none\n"
			    "command: 'while ! [ -e %s ]; do sleep 0.01; done; exit 1'\n";
#define PIDS 5u /* a call */

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *pids, *go_on;
	void (*play)(struct scene *scene);
};

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

static void
act(const char *idempotent, void (*play)(struct scene *scene))
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };
	const char *pids = scene.pids = kit_path(scene.kit, "pids");

	scene.go_on = kit_path(scene.kit, "go_on");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(scene.kit, "tools.yaml",
		arena_printf(scene.arena, tools, idempotent, pids, pids, pids, pids,
		    scene.go_on)));
	kit_flag(scene.kit, KIT_TOOLS, "--slots", "200");
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

/* --- processes ---------------------------------------------------------------------- */

/* Counts the ids in the file, and those of them that are alive. */
static unsigned
count_pids(const struct scene *scene, unsigned *alive)
{
	FILE *file = fopen(scene->pids, "re"), *stat;
	unsigned count = 0;
	char path[64], state;
	int pid;

	*alive = 0;
	while (file != NULL && fscanf(file, "%d", &pid) == 1) {
		count++;
		snprintf(path, sizeof path, "/proc/%d/stat", pid);
		stat = fopen(path, "re");
		if (stat == NULL)
			continue;
		if (fscanf(stat, "%*d %*s %c", &state) == 1 && state != 'Z' &&
		    state != 'X')
			(*alive)++;
		fclose(stat);
	}
	if (file != NULL)
		fclose(file);
	return count;
}

struct wanted {
	const struct scene *scene;
	unsigned pids;
};

static bool
have_begun(void *arg)
{
	const struct wanted *wanted = arg;
	unsigned alive;

	return count_pids(wanted->scene, &alive) >= wanted->pids;
}

static void
wait_hanging(struct scene *scene, unsigned calls)
{
	struct wanted wanted = { scene, calls * PIDS };

	ck_assert_msg(client_wait(scene->client, have_begun, &wanted, WAIT_MS),
	    "%u calls have not begun", calls);
}

static bool
are_gone(void *arg)
{
	const struct wanted *wanted = arg;
	unsigned alive;

	count_pids(wanted->scene, &alive);
	return alive == 0;
}

static void
check_gone(struct scene *scene)
{
	unsigned alive, count = count_pids(scene, &alive);

	ck_assert_msg(alive == 0, "%u of %u processes are alive", alive, count);
}

/* Where the tool worker was killed nobody waits for the minders. */
static void
wait_gone(struct scene *scene)
{
	struct wanted wanted = { scene, 0 };

	ck_assert(client_wait(scene->client, are_gone, &wanted, WAIT_MS));
}

/* --- runs --------------------------------------------------------------------------- */

static const char *
nth(struct scene *scene, const char *prefix, unsigned number)
{
	return arena_printf(scene->arena, "%s%u", prefix, number);
}

/* On the thread "t-<run>". */
static void
submit(struct scene *scene, const char *agent, const char *run, const char *parent)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread",
		value_str(arena, arena_printf(arena, "t-%s", run)), "input",
		value_str(arena, "\"hi\""), "parent",
		parent != NULL ? value_str(arena, parent) : NULL, NULL));
}

static void
check_status(struct scene *scene, const char *run, const char *status)
{
	const struct value *record = NULL;
	const char *thread = arena_printf(scene->arena, "t-%s", run);

	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	ck_assert_int_eq(
	    store_run(scene->client->store, scene->arena, thread, run, &record),
	    STORE_OK);
	ck_assert_msg(value_text_is(value_get(record, "status"), status), "%s",
	    json_text(scene->arena, record));
	/* Every call was confirmed. */
	ck_assert(!value_has(record, "unconfirmed"));
}

static void
ask(struct scene *scene, const char *run)
{
	const char *answer, *ended;

	ck_assert_int_eq(
	    store_cancel(scene->client->store, scene->arena,
		arena_printf(scene->arena, "t-%s", run), run, &answer, &ended),
	    STORE_OK);
	ck_assert_str_eq(answer, "CANCELLING");
}

/* The model of the next run on the thread sees every call answered. */
static void
check_next_run(struct scene *scene, const char *run)
{
	struct arena *arena = scene->arena;
	const char *thread = arena_printf(arena, "t-%s", run);
	const char *next = arena_printf(arena, "%s-next", run);
	const struct value *record = NULL;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, next), "thread", value_str(arena, thread), "input",
		value_str(arena, "\"and now?\""), NULL));
	ck_assert(client_wait_end(scene->client, thread, next, WAIT_MS));
	store_run(scene->client->store, arena, thread, next, &record);
	ck_assert_msg(value_text_is(value_get(record, "status"), "success"), "%s",
	    json_text(arena, record));
}

/* --- one run ------------------------------------------------------------------------ */

static void
play_stubborn(struct scene *scene)
{
	submit(scene, "clerk", "r1", NULL);
	wait_hanging(scene, 2);
	kit_flotilla(scene->kit, "cancel", "r1", NULL);
	check_gone(scene);
	check_status(scene, "r1", "cancelled");
	check_next_run(scene, "r1");
}

START_TEST(when_a_cancel_returns_nothing_of_the_tools_is_left)
{
	act("true", play_stubborn);
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

	submit(scene, "clerk", "r1", NULL);
	wait_hanging(scene, 2);
	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "r2"), "thread", value_str(arena, "t-r1"), "input",
		value_str(arena, "\"hi\""), NULL));
	ck_assert(client_wait(scene->client, is_queued, scene, WAIT_MS));
	kit_flotilla(scene->kit, "cancel", "--thread", "t-r1", NULL);
	check_gone(scene);
	check_status(scene, "r1", "cancelled");
	ck_assert(client_wait_end(scene->client, "t-r1", "r2", WAIT_MS));
	check_next_run(scene, "r1");
}

START_TEST(a_threads_runs_are_cancelled_together)
{
	act("true", play_thread);
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
		arguments[i] = nth(scene, "r", i);
		submit(scene, "clerk", arguments[i], NULL);
	}
	arguments[RUNS + 1] = "--redis";
	arguments[RUNS + 2] = kit_redis(scene->kit);
	wait_hanging(scene, 2 * RUNS);
	said = cli_run(&flotilla, NULL, arguments);
	ck_assert_msg(said.status == 0, "%s", said.err);
	check_gone(scene);
	for (i = 1; i <= RUNS; i++)
		check_status(scene, nth(scene, "r", i), "cancelled");
}

START_TEST(fifty_runs_are_cancelled_at_once)
{
	act("true", play_many);
}
END_TEST

/* --- deaths on the way -------------------------------------------------------------- */

static void
play_coordinator_dies(struct scene *scene)
{
	submit(scene, "clerk", "r1", NULL);
	wait_hanging(scene, 2);
	ask(scene, "r1");
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	check_status(scene, "r1", "cancelled");
	check_gone(scene);
	check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_the_coordinator)
{
	act(_i == 0 ? "true" : "false", play_coordinator_dies);
}
END_TEST

static void
play_worker_dies(struct scene *scene)
{
	submit(scene, "clerk", "r1", NULL);
	wait_hanging(scene, 2);
	ask(scene, "r1");
	kit_kill(scene->kit, KIT_TOOLS, 0);
	check_status(scene, "r1", "cancelled");
	wait_gone(scene);
	kit_start(scene->kit, KIT_TOOLS, 1);
	check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_the_tool_worker)
{
	act(_i == 0 ? "true" : "false", play_worker_dies);
}
END_TEST

static void
play_broker_restarts(struct scene *scene)
{
	submit(scene, "clerk", "r1", NULL);
	wait_hanging(scene, 2);
	kit_kill(scene->kit, KIT_BROKER, 0);
	ask(scene, "r1");
	kit_start(scene->kit, KIT_BROKER, 0);
	check_status(scene, "r1", "cancelled");
	check_gone(scene);
	check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_the_broker)
{
	act(_i == 0 ? "true" : "false", play_broker_restarts);
}
END_TEST

static void
play_everything_dies(struct scene *scene)
{
	submit(scene, "clerk", "r1", NULL);
	wait_hanging(scene, 2);
	ask(scene, "r1");
	kit_restart_all(scene->kit);
	check_status(scene, "r1", "cancelled");
	wait_gone(scene);
	check_next_run(scene, "r1");
}

START_TEST(a_cancel_outlives_every_process)
{
	act(_i == 0 ? "true" : "false", play_everything_dies);
}
END_TEST

/* --- child runs --------------------------------------------------------------------- */

/* r1, its child r2, and r3 of r2; all of them hang. */
static void
submit_family(struct scene *scene)
{
	submit(scene, "clerk", "r1", NULL);
	wait_hanging(scene, 2);
	submit(scene, "clerk", "r2", "r1");
	wait_hanging(scene, 4);
	submit(scene, "clerk", "r3", "r2");
	wait_hanging(scene, 6);
}

static void
play_family(struct scene *scene)
{
	submit_family(scene);
	kit_flotilla(scene->kit, "cancel", "r1", NULL);
	check_gone(scene);
	check_status(scene, "r1", "cancelled");
	check_status(scene, "r2", "cancelled");
	check_status(scene, "r3", "cancelled");
	check_next_run(scene, "r3");
	/* Who comes later than that does not begin. */
	submit(scene, "clerk", "r4", "r1");
	check_status(scene, "r4", "cancelled");
	submit(scene, "clerk", "r5", "nobody");
	check_status(scene, "r5", "refused");
}

START_TEST(a_cancel_ends_child_runs_and_theirs)
{
	act("true", play_family);
}
END_TEST

static void
play_family_is_taken_over(struct scene *scene)
{
	submit_family(scene);
	ask(scene, "r1");
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	check_status(scene, "r1", "cancelled");
	check_status(scene, "r2", "cancelled");
	check_status(scene, "r3", "cancelled");
	check_gone(scene);
}

START_TEST(the_cancel_of_child_runs_outlives_the_coordinator)
{
	act("true", play_family_is_taken_over);
}
END_TEST

/* The sweep of its shard finds the child of a parent that failed. */
static void
play_parent_fails(struct scene *scene)
{
	submit(scene, "failing", "r1", NULL);
	submit(scene, "clerk", "r2", "r1");
	wait_hanging(scene, 2);
	kit_write(scene->kit, "go_on", "");
	check_status(scene, "r1", "error");
	check_status(scene, "r2", "cancelled");
	check_gone(scene);
}

START_TEST(a_parent_that_fails_takes_its_child_runs_along)
{
	act("true", play_parent_fails);
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
	tcase_add_test(tcase, a_cancel_ends_child_runs_and_theirs);
	tcase_add_test(tcase, the_cancel_of_child_runs_outlives_the_coordinator);
	tcase_add_test(tcase, a_parent_that_fails_takes_its_child_runs_along);
	return tcase;
}
