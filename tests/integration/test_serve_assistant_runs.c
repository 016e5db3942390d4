/* What the runs of assistants that are made by HTTP have of them, and say. */
#include <check.h>
#include <string.h>

#include "assistant_bench.h"
#include "has.h"
#include "json.h"
#include "literal.h"
#include "store.h"

static struct fleet_up *const fleet = &serve_bench.fleet;

/* --- its runs ----------------------------------------------------------------------------- */

START_TEST(its_runs_have_its_context)
{
	const char *id = ab_create("'context': {'tone': 'dry', 'n': 1}");
	const char *old = ab_create("'config': {'configurable': {'tone': 'old', "
				    "'thread_id': 'x'}, 'tags': ['a']}");

	ck_assert_str_eq(ab_said("/runs/wait", "teller", ""), "nil nil");
	ck_assert_str_eq(ab_said("/runs/wait", id, ""), "dry 1");
	ck_assert_str_eq(ab_said("/runs/wait", id, ", 'context': {'n': 2}"), "dry 2");
	ck_assert_str_eq(
	    ab_said("/runs/wait", id, ", 'config': {'configurable': {'tone': 'warm'}}"),
	    "warm 1");
	ck_assert_str_eq(ab_said("/runs/wait", old, ""), "old nil");
	ck_assert_value(fleet->arena,
	    value_get(ab_ask("GET", ab_path(old, ""), NULL, 200), "context"),
	    "{'tone': 'old'}");
	ck_assert_value(fleet->arena,
	    value_get(ab_ask("GET", ab_path(old, ""), NULL, 200), "config"),
	    "{'tags': ['a'], 'configurable': {'tone': 'old'}}");
	ck_assert_value(fleet->arena,
	    value_get(ab_ask("GET", ab_path(id, ""), NULL, 200), "config"),
	    "{'configurable': {'tone': 'dry', 'n': 1}}");
}
END_TEST

/* What a run was told lies over its assistant's, also for who goes on with it and says less. */
START_TEST(who_goes_on_has_what_was_said)
{
	const char *id = ab_create("'context': {'tone': 'dry', 'n': 1, 'm': 1}");
	const char *body = arena_printf(fleet->arena, "{'assistant_id': '%s', %s}", id,
	    "'input': null, 'context': {'m': 3}");

	ab_ask("POST", "/threads/kept/runs/wait",
	    arena_printf(fleet->arena,
		"{'assistant_id': '%s', " HI ", 'if_not_exists': 'create', 'context': "
		"{'n': 2}, 'interrupt_before': '*'}",
		id),
	    200);
	ck_assert_str_eq(
	    serve_last_text(ab_ask("POST", "/threads/kept/runs/wait", body, 200)),
	    "dry 2");
}
END_TEST

static const char *
go_on_by(const char *thread, const char *id, const char *keys)
{
	return serve_last_text(
	    ab_ask("POST", arena_printf(fleet->arena, "/threads/%s/runs/wait", thread),
		arena_printf(
		    fleet->arena, "{'assistant_id': '%s', 'input': null%s}", id, keys),
		200));
}

/* But who goes on by another assistant has chosen that one's. Who named none meanwhile has chosen none. */
START_TEST(who_goes_on_by_another_has_the_others)
{
	const char *one = ab_create("'context': {'tone': 'dry', 'n': 1}");
	const char *other = ab_create("'context': {'tone': 'warm', 'm': 1}");
	static const char *const threads[] = { "passed", "passed-by" };
	const struct value *state;
	const char *path;
	size_t i;

	for (i = 0; i < 2; i++) {
		path = arena_printf(fleet->arena, "/threads/%s/runs/wait", threads[i]);
		ab_ask("POST", path,
		    arena_printf(fleet->arena,
			"{'assistant_id': '%s', " HI ", 'if_not_exists': 'create', "
			"'context': {'n': 2}, 'interrupt_before': '*'}",
			one),
		    200);
	}
	ck_assert_str_eq(go_on_by(threads[0], other, ""), "warm 2");
	/* Once more in front of the pause. */
	path = arena_printf(fleet->arena, "/threads/%s", threads[1]);
	state = ab_ask("GET", arena_printf(fleet->arena, "%s/state", path), NULL, 200);
	go_on_by(threads[1], "teller",
	    arena_printf(fleet->arena, ", 'interrupt_before': '*', 'checkpoint_id': '%s'",
		value_get_text(state, "checkpoint_id")));
	ck_assert_str_eq(
	    value_get_text(ab_ask("GET", path, NULL, 200), "status"), "interrupted");
	ck_assert_str_eq(go_on_by(threads[1], one, ""), "dry 2");
}
END_TEST

