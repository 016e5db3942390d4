/* One agent with every built-in middleware at once, on a fleet of real processes. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "chat.h"
#include "cli.h"
#include "everything.h"
#include "fleet_kit.h"
#include "has.h"
#include "json.h"

TCase *tcase_everything(void);

/* A fault that goes away, one that does not, a call that waits for a human, one that is played, one
 * that runs. */
static const char agent[] =
    "name: all\n"
    "model: scripted:main\n"
    "tools:\n"
    "  - calculate\n"
    "  - {name: weather, description: The weather., parameters: {type: object}}\n"
    "script:\n"
    "%s"
    "  main:\n"
    "    - {http_error: 500, message: Not yet.}\n"
    "    - content: First a plan.\n"
    "      tool_calls:\n"
    "        - id: a\n"
    "          name: write_todos\n"
    "          args: {todos: [{content: Count, status: in_progress}]}\n"
    "        - {id: b, name: calculate, args: {expression: 6 * 7}}\n"
    "        - {id: c, name: weather, args: {}}\n"
    "        - {id: d, name: glob_search, args: {pattern: '*.yaml'}}\n"
    "        - {id: e, name: shell, args: {command: echo shell $BEGUN}}\n"
    "        - {id: f, name: write_file, args: {file_path: /memories/a, content: x}}\n"
    "        - {id: g, name: write_file, args: {file_path: /draft, content: y}}\n"
    "    - {http_error: 400, message: Never.}\n"
    "    - content: Not said.\n"
    "  spare:\n"
    "    - content: Not said either.\n"
    "    - content: Forty-two, and snow.\n"
    "    - content: ''\n"
    "    - content: As I said.\n"
    "%s";

#define APPROVED "{\"decisions\": [{\"type\": \"approve\"}]}"

static struct arena *arena;
static struct fleet_kit *kit;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	kit_write(kit, "found.yaml", "x: 1\n");
	kit_write(kit, "agent.yml",
	    arena_printf(arena, agent, everything_script,
		everything_middleware(arena, kit_path(kit, "."))));
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_path(kit, "agent.yml"), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

#define FLOTILLA(...)                                                                    \
	CLI(&flotilla, __VA_ARGS__, "--redis", kit_redis(kit), "--broker",               \
	    kit_broker(kit), "--status", kit_status(kit))

static const char *
answer_to(const struct value *messages, const char *call)
{
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (value_text_is(value_get(value_at(messages, i), "tool_call_id"), call))
			return chat_text(arena, value_at(messages, i));
	ck_abort_msg("call %s has no answer", call);
	return NULL;
}

/* What the thread is after the whole run. */
static void
check_thread(const char *thread)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("state", thread, "--json");
	const char *error;
	const struct value *state, *messages;

	ck_assert_msg(said.status == 0, "%s", said.err);
	state = json_parse(arena, said.out, strlen(said.out), &error);
	messages = value_get(state, "messages");
	ck_assert_uint_eq(value_size(messages), 10);
	ck_assert_has(answer_to(messages, "a"), "Count");
	ck_assert_has(answer_to(messages, "b"), "42");
	ck_assert_str_eq(answer_to(messages, "c"), "Snow.");
	ck_assert_has(answer_to(messages, "d"), "/found.yaml");
	ck_assert_str_eq(chat_text(arena, value_at(messages, 9)), "Forty-two, and snow.");
	ck_assert_str_eq(answer_to(messages, "e"), "shell yes");
	ck_assert_str_eq(answer_to(messages, "f"), "Wrote /memories/a");
	ck_assert_str_eq(answer_to(messages, "g"), "Wrote /draft");
}

static void
play(const char *thread, const char *how)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("submit", "all", "What is it?", "-t", thread, how);

	ck_assert_msg(said.status == 5, "%d: %s%s", said.status, said.out, said.err);
	said = FLOTILLA("resume", thread, APPROVED, how);
	ck_assert_msg(said.status == 0, "%d: %s%s", said.status, said.out, said.err);
	ck_assert_has(said.out, "Forty-two, and snow.");
	check_thread(thread);
}

START_TEST(a_run_with_every_middleware_comes_to_its_end)
{
	play("t", "--wait");
}
END_TEST

START_TEST(a_streamed_one_does_too)
{
	play("t", "--follow");
}
END_TEST

TCase *
tcase_everything(void)
{
	TCase *tcase = tcase_create("everything");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_run_with_every_middleware_comes_to_its_end);
	tcase_add_test(tcase, a_streamed_one_does_too);
	return tcase;
}
