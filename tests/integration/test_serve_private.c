/* What an agent keeps for itself is not a tenant's: not to read, not to write, whatever `flotilla serve` knows of the agent. */
#include <check.h>
#include <string.h>

#include "../../cli/command.h"
#include "has.h"
#include "tenant_bench.h"

TCase *tcase_serve_private(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])
#define SAYS                                                                             \
	"[{content: Saved.}, {content: Again.}, {content: Again.}, {content: Again.}, "  \
	"{content: Again.}]"
/* A hook that writes what is private, and what is not. */
#define WRITES                                                                           \
	"lua: {name: keep, state: {secret: {type: string, private: true}, topic: "       \
	"{type: string}}, code: 'function before_model(state) return {secret = "         \
	"\"hush\", topic = \"boats\"} end'}"
#define ALL_MODES                                                                        \
	"values,updates,messages,messages-tuple,custom,tasks,checkpoints,debug,events,"  \
	"tools"
#define ALL_CHANNELS                                                                     \
	"['values', 'updates', 'messages', 'tools', 'custom', 'lifecycle', 'input', "    \
	"'tasks', 'checkpoints']"

static struct fleet_up *const fleet = &serve_bench.fleet;

static const char *
plugin_of(struct arena *arena)
{
	const char *program = fleet_up_program(arena);

	return arena_printf(arena, "%.*s/../plugins/thrifty.so",
	    (int)(strrchr(program, '/') - program), program);
}

static void
apply(const char *name, const char *text)
{
	fleet_up_write(fleet, name, text);
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "apply",
			     arena_printf(fleet->arena, "%s/%s", fleet->folder, name),
			     "--plugin", plugin_of(fleet->arena))
			     .status,
	    0);
}

/* The fleet knows the plugin, `flotilla serve` does not. */
static void
open_private(void)
{
	struct arena *arena = arena_new();

	serve_open_with((const char *const[]){ "--plugin", plugin_of(arena), NULL });
	arena_destroy(&arena);
	tenants_open(NULL);
	apply("saver.yaml", "name: saver\nmodel: scripted:s\n"
			    "middleware: [{thrifty: {max_tokens: 1000}}, {" WRITES "}]\n"
			    "script: {s: " SAYS "}\n");
	apply("keeper.yaml", "name: keeper\nmodel: scripted:k\nmiddleware: [{" WRITES
			     "}]\nscript: {k: " SAYS "}\n");
}

static void
close_private(void)
{
	tenants_close();
	serve_close();
}

/* --- reading ------------------------------------------------------------------------------ */

static const char *
run_of(const char *thread)
{
	return value_get_text(
	    value_at(tenants_get(
			 ACME, "GET", serve_text("/threads/%s/runs", thread), NULL, 200),
		0),
	    "run_id");
}

/* Every way by which a thread's state leaves; %s: the last run. */
static const struct {
	const char *method, *path, *body, *of_run;
} ways[] = {
	{ "GET", "/threads/vault", NULL, NULL },
	{ "PATCH", "/threads/vault", "{'metadata': {'a': 1}}", NULL },
	{ "POST", "/threads", "{'thread_id': 'vault', 'if_exists': 'do_nothing'}", NULL },
	{ "GET", "/threads/vault/state", NULL, NULL },
	{ "GET", "/threads/vault/state?select=values", NULL, NULL },
	{ "GET", "/threads/vault/state/2", NULL, NULL },
	{ "POST", "/threads/vault/state/checkpoint",
	    "{'checkpoint': {'checkpoint_id': '2'}}", NULL },
	{ "GET", "/threads/vault/history", NULL, NULL },
	{ "POST", "/threads/vault/history", "{'limit': 100}", NULL },
	{ "POST", "/threads/vault/history", "{'checkpoint': {'checkpoint_id': '2'}}",
	    NULL },
	{ "POST", "/threads/search",
	    "{'ids': ['vault'], 'extract': {'a': 'values.secret', 'b': 'values'}}",
	    NULL },
	{ "POST", "/threads/search", "{'ids': ['vault'], 'sort_by': 'thread_id'}", NULL },
	{ "POST", "/threads/vault/commands", "{'id': 1, 'method': 'state.get'}", NULL },
	{ "GET", "/threads/vault/runs/", NULL, "/join" },
	{ "GET", "/threads/vault/runs/", NULL, "/stream?stream_mode=" ALL_MODES },
	{ "POST", "/threads/vault/runs/wait", "{'assistant_id': 'saver', " HI "}", NULL },
	{ "POST", "/threads/vault/runs/stream",
	    "{'assistant_id': 'saver', 'stream_mode': ['values', 'updates', 'messages', "
	    "'custom', 'tasks', 'checkpoints', 'debug', 'events', 'tools'], " HI "}",
	    NULL },
	{ "POST", "/threads/vault/copy", "{}", NULL },
	{ "POST", "/a2a/saver",
	    "{'jsonrpc': '2.0', 'id': 1, 'method': 'message/send', 'params': {'message': "
	    "{'role': 'user', 'contextId': 'vault', 'parts': [{'kind': 'text', 'text': "
	    "'Hi'}]}}}",
	    NULL },
	{ "POST", "/mcp",
	    "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': "
	    "'saver', 'arguments': {'messages': 'Hi'}}}",
	    NULL },
};

