/* Who waits for ends alone hears of each run once. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "fiber.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "socket.h"

TCase *tcase_ended(void);

#define WAIT_MS 60000u
#define RUNS_MAX 200u

struct play {
	struct arena *arena;
	struct fleet_client *client; /* of play_unsaid */
	struct fleet_kit *kit;
	struct value_list topics; /* heard */
	const struct value *last; /* the body of the last one */
	const char *awaited;      /* topic */
};

static void
on_status(void *arg, struct parts *parts, bool truncated)
{
	struct play *play = arg;
	const char *error;

	ck_assert(!truncated);
	value_list_add(&play->topics,
	    value_strn(play->arena, parts_data(parts, 0), parts_size(parts, 0)));
	ck_assert_int_eq(value_unpack(play->arena, parts_data(parts, 1),
			     parts_size(parts, 1), &play->last, &error),
	    0);
}

static bool
is_heard(void *arg)
{
	const struct play *play = arg;

	return play->topics.count > 0 &&
	       value_text_is(play->topics.items[play->topics.count - 1], play->awaited);
}

static const char *
run_once(struct fleet_client *client, struct arena *arena, unsigned number)
{
	const char *run = arena_printf(arena, "r%u", number);

	client_submit(client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, run), "input", value_str(arena, "\"hi\""), NULL));
	ck_assert(client_wait_end(client, run, run, WAIT_MS));
	return run;
}

/* A subscription takes its time to those who publish: runs follow each other until one is heard of. */
static void
play_runs(struct fleet_client *client, void *arg)
{
	struct play *play = arg;
	const char *error, *run;
	struct socket *status =
	    socket_sub(client->loop, kit_status(play->kit), on_status, play, &error);
	unsigned number;
	size_t i;

	ck_assert_ptr_nonnull(status);
	socket_subscribe(status, "ended.");
	for (number = 0; play->topics.count == 0 && number < RUNS_MAX; number++)
		run_once(client, play->arena, number);
	run = run_once(client, play->arena, number);
	play->awaited = arena_printf(play->arena, "ended.%s", run);
	ck_assert(client_wait(client, is_heard, play, WAIT_MS));
	ck_assert_str_eq(value_get_text(play->last, "kind"), "finished");
	ck_assert_str_eq(value_get_text(play->last, "status"), "success");
	for (i = 0; i < play->topics.count; i++)
		ck_assert(strncmp(value_text(play->topics.items[i]), "ended.r", 7) == 0 &&
			  (i == 0 || !value_text_is(play->topics.items[i],
					 value_text(play->topics.items[i - 1]))));
	socket_close(&status, 0);
}

START_TEST(each_end_is_told_once)
{
	struct play play = { .arena = arena_new(), .kit = kit_new() };

	play.topics.arena = play.arena;
	kit_start_all(play.kit, 1, 1, 1);
	kit_flotilla(play.kit, "agents", "apply",
	    kit_write(play.kit, "agents.yaml",
		"name: clerk\nmodel: scripted:clerk\nscript:\n  clerk:\n    - "
		"content: Yes.\n"),
	    NULL);
	client_run(kit_redis(play.kit), play_runs, &play);
	kit_destroy(&play.kit);
	arena_destroy(&play.arena);
}
END_TEST

/* --- an end that was not stored -------------------------------------------------------- */

#define PATIENCE_MS 2000u /* of the coordinator with Redis */
#define DEADLINE_MS 15000u

static const char guest[] = "name: guest\n"
			    "model: scripted:s\n"
			    "tools: [knock]\n"
			    "script:\n"
			    "  s:\n"
			    "    - content: ''\n"
			    "      tool_calls: [{id: a, name: knock, args: {}}]\n";

static const char knock[] = "name: knock\n"
			    "description: waits for the door; the run ends with it\n"
			    "return_direct: true\n"
			    "input: none\n"
			    "command: |\n"
			    "  : > %s\n"
			    "  await-file there %s\n"
			    "  echo open\n";

static bool
has_knocked(void *arg)
{
	const struct play *play = arg;

	return access(kit_path(play->kit, "knocked"), F_OK) == 0;
}

/* The run's deadline comes within PATIENCE_MS. */
static bool
is_nearly_late(void *arg)
{
	struct play *play = arg;
	const struct value *record = NULL;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return store_run(play->client->store, play->arena, "r", "r", &record) ==
		   STORE_OK &&
	       value_get_int(record, "deadline", INT64_MAX) - PATIENCE_MS / 2 <=
		   now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Redis is not there when the run ends; the commit is given up, and meanwhile the deadline comes. Then
 * Redis is back. */
static void
play_unsaid(struct fleet_client *client, void *arg)
{
	struct play *play = arg;
	const struct value *events = NULL;
	size_t i, ends = 0;

	play->client = client;
	client_submit(client, play->arena,
	    value_map(play->arena, "agent", value_str(play->arena, "guest"), "run",
		value_str(play->arena, "r"), "input", value_str(play->arena, "\"hi\""),
		"deadline_ms", value_printf(play->arena, "%u", DEADLINE_MS), NULL));
	ck_assert(client_wait(client, has_knocked, play, WAIT_MS));
	ck_assert(client_wait(client, is_nearly_late, play, WAIT_MS));
	kit_kill(play->kit, KIT_REDIS, 0);
	kit_write(play->kit, "door", "");
	fiber_sleep(PATIENCE_MS * 7 / 5);
	kit_start(play->kit, KIT_REDIS, 0);
	ck_assert(client_wait_end(client, "r", "r", WAIT_MS));
	ck_assert_int_eq(
	    store_events(client->store, play->arena, "r", "r", 0, 0, &events), STORE_OK);
	for (i = 0; i < value_size(events); i++)
		ends += value_text_is(value_get(value_at(events, i), "kind"), "finished");
	ck_assert_uint_eq(ends, 1);
}

START_TEST(an_end_that_was_not_stored_is_told_once)
{
	struct play play = { .arena = arena_new(), .kit = kit_new() };

	kit_flag(play.kit, KIT_COORDINATOR, "--redis-wait-ms",
	    arena_printf(play.arena, "%u", PATIENCE_MS));
	kit_flag(play.kit, KIT_TOOLS, "--tools",
	    kit_write(play.kit, "knock.yaml",
		arena_printf(play.arena, knock, kit_path(play.kit, "knocked"),
		    kit_path(play.kit, "door"))));
	kit_start_all(play.kit, 1, 1, 1);
	kit_flotilla(
	    play.kit, "agents", "apply", kit_write(play.kit, "agents.yaml", guest), NULL);
	client_run(kit_redis(play.kit), play_unsaid, &play);
	kit_destroy(&play.kit);
	arena_destroy(&play.arena);
}
END_TEST

TCase *
tcase_ended(void)
{
	TCase *tcase = tcase_create("ended");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, each_end_is_told_once);
	tcase_add_test(tcase, an_end_that_was_not_stored_is_told_once);
	return tcase;
}
