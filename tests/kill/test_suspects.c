/* Suspects (coordinator/suspects.h): how they rest and go on. */
#include <check.h>
#include <string.h>

#include "dead_bench.h"
#include "fiber.h"
#include "store_past.h"

TCase *tcase_suspects(void);

#define WIDE 16
#define WIDE_RUNS 6
#define WIDE_STOPS 10

#define ASLEEP                                                                           \
	"lua: {code: \"function before_model(state, runtime) "                           \
	"runtime.sleep(3600000) end\"}"

static bool
is_claimed(void *arg)
{
	const struct claim_wait *wait = arg;

	return strcmp(dead_epoch(wait->trouble, "p"), wait->epoch) != 0;
}

/* Owners are taken from p, one after the other, until it is a suspect at rest. */
static void
suspect(struct trouble *trouble, bool serves_models)
{
	struct claim_wait wait = { .trouble = trouble };
	int i;

	trouble_submit(trouble, "patient", "p");
	ck_assert(client_wait(trouble->client, trouble_calls, trouble, DEAD_WAIT_MS));
	for (i = 1; i <= DEAD_PROVED; i++) {
		wait.epoch = dead_epoch(trouble, "p");
		kit_kill(trouble->kit, KIT_COORDINATOR, 0);
		if (i == DEAD_PROVED && !serves_models)
			kit_kill(trouble->kit, KIT_MODEL, 0);
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
		ck_assert(client_wait(trouble->client,
		    i < DEAD_PROVED ? is_claimed : trouble_rests, &wait, DEAD_WAIT_MS));
	}
}

static const char *
wide_agent(struct arena *arena)
{
	const char *calls = "{id: c0, name: hold_any, args: {}}";
	int i;

	for (i = 1; i < WIDE; i++)
		calls = arena_printf(
		    arena, "%s, {id: c%d, name: hold_any, args: {}}", calls, i);
	return arena_printf(arena,
	    "name: wide\nmodel: scripted:wide\ntools: [hold_any]\nscript:\n  wide:\n"
	    "    - tool_calls: [%s]\n    - {content: All of it.}\n",
	    calls);
}

static const char *
wide_name(struct trouble *trouble, int i)
{
	return arena_printf(trouble->arena, "w%d", i);
}

static bool
all_call(void *arg)
{
	struct trouble *trouble = arg;
	const struct value *history;
	int i;

	for (i = 0; i < WIDE_RUNS; i++) {
		history = NULL;
		store_history(trouble->client->store, trouble->arena,
		    wide_name(trouble, i), &history);
		if (value_size(history) < 2)
			return false;
	}
	return true;
}

static bool
all_rest(void *arg)
{
	struct trouble *trouble = arg;
	const char *name;
	int i;

	for (i = 0; i < WIDE_RUNS; i++) {
		name = wide_name(trouble, i);
		if (value_get_int(dead_record(trouble, name, name), "attempts", 0) !=
		    DEAD_PROVED)
			return false;
	}
	return true;
}

/* As if they had been taken over for the third time, by who was taken down, too. */
static void
blame_all(struct trouble *trouble)
{
	const char *name;
	int i;

	for (i = 0; i < WIDE_RUNS; i++) {
		name = wide_name(trouble, i);
		kit_redis_cli(trouble->kit, 0, "HSET",
		    arena_printf(trouble->arena, "%sr:%s",
			store_prefix(trouble->arena, store_shard(name)), name),
		    "attempts", "3", NULL);
	}
}

/* Some are given back where they wait for their turn, or while they move. */
static void
play_wide(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	const char *name, *answer, *ended;
	int i;

	trouble->client = client;
	for (i = 0; i < WIDE_RUNS; i++)
		trouble_submit(trouble, "wide", wide_name(trouble, i));
	ck_assert(client_wait(client, all_call, trouble, DEAD_WAIT_MS));
	kit_kill(trouble->kit, KIT_COORDINATOR, 0);
	blame_all(trouble);
	for (i = 0; i < WIDE_STOPS; i++) {
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
		fiber_sleep((uint64_t)i * 150 % 1400);
		kit_stop(trouble->kit, KIT_COORDINATOR, 0);
	}
	kit_start(trouble->kit, KIT_COORDINATOR, 0);
	ck_assert(client_wait(client, all_rest, trouble, DEAD_WAIT_MS));
	name = wide_name(trouble, 0);
	ck_assert_int_eq(
	    store_cancel(client->store, trouble->arena, name, name, &answer, &ended),
	    STORE_OK);
	ck_assert(client_wait_end(client, name, name, DEAD_WAIT_MS));
	kit_write(trouble->kit, "let_go", "");
	for (i = 1; i < WIDE_RUNS; i++) {
		name = wide_name(trouble, i);
		ck_assert(client_wait_end(client, name, name, DEAD_WAIT_MS));
		ck_assert_str_eq(
		    value_get_text(dead_record(trouble, name, name), "status"),
		    "success");
	}
}

