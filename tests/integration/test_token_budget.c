/* token_budget on a fleet of real processes: what the run's own calls and those of a middleware have
 * used is counted once, whoever dies. */
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

TCase *tcase_token_budget(void);

#define WAIT_MS 60000u

/* A model call uses 300 tokens, a summary 250. `hold` waits while there is a file. */
static const char agents[] =
    "name: spender\n"
    "model: scripted:m\n"
    "tools: [hold]\n"
    "middleware:\n"
    "  - token_budget: {run_limit: 1000, thread_limit: {output_tokens: 600}}\n"
    "  - summarization: {model: scripted:s, trigger: [messages, 3], keep: [messages, "
    "2]}\n"
    "script:\n"
    "  m:\n"
    "    - {tool_calls: [{id: a, name: hold, args: {}}], usage: {input_tokens: 200, "
    "output_tokens: 100}}\n"
    "    - {tool_calls: [{id: b, name: hold, args: {}}], usage: {input_tokens: 200, "
    "output_tokens: 100}}\n"
    "  s: [{content: Sum., usage: {input_tokens: 200, output_tokens: 50}}]\n"
    "---\n"
    "name: cheap\n"
    "model: scripted:m\n"
    "cache: true\n"
    "middleware: [{token_budget: {thread_limit: 100}}]\n"
    "script:\n"
    "  m:\n"
    "    - &reply {content: Yes., usage: {input_tokens: 80, output_tokens: 10}}\n"
    "    - *reply\n"
    "    - *reply\n"
    "    - *reply\n";

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

static bool
tool_runs(void *arg)
{
	FILE *file = fopen(ledger, "re");
	bool runs = file != NULL && fgetc(file) != EOF;

	(void)arg;
	if (file != NULL)
		fclose(file);
	return runs;
}

static void
await_tool(struct fleet_client *client, void *arg)
{
	ck_assert(client_wait(client, tool_runs, arg, WAIT_MS));
}

/* The text of the thread's last message; *types_r: "human ai tool", of all. */
static const char *
last_of(const char *thread, const char **types_r)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("state", thread, "--json");
	const struct value *messages;
	const char *error;
	size_t i;

	ck_assert_msg(said.status == 0, "%s", said.err);
	messages =
	    value_get(json_parse(arena, said.out, strlen(said.out), &error), "messages");
	*types_r = "";
	for (i = 0; i < value_size(messages); i++)
		*types_r = arena_printf(arena, "%s%s%s", *types_r, i == 0 ? "" : " ",
		    value_get_text(value_at(messages, i), "type"));
	return i == 0 ? "" : chat_text(arena, value_at(messages, i - 1));
}

/* m 300, the tool (where the owner dies), summary 250, m 300, the tool, summary 250, m 300: its call of
 * the tool is not run. */
START_TEST(nothing_is_forgotten_or_counted_twice)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	const char *types, *text;
	struct said said;

	kit_write(kit, "held", "");
	said = FLOTILLA("submit", "spender", "Go.", "-t", "t", "--run-id", "r1");
	ck_assert_msg(said.status == 0, "%s", said.err);
	client_run(kit_redis(kit), await_tool, NULL);
	kit_kill(kit, KIT_COORDINATOR, 0);
	kit_start(kit, KIT_COORDINATOR, 0);
	ck_assert_int_eq(unlink(held), 0);
	said = FLOTILLA("watch", "r1");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	text = last_of("t", &types);
	ck_assert_str_eq(text, "The token budget is used up: run limit of total_tokens "
			       "(1400 of 1000).");
	ck_assert_str_eq(types, "human ai tool ai tool ai");
	/* The next run begins anew, on what the thread has used: a summary, a call, a summary, a
	 * call. */
	said = FLOTILLA("submit", "spender", "Again.", "-t", "t", "--wait", "--json");
	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_msg(strstr(said.out, "token_usage") == NULL, "%s", said.out);
	ck_assert_str_eq(last_of("t", &types),
	    "The token budget is used up: run limit of total_tokens (1100 of 1000), "
	    "thread limit of output_tokens (700 of 600).");
}
END_TEST

static const char *
say(const char *thread)
{
	return kit_flotilla(
	    kit, "submit", "cheap", "Hi", "--thread", thread, "--wait", NULL);
}

/* Of the second thread's calls the first is answered from the cache, the next two use 90 each. */
START_TEST(what_was_not_paid_is_not_counted)
{
	ck_assert_str_eq(say("u1"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "The token budget is used up: thread limit of "
				    "total_tokens (180 of 100).\n");
}
END_TEST

TCase *
tcase_token_budget(void)
{
	TCase *tcase = tcase_create("token_budget");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, nothing_is_forgotten_or_counted_twice);
	tcase_add_test(tcase, what_was_not_paid_is_not_counted);
	return tcase;
}
