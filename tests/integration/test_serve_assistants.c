/* Assistants that are made by HTTP: changed, found, deleted, and what is wrong. What their runs have of them is in
 * test_serve_assistant_runs.c, whose they are in test_serve_tenants.c; the client of LangGraph makes some in
 * tests/languages/sdk.mjs. */
#include <check.h>
#include <string.h>

#include "../../cli/command.h"
#include "assistant_bench.h"
#include "has.h"
#include "literal.h"

TCase *tcase_serve_assistants(void);

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static struct fleet_up *const fleet = &serve_bench.fleet;

/* --- changes ------------------------------------------------------------------------------ */

START_TEST(a_change_is_a_new_version)
{
	const char *id =
	    ab_create("'context': {'tone': 'dry'}, 'metadata': {'a': 1, 'b': 2}");
	const struct value *now, *list;

	now = ab_ask("PATCH", ab_path(id, ""),
	    "{'context': {'tone': 'warm'}, 'metadata': {'a': null, 'c': 3}, 'name': "
	    "'Warm', 'description': 'warm-hearted'}",
	    200);
	ck_assert_int_eq(value_get_int(now, "version", 0), 2);
	ab_check(now, "name", "Warm");
	ab_check(now, "description", "warm-hearted");
	ck_assert_value(fleet->arena, value_get(now, "metadata"), "{'b': 2, 'c': 3}");
	ck_assert_str_eq(ab_said("/runs/wait", id, ""), "warm nil");
	list = ab_ask("POST", ab_path(id, "/versions"), "{}", 200);
	ck_assert_uint_eq(value_size(list), 2);
	ck_assert_value(
	    fleet->arena, value_get(value_at(list, 1), "metadata"), "{'a': 1, 'b': 2}");
	ab_check(value_at(list, 1), "name", "Untitled");
	list = ab_ask(
	    "POST", ab_path(id, "/versions"), "{'metadata': {'a': 1}, 'limit': 1}", 200);
	ck_assert_int_eq(value_get_int(value_at(list, 0), "version", 0), 1);
	now = ab_ask("POST", ab_path(id, "/latest"), "{'version': 1}", 200);
	ck_assert_int_eq(value_get_int(now, "version", 0), 1);
	ck_assert_str_eq(ab_said("/runs/wait", id, ""), "dry nil");
	/* The next one is of this, and has a number of its own. */
	now = ab_ask("PATCH", ab_path(id, ""), "{'name': 'Third'}", 200);
	ck_assert_int_eq(value_get_int(now, "version", 0), 3);
	ck_assert_value(fleet->arena, value_get(now, "context"), "{'tone': 'dry'}");
	ab_ask("POST", ab_path(id, "/latest"), "{'version': 9}", 404);
	ab_ask("DELETE", ab_path(id, ""), NULL, 204);
	ab_ask("POST", ab_path(id, "/latest"), "{'version': 1}", 404);
	ab_ask("PATCH", ab_path(id, ""), "{'name': 'x'}", 404);
	ab_ask("DELETE", ab_path(id, ""), NULL, 404);
}
END_TEST

#define LONG_ID                                                                          \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"a"                                                                              \
	"aaaaaaaaaaaaaaaaaa"

