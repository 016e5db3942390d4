/* However many ends of runs are to be told to somebody who does not answer: tools have room. */
#include <check.h>
#include <stdio.h>

#include "room_bench.h"
#include "tiny_http.h"

TCase *tcase_webhook_room(void);

#define HOOKS 12

static const char agents[] = "name: echo\n"
			     "model: scripted:s\n"
			     "script:\n"
			     "  s:\n"
			     "    - content: Done.\n"
			     "---\n"
			     "name: sum\n"
			     "model: scripted:s\n"
			     "tools: [calculate]\n"
			     "script:\n"
			     "  s:\n"
			     "    - tool_calls: [{id: c, name: calculate, args: "
			     "{expression: 6 * 7}}]\n"
			     "    - content: Summed.\n";

static struct arena *arena;
static struct fleet_kit *kit;
static struct tiny_http *receiver;

static void
setup(void)
{
	arena = arena_new();
	receiver = tiny_http_new();
	tiny_http_add(receiver, &(struct tiny_answer){ .bytes = "", .end = TINY_HANG });
	kit = kit_new();
}

static void
start(unsigned brokers, const char *slots)
{
	kit_set_brokers(kit, brokers);
	kit_flag(kit, KIT_TOOLS, "--webhooks", "any");
	kit_flag(kit, KIT_TOOLS, "--slots", slots);
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	tiny_http_destroy(&receiver);
	arena_destroy(&arena);
}

/* An attempt of the first ones may be over by now; others wait behind it. Returns how many are under way then, at so many
 * brokers. */
static int64_t
running(unsigned brokers)
{
	const struct value *told;
	int64_t running, queued;
	unsigned i;

	do
		for (running = queued = 0, i = 0; i < brokers; i++) {
			told = room_told_by(kit, arena, i, "webhook");
			running += value_get_int(told, "running", 0);
			queued += value_get_int(told, "queued", 0);
		}
	while (queued == 0 || running == 0);
	return running;
}

START_TEST(receivers_that_do_not_answer_leave_tools_their_room)
{
	unsigned brokers = (unsigned)_i, i;
	char url[64];

	start(brokers, brokers == 1 ? "4" : "8"); /* a quarter: one for each */
	snprintf(url, sizeof url, "http://127.0.0.1:%u/", tiny_http_port(receiver));
	for (i = 0; i < HOOKS; i++)
		kit_flotilla(
		    kit, "submit", "echo", "Hi", "--webhook", url, "--wait", NULL);
	ck_assert_int_le(running(brokers), brokers);
	ck_assert_str_eq(
	    kit_flotilla(kit, "submit", "sum", "6 * 7", "--wait", NULL), "Summed.\n");
	kit_kill(kit, KIT_TOOLS, 0); /* it would wait for the receiver */
}
END_TEST

TCase *
tcase_webhook_room(void)
{
	TCase *tcase = tcase_create("webhook_room");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, receivers_that_do_not_answer_leave_tools_their_room, 1, 3);
	return tcase;
}
