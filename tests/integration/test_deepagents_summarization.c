/* deepagents_summarization on a fleet of real processes: a summary is paid for once, whoever dies, and what
 * goes is in long-term memory word for word. */
#include <check.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "chat.h"
#include "cli.h"
#include "fleet_client.h"
#include "has.h"
#include "json.h"
#include "literal.h"
#include "play_provider.h"

TCase *tcase_deepagents_summarization(void);

#define WAIT_MS 60000u

static const char agent[] = "name: keeper\n"
			    "model: openai:main\n"
			    "middleware:\n"
			    "  - deepagents_summarization:\n"
			    "      model: openai:sum\n"
			    "      trigger: [messages, 3]\n"
			    "      keep: [messages, 1]\n"
			    "      backend: {store: {namespace: [kept]}}\n";

static struct arena *arena;
static struct fleet_kit *kit;
static struct child *provider;
static const char *url;
static struct cli flotilla;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	flotilla =
	    (struct cli){ .program = kit_program(kit, "flotilla"), .arena = arena };
	provider = play_provider(kit, arena, "{}", &url);
	play_openai(kit, arena, url, "sk-1");
	kit_start_all(kit, 0, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agent.yml", agent), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	child_stop(&provider);
	arena_destroy(&arena);
}

#define FLOTILLA(...) CLI(&flotilla, __VA_ARGS__, "--redis", kit_redis(kit))

static struct said
said_well(struct said said)
{
	ck_assert_msg(said.status == 0, "%d: %s%s", said.status, said.out, said.err);
	return said;
}

static const char *
curl(const char *method, const char *path, const char *body)
{
	struct cli program = { .program = "curl", .arena = arena };

	return said_well(CLI(&program, "-s", "-X", method, "-d", body,
			     arena_printf(arena, "%s/%s", url, path)))
	    .out;
}

static void
play(const char *script)
{
	curl("PUT", "script", json_text(arena, literal(arena, script)));
}

/* What the provider was asked of that model so far: its messages, as JSON, joined. */
static const char *
asked(const char *model, size_t *count_r)
{
	const char *out = curl("GET", "requests", ""), *error, *text = "";
	const struct value *all = json_parse(arena, out, strlen(out), &error);
	size_t i;

	*count_r = 0;
	for (i = 0; i < value_size(all); i++) {
		const struct value *body = value_get(value_at(all, i), "body");

		if (!value_text_is(value_get(body, "model"), model))
			continue;
		text = arena_printf(
		    arena, "%s%s\n", text, json_text(arena, value_get(body, "messages")));
		++*count_r;
	}
	return text;
}

static const struct value *
json_of(struct said said)
{
	const char *error;

	return json_parse(arena, said_well(said).out, strlen(said.out), &error);
}

/* --- whoever dies ---------------------------------------------------------------------------- */

static const char *slow; /* the model that answers late in the second run */

static bool
is_asked(void *arg)
{
	size_t count;

	(void)arg;
	asked(slow, &count);
	return count == (strcmp(slow, "sum") == 0 ? 1 : 2);
}

static void
await_request(struct fleet_client *client, void *arg)
{
	ck_assert(client_wait(client, is_asked, arg, WAIT_MS));
}

static const struct {
	const char *slow, *script;
	enum kit_kind dies;
} deaths[] = {
	{ "sum",
	    "{'main': [{'content': 'one'}, {'content': 'two'}], 'sum': [{'content': "
	    "'SUMMARY', 'delay_ms': 1500}]}",
	    KIT_COORDINATOR },
	{ "main",
	    "{'main': [{'content': 'one'}, {'content': 'two', 'delay_ms': 1500}], 'sum': "
	    "[{'content': 'SUMMARY'}]}",
	    KIT_COORDINATOR },
	{ "main",
	    "{'main': [{'content': 'one'}, {'content': 'lost', 'delay_ms': 60000}, "
	    "{'content': 'two'}], 'sum': [{'content': 'SUMMARY'}]}",
	    KIT_MODEL },
};

