/* What a key of a tenant reaches by `flotilla serve`: its tenant's, and nothing else. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../cli/command.h"
#include "has.h"
#include "serve_bench.h"
#include "store.h"

TCase *tcase_serve_tenants(void);

#define ACME "X-Api-Key: 0123456789abcdef-acme"
#define OTHER "X-Api-Key: 0123456789abcdef-other"
#define ADMIN "X-Api-Key: fedcba9876543210"
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static struct fleet_up *const fleet = &serve_bench.fleet;

static struct cli_job *server;
static const char *url;

static void
open_tenants(void)
{
	const char *path;

	serve_open();
	path = arena_printf(fleet->arena, "%s/serve.keys", fleet->folder);
	fleet_up_write(fleet, "serve.keys",
	    "0123456789abcdef-acme acme\n0123456789abcdef-other other\n"
	    "fedcba9876543210\n");
	ck_assert_int_eq(chmod(path, 0600), 0);
	url = serve_start(&server, (const char *const[]){ "--api-keys", path, NULL });
}

static void
close_tenants(void)
{
	serve_stop(&server);
	serve_close();
}

static struct serve_answer
ask(const char *key, const char *method, const char *path, const char *body)
{
	return ASK(.url = url, .method = method, .path = path, .body = body,
	    .headers = { key });
}

static const struct value *
get(const char *key, const char *method, const char *path, const char *body, long status)
{
	struct serve_answer answer = ask(key, method, path, body);

	ck_assert_msg(answer.status == status, "%s %s: %ld: %s", method, path,
	    answer.status, answer.body);
	return answer.json;
}

/* A thread of acme's on which something was said; run_r: its run. */
static const char *
talked(const char **run_r)
{
	const struct value *thread =
	    get(ACME, "POST", "/threads", "{'metadata': {'topic': 'boats'}}", 200);
	const char *id = value_get_text(thread, "thread_id");
	const struct value *runs;

	get(ACME, "POST", serve_text("/threads/%s/runs/wait", id),
	    "{'assistant_id': 'quick', 'input': {'messages': 'Of boats'}}", 200);
	runs = get(ACME, "GET", serve_text("/threads/%s/runs", id), NULL, 200);
	*run_r = value_get_text(value_at(runs, 0), "run_id");
	ck_assert_ptr_nonnull(*run_r);
	return id;
}

/* Behind the thread's path; of_run: behind a run's of it. */
static const struct {
	const char *method, *path, *body, *of_run;
} calls[] = {
	{ "GET", "", NULL, NULL },
	{ "PATCH", "", "{'metadata': {'topic': 'theirs'}}", NULL },
	{ "DELETE", "", NULL, NULL },
	{ "POST", "/copy", "{}", NULL },
	{ "GET", "/state", NULL, NULL },
	{ "POST", "/state", "{'values': {'messages': 'Hi'}}", NULL },
	{ "PATCH", "/state", "{'metadata': {'topic': 'theirs'}}", NULL },
	{ "POST", "/state/checkpoint", "{'checkpoint': {'checkpoint_id': '1'}}", NULL },
	{ "GET", "/state/1", NULL, NULL },
	{ "GET", "/history", NULL, NULL },
	{ "POST", "/history", "{}", NULL },
	{ "GET", "/runs", NULL, NULL },
	{ "POST", "/runs", "{'assistant_id': 'quick', " HI "}", NULL },
	{ "POST", "/runs/crons",
	    "{'assistant_id': 'quick', 'schedule': '@daily', " HI "}", NULL },
	{ "GET", "/runs/", NULL, "" },
	{ "DELETE", "/runs/", NULL, "" },
	{ "POST", "/runs/", "{}", "/cancel" },
	{ "GET", "/runs/", NULL, "/join" },
	{ "GET", "/runs/", NULL, "/stream" },
};

