/* Runs on a fleet of real processes, where they end otherwise than planned: what cannot be
 * loaded, pauses, takeovers, drains, cancels. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "cli.h"
#include "fiber.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"

TCase *tcase_runs(void);

#define WAIT_MS 60000u
#define IDLE_WAIT_MS 15000u
#define CANCELLED_RUNS 40u
#define DRAINED_RUNS 30u

/* Asks twice for two notes at once, then answers; the next run of the thread only answers. */
#define SCRIPT                                                                           \
	"model: scripted:clerk\n"                                                        \
	"tools: [note]\n"                                                                \
	"state:\n"                                                                       \
	"  count: {type: integer}\n"                                                     \
	"script:\n"                                                                      \
	"  clerk:\n"                                                                     \
	"    - delay_ms: 100\n"                                                          \
	"      content: ''\n"                                                            \
	"      tool_calls:\n"                                                            \
	"        - {id: a, name: note, args: {text: a, seconds: 0.4}}\n"                 \
	"        - {id: b, name: note, args: {text: b, seconds: 0.1}}\n"                 \
	"    - delay_ms: 100\n"                                                          \
	"      content: ''\n"                                                            \
	"      tool_calls:\n"                                                            \
	"        - {id: c, name: note, args: {text: c, seconds: 0.2}}\n"                 \
	"        - {id: d, name: note, args: {text: d, seconds: 0.3}}\n"                 \
	"    - content: All is noted.\n"                                                 \
	"    - content: And so it stays.\n"

static const char agents[] = "name: clerk\n" SCRIPT "---\nname: careful\n"
			     "interrupt_before: [tools]\n" SCRIPT;

static const char note[] =
    "name: note\n"
    "description: notes a text, after a while\n"
    "parameters:\n"
    "  properties: {text: {type: string}, seconds: {type: number}}\n"
    "  required: [text, seconds]\n"
    "idempotent: false\n"
    "input: none\n"
    "command: |\n"
    "  echo \"$FLOTILLA_IDEMPOTENCY_KEY\" >> %s\n"
    "  sleep \"$ARG_SECONDS\"\n"
    "  echo \"noted $ARG_TEXT\"\n";

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *ledger;
	void (*play)(struct scene *scene);
};

/* --- a fleet ------------------------------------------------------------------------ */

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

static void
act(void (*play)(struct scene *scene), unsigned coordinators)
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };

	scene.ledger = kit_path(scene.kit, "ledger");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(
		scene.kit, "note.yaml", arena_printf(scene.arena, note, scene.ledger)));
	kit_flag(scene.kit, KIT_TOOLS, "--slots", "200");
	kit_flag(scene.kit, KIT_COORDINATOR, "--served-wait-ms", "2000");
	kit_start_all(scene.kit, 1, 1, coordinators);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

/* --- runs --------------------------------------------------------------------------- */

/* Submits what = "resume" or "input" with JSON text. */
static void
submit(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *what, const char *text)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, thread), what,
		value_str(arena, text), NULL));
}

static const struct value *
record(struct scene *scene, const char *run, const char *thread)
{
	const struct value *record = NULL;

	store_run(scene->client->store, scene->arena, thread, run, &record);
	return record;
}

static const char *
wait_status(struct scene *scene, const char *run, const char *thread)
{
	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	return value_get_text(record(scene, run, thread), "status");
}

static const char *
play_run(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *what, const char *text)
{
	submit(scene, agent, run, thread, what, text);
	return wait_status(scene, run, thread);
}

static const char *
error_of(struct scene *scene, const char *run, const char *thread)
{
	return value_get_text(value_get(record(scene, run, thread), "fault"), "message");
}

static size_t
messages_of(struct scene *scene, const char *thread)
{
	const struct value *state = NULL;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, thread, &state), STORE_OK);
	return value_size(value_get(state, "messages"));
}