START_TEST(a_summary_is_paid_for_once)
{
	const struct value *thread;
	const char *text;
	size_t count;

	slow = deaths[_i].slow;
	play(deaths[_i].script);
	said_well(FLOTILLA("submit", "keeper", "Hello.", "-t", "t", "--wait"));
	said_well(FLOTILLA("submit", "keeper", "And now?", "-t", "t", "--run-id", "r2"));
	client_run(kit_redis(kit), await_request, NULL);
	kit_kill(kit, deaths[_i].dies, 0);
	kit_start(kit, deaths[_i].dies, 0);
	said_well(FLOTILLA("watch", "r2"));

	text = asked("sum", &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_has(text, "Hello.");
	ck_assert_has_not(text, "And now?");
	text = asked("main", &count);
	ck_assert_uint_eq(count, deaths[_i].dies == KIT_MODEL ? 3 : 2);
	ck_assert_has(text, "SUMMARY");
	thread = value_get(json_of(FLOTILLA("state", "t", "--json")), "messages");
	ck_assert_uint_eq(value_size(thread), 4);
	ck_assert_str_eq(chat_text(arena, value_at(thread, 0)), "Hello.");
	ck_assert_str_eq(chat_text(arena, value_at(thread, 3)), "two");
	text = json_text(arena, json_of(FLOTILLA("store", "search", "kept", "--json")));
	ck_assert_has(text, "/conversation_history/session_");
	ck_assert_has(text, "Hello.");
}
END_TEST

/* --- too long -------------------------------------------------------------------------------- */

/* What the model worker summed up is saved by the coordinator, once. */
START_TEST(what_a_provider_refused_is_saved_too)
{
	const char *text;
	size_t count;

	play("{'main': [{'http_error': 400, 'message': 'prompt is too long: 9 tokens > 8 "
	     "maximum'}, {'content': 'two'}, {'content': 'three'}], 'sum': [{'content': "
	     "'SUMMARY'}, {'content': 'SECOND'}]}");
	text = json_text(
	    arena, literal(arena, "{'messages': [{'type': 'human', 'content': 'Hello.'}, "
				  "{'type': 'human', 'content': 'Go.'}]}"));
	said_well(FLOTILLA("submit", "keeper", "--input", text, "-t", "t", "--wait"));
	asked("main", &count);
	ck_assert_uint_eq(count, 2);
	asked("sum", &count);
	ck_assert_uint_eq(count, 1);
	text = json_text(arena, json_of(FLOTILLA("store", "search", "kept", "--json")));
	ck_assert_has(text, "Hello.");
	ck_assert_has_not(text, "Go.");
	said_well(FLOTILLA("submit", "keeper", "More.", "-t", "t", "--wait"));
	text = asked("main", &count);
	ck_assert_has(text, "SECOND");
	ck_assert_uint_eq(
	    value_size(value_get(json_of(FLOTILLA("state", "t", "--json")), "messages")),
	    5);
	text = json_text(arena, json_of(FLOTILLA("store", "search", "kept", "--json")));
	ck_assert_has(text, "Hello.");
	ck_assert_has(text, "Go.");
	ck_assert_has_not(text, "More.");
}
END_TEST

/* --- a folder ---------------------------------------------------------------------------------- */

static const char in_folder[] = "name: filer\n"
				"model: openai:main\n"
				"middleware:\n"
				"  - deepagents_summarization:\n"
				"      trigger: [messages, 2]\n"
				"      keep: [messages, 1]\n"
				"      backend: {filesystem: {root_dir: %s}}\n";

/* Coordinators do not reach it: a tool worker does, though the model has no tool at all. */
START_TEST(what_goes_is_in_a_folder_of_the_tool_workers)
{
	struct cli find = { .program = "find", .arena = arena },
		   grep = { .program = "grep", .arena = arena };
	const char *folder = kit_path(kit, "kept"), *found;
	size_t count;

	ck_assert_int_eq(mkdir(folder, 0700), 0);
	kit_start(kit, KIT_TOOLS, 0);
	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, "filer.yml", arena_printf(arena, in_folder, folder)), NULL);
	play("{'main': [{'content': 'SUMMARY'}, {'content': 'one'}]}");
	said_well(FLOTILLA("submit", "filer", "--input",
	    json_text(arena,
		literal(arena,
		    "{'messages': [{'type': 'human', 'content': [{'type': 'text', "
		    "'text': "
		    "'Look.'}, {'type': 'image', 'base64': 'Zm9vYmFy', 'mime_type': "
		    "'image/png'}]}, {'type': 'human', 'content': 'Go.'}]}")),
	    "-t", "t", "--wait"));
	ck_assert_has(asked("main", &count), "SUMMARY");
	ck_assert_uint_eq(count, 2);
	found =
	    said_well(CLI(&find, folder, "-type", "f", "-name", "*.md", "-printf", "%P"))
		.out;
	ck_assert_has(found, "conversation_history/session_");
	ck_assert_has(asked("main", &count), found);
	found =
	    said_well(CLI(&grep, "Look.", arena_printf(arena, "%s/%s", folder, found)))
		.out;
	ck_assert_has(found, ".png");
	found = said_well(CLI(&find, folder, "-name", "*.png")).out;
	found = arena_copy(arena, found, strcspn(found, "\n"));
	ck_assert_str_eq(said_well(CLI(&grep, "-o", "foobar", found)).out, "foobar\n");
}
END_TEST

TCase *
tcase_deepagents_summarization(void)
{
	TCase *tcase = tcase_create("deepagents_summarization");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(
	    tcase, a_summary_is_paid_for_once, 0, (int)(sizeof deaths / sizeof *deaths));
	tcase_add_test(tcase, what_a_provider_refused_is_saved_too);
	tcase_add_test(tcase, what_goes_is_in_a_folder_of_the_tool_workers);
	return tcase;
}