static void
check_all(void)
{
	const char *run = run_of("vault");
	int i;

	for (i = 0; i < COUNT(ways); i++) {
		const char *path = arena_printf(fleet->arena, "%s%s%s", ways[i].path,
		    ways[i].of_run != NULL ? run : "",
		    ways[i].of_run != NULL ? ways[i].of_run : "");
		struct serve_answer answer =
		    tenants_ask(ACME, ways[i].method, path, ways[i].body);

		ck_assert_msg(answer.status == 200, "%s: %ld: %s", path, answer.status,
		    answer.body);
		ck_assert_msg(strstr(answer.body, "hush") == NULL &&
				  strstr(answer.body, "secret") == NULL,
		    "%s %s: %s", path, ways[i].body, answer.body);
		ck_assert_msg(strstr(answer.body, "Saved.") != NULL ||
				  strstr(answer.body, "Again.") != NULL,
		    "%s: %s", path, answer.body);
	}
}

/* Streams that go on for as long as somebody reads. */
struct watch {
	const char *text; /* what was shown so far */
};

static bool
on_watched(void *arg, const struct serve_frame *frame)
{
	struct watch *watch = arg;

	watch->text = arena_printf(fleet->arena, "%s%s %s\n", watch->text,
	    frame->event != NULL ? frame->event : "", frame->text);
	return strstr(frame->text, "completed") == NULL &&
	       (strcmp(frame->event, "values") != 0 ||
		   strstr(frame->text, "Saved.") == NULL ||
		   strstr(frame->text, "\"type\":\"event\"") != NULL);
}

static const char *
watched(const char *url, const char *method, const char *path, const char *body)
{
	struct watch watch = { "" };

	ASK(.url = url, .method = method, .path = path, .body = body,
	    .headers = { ACME, "Last-Event-ID: -1" }, .on_frame = on_watched,
	    .arg = &watch);
	ck_assert_has(watch.text, "Saved.");
	return watch.text;
}

static void
write_secret(const char *thread)
{
	tenants_get(ACME, "POST", serve_text("/threads/%s/runs/wait", thread),
	    "{'assistant_id': 'saver', 'if_not_exists': 'create', " HI "}", 200);
}

/* What of it is private is not known here, so nothing is shown but what is every agent's. */
START_TEST(an_unknown_agents_fields_are_not_read)
{
	const char *body = "{'ids': ['vault'], 'values': {'secret': 'hush'}}";

	write_secret("vault");
	check_all();
	ck_assert_uint_eq(
	    value_size(tenants_get(ACME, "POST", "/threads/search", body, 200)), 0);
	ck_assert_int_eq(
	    tenants_get(ACME, "POST", "/threads/count", body, 200)->integer, 0);
	/* Nor what it does not keep private: who is to know? */
	ck_assert_has_not(
	    tenants_ask(ACME, "GET", "/threads/vault/state", NULL).body, "boats");
	/* It is said where an operator looks. */
	ck_assert_has(tenants_said(), "'saver'");
	ck_assert_has(tenants_said(), "--plugin");
	/* Who has no tenant sees all. */
	ck_assert_has(
	    tenants_ask(ADMIN, "GET", "/threads/acme~vault/state", NULL).body, "hush");
	ck_assert_has(
	    tenants_ask(ADMIN, "GET", "/threads/acme~vault/history", NULL).body, "hush");
}
END_TEST