/* Event numbers have no gap, the last event is the end, and nothing follows it. */
static void
check_events(struct scene *scene, const char *run, const char *thread)
{
	const struct value *events = value_empty_array();
	size_t i, count;

	ck_assert_int_eq(
	    store_events(scene->client->store, scene->arena, thread, run, 0, 0, &events),
	    STORE_OK);
	count = value_size(events);
	ck_assert_uint_ge(count, 2);
	for (i = 0; i < count; i++) {
		const struct value *event = value_at(events, i);

		ck_assert_int_eq(value_get_int(event, "seq", 0), (int64_t)i + 1);
		ck_assert_int_eq(
		    value_text_is(value_get(event, "kind"), "finished"), i + 1 == count);
	}
}

/* The lines of the ledger; each key may be there once: no call was repeated. */
static size_t
check_ledger(const struct scene *scene)
{
	const struct value *keys = value_empty_map();
	FILE *file = fopen(scene->ledger, "re");
	char line[256];

	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		ck_assert_msg(!value_has(keys, line), "twice: %s", line);
		keys = value_map_with(scene->arena, keys, line, value_bool(true));
	}
	if (file != NULL)
		fclose(file);
	return value_size(keys);
}

struct noted {
	const struct scene *scene;
	size_t lines;
};

static bool
is_noted(void *arg)
{
	const struct noted *noted = arg;

	return check_ledger(noted->scene) >= noted->lines;
}

static void
wait_noted(struct scene *scene, size_t lines)
{
	struct noted noted = { scene, lines };

	ck_assert_msg(client_wait(scene->client, is_noted, &noted, WAIT_MS),
	    "no %zu calls were begun", lines);
}

/* The broker knows of no call, running, waiting or kept. */
static bool
is_idle(void *arg)
{
	static const char *const states[] = { "queued", "held", "assigned", "kept" };
	struct scene *scene = arg;
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	const struct said said = CLI(&cli, "top", "--once", "--json", "--redis",
	    kit_redis(scene->kit), "--broker", kit_broker(scene->kit));
	const char *error = NULL;
	const struct value *calls = value_get(
	    value_get(
		json_parse(scene->arena, said.out, strlen(said.out), &error), "broker"),
	    "calls");
	int64_t left = 0;
	size_t i;

	ck_assert_msg(value_is(calls, VALUE_MAP), "%s%s", said.out, said.err);
	for (i = 0; i < sizeof states / sizeof *states; i++)
		left += value_get_int(calls, states[i], -1);
	return left == 0;
}

static void
check_idle(struct scene *scene)
{
	ck_assert_msg(client_wait(scene->client, is_idle, scene, IDLE_WAIT_MS),
	    "the broker still keeps calls");
}

/* --- what a run leaves that could not begin ------------------------------------------- */

static void
play_unloadable(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *reply;

	ck_assert_str_eq(
	    play_run(scene, "clerk", "r1", "t", "input", "\"hi\""), "success");
	ck_assert_uint_eq(messages_of(scene, "t"), 8);
	redis_text(scene->client->redis, arena, WAIT_MS, &reply, "HSET", STORE_AGENTS,
	    "ghost", "0000000000000000000000000000000000000000", NULL);
	ck_assert_str_eq(play_run(scene, "ghost", "r2", "t", "input", "\"hi\""), "error");
	ck_assert_ptr_nonnull(strstr(error_of(scene, "r2", "t"), "ghost"));
	ck_assert_uint_eq(messages_of(scene, "t"), 8);
	check_events(scene, "r2", "t");
	ck_assert_str_eq(
	    play_run(scene, "clerk", "r3", "t", "input", "\"hi\""), "success");
	ck_assert_uint_gt(messages_of(scene, "t"), 8);
}

static void
play_long_name(struct scene *scene)
{
	char name[4096] = "";

	memset(name, 'n', sizeof name - 1);
	ck_assert_str_eq(play_run(scene, name, "r1", "t", "input", "\"hi\""), "refused");
	ck_assert_ptr_nonnull(strstr(error_of(scene, "r1", "t"), "longer"));
	ck_assert(!value_has(record(scene, "r1", "t"), "agent"));
}

START_TEST(a_name_that_no_agent_can_have_is_refused_and_not_kept)
{
	act(play_long_name, 1);
}
END_TEST

START_TEST(a_run_that_cannot_be_loaded_takes_nothing_from_its_thread)
{
	act(play_unloadable, 1);
}
END_TEST