/* These make a thread where there is none: one of its own, that is called so. */
static const struct {
	const char *path, *body;
} makes[] = {
	{ "/commands", "{'id': 1, 'method': 'state.get'}" },
	{ "/commands",
	    "{'id': 1, 'method': 'run.start', 'params': {'assistant_id': 'quick', " HI
	    "}}" },
	{ "/runs", "{'assistant_id': 'quick', 'if_not_exists': 'create', " HI "}" },
	{ "/runs/stream",
	    "{'assistant_id': 'quick', 'if_not_exists': 'create', " HI "}" },
	{ "/runs/wait", "{'assistant_id': 'quick', 'if_not_exists': 'create', " HI "}" },
};

START_TEST(anothers_thread_is_not_there)
{
	const char *run, *thread = talked(&run);
	const struct value *before, *behind;
	const char *path = serve_text("/threads/%s/state", thread);
	size_t i;

	before = get(ACME, "GET", path, NULL, 200);
	for (i = 0; i < COUNT(calls); i++) {
		const char *asked = arena_printf(fleet->arena, "/threads/%s%s%s%s",
		    thread, calls[i].path, calls[i].of_run != NULL ? run : "",
		    calls[i].of_run != NULL ? calls[i].of_run : "");
		struct serve_answer answer =
		    ask(OTHER, calls[i].method, asked, calls[i].body);

		ck_assert_msg(answer.status == 404, "%s %s: %ld: %s", calls[i].method,
		    asked, answer.status, answer.body);
		ck_assert_has_not(answer.body, "boats");
	}
	for (i = 0; i < COUNT(makes); i++)
		ck_assert_has_not(ask(OTHER, "POST",
				      arena_printf(fleet->arena, "/threads/%s%s", thread,
					  makes[i].path),
				      makes[i].body)
				      .body,
		    "boats");
	/* Nor is it changed. */
	behind = get(ACME, "GET", path, NULL, 200);
	ck_assert(value_equal(before, behind));
	/* Who has no tenant sees all. */
	get(ADMIN, "GET", path, NULL, 200);
}
END_TEST

static size_t
found(const char *key, const char *path, const char *body)
{
	return value_size(get(key, "POST", path, body, 200));
}

static int64_t
counted(const char *key, const char *path, const char *body)
{
	return get(key, "POST", path, body, 200)->integer;
}

/* A name is whoever's who uses it. */
START_TEST(the_same_name_is_another_thread)
{
	const struct value *thread;

	get(ACME, "POST", "/threads", "{'thread_id': 'same', 'metadata': {'of': 'acme'}}",
	    200);
	get(OTHER, "POST", "/threads",
	    "{'thread_id': 'same', 'metadata': {'of': 'other'}}", 200);
	get(ACME, "POST", "/threads", "{'thread_id': 'same'}", 409);
	thread = get(ACME, "GET", "/threads/same", NULL, 200);
	ck_assert_str_eq(value_get_text(thread, "thread_id"), "acme~same");
	ck_assert_str_eq(value_get_text(value_get(thread, "metadata"), "of"), "acme");
	/* By its whole name, too, as all see it who see all. */
	get(ACME, "GET", "/threads/acme~same", NULL, 200);
	get(ADMIN, "GET", "/threads/acme~same", NULL, 200);
	get(ADMIN, "GET", "/threads/same", NULL, 404);
	ck_assert_uint_eq(value_size(get(OTHER, "POST", "/threads/search",
			      "{'ids': ['same'], 'select': ['thread_id']}", 200)),
	    1);
	get(OTHER, "DELETE", "/threads/same", NULL, 204);
	get(ACME, "GET", "/threads/same", NULL, 200);
}
END_TEST