static const char *
fault_of(const char *id, const char *keys)
{
	const struct value *values = ab_ask("POST", "/runs/wait",
	    arena_printf(fleet->arena, "{'assistant_id': '%s', " HI "%s}", id, keys),
	    200);

	return value_get_text(value_get(values, "__error__"), "error");
}

/* A run of one step needs two. */
START_TEST(its_runs_have_its_limit)
{
	const char *id =
	    ab_create("'config': {'recursion_limit': 1}, 'graph_id': 'quick'");
	const char *fault = "GraphRecursionError";

	ck_assert_pstr_eq(fault_of(id, ""), fault);
	ck_assert_pstr_eq(fault_of(id, ", 'config': {'recursion_limit': 2}"), NULL);
	ck_assert_pstr_eq(fault_of("quick", ", 'config': {'recursion_limit': 1}"), fault);
	ck_assert_pstr_eq(fault_of("quick", ""), NULL);
	ck_assert_has(value_get_text(ab_ask("PATCH", ab_path(id, ""),
					 "{'config': {'recursion_limit': 0}}", 422),
			  "detail"),
	    "config.recursion_limit: must be");
}
END_TEST

static void
check_is_of(const struct value *metadata, const char *id)
{
	ab_check(metadata, "assistant_id", id);
	ab_check(metadata, "graph_id", "teller");
}

START_TEST(runs_and_threads_say_whose_they_are)
{
	const char *id =
	    ab_create("'metadata': {'team': 'sales', 'n': 1, 'tags': ['a']}");
	const char *thread = serve_thread(), *run;
	const struct value *list, *copy;

	run = serve_run(thread, id, "'metadata': {'n': 2}");
	ck_assert_str_eq(serve_run_end(thread, run), "success");
	list = ab_ask(
	    "GET", arena_printf(fleet->arena, "/threads/%s/runs", thread), NULL, 200);
	ab_check(value_at(list, 0), "assistant_id", id);
	ck_assert_value(fleet->arena, value_get(value_at(list, 0), "metadata"),
	    "{'team': 'sales', 'n': 2, 'tags': '[\\\"a\\\"]'}");
	check_is_of(value_get(ab_ask("GET", serve_text("/threads/%s", thread), NULL, 200),
			"metadata"),
	    id);
	/* What is written to the state, and a copy of it, is the assistant's still. */
	ab_ask("POST", serve_text("/threads/%s/state", thread),
	    "{'values': {'messages': 'More'}}", 200);
	copy = ab_ask("POST", serve_text("/threads/%s/copy", thread), "{}", 200);
	check_is_of(value_get(copy, "metadata"), id);
	list = ab_ask("GET", serve_text("/threads/%s/history", thread), NULL, 200);
	check_is_of(value_get(value_at(list, 0), "metadata"), id);
	check_is_of(value_get(value_at(list, 1), "metadata"), id);
	list = ab_ask("POST", "/threads/search",
	    arena_printf(fleet->arena, "{'metadata': {'assistant_id': '%s'}}", id), 200);
	ck_assert_uint_eq(value_size(list), 2);
	/* The next run on it is its agent's. */
	ab_said(serve_text("/threads/%s/runs/wait", thread), "teller", "");
	ab_check(value_get(ab_ask("GET", serve_text("/threads/%s", thread), NULL, 200),
		     "metadata"),
	    "assistant_id", "teller");
}
END_TEST

static bool
is_about_it(void *arg, const struct serve_frame *frame)
{
	if (strcmp(frame->event, "messages") == 0)
		*(const struct value **)arg =
		    value_copy(fleet->arena, value_at(frame->data, 1));
	return true;
}

START_TEST(streams_say_whose_they_are)
{
	const char *id = ab_create("'metadata': {'team': 'sales'}");
	const char *thread = serve_thread(), *run = serve_run(thread, id, "");
	const struct value *about = NULL;

	serve_run_end(thread, run);
	ASK(.path = arena_printf(fleet->arena,
		"/threads/%s/runs/%s/stream?stream_mode=messages-tuple", thread, run),
	    .on_frame = is_about_it, .arg = &about);
	check_is_of(about, id);
	ab_check(about, "team", "sales");
	about = NULL;
	ASK(.path = "/runs/stream",
	    .body = serve_text(
		"{'assistant_id': '%s', 'stream_mode': 'messages-tuple', " HI "}", id),
	    .on_frame = is_about_it, .arg = &about);
	check_is_of(about, id);
}
END_TEST

