/* Requests that a middleware changes, on a fleet of real processes whose workers differ. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "json.h"
#include "literal.h"
#include "play_provider.h"

TCase *tcase_requests(void);

static const char agents[] =
    "name: borrows\n"
    "model: scripted:m\n"
    "middleware: [{changes_requests: {offer: [note]}}]\n"
    "script:\n"
    "  m:\n"
    "    - {tool_calls: [{id: n, name: note, args: {text: hello}}]}\n"
    "    - content: Noted.\n"
    "---\n"
    "name: cannot\n"
    "model: scripted:m\n"
    "tools: [now]\n"
    "middleware: [{changes_requests: {offer: [note], run: false}}]\n"
    "script: {m: [{content: Never.}]}\n"
    "---\n"
    "name: elsewhere\n"
    "model: scripted:m\n"
    "middleware: [{changes_requests: {model: 'other:x', run: false}}]\n"
    "script: {m: [{content: Never.}]}\n"
    "---\n"
    "name: nowhere\n"
    "model: scripted:m\n"
    "middleware: [{changes_requests: {model: 'nobody:x', run: false}}]\n"
    "script: {m: [{content: Never.}]}\n";

static const char note[] = "name: note\n"
			   "description: notes a text\n"
			   "parameters: {properties: {text: {type: string}}}\n"
			   "input: none\n"
			   "idempotent: false\n"
			   "command: echo \"noted $ARG_TEXT\"\n";

static struct arena *arena;
static struct fleet_kit *kit;
static struct child *server;

/* Returns "other=URL". */
static const char *
start_server(void)
{
	const struct value *script =
	    literal(arena, "{'x': [{'content': 'From afar.', 'piece_bytes': 3}]}");
	const char *url;

	server = play_provider(kit, arena, json_text(arena, script), &url);
	return arena_printf(arena, "other=%s/v1", url);
}

/* The first worker of each kind lacks what the second one has. */
static void
setup(void)
{
	const char *plugin;

	arena = arena_new();
	kit = kit_new();
	plugin = kit_built(kit, "plugins/changes_requests.so");
	kit_flag(kit, KIT_TOOLS, "--plugin", plugin);
	kit_flag(kit, KIT_MODEL, "--plugin", plugin);
	kit_flag(kit, KIT_COORDINATOR, "--plugin", plugin);
	kit_start_all(kit, 1, 1, 1);
	kit_flag(kit, KIT_TOOLS, "--tools", kit_write(kit, "note.yaml", note));
	kit_flag(kit, KIT_MODEL, "--provider", start_server());
	kit_start(kit, KIT_TOOLS, 1);
	kit_start(kit, KIT_MODEL, 1);
	kit_flotilla(kit, "agents", "apply", "--plugin", plugin,
	    kit_write(kit, "agents.yaml", agents), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	child_stop(&server);
	arena_destroy(&arena);
}

static struct said
submit(const char *agent)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };

	return CLI(
	    &flotilla, "submit", agent, "Go.", "--wait", "--redis", kit_redis(kit));
}

START_TEST(a_tool_added_to_a_request_runs_where_it_is)
{
	const char *said =
	    kit_flotilla(kit, "submit", "borrows", "Go.", "--wait", "--json", NULL);
	const char *error;
	const struct value *messages =
	    value_get(json_parse(arena, said, strlen(said), &error), "messages");

	ck_assert_uint_eq(value_size(messages), 4);
	ck_assert_ptr_nonnull(
	    strstr(value_get_text(value_at(messages, 2), "content"), "noted hello"));
}
END_TEST

START_TEST(a_tool_that_nothing_can_run_is_refused_with_the_known_ones)
{
	struct said said = submit("cannot");

	ck_assert_int_eq(said.status, 1);
	ck_assert_ptr_nonnull(strstr(said.err, "note (it has: now)"));
	ck_assert_ptr_nonnull(strstr(said.err, "wrap_tool_call"));
}
END_TEST

START_TEST(a_model_of_another_worker_answers)
{
	struct said said = submit("elsewhere");

	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(said.out, "From afar.\n");
}
END_TEST

START_TEST(a_model_that_no_worker_serves_is_refused_at_once)
{
	struct said said = submit("nowhere");

	ck_assert_int_eq(said.status, 1);
	ck_assert_ptr_nonnull(strstr(said.err, "no provider 'nobody'"));
	ck_assert_ptr_nonnull(
	    strstr(said.err, "The fleet's workers have: other, scripted"));
}
END_TEST

TCase *
tcase_requests(void)
{
	TCase *tcase = tcase_create("requests");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_tool_added_to_a_request_runs_where_it_is);
	tcase_add_test(tcase, a_tool_that_nothing_can_run_is_refused_with_the_known_ones);
	tcase_add_test(tcase, a_model_of_another_worker_answers);
	tcase_add_test(tcase, a_model_that_no_worker_serves_is_refused_at_once);
	return tcase;
}