START_TEST(nor_by_streams_of_threads)
{
	const char *told;

	write_secret("stream");
	told = watched(tenants_url(), "POST", "/threads/stream/stream/events",
	    "{'channels': " ALL_CHANNELS "}");
	ck_assert_has_not(told, "hush");
	ck_assert_has(told, "checkpoints");
	told = watched(
	    tenants_url(), "GET", "/threads/stream/stream?stream_mode=" ALL_MODES, NULL);
	ck_assert_has_not(told, "hush");
	ck_assert_has(told, "debug");
}
END_TEST

/* What somebody without tenant has put into a run of its thread. */
START_TEST(nor_what_others_put_in)
{
	const char *whispers = "{'assistant_id': 'keeper', 'if_not_exists': 'create', "
			       "'input': {'messages': 'Hi', 'secret': 'whispered'}}";
	const char *path;

	tenants_get(ADMIN, "POST", "/threads/acme~whisper/runs/wait", whispers, 200);
	path = serve_text(
	    "/threads/whisper/runs/%s/stream?stream_mode=" ALL_MODES, run_of("whisper"));
	ck_assert_has(tenants_ask(ACME, "GET", path, NULL).body, "on_chain_start");
	ck_assert_has_not(tenants_ask(ACME, "GET", path, NULL).body, "whispered");
}
END_TEST

/* With the plugin: what is private is not shown, and the rest is. */
START_TEST(a_plugin_makes_fields_known)
{
	struct cli_job *server;
	const char *url = serve_start(
	    &server, (const char *const[]){ "--api-keys",
			 arena_printf(fleet->arena, "%s/serve.keys", fleet->folder),
			 "--plugin", plugin_of(fleet->arena), NULL });
	struct serve_answer answer;

	write_secret("known");
	answer = ASK(.url = url, .path = "/threads/known/state", .headers = { ACME });
	ck_assert_has(answer.body, "boats");
	ck_assert_has_not(answer.body, "hush");
	serve_stop(&server);
}
END_TEST

/* A thread keeps the fields of an agent that was there before: they are not those of the agent behind it. */
START_TEST(another_agent_behind_it_opens_nothing)
{
	static const char *const paths[] = { "/threads/two", "/threads/two/state",
		"/threads/two/state/2", "/threads/two/history" };
	int i;

	tenants_get(ACME, "POST", "/threads/two/runs/wait",
	    "{'assistant_id': 'keeper', 'if_not_exists': 'create', " HI "}", 200);
	ck_assert_has(tenants_ask(ACME, "GET", "/threads/two/state", NULL).body, "boats");
	tenants_get(ACME, "POST", "/threads/two/runs/wait",
	    "{'assistant_id': 'quick', " HI "}", 200);
	for (i = 0; i < COUNT(paths); i++) {
		ck_assert_has_not(tenants_ask(ACME, "GET", paths[i], NULL).body, "hush");
		ck_assert_has(tenants_ask(ACME, "GET", paths[i], NULL).body, "Saved.");
	}
	/* What the agent of then did not keep private is still there, then. */
	ck_assert_has(
	    tenants_ask(ACME, "GET", "/threads/two/history", NULL).body, "boats");
}
END_TEST

