/* `flotilla serve` on a fleet: threads and their states, agents and memory over HTTP. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "has.h"
#include "literal.h"
#include "serve_bench.h"

TCase *tcase_serve_threads(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

static struct fleet_up *const fleet = &serve_bench.fleet;

/* --- threads ------------------------------------------------------------------------------ */

START_TEST(a_thread_says_how_long_it_is_kept)
{
	const struct value *thread = serve_post(
	    "/threads", "{'ttl': {'ttl': 90, 'strategy': 'keep_latest'}}", 200);
	const char *path = serve_text("/threads/%s", value_get_text(thread, "thread_id"));
	const struct value *ttl =
	    value_get(serve_get(serve_text("%s?include=ttl", path), 200), "ttl");

	ck_assert_str_eq(value_get_text(ttl, "strategy"), "keep_latest");
	ck_assert_double_eq(value_number(value_get(ttl, "ttl_minutes"), 0), 90);
	ck_assert_int_gt(strcmp(value_get_text(ttl, "expires_at"),
			     value_get_text(thread, "created_at")),
	    0);
	ck_assert(value_equal(
	    value_get(serve_get(serve_text("%s?include=%%5B%%22ttl%%22%%5D", path), 200),
		"ttl"),
	    ttl));
	ck_assert(!value_has(serve_get(path, 200), "ttl"));
	ck_assert(!value_has(
	    serve_get(serve_text("/threads/%s?include=ttl", serve_thread()), 200),
	    "ttl"));
}
END_TEST

START_TEST(a_thread_is_made_changed_found_and_deleted)
{
	int64_t count = serve_thread_count();
	const struct value *thread = serve_post("/threads",
	    "{'metadata': {'who': 'me', 'deep': {'n': [1]}}, 'ttl': 60}", 200);
	const char *id = value_get_text(thread, "thread_id");
	const char *path = serve_text("/threads/%s", id);

	ck_assert_uint_eq(strlen(id), 36); /* a UUID */
	ck_assert_value(fleet->arena, value_get(thread, "metadata"),
	    "{'who': 'me', 'deep': {'n': [1]}}");
	ck_assert_str_eq(value_get_text(thread, "status"), "idle");
	ck_assert(value_equal(serve_get(path, 200), thread));
	ck_assert_int_eq(serve_thread_count(), count + 1);
	thread = ASK(.method = "PATCH", .path = path,
	    .body = "{'metadata': {'who': null, 'more': true}}")
		     .json;
	ck_assert_value(fleet->arena, value_get(thread, "metadata"),
	    "{'deep': {'n': [1]}, 'more': true}");
	thread = serve_post("/threads/search", "{'metadata': {'more': true}}", 200);
	ck_assert_uint_eq(value_size(thread), 1);
	ck_assert_str_eq(value_get_text(value_at(thread, 0), "thread_id"), id);
	ck_assert_int_eq(ASK(.method = "DELETE", .path = path).status, 204);
	ck_assert_int_eq(ASK(.method = "DELETE", .path = path).status, 404);
	serve_get(path, 404);
	ck_assert_int_eq(serve_thread_count(), count);
}
END_TEST

START_TEST(a_thread_is_made_once)
{
	const char *id = serve_text("once-%s", serve_thread());
	const char *body = serve_text("{'thread_id': '%s', 'metadata': {'n': 1}}", id);

	serve_post("/threads", body, 200);
	ck_assert_has(value_get_text(serve_post("/threads", body, 409), "detail"),
	    "already exists");
	serve_post(
	    "/threads", serve_text("{'thread_id': '%s', 'if_exists': 'raise'}", id), 409);
	ck_assert_value(fleet->arena,
	    value_get(serve_post("/threads",
			  serve_text("{'thread_id': '%s', 'if_exists': 'do_nothing', "
				     "'metadata': {'n': 2}}",
			      id),
			  200),
		"metadata"),
	    "{'n': 1}");
}
END_TEST