START_TEST(many_are_its_own)
{
	const char *run, *thread = talked(&run);
	const char *ids = serve_text("{'ids': ['%s']}", thread), *body;
	int64_t all = counted(ADMIN, "/threads/count", "{}");
	const struct value *one;
	struct serve_answer searched;

	ck_assert_uint_eq(found(ACME, "/threads/search", ids), 1);
	ck_assert_uint_eq(found(OTHER, "/threads/search", ids), 0);
	ck_assert_int_ge(counted(ACME, "/threads/count", "{}"), 1);
	ck_assert_int_lt(counted(OTHER, "/threads/count", "{}"), all);
	ck_assert_int_eq(counted(OTHER, "/threads/count", ids), 0);
	/* Nor is it told how many the others have. */
	searched = ask(OTHER, "POST", "/threads/search", "{'limit': 1}");
	ck_assert_int_eq(strtoll(serve_header(&searched, "X-Pagination-Total"), NULL, 10),
	    counted(OTHER, "/threads/count", "{}"));
	body = serve_text("{'thread_ids': ['%s']}", thread);
	ck_assert_int_eq(value_get_int(get(OTHER, "POST", "/threads/prune", body, 200),
			     "pruned_count", -1),
	    0);
	get(OTHER, "POST", "/runs/cancel",
	    serve_text("{'thread_id': '%s', 'status': 'all'}", thread), 404);
	get(ACME, "POST", "/runs/cancel",
	    serve_text("{'thread_id': '%s', 'status': 'all'}", thread), 204);
	one = get(ACME, "POST", "/threads/late/runs",
	    "{'assistant_id': 'quick', 'if_not_exists': 'create', 'after_seconds': "
	    "600, " HI "}",
	    200);
	body = serve_text("/threads/late/runs/%s", value_get_text(one, "run_id"));
	get(OTHER, "POST", "/runs/cancel", "{'status': 'all'}", 204);
	ck_assert_str_eq(
	    value_get_text(get(ACME, "GET", body, NULL, 200), "status"), "pending");
	get(ACME, "POST", "/runs/cancel", "{'status': 'all'}", 204);
	ck_assert_str_eq(
	    value_get_text(get(ACME, "GET", body, NULL, 200), "status"), "interrupted");
	body = serve_text("{'thread_ids': ['%s']}", thread);
	ck_assert_int_eq(value_get_int(get(ACME, "POST", "/threads/prune", body, 200),
			     "pruned_count", -1),
	    1);
}
END_TEST

/* More newer ones of others than a search looks at, in the same shard. */
START_TEST(others_do_not_hide_its_threads)
{
	const struct cli redis = { "redis-cli", NULL, fleet->arena };
	const char *index = arena_printf(fleet->arena, "%sthreads",
	    store_prefix(fleet->arena, store_shard("acme~deep")));
	struct said said;

	get(ACME, "POST", "/threads", "{'thread_id': 'deep'}", 200);
	said = CLI(&redis, "-s", fleet->redis + strlen("unix://"), "EVAL",
	    "for i = 1, 10001 do redis.call('ZADD', KEYS[1], 9e12, 'other~' .. i) end",
	    "1", index);
	ck_assert_int_eq(said.status, 0);
	ck_assert_uint_eq(found(ACME, "/threads/search", "{'ids': ['deep']}"), 1);
	ck_assert_int_eq(counted(ACME, "/threads/count", "{'ids': ['deep']}"), 1);
	said = CLI(&redis, "-s", fleet->redis + strlen("unix://"), "ZREMRANGEBYSCORE",
	    index, "9e12", "inf");
	ck_assert_int_eq(said.status, 0);
}
END_TEST

/* A thread is the tenant's of who begins it, by a run of any kind, and so is its copy. */
START_TEST(what_it_begins_is_its_own)
{
	const char *run, *thread = talked(&run), *id;
	const struct value *one;

	one = get(ACME, "POST", serve_text("/threads/%s/copy", thread), "{}", 200);
	id = value_get_text(one, "thread_id");
	get(ACME, "GET", serve_text("/threads/%s/state", id), NULL, 200);
	get(OTHER, "GET", serve_text("/threads/%s/state", id), NULL, 404);
	one = get(OTHER, "POST", "/runs",
	    "{'assistant_id': 'quick', 'on_completion': 'keep', " HI "}", 200);
	id = value_get_text(one, "thread_id");
	get(OTHER, "GET", serve_text("/threads/%s", id), NULL, 200);
	get(ACME, "GET", serve_text("/threads/%s", id), NULL, 404);
	get(OTHER, "POST", "/threads/others-own/runs/wait",
	    "{'assistant_id': 'quick', 'if_not_exists': 'create', " HI "}", 200);
	get(OTHER, "GET", "/threads/others-own", NULL, 200);
	get(ADMIN, "GET", "/threads/other~others-own", NULL, 200);
	get(ACME, "GET", "/threads/others-own", NULL, 404);
	/* Nobody's is not everybody's. */
	get(ADMIN, "POST", "/threads", "{'thread_id': 'nobodys'}", 200);
	get(ACME, "GET", "/threads/nobodys", NULL, 404);
}
END_TEST

