/* When runs start and end, and in what order, on a fleet of real processes: delays, deadlines,
 * priorities, tenants; also with every process killed between the two halves. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"

TCase *tcase_schedule(void);

#define WAIT_MS 60000u
#define HOUR "3600000"

/* `rest` sleeps, and notes its call; the sleeper wants to sleep for ten minutes. */
static const char agents[] = "name: sleeper\n"
			     "model: scripted:s\n"
			     "tools: [rest]\n"
			     "script:\n"
			     "  s:\n"
			     "    - content: ''\n"
			     "      tool_calls:\n"
			     "        - {id: a, name: rest, args: {seconds: 600}}\n"
			     "    - content: Good morning.\n"
			     "---\n"
			     "name: napper\n"
			     "model: scripted:s\n"
			     "tools: [rest]\n"
			     "script:\n"
			     "  s:\n"
			     "    - content: ''\n"
			     "      tool_calls:\n"
			     "        - {id: a, name: rest, args: {seconds: 0}}\n"
			     "        - {id: b, name: rest, args: {seconds: 0}}\n"
			     "        - {id: c, name: rest, args: {seconds: 0}}\n"
			     "    - content: Rested.\n"
			     "---\n"
			     "name: echo\n"
			     "model: scripted:s\n"
			     "script:\n"
			     "  s:\n"
			     "    - content: Done.\n"
			     "    - content: Done again.\n"
			     "    - content: Done at last.\n";

static const char rest[] = "name: rest\n"
			   "description: sleeps\n"
			   "parameters:\n"
			   "  properties: {seconds: {type: number}}\n"
			   "  required: [seconds]\n"
			   "timeout_ms: 600000\n"
			   "input: none\n"
			   "command: |\n"
			   "  echo \"$FLOTILLA_IDEMPOTENCY_KEY\" >> %s\n"
			   "  sleep \"$ARG_SECONDS\"\n"
			   "  echo rested\n";

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *ledger;
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
act(void (*play)(struct scene *scene), const char *tool_slots, const char *run_slots)
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };

	scene.ledger = kit_path(scene.kit, "ledger");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(
		scene.kit, "rest.yaml", arena_printf(scene.arena, rest, scene.ledger)));
	kit_flag(scene.kit, KIT_TOOLS, "--slots", tool_slots);
	kit_flag(scene.kit, KIT_COORDINATOR, "--slots", run_slots);
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

static const struct value *
text(struct scene *scene, const char *bytes)
{
	return value_str(scene->arena, bytes);
}

/* Submits agent's run on thread with one field more. */
static void
submit(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *name, const char *value)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", text(scene, agent), "run", text(scene, run),
		"thread", text(scene, thread), "input", text(scene, "\"hi\""), name,
		text(scene, value), NULL));
}

static const struct value *
record(struct scene *scene, const char *run, const char *thread)
{
	const struct value *record = NULL;

	store_run(scene->client->store, scene->arena, thread, run, &record);
	return record;
}

static const char *
status_of(struct scene *scene, const char *run, const char *thread)
{
	return value_get_text(record(scene, run, thread), "status");
}

static const char *
wait_end(struct scene *scene, const char *run, const char *thread)
{
	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	return status_of(scene, run, thread);
}

struct expected {
	struct scene *scene;
	const char *run, *thread, *status;
};

static bool
has_status(void *arg)
{
	const struct expected *expected = arg;
	const char *status = status_of(expected->scene, expected->run, expected->thread);

	return status != NULL && strcmp(status, expected->status) == 0;
}

static void
wait_status(struct scene *scene, const char *run, const char *thread, const char *status)
{
	struct expected expected = { scene, run, thread, status };

	ck_assert_msg(client_wait(scene->client, has_status, &expected, WAIT_MS),
	    "%s was never %s", run, status);
}

/* The calls that were begun: their keys, in order. */
static const struct value *
begun(struct scene *scene)
{
	struct value_list list = { .arena = scene->arena };
	FILE *file = fopen(scene->ledger, "re");
	char line[256];

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		value_list_add(&list, text(scene, line));
	if (file != NULL)
		fclose(file);
	return value_list_end(&list);
}

static bool
one_begun(void *arg)
{
	return value_size(begun(arg)) > 0;
}

static void
wait_begun(struct scene *scene)
{
	ck_assert_msg(
	    client_wait(scene->client, one_begun, scene, WAIT_MS), "no call was begun");
}

