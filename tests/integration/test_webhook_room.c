/* However many ends of runs are to be told to somebody who does not answer: tools have room. */
#include <check.h>
#include <stdio.h>

#include "room_bench.h"
#include "tiny_http.h"

TCase *tcase_webhook_room(void);

#define HOOKS 8

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
	kit_flag(kit, KIT_TOOLS, "--webhooks", "any");
	kit_flag(kit, KIT_TOOLS, "--slots", "4");
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

START_TEST(receivers_that_do_not_answer_leave_tools_their_room)
{
	const struct value *webhook;
	char url[64];
	unsigned i;

	snprintf(url, sizeof url, "http://127.0.0.1:%u/", tiny_http_port(receiver));
	for (i = 0; i < HOOKS; i++)
		kit_flotilla(
		    kit, "submit", "echo", "Hi", "--webhook", url, "--wait", NULL);
	/* An attempt of the first ones may be over by now; others wait behind it. */
	do
		webhook = room_told(kit, arena, "webhook");
	while (value_get_int(webhook, "queued", 0) == 0 ||
	       value_get_int(webhook, "running", 0) == 0);
	ck_assert_int_eq(value_get_int(webhook, "running", 0), 1);
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
	tcase_add_test(tcase, receivers_that_do_not_answer_leave_tools_their_room);
	return tcase;
}