/* From the answer to its first run on, when that begins tomorrow as well. */
START_TEST(a_thread_is_there_before_its_run_is_due)
{
	const struct value *run = serve_post("/runs",
	    "{'assistant_id': 'quick', 'after_seconds': 86400, 'on_completion': 'keep', "
	    "'metadata': {'mark': 'due'}, " HI "}",
	    200);
	const char *id = value_get_text(run, "thread_id");
	const char *path = serve_text("/threads/%s", id);
	const struct value *state;

	ck_assert_str_eq(value_get_text(serve_get(path, 200), "status"), "idle");
	state = serve_get(serve_text("%s/state", path), 200);
	ck_assert_uint_eq(value_size(value_get(state, "values")), 0);
	ck_assert_uint_eq(value_size(serve_get(serve_text("%s/history", path), 200)), 0);
	ck_assert_uint_eq(value_size(serve_get(serve_text("%s/runs", path), 200)), 1);
	ck_assert_uint_eq(value_size(serve_post(
			      "/threads/search", serve_text("{'ids': ['%s']}", id), 200)),
	    1);
	serve_post("/threads", serve_text("{'thread_id': '%s'}", id), 409);
	ck_assert_int_eq(ASK(.method = "DELETE", .path = path).status, 409);
	/* Another one goes ahead. */
	ck_assert_str_eq(serve_run_end(id, serve_run(id, "quick", "")), "success");
	ck_assert_int_eq(ASK(.path = serve_text("%s/runs/%s/cancel?wait=1", path,
				 value_get_text(run, "run_id")),
			     .body = "{}")
			     .status,
	    204);
	ck_assert_int_eq(ASK(.method = "DELETE", .path = path).status, 204);
	serve_get(path, 404);
}
END_TEST

START_TEST(threads_are_found_by_what_they_are)
{
	const char *idle = serve_thread(), *paused = serve_thread(), *id;
	const struct value *found;
	const char *mark = serve_text("{'metadata': {'mark': '%s'}}", idle);
	struct serve_answer answer;

	ASK(.method = "PATCH", .path = serve_text("/threads/%s", idle), .body = mark);
	ASK(.method = "PATCH", .path = serve_text("/threads/%s", paused), .body = mark);
	serve_run_end(paused, serve_run(paused, "careful", ""));
	found = serve_post("/threads/search",
	    serve_text("{'metadata': {'mark': '%s'}, 'status': 'interrupted'}", idle),
	    200);
	ck_assert_uint_eq(value_size(found), 1);
	id = value_get_text(value_at(found, 0), "thread_id");
	ck_assert_str_eq(id, paused);
	found = serve_post("/threads/search",
	    serve_text("{'ids': ['%s', '%s', 'nobody']}", idle, paused), 200);
	ck_assert_uint_eq(value_size(found), 2);
	ck_assert_str_eq(value_get_text(value_at(found, 0), "thread_id"), paused);
	found = serve_post("/threads/search",
	    serve_text("{'ids': ['%s', '%s'], 'limit': 1, 'offset': 1}", idle, paused),
	    200);
	ck_assert_uint_eq(value_size(found), 1);
	ck_assert_str_eq(value_get_text(value_at(found, 0), "thread_id"), idle);
	ck_assert_int_eq(serve_post("/threads/count",
			     serve_text("{'metadata': {'graph_id': 'careful', 'mark': "
					"'%s'}}",
				 idle),
			     200)
			     ->integer,
	    1);
	answer = ASK(.path = "/threads/search", .body = "{'limit': 1}");
	ck_assert_uint_eq(value_size(answer.json), 1);
	ck_assert_int_eq(
	    atoll(serve_header(&answer, "X-Pagination-Total")), serve_thread_count());
}
END_TEST

/* The names of a map's keys, in their order, a blank behind each. */
static const char *
keys_of(const struct value *map)
{
	const char *names = "";
	size_t i;

	for (i = 0; i < value_size(map); i++)
		names = serve_text("%s%s ", names, value_text(map->pairs[i].key));
	return names;
}