/* By the thread, whatever the run is called. */
START_TEST(runs_of_others_on_its_thread_are_its_own)
{
	const struct value *runs;
	const char *path;

	ck_assert_int_eq(CLI(&fleet->flotilla, "submit", "quick", "Hi", "--thread",
			     "acme~cli", "--run-id", "by-hand", "--wait")
			     .status,
	    0);
	runs = get(ACME, "GET", "/threads/cli/runs", NULL, 200);
	path = serve_text(
	    "/threads/cli/runs/%s", value_get_text(value_at(runs, 0), "run_id"));
	get(ACME, "GET", path, NULL, 200);
	get(ACME, "GET", serve_text("%s/join", path), NULL, 200);
	get(OTHER, "GET", path, NULL, 404);
	get(OTHER, "GET", "/threads/others-own/runs/by-hand", NULL, 404);
}
END_TEST

START_TEST(crons_are_its_own)
{
	const struct value *cron = get(ACME, "POST", "/runs/crons",
	    "{'assistant_id': 'quick', 'schedule': '@yearly', " HI "}", 200);
	const char *id = value_get_text(cron, "cron_id");
	const char *path = serve_text("/runs/crons/%s", id);

	ck_assert_uint_eq(found(OTHER, "/runs/crons/search", "{}"), 0);
	ck_assert_int_eq(counted(OTHER, "/runs/crons/count", "{}"), 0);
	get(OTHER, "PATCH", path, "{'enabled': false}", 404);
	get(OTHER, "DELETE", path, NULL, 404);
	ck_assert_uint_eq(found(ACME, "/runs/crons/search", "{}"), 1);
	ck_assert_uint_eq(found(ADMIN, "/runs/crons/search", "{}"), 1);
	/* Who may change it is not whose it becomes. */
	get(ADMIN, "PATCH", path, "{'schedule': '@daily'}", 200);
	ck_assert_uint_eq(found(ACME, "/runs/crons/search", "{}"), 1);
	get(ACME, "DELETE", path, NULL, 204);
}
END_TEST