START_TEST(suspects_of_many_calls_rest_and_go_on)
{
	struct trouble trouble = trouble_new(DEAD_BEFORE);

	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "wide.yaml", wide_agent(trouble.arena)), NULL);
	client_run(kit_redis(trouble.kit), play_wide, &trouble);
	trouble_end(&trouble);
}
END_TEST

static bool
has_ended(void *arg)
{
	const struct trouble *trouble = arg;

	return value_text_is(
	    value_get(dead_record(trouble, "q", "q"), "status"), "success");
}

static bool
is_at_rest(void *arg)
{
	return value_get_int(dead_record(arg, "p", "p"), "attempts", 0) <= DEAD_PROVED;
}

/* It waits for somebody who serves its model, and goes on to its call, without any progress. */
static void
play_again(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	suspect(trouble, false);
	kit_start(trouble->kit, KIT_MODEL, 0);
	trouble_submit(
	    trouble, "quick", "q"); /* by its end the model was served for long */
	ck_assert(client_wait(client, has_ended, trouble, DEAD_WAIT_MS));
	ck_assert(client_wait(client, is_at_rest, trouble, DEAD_WAIT_MS));
	kit_write(trouble->kit, "let_go", "");
	ck_assert(client_wait_end(client, "p", "p", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "p", "p"), "status"), "success");
}

START_TEST(who_has_rested_and_moved_rests_again)
{
	struct trouble trouble = trouble_new(DEAD_BEFORE);

	client_run(kit_redis(trouble.kit), play_again, &trouble);
	trouble_end(&trouble);
}
END_TEST

/* Its third owner sees it sleep, too. */
static void
play_asleep(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	struct claim_wait wait = { .trouble = trouble, .epoch = "" };
	const char *answer, *ended;
	int i;

	trouble->client = client;
	trouble_submit(trouble, "clerk", "p");
	for (i = 1; i <= DEAD_PROVED; i++) {
		ck_assert(client_wait(client, is_claimed, &wait, DEAD_WAIT_MS));
		wait.epoch = dead_epoch(trouble, "p");
		kit_kill(trouble->kit, KIT_COORDINATOR, 0);
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
	}
	ck_assert(client_wait(client, trouble_rests, &wait, DEAD_WAIT_MS));
	ck_assert_int_eq(
	    store_cancel(client->store, trouble->arena, "p", "p", &answer, &ended),
	    STORE_OK);
	ck_assert(client_wait_end(client, "p", "p", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "p", "p"), "status"), "cancelled");
}

START_TEST(who_sleeps_in_a_hook_rests)
{
	struct trouble trouble = trouble_new(ASLEEP);

	client_run(kit_redis(trouble.kit), play_asleep, &trouble);
	trouble_end(&trouble);
}
END_TEST

static void
play_cancelled(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	const char *answer, *ended;

	trouble->client = client;
	suspect(trouble, true);
	ck_assert_int_eq(
	    store_cancel(client->store, trouble->arena, "p", "p", &answer, &ended),
	    STORE_OK);
	ck_assert(client_wait_end(client, "p", "p", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "p", "p"), "status"), "cancelled");
	ck_assert_int_eq(value_get_int(dead_record(trouble, "p", "p"), "attempts", 0),
	    DEAD_PROVED + 1);
}

START_TEST(who_is_cancelled_at_rest_moves_to_its_end)
{
	struct trouble trouble = trouble_new(DEAD_BEFORE);

	client_run(kit_redis(trouble.kit), play_cancelled, &trouble);
	trouble_end(&trouble);
}
END_TEST

TCase *
tcase_suspects(void)
{
	TCase *tcase = tcase_create("suspects");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, who_has_rested_and_moved_rests_again);
	tcase_add_test(tcase, who_sleeps_in_a_hook_rests);
	tcase_add_test(tcase, suspects_of_many_calls_rest_and_go_on);
	tcase_add_test(tcase, who_is_cancelled_at_rest_moves_to_its_end);
	return tcase;
}