START_TEST(of_what_is_found_the_fields_that_are_selected_are_shown)
{
	const char *id = serve_thread(), *state = serve_text("/threads/%s/state", id);
	const struct value *found;

	serve_run_end(id, serve_run(id, "quick", ""));
	found = serve_post("/threads/search",
	    serve_text("{'ids': ['%s'], 'select': ['thread_id', 'status']}", id), 200);
	ck_assert_str_eq(keys_of(value_at(found, 0)), "thread_id status ");
	found =
	    serve_get(serve_text("%s?select=values.messages&select=next", state), 200);
	ck_assert_str_eq(keys_of(found), "values next ");
	ck_assert_str_eq(keys_of(value_get(found, "values")), "messages ");
	found = serve_get(serve_text("%s/1?select=created_at,values.none", state), 200);
	ck_assert_str_eq(keys_of(found), "values created_at ");
	ck_assert_uint_eq(value_size(value_get(found, "values")), 0);
	found = serve_post(
	    serve_text("/threads/%s/history", id), "{'select': ['checkpoint']}", 200);
	ck_assert_str_eq(keys_of(value_at(found, 0)), "checkpoint ");
	found = serve_get(serve_text("/threads/%s/runs?select=run_id", id), 200);
	ck_assert_str_eq(keys_of(value_at(found, 0)), "run_id ");
	/* ["run_id","status"], as older clients of JavaScript write it. */
	found = serve_get(
	    serve_text(
		"/threads/%s/runs?select=%%5B%%22run_id%%22,%%22status%%22%%5D", id),
	    200);
	ck_assert_str_eq(keys_of(value_at(found, 0)), "run_id status ");
	serve_get(serve_text("%s?select=%%5B%%22next%%22", state), 422);
	serve_get(serve_text("%s?select=%%5B1%%5D", state), 422);
	found = serve_post("/assistants/search", "{'select': ['graph_id', 'name']}", 200);
	ck_assert_str_eq(keys_of(value_at(found, 0)), "graph_id name ");
	serve_post("/assistants/search", "{'select': 'name'}", 422);
	serve_post("/assistants/search", "{'select': [1]}", 422);
	serve_post("/threads/search", "{'select': ['values.messages']}", 422);
	serve_get(serve_text("%s?select=nothing", state), 422);
}
END_TEST

START_TEST(a_copy_goes_its_own_way)
{
	const char *id = serve_thread(), *path = serve_text("/threads/%s/copy", id);
	const struct value *copy;
	const char *other;

	serve_run_end(id, serve_run(id, "quick", ""));
	copy = serve_post(path, "", 200);
	other = value_get_text(copy, "thread_id");
	ck_assert_str_ne(other, id);
	ck_assert_str_eq(serve_last_text(value_get(copy, "values")), "First.");
	ck_assert_str_eq(serve_run_end(other, serve_run(other, "quick", "")), "success");
	ck_assert_str_eq(
	    serve_last_text(value_get(
		serve_get(serve_text("/threads/%s/state", other), 200), "values")),
	    "Second.");
	ck_assert_str_eq(
	    serve_last_text(
		value_get(serve_get(serve_text("/threads/%s/state", id), 200), "values")),
	    "First.");
}
END_TEST

/* --- states ------------------------------------------------------------------------------- */

static const char *
checkpoint_of(const struct value *state)
{
	return value_get_text(value_get(state, "checkpoint"), "checkpoint_id");
}