static const struct {
	const char *method, *path, *body;
	long status;
	const char *words;
} wrong[] = {
	{ "POST", "/assistants", "{}", 422, "graph_id: is missing" },
	{ "POST", "/assistants", "[]", 422, "must be a map" },
	{ "POST", "/assistants", "{'graph_id': 1}", 422, "graph_id: must be the name" },
	{ "POST", "/assistants", "{'graph_id': ''}", 422, "graph_id: must be the name" },
	{ "POST", "/assistants", "{'graph_id': 'nobody'}", 404, "no agent 'nobody'" },
	{ "POST", "/assistants", "{'graph_id': 'tel\\u0000ler'}", 422, "NUL" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'assistant_id': 7}", 422,
	    "assistant_id: must be a text" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'assistant_id': ''}", 422,
	    "assistant_id: an id is" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'assistant_id': 'a b'}", 422,
	    "assistant_id: an id is" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'assistant_id': '" LONG_ID "'}",
	    422, "assistant_id: an id is" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'assistant_id': 'quick'}", 409,
	    "'quick' is an agent's name" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'assistant_id': 'there'}", 409,
	    "already exists" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'if_exists': 'skip'}", 422,
	    "if_exists: must be raise or do_nothing" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'name': ['x']}", 422,
	    "name: must be a text" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'description': 1}", 422,
	    "description: must be a text" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'config': 'x'}", 422,
	    "config: must be a map" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'config': {'configurable': 1}}",
	    422, "config.configurable: must be a map" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'context': [1]}", 422,
	    "context: must be a map" },
	{ "POST", "/assistants",
	    "{'graph_id': 'teller', 'context': {'a': 1}, 'config': {'configurable': "
	    "{'a': 1}}}",
	    422, "are the same, give one" },
	{ "POST", "/assistants", "{'graph_id': 'teller', 'metadata': 3}", 422,
	    "metadata: must be a map" },
	{ "PATCH", "/assistants/there", "{'graph_id': 'nobody'}", 404,
	    "no agent 'nobody'" },
	{ "PATCH", "/assistants/there", "{'name': 1}", 422, "name: must be a text" },
	{ "PATCH", "/assistants/quick", "{'name': 'x'}", 403,
	    "'quick' is an agent of the fleet" },
	{ "DELETE", "/assistants/quick?delete_threads=true", NULL, 403,
	    "'quick' is an agent of the fleet" },
	{ "POST", "/assistants/quick/latest", "{'version': 1}", 403,
	    "'quick' is an agent of the fleet" },
	{ "POST", "/assistants/there/latest", "{}", 422, "version: must be a number" },
	{ "POST", "/assistants/there/latest", "{'version': '1'}", 422,
	    "version: must be a number" },
	{ "POST", "/assistants/there/latest", "{'version': 0}", 422,
	    "version: must be a number" },
	{ "POST", "/assistants/there/latest", "{'version': 2}", 404, "has no version 2" },
	{ "POST", "/assistants/there/versions", "{'metadata': 1}", 422,
	    "metadata: is no object" },
	{ "GET", "/assistants/nobody", NULL, 404, "no agent 'nobody'" },
	{ "GET", "/assistants/a%20b/graph", NULL, 404, "no agent 'a b'" },
	{ "DELETE", "/assistants/nobody", NULL, 404, "no agent 'nobody'" },
	{ "POST", "/assistants/nobody/versions", "{}", 404, "no agent 'nobody'" },
};

START_TEST(what_cannot_be_is_said)
{
	char large[70000];
	size_t i;

	ab_create("'assistant_id': 'there'");
	for (i = 0; i < COUNT(wrong); i++) {
		struct serve_answer answer =
		    ASK(.method = wrong[i].method, .path = wrong[i].path,
			.body = wrong[i].body != NULL ? serve_text("%s", wrong[i].body)
						      : NULL);

		ck_assert_msg(answer.status == wrong[i].status, "%s %s: %ld: %s",
		    wrong[i].path, wrong[i].body, answer.status, answer.body);
		ck_assert_has(value_get_text(answer.json, "detail"), wrong[i].words);
	}
	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	ab_ask("PATCH", ab_path("there", ""),
	    arena_printf(fleet->arena, "{'context': {'a': '%s'}}", large), 422);
	ab_ask("PATCH", ab_path("there", ""),
	    arena_printf(fleet->arena, "{'metadata': {'a': '%.17000s'}}", large), 422);
	ab_ask("PATCH", ab_path("there", ""),
	    arena_printf(fleet->arena, "{'name': '%.300s'}", large), 422);
	ck_assert_int_eq(
	    value_get_int(ab_ask("GET", ab_path("there", ""), NULL, 200), "version", 0),
	    1);
	ab_ask("POST", "/assistants",
	    "{'graph_id': 'quick', 'assistant_id': 'there', 'if_exists': 'do_nothing'}",
	    200);
	ab_check(ab_ask("GET", ab_path("there", ""), NULL, 200), "graph_id", "teller");
	/* Any id will do that a path can have. */
	ab_create("'assistant_id': 'of/mine:7~x', 'context': {'tone': 'odd\\u0000'}");
	ab_check(ab_ask("GET", "/assistants/of%2Fmine:7~x", NULL, 200), "assistant_id",
	    "of/mine:7~x");
	ab_ask("DELETE", "/assistants/of%2Fmine:7~x", NULL, 204);
}
END_TEST

