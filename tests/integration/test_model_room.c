/* However many calls wait for a provider that says nothing: others have room in the same worker. */
#include <check.h>
#include <stdio.h>

#include "room_bench.h"
#include "tiny_http.h"

TCase *tcase_model_room(void);

#define RUNS 16

static const char agents[] = "name: asks-silent\n"
			     "model: silent:m\n"
			     "---\n"
			     "name: asks-good\n"
			     "model: good:m\n";

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			     "Content-Length: 71\r\n\r\n"
			     "{\"choices\":[{\"message\":{\"role\":\"assistant\","
			     "\"content\":\"Here I am.\"}}]}  ";

static struct arena *arena;
static struct fleet_kit *kit;
static struct tiny_http *silent, *good;

static void
provide(const char *name, const struct tiny_http *server)
{
	char text[80];

	snprintf(
	    text, sizeof text, "%s=http://127.0.0.1:%u/v1", name, tiny_http_port(server));
	kit_flag(kit, KIT_MODEL, "--provider", text);
}

static void
setup(void)
{
	arena = arena_new();
	silent = tiny_http_new();
	tiny_http_add(silent, &(struct tiny_answer){ .bytes = "", .end = TINY_HANG });
	good = tiny_http_new();
	tiny_http_add(good, &(struct tiny_answer){ .bytes = answer });
	kit = kit_new();
	provide("silent", silent);
	provide("good", good);
}

static void
start(unsigned brokers, const char *slots)
{
	kit_set_brokers(kit, brokers);
	kit_flag(kit, KIT_MODEL, "--slots", slots);
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	tiny_http_destroy(&silent);
	tiny_http_destroy(&good);
	arena_destroy(&arena);
}

/* Returns how many calls wait for the silent one once those of all runs are there, at so many brokers. */
static int64_t
waiting(unsigned brokers)
{
	int64_t running, queued;
	const struct value *told;
	unsigned i;

	do
		for (running = queued = 0, i = 0; i < brokers; i++) {
			told = room_told_by(kit, arena, i, "model:silent");
			running += value_get_int(told, "running", 0);
			queued += value_get_int(told, "queued", 0);
		}
	while (running + queued < RUNS || tiny_http_requests(silent) < running ||
	       running == 0);
	return running;
}

START_TEST(a_provider_that_says_nothing_leaves_others_their_room)
{
	unsigned brokers = (unsigned)_i, i;

	start(brokers, brokers == 1 ? "4" : "8");
	for (i = 0; i < RUNS; i++)
		kit_flotilla(kit, "submit", "asks-silent", "Hi", NULL);
	if (brokers == 1)
		ck_assert_int_eq(waiting(brokers), 3);
	else
		ck_assert_int_le(waiting(brokers), 6);
	ck_assert_str_eq(kit_flotilla(kit, "submit", "asks-good", "Hi", "--wait", NULL),
	    "Here I am.\n");
	kit_kill(kit, KIT_MODEL, 0); /* it would wait for the silent one */
}
END_TEST

TCase *
tcase_model_room(void)
{
	TCase *tcase = tcase_create("model_room");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, a_provider_that_says_nothing_leaves_others_their_room, 1, 3);
	return tcase;
}