/* What the broker says of its calls and services. */
static const struct value *
broker_stats(struct scene *scene)
{
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	const struct said said = CLI(&cli, "top", "--once", "--json", "--redis",
	    kit_redis(scene->kit), "--broker", kit_broker(scene->kit));
	const char *error = NULL;
	const struct value *stats = value_get(
	    json_parse(scene->arena, said.out, strlen(said.out), &error), "broker");

	ck_assert_msg(value_is(stats, VALUE_MAP), "%s%s", said.out, said.err);
	return stats;
}

static int64_t
calls_in(struct scene *scene, const char *state)
{
	return value_get_int(value_get(broker_stats(scene), "calls"), state, -1);
}

static bool
no_call_left(void *arg)
{
	return calls_in(arg, "queued") + calls_in(arg, "held") +
		   calls_in(arg, "assigned") ==
	       0;
}

static void
check_idle(struct scene *scene)
{
	ck_assert_msg(
	    client_wait(scene->client, no_call_left, scene, WAIT_MS), "calls are left");
}

/* --- delays -------------------------------------------------------------------------- */

static const char *
shard_key(struct scene *scene, const char *thread, const char *name)
{
	return arena_printf(
	    scene->arena, "%s%s", store_prefix(scene->arena, store_shard(thread)), name);
}

static void
play_delay(struct scene *scene)
{
	const struct value *reply, *late;

	submit(scene, "echo", "late", "t", "after_ms", HOUR);
	wait_status(scene, "late", "t", "delayed");
	submit(scene, "echo", "early", "t", "tenant", "acme");
	ck_assert_str_eq(wait_end(scene, "early", "t"), "success");
	kit_restart_all(scene->kit);
	submit(scene, "echo", "other", "t", "tenant", "acme");
	ck_assert_str_eq(wait_end(scene, "other", "t"), "success");
	ck_assert_str_eq(status_of(scene, "late", "t"), "delayed");
	/* The hour is over. */
	redis_text(scene->client->redis, scene->arena, WAIT_MS, &reply, "ZADD",
	    shard_key(scene, "t", "later"), "1", "late", NULL);
	ck_assert_str_eq(wait_end(scene, "late", "t"), "success");
	late = record(scene, "late", "t");
	ck_assert_int_gt(value_get_int(late, "started", 0),
	    value_get_int(record(scene, "other", "t"), "ended", 0));
}

START_TEST(a_delayed_run_outlives_every_process)
{
	act(play_delay, "8", "100");
}
END_TEST

static void
play_short_delay(struct scene *scene)
{
	const struct value *run;

	submit(scene, "echo", "r", "t", "after_ms", "700");
	ck_assert_str_eq(wait_end(scene, "r", "t"), "success");
	run = record(scene, "r", "t");
	ck_assert_int_ge(value_get_int(run, "started", 0), value_get_int(run, "at", 0));
	submit(scene, "echo", "never", "t", "at", "2285-01-01T00:00:00Z");
	wait_status(scene, "never", "t", "delayed");
	kit_flotilla(scene->kit, "cancel", "never", NULL);
	ck_assert_str_eq(wait_end(scene, "never", "t"), "cancelled");
}

START_TEST(a_run_starts_when_it_is_due_or_never_when_it_is_cancelled)
{
	act(play_short_delay, "8", "100");
}
END_TEST

/* --- deadlines ----------------------------------------------------------------------- */

/* It ended at its deadline: as an error, its call answered and stopped. */
static void
check_late(struct scene *scene, const char *run, const char *thread)
{
	const struct value *state = NULL, *fault, *last;

	ck_assert_str_eq(wait_end(scene, run, thread), "error");
	fault = value_get(record(scene, run, thread), "fault");
	ck_assert_str_eq(value_get_text(fault, "type"), "TimeoutError");
	ck_assert_ptr_nonnull(strstr(value_get_text(fault, "message"), "deadline"));
	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, thread, &state), STORE_OK);
	state = value_get(state, "messages");
	last = value_at(state, value_size(state) - 1);
	ck_assert_str_eq(value_get_text(last, "type"), "tool");
	ck_assert_str_eq(value_get_text(last, "status"), "error");
	check_idle(scene);
}

static void
play_deadline(struct scene *scene)
{
	submit(scene, "sleeper", "r", "t", "deadline_ms", "10000");
	check_late(scene, "r", "t");
	submit(scene, "echo", "next", "t", "deadline_ms", HOUR);
	ck_assert_str_eq(wait_end(scene, "next", "t"), "success");
}

START_TEST(a_run_ends_at_its_deadline_with_its_calls)
{
	act(play_deadline, "8", "100");
}
END_TEST