START_TEST(other_protocols_begin_its_runs)
{
	const char *id = ab_create("'context': {'tone': 'dry'}, 'name': 'Dry one'");
	const char *thread = serve_thread();
	const struct value *answer, *tools, *tool = NULL;
	size_t i;

	answer = ab_ask("POST", serve_text("/threads/%s/commands", thread),
	    arena_printf(fleet->arena,
		"{'id': 1, 'method': 'run.start', 'params': {'assistant_id': '%s', " HI
		"}}",
		id),
	    200);
	serve_run_end(thread, value_get_text(value_get(answer, "result"), "run_id"));
	ck_assert_str_eq(
	    serve_last_text(value_get(
		ab_ask("GET", serve_text("/threads/%s/state", thread), NULL, 200),
		"values")),
	    "dry nil");
	answer = ab_ask("POST", arena_printf(fleet->arena, "/a2a/%s", id),
	    "{'jsonrpc': '2.0', 'id': 1, 'method': 'message/send', 'params': {'message': "
	    "{'role': 'user', 'parts': [{'kind': 'text', 'text': 'Hi'}]}}}",
	    200);
	ck_assert_has(json_text(fleet->arena, answer), "dry nil");
	answer = value_get(answer, "result");
	answer = ab_ask("POST", arena_printf(fleet->arena, "/a2a/%s", id),
	    arena_printf(fleet->arena,
		"{'jsonrpc': '2.0', 'id': 1, 'method': 'ListTasks', 'params': "
		"{'contextId': '%s'}}",
		value_get_text(answer, "contextId")),
	    200);
	ck_assert_int_eq(value_get_int(value_get(answer, "result"), "totalSize", 0), 1);
	answer = ab_ask("GET",
	    arena_printf(fleet->arena, "/a2a/%s/.well-known/agent-card.json", id), NULL,
	    200);
	ab_check(answer, "name", "Dry one");
	ab_check(answer, "description", "tells its context");
	tools = value_get(value_get(ab_ask("POST", "/mcp",
					"{'jsonrpc': '2.0', 'id': 1, 'method': "
					"'tools/list'}",
					200),
			      "result"),
	    "tools");
	for (i = 0; i < value_size(tools); i++)
		if (value_text_is(value_get(value_at(tools, i), "name"), id))
			tool = value_at(tools, i);
	ab_check(tool, "title", "Dry one");
	answer = ab_ask("POST", "/mcp",
	    arena_printf(fleet->arena,
		"{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': "
		"'%s', 'arguments': {'messages': 'Hi'}}}",
		id),
	    200);
	ck_assert_has(json_text(fleet->arena, answer), "dry nil");
}
END_TEST

/* Who answers a question need not name it. */
START_TEST(its_question_can_be_answered_when_it_has_changed)
{
	const char *id = ab_create("'graph_id': 'approver'"), *thread = serve_thread();
	const char *run = serve_run(thread, id, "");
	const char *path = serve_text("/threads/%s/state", thread);
	const struct value *state;

	serve_run_wait(thread, run, "interrupted");
	ab_ask("PATCH", ab_path(id, ""), "{'graph_id': 'quick'}", 200);
	state = ab_ask("GET", path, NULL, 200);
	ab_check(value_get(state, "metadata"), "assistant_id", id);
	state =
	    value_at(value_get(value_at(value_get(state, "tasks"), 0), "interrupts"), 0);
	ab_ask("POST", serve_text("/threads/%s/commands", thread),
	    arena_printf(fleet->arena,
		"{'id': 1, 'method': 'input.respond', 'params': {'interrupt_id': '%s', "
		"'response': {'decisions': [{'type': 'approve'}]}}}",
		value_get_text(state, "id")),
	    200);
	state = ab_ask("GET", serve_text("/threads/%s/runs", thread), NULL, 200);
	ab_check(value_at(state, 0), "assistant_id", "approver");
	ck_assert_str_eq(
	    serve_run_end(thread, value_get_text(value_at(state, 0), "run_id")),
	    "success");
	ck_assert_str_eq(
	    serve_last_text(value_get(ab_ask("GET", path, NULL, 200), "values")),
	    "It is done.");
	ab_ask("DELETE", ab_path(id, ""), NULL, 204);
}
END_TEST

/* --- crons -------------------------------------------------------------------------------- */

static void
tell_redis(const char *verb, const char *key, const char *a, const char *b)
{
	const struct cli redis = { "redis-cli", NULL, fleet->arena };
	const char *socket = fleet->redis + strlen("unix://");
	struct said answer = a == NULL ? CLI(&redis, "-s", socket, verb, key)
				       : CLI(&redis, "-s", socket, verb, key, a, b);

	ck_assert_int_eq(answer.status, 0);
}

