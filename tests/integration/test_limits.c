/* Limits on a fleet of real processes: counted whoever dies and whatever hook is jumped over, and
 * anew in each run. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "chat.h"
#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "literal.h"

TCase *tcase_limits(void);

#define WAIT_MS 60000u

/* Each call of `hold` stops while there is a file. The model would go on for ever. */
static const char agents[] =
    "name: bounded\n"
    "model: scripted:m\n"
    "tools: [hold]\n"
    "middleware:\n"
    "  - model_call_limit: {run_limit: 3, thread_limit: 5}\n"
    "  - tool_call_limit: {tool_name: hold, run_limit: 1}\n"
    "script: &for_ever\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: b, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: c, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: d, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: e, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: f, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: g, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: h, name: hold, args: {}}]\n"
    "    - content: Never.\n"
    "---\n"
    "name: guarded\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - model_call_limit: {run_limit: 3}\n"
    "  - lua:\n"
    "      name: guard\n"
    "      code: |\n"
    "        after_model = {\n"
    "          can_jump_to = {'model'},\n"
    "          run = function(state) return {jump_to = 'model'} end,\n"
    "        }\n"
    "script: {m: [{content: one}, {content: two}, {content: three}, {content: four}]}\n";

static const char tools[] = "name: hold\n"
			    "description: waits\n"
			    "parameters: {type: object}\n"
			    "input: none\n"
			    "command: |\n"
			    "  echo run >> %s\n"
			    "  while [ -e %s ]; do sleep 0.02; done\n"
			    "  echo held\n";

static struct arena *arena;
static struct fleet_kit *kit;
static const char *ledger, *held;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	ledger = kit_path(kit, "ledger");
	held = kit_path(kit, "held");
	kit_write(kit, "ledger", "");
	kit_flag(kit, KIT_TOOLS, "--tools",
	    kit_write(kit, "tools.yaml", arena_printf(arena, tools, ledger, held)));
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

#define FLOTILLA(...) CLI(&flotilla, __VA_ARGS__, "--redis", kit_redis(kit))

/* "human ai tool ai": the thread's messages by type. */
static const char *
types_of(const char *thread)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("state", thread, "--json");
	const char *error, *text = "";
	const struct value *messages;
	size_t i;

	ck_assert_msg(said.status == 0, "%s", said.err);
	messages =
	    value_get(json_parse(arena, said.out, strlen(said.out), &error), "messages");
	for (i = 0; i < value_size(messages); i++)
		text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : " ",
		    value_get_text(value_at(messages, i), "type"));
	return text;
}

static unsigned
count_runs_of_the_tool(void)
{
	FILE *file = fopen(ledger, "re");
	char line[16];
	unsigned count = 0;

	while (fgets(line, sizeof line, file) != NULL)
		count++;
	fclose(file);
	return count;
}

static bool
tool_runs(void *arg)
{
	(void)arg;
	return count_runs_of_the_tool() > 0;
}

static void
await_tool(struct fleet_client *client, void *arg)
{
	ck_assert(client_wait(client, tool_runs, arg, WAIT_MS));
}

/* The owner dies while the first round's tool runs: by then one model call and one call of the
 * tool are counted, and who takes the run over must know. */
START_TEST(a_takeover_forgets_no_count_and_the_next_run_begins_anew)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said;

	kit_write(kit, "held", "");
	said = FLOTILLA("submit", "bounded", "Go.", "-t", "t", "--run-id", "r1");
	ck_assert_msg(said.status == 0, "%s", said.err);
	client_run(kit_redis(kit), await_tool, NULL);
	kit_kill(kit, KIT_COORDINATOR, 0);
	kit_start(kit, KIT_COORDINATOR, 0);
	ck_assert_int_eq(unlink(held), 0);
	said = FLOTILLA("watch", "r1");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	/* Three model calls and the limit's own message; the tool ran for the first alone. */
	ck_assert_str_eq(types_of("t"), "human ai tool ai tool ai tool ai");
	ck_assert_uint_eq(count_runs_of_the_tool(), 1);
	/* Two more are left of the thread's five; the tool may run once again. */
	said = FLOTILLA("submit", "bounded", "Again.", "-t", "t", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(
	    types_of("t"), "human ai tool ai tool ai tool ai human ai tool ai tool ai");
	ck_assert_uint_eq(count_runs_of_the_tool(), 2);
	said = FLOTILLA("submit", "bounded", "Again.", "-t", "t", "--wait", "--json");
	ck_assert_msg(strstr(said.out, "thread limit (5/5)") != NULL, "%s", said.out);
	ck_assert_uint_eq(count_runs_of_the_tool(), 2);
}
END_TEST

/* Listed behind the limit, its after_model runs first, and sends the run back past the limit's. */
START_TEST(a_hook_that_jumps_over_the_limits_does_not_escape_it)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said =
	    FLOTILLA("submit", "guarded", "Go.", "-t", "t", "--wait", "--json");

	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	ck_assert_msg(strstr(said.out, "run limit (3/3)") != NULL, "%s", said.out);
	ck_assert_str_eq(types_of("t"), "human ai ai ai ai");
}
END_TEST

TCase *
tcase_limits(void)
{
	TCase *tcase = tcase_create("limits");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_takeover_forgets_no_count_and_the_next_run_begins_anew);
	tcase_add_test(tcase, a_hook_that_jumps_over_the_limits_does_not_escape_it);
	return tcase;
}