START_TEST(a_threads_past_can_be_seen)
{
	const char *id = serve_thread(), *path = serve_text("/threads/%s", id);
	const struct value *history, *state, *past;
	size_t count, i;

	ck_assert_value(fleet->arena, serve_get(serve_text("%s/state", path), 200),
	    "{'values': {}, 'next': [], 'tasks': [], 'interrupts': [], 'metadata': {}, "
	    "'created_at': null, 'checkpoint': null, 'parent_checkpoint': null, "
	    "'checkpoint_id': null, 'parent_checkpoint_id': null}");
	ck_assert_uint_eq(value_size(serve_get(serve_text("%s/history", path), 200)), 0);
	serve_run_end(id, serve_run(id, "quick", ""));
	serve_run_end(id, serve_run(id, "quick", ""));
	state = serve_get(serve_text("%s/state", path), 200);
	history = serve_post(serve_text("%s/history", path), "{'limit': 100}", 200);
	count = value_size(history);
	ck_assert_uint_ge(count, 4);
	ck_assert(value_equal(value_at(history, 0), state));
	for (i = 0; i < count; i++) {
		past = value_at(history, i);
		ck_assert(value_equal(
		    serve_get(serve_text("%s/state/%s", path, checkpoint_of(past)), 200),
		    past));
		ck_assert(value_equal(value_get(past, "parent_checkpoint"),
		    i + 1 < count ? value_get(value_at(history, i + 1), "checkpoint")
				  : value_nil()));
	}
	past = value_at(history, 1);
	ck_assert(value_equal(serve_post(serve_text("%s/state/checkpoint", path),
				  serve_text("{'checkpoint': {'checkpoint_id': '%s'}}",
				      checkpoint_of(past)),
				  200),
	    past));
	history = serve_get(
	    serve_text("%s/history?limit=1&before=%s", path, checkpoint_of(past)), 200);
	ck_assert_uint_eq(value_size(history), 1);
	ck_assert(value_equal(value_get(value_at(history, 0), "checkpoint"),
	    value_get(past, "parent_checkpoint")));
	serve_get(serve_text("%s/state/99", path), 404);
	serve_get(serve_text("%s/state/x", path), 404);
	serve_post(serve_text("%s/history", path), "{'before': 'x'}", 422);
	serve_post(serve_text("%s/history", path), "{'before': 5}", 422);
}
END_TEST

static const char *const befores[] = { "'%s'", "{'checkpoint_id': '%s'}",
	"{'configurable': {'checkpoint_id': '%s'}}" };

START_TEST(before_has_three_forms)
{
	const char *id = serve_thread(), *path = serve_text("/threads/%s", id), *last;
	const char *start = befores[_i];
	size_t before = (size_t)(strstr(start, "%s") - start);
	const struct value *history;

	serve_run_end(id, serve_run(id, "quick", ""));
	last = checkpoint_of(serve_get(serve_text("%s/state", path), 200));
	history = serve_post(serve_text("%s/history", path),
	    serve_text(
		"{'before': %.*s%s%s}", (int)before, start, last, start + before + 2),
	    200);
	ck_assert_uint_ge(value_size(history), 1);
	ck_assert_int_lt(atoi(checkpoint_of(value_at(history, 0))), atoi(last));
}
END_TEST

START_TEST(a_state_is_changed_and_gone_back_to)
{
	const char *id = serve_thread(), *path = serve_text("/threads/%s", id), *first;
	const char *body =
	    "{'values': {'messages': [{'type': 'ai', 'content': 'Mine.'}], "
	    "'copilotkit': {'actions': []}}}";
	const struct value *state;

	serve_post(
	    serve_text("%s/state", path), body, 400); /* whose state would it be? */
	serve_run_end(id, serve_run(id, "quick", ""));
	first = checkpoint_of(serve_get(serve_text("%s/state", path), 200));
	state = serve_post(serve_text("%s/state", path), body, 200);
	ck_assert_int_gt(atoi(checkpoint_of(state)), atoi(first));
	state = serve_get(serve_text("%s/state", path), 200);
	ck_assert_str_eq(keys_of(value_get(state, "values")), "messages ");
	ck_assert_str_eq(serve_last_text(value_get(state, "values")), "Mine.");
	ck_assert_str_eq(
	    value_get_text(value_get(state, "metadata"), "source"), "update");
	/* A run from there has a past without it. */
	ck_assert_str_eq(
	    serve_run_end(id,
		serve_run(id, "quick",
		    serve_text("'checkpoint': {'checkpoint_id': '%s', 'checkpoint_ns': "
			       "'', 'checkpoint_map': null}",
			first))),
	    "success");
	state = value_get(serve_get(serve_text("%s/state", path), 200), "values");
	ck_assert_str_eq(serve_last_text(state), "Second.");
	ck_assert_uint_eq(value_size(value_get(state, "messages")), 4);
	serve_post(serve_text("%s/state", path), "{'values': 5}", 422);
	serve_post(
	    serve_text("%s/state", path), "{'values': {}, 'checkpoint_id': 'x'}", 422);
	serve_post(
	    serve_text("%s/state", path), "{'values': {}, 'as_node': 'nowhere'}", 422);
}
END_TEST