START_TEST(memory_is_its_own)
{
	const char *item =
	    "{'namespace': ['acme', 'facts'], 'key': 'k', 'value': {'color': 'blue'}}";
	const char *where = "/store/items?namespace=acme.facts&key=k";
	const struct value *items;

	get(OTHER, "PUT", "/store/items", item, 403);
	get(ACME, "PUT", "/store/items", item, 204);
	get(ADMIN, "PUT", "/store/items",
	    "{'namespace': ['fleet'], 'key': 'k', 'value': {'color': 'red'}}", 204);
	get(OTHER, "GET", where, NULL, 403);
	get(ACME, "GET", "/store/items?namespace=fleet&key=k", NULL, 403);
	get(ACME, "GET", "/store/items?key=k", NULL, 403);
	get(ACME, "GET", where, NULL, 200);
	get(OTHER, "DELETE", "/store/items",
	    "{'namespace': ['acme', 'facts'], 'key': 'k'}", 403);
	get(OTHER, "POST", "/store/items/search", "{'namespace_prefix': ['acme']}", 403);
	get(OTHER, "POST", "/store/namespaces", "{'prefix': ['acme']}", 403);
	items = get(OTHER, "POST", "/store/items/search", "{}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "items")), 0);
	items = get(ACME, "POST", "/store/items/search", "{'namespace_prefix': []}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "items")), 1);
	items = get(OTHER, "POST", "/store/namespaces", "{}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "namespaces")), 0);
	items = get(ADMIN, "POST", "/store/namespaces", "{}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "namespaces")), 2);
}
END_TEST

/* What an agent keeps for itself may name what only the agent may ask for. */
START_TEST(an_agents_own_fields_are_not_written)
{
	fleet_up_write(fleet, "chief.yaml",
	    "name: chief\nmodel: scripted:c\nmiddleware: [{async_subagent: "
	    "{async_subagents: [{name: worker, description: works, graph_id: quick}]}}]\n"
	    "script: {c: [{content: Hi.}]}\n");
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "apply",
			     arena_printf(fleet->arena, "%s/chief.yaml", fleet->folder))
			     .status,
	    0);
	get(ACME, "POST", "/threads/chiefs/runs/wait",
	    "{'assistant_id': 'chief', 'if_not_exists': 'create', " HI "}", 200);
	get(ACME, "POST", "/threads/chiefs/state", "{'values': {'async_tasks': {}}}",
	    403);
	get(ACME, "POST", "/threads/chiefs/runs",
	    "{'assistant_id': 'chief', 'command': {'update': {'async_tasks': {}}}}", 403);
	get(ACME, "POST", "/threads/chiefs/state", "{'values': {'messages': 'Hi'}}", 200);
	get(ADMIN, "POST", "/threads/acme~chiefs/state",
	    "{'values': {'async_tasks': {}}}", 200);
}
END_TEST

/* Which fields these are is not known where its middleware is not. */
START_TEST(an_unknown_agents_fields_are_not_written)
{
	const char *program = fleet_up_program(fleet->arena), *plugin, *file;
	struct serve_answer answer;

	plugin = arena_printf(fleet->arena, "%.*s/../plugins/thrifty.so",
	    (int)(strrchr(program, '/') - program), program);
	fleet_up_write(fleet, "saver.yaml",
	    "name: saver\nmodel: scripted:s\nmiddleware: [{thrifty: {max_tokens: "
	    "1000}}]\n"
	    "state: {topic: {type: string}}\nscript: {s: [{content: Hi.}]}\n");
	file = arena_printf(fleet->arena, "%s/saver.yaml", fleet->folder);
	ck_assert_int_eq(
	    CLI(&fleet->flotilla, "agents", "apply", file, "--plugin", plugin).status, 0);
	get(ACME, "POST", "/threads",
	    "{'thread_id': 'savers', 'metadata': {'graph_id': 'saver'}}", 200);
	answer =
	    ask(ACME, "POST", "/threads/savers/state", "{'values': {'topic': 'boats'}}");
	ck_assert_int_eq(answer.status, 403);
	ck_assert_has(answer.body, "--plugin");
	answer = ask(ACME, "POST", "/threads/savers/runs",
	    "{'assistant_id': 'saver', 'command': {'update': {'topic': 'boats'}}}");
	ck_assert_int_eq(answer.status, 403);
	ck_assert_has(answer.body, "--plugin");
	get(ACME, "POST", "/threads",
	    "{'metadata': {'graph_id': 'saver'}, 'supersteps': [{'updates': [{'as_node': "
	    "'__start__', 'values': {'topic': 'boats'}}]}]}",
	    403);
	/* The coordinators of this fleet do not know it either: they refuse, but not serve. */
	answer = ask(ADMIN, "POST", "/threads/acme~savers/state",
	    "{'values': {'topic': 'boats'}}");
	ck_assert_int_ne(answer.status, 403);
}
END_TEST

START_TEST(assistants_are_its_own)
{
	const struct value *made = get(ACME, "POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'same', 'metadata': {'of': 'acme'}}",
	    200);
	const char *wait = "{'assistant_id': 'same', 'on_completion': 'keep', " HI "}";
	const char *whole = "{'assistant_id': 'acme~same', " HI "}";
	const char *versions = "/assistants/acme~same/versions";
	int64_t all = counted(ADMIN, "/assistants/count", "{}");

	ck_assert_str_eq(value_get_text(made, "assistant_id"), "acme~same");
	get(OTHER, "GET", "/assistants/same", NULL, 404);
	get(OTHER, "GET", "/assistants/acme~same", NULL, 404);
	get(OTHER, "GET", "/assistants/acme~same/graph", NULL, 404);
	get(OTHER, "PATCH", "/assistants/acme~same", "{'name': 'theirs'}", 404);
	get(OTHER, "POST", "/assistants/acme~same/latest", "{'version': 1}", 404);
	get(OTHER, "POST", versions, "{}", 404);
	get(OTHER, "DELETE", "/assistants/acme~same", NULL, 404);
	get(OTHER, "POST", "/runs/wait", whole, 404);
	get(OTHER, "POST", "/runs/crons",
	    "{'assistant_id': 'acme~same', 'schedule': '@daily', " HI "}", 404);
	ck_assert_int_eq(counted(OTHER, "/assistants/count", "{}"), all - 1);
	ck_assert_uint_eq(
	    found(OTHER, "/assistants/search", "{'metadata': {'of': 'acme'}}"), 0);
	/* The same name is another one. */
	get(OTHER, "POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'same', 'metadata': {'of': 'other'}}",
	    200);
	ck_assert_uint_eq(
	    found(ACME, "/assistants/search", "{'metadata': {'of': 'acme'}}"), 1);
	ck_assert_uint_eq(
	    found(ADMIN, "/assistants/search", "{'metadata': {'of': 'other'}}"), 1);
	/* By either name, as a tool and for others as well; all see it who see all. */
	get(ACME, "POST", "/runs/wait", wait, 200);
	get(ACME, "POST", "/runs/wait", whole, 200);
	ck_assert_has(ask(ACME, "POST", "/mcp",
			  "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'}")
			  .body,
	    "\"same\"");
	get(ACME, "GET", "/a2a/same/.well-known/agent-card.json", NULL, 200);
	get(OTHER, "GET", "/a2a/acme~same/.well-known/agent-card.json", NULL, 404);
	get(ADMIN, "GET", "/assistants/acme~same", NULL, 200);
	get(ADMIN, "GET", "/assistants/same", NULL, 404);
	/* One that is nobody's is not everybody's. */
	get(ADMIN, "POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'nobodys'}", 200);
	get(ACME, "GET", "/assistants/nobodys", NULL, 404);
	get(ACME, "POST", "/assistants", "{'graph_id': 'quick', 'assistant_id': 'quick'}",
	    409);
	get(OTHER, "DELETE", "/assistants/same", NULL, 204);
	get(ACME, "GET", "/assistants/same", NULL, 200);
	get(ACME, "DELETE", "/assistants/same?delete_threads=true", NULL, 204);
}
END_TEST

/* All may use the fleet's agents. */
START_TEST(agents_are_everybodys)
{
	ck_assert_uint_ge(found(OTHER, "/assistants/search", "{}"), 1);
	get(OTHER, "GET", "/assistants/quick", NULL, 200);
}
END_TEST

TCase *
tcase_serve_tenants(void)
{
	TCase *tcase = tcase_create("serve_tenants");

	tcase_add_unchecked_fixture(tcase, open_tenants, close_tenants);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, anothers_thread_is_not_there);
	tcase_add_test(tcase, the_same_name_is_another_thread);
	tcase_add_test(tcase, many_are_its_own);
	tcase_add_test(tcase, others_do_not_hide_its_threads);
	tcase_add_test(tcase, what_it_begins_is_its_own);
	tcase_add_test(tcase, runs_of_others_on_its_thread_are_its_own);
	tcase_add_test(tcase, crons_are_its_own);
	tcase_add_test(tcase, memory_is_its_own);
	tcase_add_test(tcase, an_agents_own_fields_are_not_written);
	tcase_add_test(tcase, an_unknown_agents_fields_are_not_written);
	tcase_add_test(tcase, assistants_are_its_own);
	tcase_add_test(tcase, agents_are_everybodys);
	return tcase;
}
