/* What a key of a tenant reaches by `flotilla serve`: its tenant's, and nothing else. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/command.h"
#include "has.h"
#include "store.h"
#include "tenant_bench.h"

TCase *tcase_serve_tenants(void);

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static struct fleet_up *const fleet = &serve_bench.fleet;

static void
open_tenants(void)
{
	serve_open();
	tenants_open(NULL);
}

static void
close_tenants(void)
{
	tenants_close();
	serve_close();
}

/* A thread of acme's on which something was said; run_r: its run. */
static const char *
talked(const char **run_r)
{
	const struct value *thread = tenants_get(
	    ACME, "POST", "/threads", "{'metadata': {'topic': 'boats'}}", 200);
	const char *id = value_get_text(thread, "thread_id");
	const struct value *runs;

	tenants_get(ACME, "POST", serve_text("/threads/%s/runs/wait", id),
	    "{'assistant_id': 'quick', 'input': {'messages': 'Of boats'}}", 200);
	runs = tenants_get(ACME, "GET", serve_text("/threads/%s/runs", id), NULL, 200);
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

	before = tenants_get(ACME, "GET", path, NULL, 200);
	for (i = 0; i < COUNT(calls); i++) {
		const char *asked = arena_printf(fleet->arena, "/threads/%s%s%s%s",
		    thread, calls[i].path, calls[i].of_run != NULL ? run : "",
		    calls[i].of_run != NULL ? calls[i].of_run : "");
		struct serve_answer answer =
		    tenants_ask(OTHER, calls[i].method, asked, calls[i].body);

		ck_assert_msg(answer.status == 404, "%s %s: %ld: %s", calls[i].method,
		    asked, answer.status, answer.body);
		ck_assert_has_not(answer.body, "boats");
	}
	for (i = 0; i < COUNT(makes); i++)
		ck_assert_has_not(tenants_ask(OTHER, "POST",
				      arena_printf(fleet->arena, "/threads/%s%s", thread,
					  makes[i].path),
				      makes[i].body)
				      .body,
		    "boats");
	/* Nor is it changed. */
	behind = tenants_get(ACME, "GET", path, NULL, 200);
	ck_assert(value_equal(before, behind));
	/* Who has no tenant sees all. */
	tenants_get(ADMIN, "GET", path, NULL, 200);
}
END_TEST

/* Nor by the name of a part of it, as Redis has it, from a thread in its shard. */
START_TEST(no_name_tells_that_a_run_is_there)
{
	static const char *const methods[][2] = { { "GET", "" }, { "DELETE", "" },
		{ "GET", "/join" }, { "GET", "/stream" }, { "POST", "/cancel" } };
	const char *run, *thread = talked(&run), *name;
	size_t i = 0;

	do
		name = serve_text("other~part-%zu", i++);
	while (store_shard(name) != store_shard(thread));
	tenants_get(
	    OTHER, "POST", "/threads", serve_text("{'thread_id': '%s'}", name), 200);
	for (i = 0; i < COUNT(methods); i++)
		ck_assert_str_eq(
		    tenants_ask(OTHER, methods[i][0],
			serve_text("/threads/%s/runs/%s:e%s", name, run, methods[i][1]),
			NULL)
			.body,
		    "{\"detail\":\"Run not found\"}");
}
END_TEST

/* What no coordinator would take is not submitted. */
START_TEST(a_thread_needs_an_id)
{
	static const char *const paths[] = { "/threads/a%0d%0aX:y/runs",
		"/threads/a%20b/runs/wait", "/threads/a:m/runs/stream",
		"/threads/%c0%af/runs" };
	size_t i;

	for (i = 0; i < COUNT(paths); i++)
		tenants_get(ACME, "POST", paths[i],
		    "{'assistant_id': 'quick', 'if_not_exists': 'create', " HI "}", 422);
	tenants_get(ACME, "POST", "/threads/a:m/commands",
	    "{'id': 1, 'method': 'run.start', 'params': {'assistant_id': 'quick', " HI
	    "}}",
	    422);
}
END_TEST

static size_t
found(const char *key, const char *path, const char *body)
{
	return value_size(tenants_get(key, "POST", path, body, 200));
}

static int64_t
counted(const char *key, const char *path, const char *body)
{
	return tenants_get(key, "POST", path, body, 200)->integer;
}