/* The steps of LangGraph's page on time travel. */
START_TEST(a_past_is_changed_and_run_from)
{
	const char *id = serve_thread(), *path = serve_text("/threads/%s", id);
	const struct value *past, *changed, *values;

	serve_run_end(id, serve_run(id, "quick", ""));
	past = value_at(
	    serve_get(serve_text("%s/history?select=checkpoint_id", path), 200), 1);
	changed = serve_post(serve_text("%s/state", path),
	    serve_text("{'values': {'messages': [{'role': 'user', 'content': 'Bye'}]}, "
		       "'checkpoint_id': '%s'}",
		value_get_text(past, "checkpoint_id")),
	    200);
	ck_assert(value_equal(
	    value_get(changed, "configurable"), value_get(changed, "checkpoint")));
	values = serve_post(serve_text("%s/runs/wait", path),
	    serve_text("{'assistant_id': 'quick', 'input': null, 'checkpoint_id': '%s'}",
		value_get_text(changed, "checkpoint_id")),
	    200);
	ck_assert_str_eq(serve_last_text(values), "First.");
	ck_assert_uint_eq(value_size(value_get(values, "messages")), 3);
}
END_TEST

/* --- agents, memory ------------------------------------------------------------------------- */

START_TEST(agents_are_assistants)
{
	const struct value *all = serve_post("/assistants/search", "{'limit': 100}", 200);
	const struct value *one = serve_get("/assistants/talker", 200), *graph;

	ck_assert_int_eq(serve_post("/assistants/count", "{}", 200)->integer,
	    (int64_t)value_size(all));
	ck_assert_str_eq(
	    value_get_text(one, "description"), "notes something, and then talks");
	all = serve_post("/assistants/search", "{'graph_id': 'talker'}", 200);
	ck_assert_uint_eq(value_size(all), 1);
	ck_assert(value_equal(value_at(all, 0), one));
	ck_assert_uint_eq(value_size(serve_post(
			      "/assistants/search", "{'limit': 1, 'offset': 1}", 200)),
	    1);
	ck_assert_uint_eq(
	    value_size(serve_post("/assistants/search", "{'offset': 1000}", 200)), 0);
	graph = serve_get("/assistants/talker/graph", 200);
	ck_assert_uint_eq(value_size(value_get(graph, "nodes")), 4);
	ck_assert_uint_ge(value_size(value_get(graph, "edges")), 4);
	ck_assert_ptr_nonnull(value_get(
	    value_get(
		value_get(serve_get("/assistants/talker/schemas", 200), "input_schema"),
		"properties"),
	    "messages"));
}
END_TEST