START_TEST(a_deleted_agents_fields_are_not_read)
{
	apply("gone.yaml", "name: gone\nmodel: scripted:g\nmiddleware: [{" WRITES
			   "}]\nscript: {g: " SAYS "}\n");
	tenants_get(ACME, "POST", "/threads/gone/runs/wait",
	    "{'assistant_id': 'gone', 'if_not_exists': 'create', " HI "}", 200);
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "delete", "gone").status, 0);
	ck_assert_has(
	    tenants_ask(ACME, "GET", "/threads/gone/state", NULL).body, "Saved.");
	ck_assert_has_not(
	    tenants_ask(ACME, "GET", "/threads/gone/state", NULL).body, "hush");
	ck_assert_has_not(
	    tenants_ask(ACME, "GET", "/threads/gone/history", NULL).body, "hush");
}
END_TEST

/* Which are an agent's own fields may change: what it has come to keep for itself is not shown of older states either. */
START_TEST(what_is_private_now_is_not_shown_of_before)
{
	static const char *const paths[] = { "/threads/later/state",
		"/threads/later/history" };
	size_t i;

	apply("later.yaml", "name: later\nmodel: scripted:l\nmiddleware: [{" WRITES
			    "}]\nscript: {l: " SAYS "}\n");
	tenants_get(ACME, "POST", "/threads/later/runs/wait",
	    "{'assistant_id': 'later', 'if_not_exists': 'create', " HI "}", 200);
	for (i = 0; i < 2; i++)
		ck_assert_has(tenants_ask(ACME, "GET", paths[i], NULL).body, "boats");
	apply("later.yaml",
	    "name: later\nmodel: scripted:l\nstate: {topic: {type: string, "
	    "private: true}}\nscript: {l: " SAYS "}\n");
	for (i = 0; i < 2; i++) {
		ck_assert_has_not(tenants_ask(ACME, "GET", paths[i], NULL).body, "boats");
		ck_assert_has_not(tenants_ask(ACME, "GET", paths[i], NULL).body, "hush");
		ck_assert_has(tenants_ask(ACME, "GET", paths[i], NULL).body, "Saved.");
	}
}
END_TEST

/* The thread of the run whose agent has that name. */
static const char *
thread_of(const char *agent)
{
	const struct value *runs =
	    fleet_up_json(fleet, CLI(&fleet->flotilla, "runs", "--json").out);
	size_t i;

	for (i = 0; i < value_size(runs); i++)
		if (value_text_is(value_get(value_at(runs, i), "agent"), agent))
			return value_get_text(value_at(runs, i), "thread");
	ck_abort_msg("no run of %s", agent);
	return NULL;
}

/* A subagent that is part of another is known, too. */
START_TEST(a_subagents_fields_are_its_own)
{
	struct serve_answer answer;

	apply("lead.yaml",
	    "name: lead\nmodel: scripted:d\nmiddleware: [{subagent: "
	    "{general_purpose_agent: false, subagents: [{name: helper, description: "
	    "helps, model: 'scripted:h', middleware: [{" WRITES "}]}]}}]\n"
	    "script: {h: " SAYS ", d: [{tool_calls: [{id: a, name: task, args: "
	    "{description: do it, subagent_type: helper}}]}, {content: Done.}]}\n");
	tenants_get(ACME, "POST", "/threads/leads/runs/wait",
	    "{'assistant_id': 'lead', 'if_not_exists': 'create', " HI "}", 200);
	answer = tenants_ask(
	    ACME, "GET", serve_text("/threads/%s/state", thread_of("helper")), NULL);
	ck_assert_int_eq(answer.status, 200);
	ck_assert_has(answer.body, "boats");
	ck_assert_has_not(answer.body, "hush");
}
END_TEST

/* --- writing ------------------------------------------------------------------------------ */

/* What an agent keeps for itself may name what only the agent may ask for. */
START_TEST(an_agents_own_fields_are_not_written)
{
	apply("chief.yaml",
	    "name: chief\nmodel: scripted:c\nmiddleware: [{async_subagent: "
	    "{async_subagents: [{name: worker, description: works, graph_id: quick}]}}]\n"
	    "script: {c: [{content: Hi.}]}\n");
	tenants_get(ACME, "POST", "/threads/chiefs/runs/wait",
	    "{'assistant_id': 'chief', 'if_not_exists': 'create', " HI "}", 200);
	tenants_get(ACME, "POST", "/threads/chiefs/state",
	    "{'values': {'async_tasks': {}}}", 403);
	tenants_get(ACME, "POST", "/threads/chiefs/runs",
	    "{'assistant_id': 'chief', 'command': {'update': {'async_tasks': {}}}}", 403);
	tenants_get(
	    ACME, "POST", "/threads/chiefs/state", "{'values': {'messages': 'Hi'}}", 200);
	tenants_get(ADMIN, "POST", "/threads/acme~chiefs/state",
	    "{'values': {'async_tasks': {}}}", 200);
}
END_TEST

