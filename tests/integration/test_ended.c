/* Who waits for ends alone hears of each run once. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "socket.h"

TCase *tcase_ended(void);

#define WAIT_MS 60000u
#define RUNS_MAX 200u

struct play {
	struct arena *arena;
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

TCase *
tcase_ended(void)
{
	TCase *tcase = tcase_create("ended");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, each_end_is_told_once);
	return tcase;
}