/* --- its agent ---------------------------------------------------------------------------- */

START_TEST(it_waits_for_its_agent)
{
	const char *id = ab_create("'context': {'tone': 'dry'}");
	struct serve_answer answer;

	ck_assert_int_eq(
	    CLI(&fleet->flotilla, "agents", "delete", "teller").status, STATUS_OK);
	answer = ASK(.path = "/runs/wait",
	    .body = serve_text("{'assistant_id': '%s', " HI "}", id));
	ck_assert_int_eq(answer.status, 404);
	ck_assert_has(answer.body, "no agent 'teller', of which assistant");
	ab_ask("GET", ab_path(id, "/graph"), NULL, 404);
	ab_ask("GET", ab_path(id, ""), NULL, 200);
	ab_ask("PATCH", ab_path(id, ""), "{'name': 'Waiting'}", 200);
	ab_ask("PATCH", ab_path(id, ""), "{'graph_id': 'teller'}", 404);
	ab_ask("PATCH", ab_path(id, ""), "{'graph_id': 'quick'}", 200);
	ck_assert_str_eq(ab_said("/runs/wait", id, ""), "First.");
	ab_apply_teller();
	ab_ask("POST", ab_path(id, "/latest"), "{'version': 2}", 200);
	ck_assert_str_eq(ab_said("/runs/wait", id, ""), "dry nil");
	ck_assert(value_has(
	    value_get(value_get(ab_ask("GET", ab_path(id, "/schemas"), NULL, 200),
			  "input_schema"),
		"properties"),
	    "messages"));
}
END_TEST

START_TEST(an_agent_hides_one_of_its_name)
{
	ab_create("'assistant_id': 'later', 'name': 'Hidden'");
	fleet_up_write(fleet, "later.yaml",
	    "name: later\nmodel: scripted:m\nscript: {m: [{content: Agent.}]}\n");
	ck_assert_int_eq(
	    CLI(&fleet->flotilla, "agents", "apply", "later.yaml").status, STATUS_OK);
	ab_check(ab_ask("GET", ab_path("later", ""), NULL, 200), "name", "later");
	ck_assert_str_eq(ab_said("/runs/wait", "later", ""), "Agent.");
	ck_assert_int_eq(
	    ab_ask("POST", "/assistants/count", "{'name': 'Hidden'}", 200)->integer, 0);
	ab_ask("PATCH", ab_path("later", ""), "{'name': 'x'}", 403);
	ab_ask("DELETE", ab_path("later", ""), NULL, 204);
	ab_ask("DELETE", ab_path("later", ""), NULL, 403);
	ab_check(ab_ask("GET", ab_path("later", ""), NULL, 200), "name", "later");
	ck_assert_int_eq(
	    CLI(&fleet->flotilla, "agents", "delete", "later").status, STATUS_OK);
	ab_ask("GET", ab_path("later", ""), NULL, 404);
}
END_TEST

/* --- found -------------------------------------------------------------------------------- */

/* The names that a search finds, a blank behind each. */
static const char *
found(const char *body)
{
	const struct value *list = ab_ask("POST", "/assistants/search", body, 200);
	const char *names = "";
	size_t i;

	for (i = 0; i < value_size(list); i++)
		names = arena_printf(fleet->arena, "%s%s ", names,
		    value_get_text(value_at(list, i), "name"));
	return names;
}