/* Which fields these are is not known where its middleware is not. */
START_TEST(an_unknown_agents_fields_are_not_written)
{
	struct serve_answer answer;

	tenants_get(ACME, "POST", "/threads",
	    "{'thread_id': 'savers', 'metadata': {'graph_id': 'saver'}}", 200);
	answer = tenants_ask(
	    ACME, "POST", "/threads/savers/state", "{'values': {'topic': 'boats'}}");
	ck_assert_int_eq(answer.status, 403);
	ck_assert_has(answer.body, "--plugin");
	answer = tenants_ask(ACME, "POST", "/threads/savers/runs",
	    "{'assistant_id': 'saver', 'command': {'update': {'topic': 'boats'}}}");
	ck_assert_int_eq(answer.status, 403);
	ck_assert_has(answer.body, "--plugin");
	tenants_get(ACME, "POST", "/threads",
	    "{'metadata': {'graph_id': 'saver'}, 'supersteps': [{'updates': [{'as_node': "
	    "'__start__', 'values': {'topic': 'boats'}}]}]}",
	    403);
	tenants_get(ADMIN, "POST", "/threads/acme~savers/state",
	    "{'values': {'topic': 'boats'}}", 200);
}
END_TEST

/* --- what it remembers -------------------------------------------------------------------- */

/* By the key, whatever the run's context says. */
START_TEST(an_agents_memory_is_the_tenants)
{
	static const char body[] =
	    "{'assistant_id': 'writer', 'context': {'tenant': 'other'}, " HI "}";
	const char *mine = "/store/items?namespace=acme.memories&key=/a.md";

	apply("writer.yaml",
	    "name: writer\nmodel: scripted:w\nmiddleware:\n- filesystem: {backend: "
	    "{store: {namespace: ['{tenant}', memories]}}}\nscript: {w: [{tool_calls: "
	    "[{name: write_file, id: c1, args: {file_path: /a.md, content: tea}}]}, "
	    "{content: done}]}\n");
	tenants_get(ACME, "POST", "/runs/wait", body, 200);
	ck_assert(!value_is_nil(tenants_get(ACME, "GET", mine, NULL, 200)));
	ck_assert(value_is_nil(tenants_get(
	    OTHER, "GET", "/store/items?namespace=other.memories&key=/a.md", NULL, 200)));
	/* Of a run that is for nobody there is no such place. */
	ck_assert_has(tenants_ask(ADMIN, "POST", "/runs/wait", body).body,
	    "has nothing for '{tenant}'");
}
END_TEST

TCase *
tcase_serve_private(void)
{
	TCase *tcase = tcase_create("serve_private");

	tcase_add_unchecked_fixture(tcase, open_private, close_private);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_unknown_agents_fields_are_not_read);
	tcase_add_test(tcase, nor_by_streams_of_threads);
	tcase_add_test(tcase, nor_what_others_put_in);
	tcase_add_test(tcase, a_plugin_makes_fields_known);
	tcase_add_test(tcase, another_agent_behind_it_opens_nothing);
	tcase_add_test(tcase, a_deleted_agents_fields_are_not_read);
	tcase_add_test(tcase, what_is_private_now_is_not_shown_of_before);
	tcase_add_test(tcase, a_subagents_fields_are_its_own);
	tcase_add_test(tcase, an_agents_own_fields_are_not_written);
	tcase_add_test(tcase, an_unknown_agents_fields_are_not_written);
	tcase_add_test(tcase, an_agents_memory_is_the_tenants);
	return tcase;
}
