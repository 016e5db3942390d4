/* A thread one of whose checkpoints is damaged in Redis: what was before is there, and whoever asks for
 * more is told so once; the thread stays as it is, and goes on. */
#include <check.h>
#include <string.h>

#include "thread_bench.h"

TCase *tcase_damaged_past(void);

#define WAIT_MS 60000u
#define DAMAGE "entry 2 of its list"

static const struct value *
ask(struct scene *scene, const char *verb, const char *ending, const char *one,
    const char *other)
{
	struct arena *arena = scene->arena;
	const char *key =
	    arena_printf(arena, "%s:%s", store_thread_key(arena, "t"), ending);
	const struct value *reply = NULL;

	ck_assert_int_eq(redis_text(scene->client->redis, arena, WAIT_MS, &reply, verb,
			     key, one, other, NULL),
	    REDIS_OK);
	return reply;
}

static void
submit(struct scene *scene, const char *thread, const char *run, const char *name,
    const char *text)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, run), "thread", value_str(arena, thread), name,
		value_str(arena, text), NULL));
}

/* The run ends with an error that says what is damaged. */
static void
must_fail(struct scene *scene, const char *thread, const char *run)
{
	const struct value *record = NULL;
	const char *message;

	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	store_run(scene->client->store, scene->arena, thread, run, &record);
	ck_assert_str_eq(value_get_text(record, "status"), "error");
	message = value_get_text(value_get(record, "fault"), "message");
	ck_assert_msg(strstr(message, DAMAGE) != NULL, "%s", message);
}

static void
play(struct scene *scene)
{
	const struct value *checkpoints, *messages;

	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_submit_more(
	    scene, "careful", "r2", "{\"messages\": \"r2\", \"topic\": \"x\"}", NULL);
	ck_assert_str_eq(bench_wait(scene, "r2"), "interrupted");
	ask(scene, "LSET", "c", "2", "\xc1");
	checkpoints = ask(scene, "LRANGE", "c", "0", "-1");
	messages = ask(scene, "LRANGE", "m", "0", "-1");
	bench_says(FLOTILLA(scene, "prune", "t", "--force"), 1, DAMAGE);
	bench_says(
	    FLOTILLA(scene, "prune", "t", "--force", "--keep-latest", "2"), 1, DAMAGE);
	bench_says(FLOTILLA(scene, "history", "t"), 0, "?  damaged");
	bench_says(FLOTILLA(scene, "state", "t", "--at", "2"), 0, "One.");
	bench_says(FLOTILLA(scene, "state", "t", "--at", "4"), 1, DAMAGE);
	bench_says(FLOTILLA(scene, "replay", "t", "--at", "4"), 1, DAMAGE);
	submit(scene, "u", "whole", "copy_of", "t");
	must_fail(scene, "u", "whole");
	bench_says(FLOTILLA(scene, "copy", "t", "part", "--at", "2"), 0, "part");
	ck_assert(value_equal(ask(scene, "LRANGE", "c", "0", "-1"), checkpoints));
	ck_assert(value_equal(ask(scene, "LRANGE", "m", "0", "-1"), messages));
	/* Who asks without looking hears it from the run. */
	submit(scene, "t", "fork", "checkpoint", "4");
	must_fail(scene, "t", "fork");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One. r2 -");
	bench_says(FLOTILLA(scene, "resume", "t", "--wait"), 5, "");
	ck_assert_str_eq(
	    bench_talk(scene, bench_thread(scene)), "r1 One. r2 - noted a -");
}

/* Runs that could not read the order are no gap in the past, once somebody has restored it. */
static void
play_order(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const char *key = store_thread_key(arena, "t");
	const struct value *order = NULL, *reply;

	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	redis_text(
	    scene->client->redis, arena, WAIT_MS, &order, "HGET", key, "order", NULL);
	redis_text(scene->client->redis, arena, WAIT_MS, &reply, "HSET", key, "order",
	    "\xc1", NULL);
	bench_submit(scene, "r2", NULL);
	ck_assert_str_eq(bench_wait(scene, "r2"), "error");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "r2"), "order of thread"));
	redis_call(scene->client->redis, arena, WAIT_MS,
	    (const struct redis_arg[]){ { "HSET", 4 }, { key, strlen(key) },
		{ "order", 5 }, { order->text, order->size } },
	    4, &reply);
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One.");
	bench_says(FLOTILLA(scene, "replay", "t", "--at", "3", "--wait"), 0, "One.");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One.");
	bench_says(FLOTILLA(scene, "prune", "t"), 0, "0 messages");
}

START_TEST(a_damaged_order_leaves_no_gap)
{
	bench_act(play_order, false);
}
END_TEST

START_TEST(a_damaged_checkpoint_is_said_and_moves_nothing)
{
	bench_act(play, false);
}
END_TEST

TCase *
tcase_damaged_past(void)
{
	TCase *tcase = tcase_create("damaged_past");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_damaged_checkpoint_is_said_and_moves_nothing);
	tcase_add_test(tcase, a_damaged_order_leaves_no_gap);
	return tcase;
}