/* A name is whoever's who uses it. */
START_TEST(the_same_name_is_another_thread)
{
	const struct value *thread;

	tenants_get(ACME, "POST", "/threads",
	    "{'thread_id': 'same', 'metadata': {'of': 'acme'}}", 200);
	tenants_get(OTHER, "POST", "/threads",
	    "{'thread_id': 'same', 'metadata': {'of': 'other'}}", 200);
	tenants_get(ACME, "POST", "/threads", "{'thread_id': 'same'}", 409);
	thread = tenants_get(ACME, "GET", "/threads/same", NULL, 200);
	ck_assert_str_eq(value_get_text(thread, "thread_id"), "acme~same");
	ck_assert_str_eq(value_get_text(value_get(thread, "metadata"), "of"), "acme");
	/* By its whole name, too, as all see it who see all. */
	tenants_get(ACME, "GET", "/threads/acme~same", NULL, 200);
	tenants_get(ADMIN, "GET", "/threads/acme~same", NULL, 200);
	tenants_get(ADMIN, "GET", "/threads/same", NULL, 404);
	ck_assert_uint_eq(value_size(tenants_get(OTHER, "POST", "/threads/search",
			      "{'ids': ['same'], 'select': ['thread_id']}", 200)),
	    1);
	tenants_get(OTHER, "DELETE", "/threads/same", NULL, 204);
	tenants_get(ACME, "GET", "/threads/same", NULL, 200);
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
	searched = tenants_ask(OTHER, "POST", "/threads/search", "{'limit': 1}");
	ck_assert_int_eq(strtoll(serve_header(&searched, "X-Pagination-Total"), NULL, 10),
	    counted(OTHER, "/threads/count", "{}"));
	body = serve_text("{'thread_ids': ['%s']}", thread);
	ck_assert_int_eq(
	    value_get_int(tenants_get(OTHER, "POST", "/threads/prune", body, 200),
		"pruned_count", -1),
	    0);
	tenants_get(OTHER, "POST", "/runs/cancel",
	    serve_text("{'thread_id': '%s', 'status': 'all'}", thread), 404);
	tenants_get(ACME, "POST", "/runs/cancel",
	    serve_text("{'thread_id': '%s', 'status': 'all'}", thread), 204);
	one = tenants_get(ACME, "POST", "/threads/late/runs",
	    "{'assistant_id': 'quick', 'if_not_exists': 'create', 'after_seconds': "
	    "600, " HI "}",
	    200);
	body = serve_text("/threads/late/runs/%s", value_get_text(one, "run_id"));
	tenants_get(OTHER, "POST", "/runs/cancel", "{'status': 'all'}", 204);
	ck_assert_str_eq(
	    value_get_text(tenants_get(ACME, "GET", body, NULL, 200), "status"),
	    "pending");
	tenants_get(ACME, "POST", "/runs/cancel", "{'status': 'all'}", 204);
	ck_assert_str_eq(
	    value_get_text(tenants_get(ACME, "GET", body, NULL, 200), "status"),
	    "interrupted");
	body = serve_text("{'thread_ids': ['%s']}", thread);
	ck_assert_int_eq(
	    value_get_int(tenants_get(ACME, "POST", "/threads/prune", body, 200),
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

	tenants_get(ACME, "POST", "/threads", "{'thread_id': 'deep'}", 200);
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

	one =
	    tenants_get(ACME, "POST", serve_text("/threads/%s/copy", thread), "{}", 200);
	id = value_get_text(one, "thread_id");
	tenants_get(ACME, "GET", serve_text("/threads/%s/state", id), NULL, 200);
	tenants_get(OTHER, "GET", serve_text("/threads/%s/state", id), NULL, 404);
	one = tenants_get(OTHER, "POST", "/runs",
	    "{'assistant_id': 'quick', 'on_completion': 'keep', " HI "}", 200);
	id = value_get_text(one, "thread_id");
	tenants_get(OTHER, "GET", serve_text("/threads/%s", id), NULL, 200);
	tenants_get(ACME, "GET", serve_text("/threads/%s", id), NULL, 404);
	tenants_get(OTHER, "POST", "/threads/others-own/runs/wait",
	    "{'assistant_id': 'quick', 'if_not_exists': 'create', " HI "}", 200);
	tenants_get(OTHER, "GET", "/threads/others-own", NULL, 200);
	tenants_get(ADMIN, "GET", "/threads/other~others-own", NULL, 200);
	tenants_get(ACME, "GET", "/threads/others-own", NULL, 404);
	/* Nobody's is not everybody's. */
	tenants_get(ADMIN, "POST", "/threads", "{'thread_id': 'nobodys'}", 200);
	tenants_get(ACME, "GET", "/threads/nobodys", NULL, 404);
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
	runs = tenants_get(ACME, "GET", "/threads/cli/runs", NULL, 200);
	path = serve_text(
	    "/threads/cli/runs/%s", value_get_text(value_at(runs, 0), "run_id"));
	tenants_get(ACME, "GET", path, NULL, 200);
	tenants_get(ACME, "GET", serve_text("%s/join", path), NULL, 200);
	tenants_get(OTHER, "GET", path, NULL, 404);
	tenants_get(OTHER, "GET", "/threads/others-own/runs/by-hand", NULL, 404);
}
END_TEST

START_TEST(crons_are_its_own)
{
	const struct value *cron = tenants_get(ACME, "POST", "/runs/crons",
	    "{'assistant_id': 'quick', 'schedule': '@yearly', " HI "}", 200);
	const char *id = value_get_text(cron, "cron_id");
	const char *path = serve_text("/runs/crons/%s", id);

	ck_assert_uint_eq(found(OTHER, "/runs/crons/search", "{}"), 0);
	ck_assert_int_eq(counted(OTHER, "/runs/crons/count", "{}"), 0);
	tenants_get(OTHER, "PATCH", path, "{'enabled': false}", 404);
	tenants_get(OTHER, "DELETE", path, NULL, 404);
	ck_assert_uint_eq(found(ACME, "/runs/crons/search", "{}"), 1);
	ck_assert_uint_eq(found(ADMIN, "/runs/crons/search", "{}"), 1);
	/* Who may change it is not whose it becomes. */
	tenants_get(ADMIN, "PATCH", path, "{'schedule': '@daily'}", 200);
	ck_assert_uint_eq(found(ACME, "/runs/crons/search", "{}"), 1);
	tenants_get(ACME, "DELETE", path, NULL, 204);
}
END_TEST

START_TEST(memory_is_its_own)
{
	const char *item =
	    "{'namespace': ['acme', 'facts'], 'key': 'k', 'value': {'color': 'blue'}}";
	const char *where = "/store/items?namespace=acme.facts&key=k";
	const struct value *items;

	tenants_get(OTHER, "PUT", "/store/items", item, 403);
	tenants_get(ACME, "PUT", "/store/items", item, 204);
	tenants_get(ADMIN, "PUT", "/store/items",
	    "{'namespace': ['fleet'], 'key': 'k', 'value': {'color': 'red'}}", 204);
	tenants_get(OTHER, "GET", where, NULL, 403);
	tenants_get(ACME, "GET", "/store/items?namespace=fleet&key=k", NULL, 403);
	tenants_get(ACME, "GET", "/store/items?key=k", NULL, 403);
	tenants_get(ACME, "GET", where, NULL, 200);
	tenants_get(OTHER, "DELETE", "/store/items",
	    "{'namespace': ['acme', 'facts'], 'key': 'k'}", 403);
	tenants_get(
	    OTHER, "POST", "/store/items/search", "{'namespace_prefix': ['acme']}", 403);
	tenants_get(OTHER, "POST", "/store/namespaces", "{'prefix': ['acme']}", 403);
	items = tenants_get(OTHER, "POST", "/store/items/search", "{}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "items")), 0);
	items = tenants_get(
	    ACME, "POST", "/store/items/search", "{'namespace_prefix': []}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "items")), 1);
	items = tenants_get(OTHER, "POST", "/store/namespaces", "{}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "namespaces")), 0);
	items = tenants_get(ADMIN, "POST", "/store/namespaces", "{}", 200);
	ck_assert_uint_eq(value_size(value_get(items, "namespaces")), 2);
}
END_TEST

START_TEST(assistants_are_its_own)
{
	const struct value *made = tenants_get(ACME, "POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'same', 'metadata': {'of': 'acme'}}",
	    200);
	const char *wait = "{'assistant_id': 'same', 'on_completion': 'keep', " HI "}";
	const char *whole = "{'assistant_id': 'acme~same', " HI "}";
	const char *versions = "/assistants/acme~same/versions";
	int64_t all = counted(ADMIN, "/assistants/count", "{}");

	ck_assert_str_eq(value_get_text(made, "assistant_id"), "acme~same");
	tenants_get(OTHER, "GET", "/assistants/same", NULL, 404);
	tenants_get(OTHER, "GET", "/assistants/acme~same", NULL, 404);
	tenants_get(OTHER, "GET", "/assistants/acme~same/graph", NULL, 404);
	tenants_get(OTHER, "PATCH", "/assistants/acme~same", "{'name': 'theirs'}", 404);
	tenants_get(OTHER, "POST", "/assistants/acme~same/latest", "{'version': 1}", 404);
	tenants_get(OTHER, "POST", versions, "{}", 404);
	tenants_get(OTHER, "DELETE", "/assistants/acme~same", NULL, 404);
	tenants_get(OTHER, "POST", "/runs/wait", whole, 404);
	tenants_get(OTHER, "POST", "/runs/crons",
	    "{'assistant_id': 'acme~same', 'schedule': '@daily', " HI "}", 404);
	ck_assert_int_eq(counted(OTHER, "/assistants/count", "{}"), all - 1);
	ck_assert_uint_eq(
	    found(OTHER, "/assistants/search", "{'metadata': {'of': 'acme'}}"), 0);
	/* The same name is another one. */
	tenants_get(OTHER, "POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'same', 'metadata': {'of': 'other'}}",
	    200);
	ck_assert_uint_eq(
	    found(ACME, "/assistants/search", "{'metadata': {'of': 'acme'}}"), 1);
	ck_assert_uint_eq(
	    found(ADMIN, "/assistants/search", "{'metadata': {'of': 'other'}}"), 1);
	/* By either name, as a tool and for others as well; all see it who see all. */
	tenants_get(ACME, "POST", "/runs/wait", wait, 200);
	tenants_get(ACME, "POST", "/runs/wait", whole, 200);
	ck_assert_has(tenants_ask(ACME, "POST", "/mcp",
			  "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'}")
			  .body,
	    "\"same\"");
	tenants_get(ACME, "GET", "/a2a/same/.well-known/agent-card.json", NULL, 200);
	tenants_get(
	    OTHER, "GET", "/a2a/acme~same/.well-known/agent-card.json", NULL, 404);
	tenants_get(ADMIN, "GET", "/assistants/acme~same", NULL, 200);
	tenants_get(ADMIN, "GET", "/assistants/same", NULL, 404);
	/* One that is nobody's is not everybody's. */
	tenants_get(ADMIN, "POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'nobodys'}", 200);
	tenants_get(ACME, "GET", "/assistants/nobodys", NULL, 404);
	tenants_get(ACME, "POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'quick'}", 409);
	tenants_get(OTHER, "DELETE", "/assistants/same", NULL, 204);
	tenants_get(ACME, "GET", "/assistants/same", NULL, 200);
	tenants_get(ACME, "DELETE", "/assistants/same?delete_threads=true", NULL, 204);
}
END_TEST

/* All may use the fleet's agents. */
START_TEST(agents_are_everybodys)
{
	ck_assert_uint_ge(found(OTHER, "/assistants/search", "{}"), 1);
	tenants_get(OTHER, "GET", "/assistants/quick", NULL, 200);
}
END_TEST

TCase *
tcase_serve_tenants(void)
{
	TCase *tcase = tcase_create("serve_tenants");

	tcase_add_unchecked_fixture(tcase, open_tenants, close_tenants);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, anothers_thread_is_not_there);
	tcase_add_test(tcase, no_name_tells_that_a_run_is_there);
	tcase_add_test(tcase, a_thread_needs_an_id);
	tcase_add_test(tcase, the_same_name_is_another_thread);
	tcase_add_test(tcase, many_are_its_own);
	tcase_add_test(tcase, others_do_not_hide_its_threads);
	tcase_add_test(tcase, what_it_begins_is_its_own);
	tcase_add_test(tcase, runs_of_others_on_its_thread_are_its_own);
	tcase_add_test(tcase, crons_are_its_own);
	tcase_add_test(tcase, memory_is_its_own);
	tcase_add_test(tcase, assistants_are_its_own);
	tcase_add_test(tcase, agents_are_everybodys);
	return tcase;
}