static const char *
make_cron(const char *id)
{
	return value_get_text(
	    ab_ask("POST", "/runs/crons",
		arena_printf(fleet->arena,
		    "{'assistant_id': '%s', 'schedule': '0 3 * * *', 'context': {'n': "
		    "7}, 'on_run_completed': 'keep', " HI "}",
		    id),
		200),
	    "cron_id");
}

/* Its time has come, long ago. */
static void
make_due(const char *cron)
{
	tell_redis("ZADD",
	    arena_printf(
		fleet->arena, "%scrons", store_prefix(fleet->arena, store_shard(cron))),
	    "1000", cron);
}

static int
is_there(const struct value *runs, void *arg)
{
	return strstr(json_text(fleet->arena, runs), arg) != NULL;
}

static void
wait_for_run(const char *run)
{
	fleet_up_wait(fleet, (const char *const[]){ "runs", "--json", NULL }, is_there,
	    (void *)(uintptr_t)run);
}

START_TEST(its_crons_have_it_as_it_is_when_they_are_due)
{
	const char *id =
	    ab_create("'context': {'tone': 'dry'}, 'metadata': {'team': 's'}");
	const char *cron = make_cron(id), *run, *thread;
	const struct value *list;

	list = ab_ask("POST", "/runs/crons/search",
	    arena_printf(fleet->arena, "{'assistant_id': '%s'}", id), 200);
	ck_assert_uint_eq(value_size(list), 1);
	ab_check(value_at(list, 0), "assistant_id", id);
	ck_assert_value(fleet->arena,
	    value_get(value_get(value_at(list, 0), "payload"), "context"), "{'n': 7}");
	ab_ask("PATCH", ab_path(id, ""), "{'context': {'tone': 'warm', 'n': 1}}", 200);
	make_due(cron);
	thread = run = arena_printf(fleet->arena, "%s-19700101T000001Z", cron);
	wait_for_run(run);
	ck_assert_str_eq(serve_run_end(thread, run), "success");
	ck_assert_str_eq(
	    serve_last_text(value_get(
		ab_ask("GET", serve_text("/threads/%s/state", thread), NULL, 200),
		"values")),
	    "warm 7");
	list = ab_ask("GET",
	    arena_printf(fleet->arena, "/threads/%s/runs/%s", thread, run), NULL, 200);
	ab_check(list, "assistant_id", id);
	ab_check(value_get(list, "metadata"), "team", "s");
	ab_check(value_get(list, "metadata"), "cron_id", cron);
	/* They go with it. */
	ab_ask("DELETE", ab_path(id, ""), NULL, 204);
	ab_ask("PATCH", arena_printf(fleet->arena, "/runs/crons/%s", cron),
	    "{'enabled': false}", 404);
}
END_TEST

/* It was made as that was deleted. */
START_TEST(a_cron_without_its_assistant_says_so)
{
	const char *id = ab_create("");
	const char *cron = make_cron(id), *path;

	tell_redis("DEL", arena_printf(fleet->arena, "fl:assistant:%s", id), NULL, NULL);
	make_due(cron);
	fleet_up_wait(fleet, (const char *const[]){ "crons", "--json", NULL }, is_there,
	    arena_printf(fleet->arena, "there is no assistant '%s'", id));
	/* It can be changed all the same, and given another. */
	path = arena_printf(fleet->arena, "/runs/crons/%s", cron);
	ab_ask("PATCH", path, "{'enabled': false}", 200);
	ab_ask("PATCH", path, "{'assistant_id': 'nobody'}", 404);
	ab_check(ab_ask("PATCH", path, "{'assistant_id': 'quick'}", 200), "assistant_id",
	    "quick");
	ab_ask("DELETE", path, NULL, 204);
	ab_ask("DELETE", ab_path(id, ""), NULL, 404);
}
END_TEST

void
ab_add_runs(TCase *tcase)
{
	tcase_add_test(tcase, its_runs_have_its_context);
	tcase_add_test(tcase, who_goes_on_has_what_was_said);
	tcase_add_test(tcase, who_goes_on_by_another_has_the_others);
	tcase_add_test(tcase, its_runs_have_its_limit);
	tcase_add_test(tcase, runs_and_threads_say_whose_they_are);
	tcase_add_test(tcase, streams_say_whose_they_are);
	tcase_add_test(tcase, other_protocols_begin_its_runs);
	tcase_add_test(tcase, its_question_can_be_answered_when_it_has_changed);
	tcase_add_test(tcase, its_crons_have_it_as_it_is_when_they_are_due);
	tcase_add_test(tcase, a_cron_without_its_assistant_says_so);
}