static void
play_deadline_restart(struct scene *scene)
{
	int64_t deadline;

	submit(scene, "sleeper", "r", "t", "deadline_ms", "15000");
	wait_begun(scene);
	deadline = value_get_int(record(scene, "r", "t"), "deadline", 0);
	ck_assert_int_gt(deadline, 0);
	kit_restart_all(scene->kit);
	check_late(scene, "r", "t");
	ck_assert_int_eq(value_get_int(record(scene, "r", "t"), "deadline", 0), deadline);
	ck_assert_int_ge(value_get_int(record(scene, "r", "t"), "ended", 0), deadline);
}

START_TEST(a_deadline_outlives_every_process)
{
	act(play_deadline_restart, "8", "100");
}
END_TEST

/* --- order --------------------------------------------------------------------------- */

/* A thread of the shard of "t". */
static const char *
neighbour(struct scene *scene, unsigned number)
{
	const char *name;
	unsigned i = 0;

	do {
		name = arena_printf(scene->arena, "n%u-%u", number, i++);
	} while (store_shard(name) != store_shard("t"));
	return name;
}

/* The only place for a run is taken until all three wait. */
static void
play_priority(struct scene *scene)
{
	static const char *const priorities[] = { "4", "2", "0" };
	int64_t started[3];
	unsigned i;

	submit(scene, "sleeper", "busy", "t", "tenant", "acme");
	wait_begun(scene);
	for (i = 0; i < 3; i++) {
		submit(scene, "echo", priorities[i], neighbour(scene, i), "priority",
		    priorities[i]);
		wait_status(scene, priorities[i], neighbour(scene, i), "queued");
	}
	kit_flotilla(scene->kit, "cancel", "busy", NULL);
	for (i = 0; i < 3; i++) {
		ck_assert_str_eq(
		    wait_end(scene, priorities[i], neighbour(scene, i)), "success");
		started[i] = value_get_int(
		    record(scene, priorities[i], neighbour(scene, i)), "started", 0);
	}
	ck_assert_int_lt(started[2], started[1]);
	ck_assert_int_lt(started[1], started[0]);
}

START_TEST(what_waits_for_a_place_starts_by_priority)
{
	act(play_priority, "8", "1");
}
END_TEST

struct queued {
	struct scene *scene;
	int64_t count;
};

static bool
are_queued(void *arg)
{
	const struct queued *queued = arg;

	return calls_in(queued->scene, "queued") == queued->count;
}

static void
wait_queued(struct scene *scene, int64_t count)
{
	struct queued queued = { scene, count };

	ck_assert_msg(client_wait(scene->client, are_queued, &queued, WAIT_MS),
	    "never were %d calls queued", (int)count);
}

static long
place_of(const struct value *keys, const char *run)
{
	size_t i;

	for (i = 0; i < value_size(keys); i++)
		if (strncmp(value_text(value_at(keys, i)), run, strlen(run)) == 0)
			return (long)i;
	return -1;
}

/* The tool worker's only place is taken until the calls of all three wait: the urgent run's come
 * first, then one of each tenant in turn. */
static void
play_tenants(struct scene *scene)
{
	const struct value *keys;

	submit(scene, "sleeper", "busy", "busy", "tenant", "acme");
	wait_begun(scene);
	submit(scene, "napper", "a", "a", "tenant", "acme");
	wait_queued(scene, 3);
	submit(scene, "napper", "b", "b", "tenant", "bolt");
	wait_queued(scene, 6);
	submit(scene, "napper", "c", "c", "priority", "0");
	wait_queued(scene, 9);
	kit_flotilla(scene->kit, "cancel", "busy", NULL);
	ck_assert_str_eq(wait_end(scene, "a", "a"), "success");
	ck_assert_str_eq(wait_end(scene, "b", "b"), "success");
	ck_assert_str_eq(wait_end(scene, "c", "c"), "success");
	keys = begun(scene);
	ck_assert_uint_eq(value_size(keys), 10);
	ck_assert_int_eq(place_of(keys, "c."), 1);
	ck_assert_int_le(place_of(keys, "a."), 5);
	ck_assert_int_le(place_of(keys, "b."), 5);
}

START_TEST(calls_have_the_priority_and_the_tenant_of_their_run)
{
	act(play_tenants, "1", "100");
}
END_TEST

TCase *
tcase_schedule(void)
{
	TCase *tcase = tcase_create("schedule");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_delayed_run_outlives_every_process);
	tcase_add_test(tcase, a_run_starts_when_it_is_due_or_never_when_it_is_cancelled);
	tcase_add_test(tcase, a_run_ends_at_its_deadline_with_its_calls);
	tcase_add_test(tcase, a_deadline_outlives_every_process);
	tcase_add_test(tcase, what_waits_for_a_place_starts_by_priority);
	tcase_add_test(tcase, calls_have_the_priority_and_the_tenant_of_their_run);
	return tcase;
}