START_TEST(they_are_found_with_the_agents)
{
	ab_create(
	    "'name': 'Find B', 'assistant_id': 'f1', 'metadata': {'mark': {'m': 1}}");
	ab_create(
	    "'name': 'Find A', 'assistant_id': 'f2', 'metadata': {'mark': {'m': 2}}");
	ab_ask("POST", "/assistants",
	    "{'graph_id': 'quick', 'name': 'Find C', 'assistant_id': 'f3'}", 200);
	ck_assert_str_eq(found("{'name': 'find '}"), "Find C Find A Find B ");
	ck_assert_str_eq(found("{'name': 'FIND', 'graph_id': 'teller', 'sort_by': "
			       "'name', 'sort_order': 'asc'}"),
	    "Find A Find B ");
	ck_assert_str_eq(
	    found("{'name': 'Find', 'sort_by': 'graph_id'}"), "Find A Find B Find C ");
	ck_assert_str_eq(found("{'metadata': {'mark': {'m': 2}}}"), "Find A ");
	ck_assert_str_eq(found("{'graph_id': 'quick'}"), "Find C quick ");
	ab_ask("PATCH", "/assistants/f1", "{'name': 'Find last'}", 200);
	ck_assert_str_eq(
	    found("{'name': 'Find', 'sort_by': 'updated_at', 'limit': 1}"), "Find last ");
	ck_assert_int_eq(
	    ab_ask("POST", "/assistants/count", "{'name': 'Find'}", 200)->integer, 3);
	ck_assert_value(fleet->arena,
	    ab_ask("POST", "/assistants/search",
		"{'name': 'Find A', 'select': ['assistant_id', 'version']}", 200),
	    "[{'assistant_id': 'f2', 'version': 1}]");
}
END_TEST

/* --- deleted ------------------------------------------------------------------------------ */

START_TEST(its_threads_go_with_it_if_that_is_wanted)
{
	const char *id = ab_create("'graph_id': 'slow'"), *path = ab_path(id, "");
	const char *busy = serve_thread(), *other = serve_thread();
	const char *mine = serve_thread(), *run = serve_run(busy, id, "");

	ab_said(serve_text("/threads/%s/runs/wait", other), "teller", "");
	ab_ask("PATCH", path, "{'graph_id': 'teller'}", 200);
	ab_said(serve_text("/threads/%s/runs/wait", mine), id, "");
	serve_run_wait(busy, run, "running");
	ab_ask("DELETE", ab_path(id, "?delete_threads=true"), NULL, 409);
	ab_ask("GET", path, NULL, 200);
	/* Those that were free are gone; what goes on goes on. */
	ab_ask("GET", serve_text("/threads/%s", mine), NULL, 404);
	ab_ask("GET", serve_text("/threads/%s", other), NULL, 200);
	ab_ask("DELETE", path, NULL, 204);
	ab_check(
	    ab_ask("GET", arena_printf(fleet->arena, "/threads/%s/runs/%s", busy, run),
		NULL, 200),
	    "status", "running");
	ab_ask("POST",
	    arena_printf(fleet->arena, "/threads/%s/runs/%s/cancel?wait=1", busy, run),
	    "{}", 204);
	ab_ask("GET", serve_text("/threads/%s", busy), NULL, 200);
	ab_ask("POST", "/runs", "{'assistant_id': 'teller', 'input': {}, 'metadata': 1}",
	    422);
	ab_ask("POST", serve_text("/threads/%s/runs", other),
	    arena_printf(fleet->arena, "{'assistant_id': '%s', " HI "}", id), 404);
}
END_TEST

TCase *
tcase_serve_assistants(void)
{
	TCase *tcase = tcase_create("serve_assistants");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, ab_open, serve_close);
	tcase_add_test(tcase, a_change_is_a_new_version);
	tcase_add_test(tcase, what_cannot_be_is_said);
	tcase_add_test(tcase, it_waits_for_its_agent);
	tcase_add_test(tcase, an_agent_hides_one_of_its_name);
	tcase_add_test(tcase, they_are_found_with_the_agents);
	tcase_add_test(tcase, its_threads_go_with_it_if_that_is_wanted);
	ab_add_runs(tcase);
	return tcase;
}