START_TEST(memory_is_put_found_and_deleted)
{
	const struct value *item, *found;

	ck_assert_int_eq(ASK(.method = "PUT", .path = "/store/items",
			     .body = "{'namespace': ['serve', '7'], 'key': 'prefs', "
				     "'value': {'color': 'blue'}}")
			     .status,
	    204);
	item = serve_get("/store/items?namespace=serve.7&key=prefs", 200);
	ck_assert_value(fleet->arena, value_get(item, "value"), "{'color': 'blue'}");
	ck_assert_value(fleet->arena, value_get(item, "namespace"), "['serve', '7']");
	ck_assert_str_eq(value_get_text(item, "key"), "prefs");
	ck_assert_uint_eq(strlen(value_get_text(item, "created_at")), 24);
	found = value_get(serve_post("/store/items/search",
			      "{'namespace_prefix': ['serve'], 'filter': {'color': "
			      "'blue'}}",
			      200),
	    "items");
	ck_assert_uint_eq(value_size(found), 1);
	ck_assert(value_equal(value_at(found, 0), item));
	ck_assert_uint_eq(value_size(value_get(serve_post("/store/items/search",
						   "{'namespace_prefix': ['serve'], "
						   "'filter': {'color': 'red'}}",
						   200),
			      "items")),
	    0);
	found = value_get(
	    serve_post("/store/items/search",
		"{'namespace_prefix': ['serve'], 'query': 'as blue as the sky'}", 200),
	    "items");
	ck_assert_uint_eq(value_size(found), 1);
	ck_assert_double_gt(value_number(value_get(value_at(found, 0), "score"), 0), 0.2);
	/* Not found by meaning, since it says so; and read again and again it stays. */
	ck_assert_int_eq(
	    ASK(.method = "PUT", .path = "/store/items",
		.body = "{'namespace': ['serve', '7'], 'key': 'prefs', 'value': "
			"{'color': 'blue'}, 'index': false, 'ttl': 60}")
		.status,
	    204);
	found = serve_post("/store/items/search",
	    "{'namespace_prefix': ['serve'], 'query': 'as blue as the sky'}", 200);
	ck_assert_value(fleet->arena, found, "{'items': []}");
	serve_post("/store/items/search",
	    "{'namespace_prefix': ['serve'], 'refresh_ttl': 7}", 422);
	ck_assert_value(fleet->arena,
	    value_get(serve_get("/store/items?namespace=serve.7&key=prefs"
				"&refresh_ttl=true",
			  200),
		"value"),
	    "{'color': 'blue'}");
	ck_assert_value(fleet->arena,
	    serve_post("/store/namespaces", "{'prefix': ['serve']}", 200),
	    "{'namespaces': [['serve', '7']]}");
	ck_assert_int_eq(ASK(.method = "DELETE", .path = "/store/items",
			     .body = "{'namespace': ['serve', '7'], 'key': 'prefs'}")
			     .status,
	    204);
	ck_assert_value(fleet->arena,
	    serve_get("/store/items?namespace=serve.7&key=prefs", 200), "null");
	ck_assert_int_eq(ASK(.method = "PUT", .path = "/store/items",
			     .body = "{'namespace': [], 'key': 'x', 'value': {}}")
			     .status,
	    422);
	ck_assert_int_eq(ASK(.method = "PUT", .path = "/store/items",
			     .body = "{'namespace': ['serve'], 'value': {}}")
			     .status,
	    422);
}
END_TEST

TCase *
tcase_serve_threads(void)
{
	TCase *tcase = tcase_create("serve_threads");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, a_thread_is_made_changed_found_and_deleted);
	tcase_add_test(tcase, a_thread_says_how_long_it_is_kept);
	tcase_add_test(tcase, a_thread_is_made_once);
	tcase_add_test(tcase, a_thread_is_there_before_its_run_is_due);
	tcase_add_test(tcase, threads_are_found_by_what_they_are);
	tcase_add_test(tcase, of_what_is_found_the_fields_that_are_selected_are_shown);
	tcase_add_test(tcase, a_copy_goes_its_own_way);
	tcase_add_test(tcase, a_threads_past_can_be_seen);
	tcase_add_loop_test(tcase, before_has_three_forms, 0, COUNT(befores));
	tcase_add_test(tcase, a_state_is_changed_and_gone_back_to);
	tcase_add_test(tcase, a_past_is_changed_and_run_from);
	tcase_add_test(tcase, agents_are_assistants);
	tcase_add_test(tcase, memory_is_put_found_and_deleted);
	return tcase;
}
