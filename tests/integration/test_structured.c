/* Structured output on a fleet of real processes: scripted and over HTTP, streamed, beside
 * tools, across a restart of every process. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "json.h"
#include "literal.h"
#include "play_provider.h"

TCase *tcase_structured(void);

#define WEATHER                                                                          \
	"{title: Weather, type: object, properties: {celsius: {type: number}},"          \
	" required: [celsius]}"

static const char agents[] =
    "name: beside\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "response_format: {strategy: tool, schema: " WEATHER "}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls:\n"
    "        - {id: w, name: Weather, args: {celsius: 21}}\n"
    "        - {id: n, name: note, args: {text: hello}}\n"
    "    - content: Nothing to add.\n"
    "    - structured: {celsius: 22}\n"
    "---\n"
    "name: online\n"
    "model: openai:gpt-4o\n"
    "response_format: " WEATHER "\n"
    "---\n"
    "name: through-tool\n"
    "model: openai:plain\n"
    "response_format: " WEATHER "\n"
    "---\n"
    "name: hopeless\n"
    "model: scripted:m\n"
    "recursion_limit: 6\n"
    "response_format: {strategy: provider, schema: " WEATHER "}\n"
    "script: {m: [{content: It is warm.}]}\n";

static const char note[] = "name: note\n"
			   "description: notes a text\n"
			   "parameters: {properties: {text: {type: string}}}\n"
			   "input: none\n"
			   "command: echo \"noted $ARG_TEXT\"\n";

/* piece_bytes: how the server cuts its stream. */
#define JSON "{'content': '{\\u0022celsius\\u0022: 3}', 'piece_bytes': 4}"
#define CALL_WITH(args)                                                                  \
	"{'tool_calls': [{'id': 'c', 'name': 'Weather', 'args': " args                   \
	"}], 'piece_bytes': 4}"
#define BAD CALL_WITH("{'celsius': 'cold'}")
#define GOOD CALL_WITH("{'celsius': 4}")
static const char http_script[] =
    "{'gpt-4o': [" JSON ", " JSON "], 'plain': [" BAD ", " GOOD ", " BAD ", " GOOD "]}";

static struct arena *arena;
static struct fleet_kit *kit;
static struct child *server;

static void
setup(void)
{
	const char *url;

	arena = arena_new();
	kit = kit_new();
	server = play_provider(
	    kit, arena, json_text(arena, literal(arena, http_script)), &url);
	play_openai(kit, arena, url, "sk-1");
	kit_flag(kit, KIT_TOOLS, "--tools", kit_write(kit, "note.yaml", note));
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	child_stop(&server);
	arena_destroy(&arena);
}

/* Runs agent on thread; returns what `submit --wait --json` says. */
static const struct value *
run(const char *agent, const char *thread)
{
	const char *said = kit_flotilla(
	    kit, "submit", agent, "weather?", "-t", thread, "--wait", "--json", NULL);
	const char *error;

	return json_parse(arena, said, strlen(said), &error);
}

static const struct value *
response_of(const struct value *said)
{
	return value_get(value_get(said, "state"), "structured_response");
}

START_TEST(a_response_is_its_runs_and_other_calls_run_first)
{
	const struct value *said = run("beside", "t"), *messages;

	ck_assert_value(arena, response_of(said), "{'celsius': 21}");
	messages = value_get(said, "messages");
	/* One model call, two answers: the output tool's, and what the tool gave. */
	ck_assert_uint_eq(value_size(messages), 4);
	ck_assert_str_eq(value_get_text(value_at(messages, 3), "name"), "note");
	ck_assert_ptr_nonnull(
	    strstr(value_get_text(value_at(messages, 3), "content"), "noted hello"));
	kit_restart_all(kit);
	said = run("beside", "t");
	ck_assert_ptr_null(response_of(said));
	ck_assert_uint_eq(value_size(value_get(said, "messages")), 6);
	said = run("beside", "t");
	ck_assert_value(arena, response_of(said), "{'celsius': 22}");
}
END_TEST

START_TEST(a_response_comes_over_http_streamed_or_not)
{
	const char *shown;

	ck_assert_value(arena, response_of(run("online", "a")), "{'celsius': 3}");
	ck_assert_value(arena, response_of(run("through-tool", "b")), "{'celsius': 4}");
	/* Who follows has the text as it comes. */
	shown = kit_flotilla(kit, "submit", "online", "again?", "--follow", "--status",
	    kit_status(kit), NULL);
	ck_assert_ptr_nonnull(strstr(shown, "structured_response = {\"celsius\":3}"));
	shown = kit_flotilla(kit, "submit", "through-tool", "again?", "--follow",
	    "--status", kit_status(kit), NULL);
	ck_assert_ptr_nonnull(strstr(shown, "structured_response = {\"celsius\":4}"));
}
END_TEST

START_TEST(a_text_that_is_none_ends_the_run_and_leaves_the_thread)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = CLI(&flotilla, "submit", "hopeless", "weather?", "-t", "h",
	    "--wait", "--redis", kit_redis(kit));

	ck_assert_int_eq(said.status, 1);
	ck_assert_ptr_nonnull(strstr(said.err, "StructuredOutputValidationError"));
	ck_assert_ptr_nonnull(strstr(said.err, "'Weather'"));
}
END_TEST

TCase *
tcase_structured(void)
{
	TCase *tcase = tcase_create("structured");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_response_is_its_runs_and_other_calls_run_first);
	tcase_add_test(tcase, a_response_comes_over_http_streamed_or_not);
	tcase_add_test(tcase, a_text_that_is_none_ends_the_run_and_leaves_the_thread);
	return tcase;
}