static void
play_paused(struct scene *scene)
{
	ck_assert_str_eq(
	    play_run(scene, "careful", "r1", "t", "input", "\"hi\""), "interrupted");
	ck_assert_str_eq(play_run(scene, "careful", "r2", "t", "input",
			     "{\"messages\": \"ho\", \"count\": \"many\"}"),
	    "error");
	ck_assert_ptr_nonnull(strstr(error_of(scene, "r2", "t"), "count"));
	ck_assert_str_eq(play_run(scene, "clerk", "r3", "t", "resume", "null"), "error");
	ck_assert_ptr_nonnull(strstr(error_of(scene, "r3", "t"), "careful"));
	ck_assert_uint_eq(messages_of(scene, "t"), 2);
	/* Nothing of these runs was applied: the pause is still there. */
	ck_assert_str_eq(
	    play_run(scene, "careful", "r4", "t", "resume", "null"), "interrupted");
	ck_assert_uint_eq(check_ledger(scene), 2);
	ck_assert_str_eq(
	    play_run(scene, "careful", "r5", "t", "resume", "null"), "success");
	ck_assert_str_eq(
	    play_run(scene, "careful", "r6", "t", "resume", "\"so\""), "error");
	ck_assert_ptr_nonnull(strstr(error_of(scene, "r6", "t"), "no interrupt"));
	ck_assert_uint_eq(messages_of(scene, "t"), 8);
}

START_TEST(a_pause_outlives_runs_that_fail_before_they_begin)
{
	act(play_paused, 1);
}
END_TEST

/* --- takeovers ---------------------------------------------------------------------- */

static void
play_resumed_takeover(struct scene *scene)
{
	ck_assert_str_eq(
	    play_run(scene, "careful", "r1", "t", "input", "\"hi\""), "interrupted");
	submit(scene, "careful", "r2", "t", "resume", "null");
	wait_noted(scene, 2);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	/* At the second round, not before the first once more. */
	ck_assert_str_eq(wait_status(scene, "r2", "t"), "interrupted");
	ck_assert_uint_eq(messages_of(scene, "t"), 5);
	check_events(scene, "r2", "t");
	ck_assert_str_eq(
	    play_run(scene, "careful", "r3", "t", "resume", "null"), "success");
	ck_assert_uint_eq(check_ledger(scene), 4);
}

START_TEST(a_node_that_was_resumed_does_not_pause_again_after_a_takeover)
{
	act(play_resumed_takeover, 1);
}
END_TEST

static const char *
nth(struct scene *scene, const char *letter, unsigned number)
{
	return arena_printf(scene->arena, "%s%u", letter, number);
}

static void
play_drain(struct scene *scene)
{
	unsigned i;

	for (i = 0; i < DRAINED_RUNS; i++)
		submit(scene, "clerk", nth(scene, "r", i), nth(scene, "t", i), "input",
		    "\"hi\"");
	for (i = 1; i <= 3; i++) {
		wait_noted(scene, (size_t)i * DRAINED_RUNS);
		kit_stop(scene->kit, KIT_COORDINATOR, i % 2);
		kit_start(scene->kit, KIT_COORDINATOR, i % 2);
	}
	for (i = 0; i < DRAINED_RUNS; i++) {
		ck_assert_str_eq(
		    wait_status(scene, nth(scene, "r", i), nth(scene, "t", i)),
		    "success");
		ck_assert_uint_eq(messages_of(scene, nth(scene, "t", i)), 8);
		check_events(scene, nth(scene, "r", i), nth(scene, "t", i));
	}
	ck_assert_uint_eq(check_ledger(scene), (size_t)4 * DRAINED_RUNS);
	check_idle(scene);
}

START_TEST(a_drained_coordinators_calls_go_on_for_the_next_owner)
{
	act(play_drain, 2);
}
END_TEST

/* Much longer than a coordinator waits for a worker it has heard nothing of. */
#define BROKER_AWAY_MS 3000u

static void
play_without_broker(struct scene *scene)
{
	kit_kill(scene->kit, KIT_BROKER, 0);
	fiber_sleep(BROKER_AWAY_MS);
	submit(scene, "clerk", "r1", "t", "input", "\"hi\"");
	fiber_sleep(BROKER_AWAY_MS);
	kit_start(scene->kit, KIT_BROKER, 0);
	ck_assert_str_eq(wait_status(scene, "r1", "t"), "success");
}

START_TEST(a_run_that_begins_while_the_broker_is_away_waits_for_it)
{
	act(play_without_broker, 1);
}
END_TEST

/* --- cancels ------------------------------------------------------------------------ */

static void
cancel(struct scene *scene, const char *run, const char *thread)
{
	const char *answer = NULL, *status = NULL;

	ck_assert_int_eq(store_cancel(scene->client->store, scene->arena, thread, run,
			     &answer, &status),
	    STORE_OK);
}

/* One after the other, so that they hit the runs at every place. */
static void
play_cancels(struct scene *scene)
{
	unsigned i, cancelled = 0;

	for (i = 0; i < CANCELLED_RUNS; i++)
		submit(scene, "clerk", nth(scene, "r", i), nth(scene, "t", i), "input",
		    "\"hi\"");
	for (i = 0; i < CANCELLED_RUNS; i++) {
		cancel(scene, nth(scene, "r", i), nth(scene, "t", i));
		fiber_sleep(1500 / CANCELLED_RUNS);
	}
	for (i = 0; i < CANCELLED_RUNS; i++) {
		const char *run = nth(scene, "r", i), *thread = nth(scene, "t", i);
		const char *status = wait_status(scene, run, thread);

		cancelled += strcmp(status, "cancelled") == 0;
		ck_assert_msg(
		    strcmp(status, "cancelled") == 0 || strcmp(status, "success") == 0,
		    "%s: %s", run, status);
		check_events(scene, run, thread);
		/* The thread can go on. */
		submit(scene, "clerk", nth(scene, "s", i), thread, "input", "\"ho\"");
	}
	ck_assert_uint_gt(cancelled, 0);
	for (i = 0; i < CANCELLED_RUNS; i++)
		ck_assert_str_eq(
		    wait_status(scene, nth(scene, "s", i), nth(scene, "t", i)),
		    "success");
	check_ledger(scene);
	check_idle(scene);
}

START_TEST(cancelled_anywhere_a_run_ends_and_leaves_no_call_behind)
{
	act(play_cancels, 2);
}
END_TEST

/* --- the folder of a fleet ------------------------------------------------------------ */

START_TEST(a_fleet_json_whose_up_is_gone_is_no_fleet_though_its_pid_lives)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.folder = kit_path(kit, "."),
		.arena = arena };
	struct said said;

	ck_assert_int_eq(mkdir(kit_path(kit, ".flotilla"), 0700), 0);
	kit_write(kit, ".flotilla/fleet.json",
	    arena_printf(arena,
		"{\"pid\": %ld, \"redis\": \"unix:///stale/redis\", \"broker\": "
		"\"ipc:///stale/broker\", \"status\": \"ipc:///stale/status\"}",
		(long)getpid()));
	said = CLI(&cli, "runs");
	ck_assert_ptr_null(strstr(said.err, "/stale/"));
	said = CLI(&cli, "up", "--agents", "none.yaml");
	ck_assert_int_eq(said.status, 1);
	ck_assert_ptr_null(strstr(said.err, "already"));
	ck_assert_ptr_nonnull(strstr(said.err, "none.yaml"));
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_runs(void)
{
	TCase *tcase = tcase_create("runs");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_name_that_no_agent_can_have_is_refused_and_not_kept);
	tcase_add_test(tcase, a_run_that_cannot_be_loaded_takes_nothing_from_its_thread);
	tcase_add_test(tcase, a_pause_outlives_runs_that_fail_before_they_begin);
	tcase_add_test(
	    tcase, a_node_that_was_resumed_does_not_pause_again_after_a_takeover);
	tcase_add_test(tcase, a_drained_coordinators_calls_go_on_for_the_next_owner);
	tcase_add_test(tcase, a_run_that_begins_while_the_broker_is_away_waits_for_it);
	tcase_add_test(tcase, cancelled_anywhere_a_run_ends_and_leaves_no_call_behind);
	tcase_add_test(
	    tcase, a_fleet_json_whose_up_is_gone_is_no_fleet_though_its_pid_lives);
	return tcase;
}
