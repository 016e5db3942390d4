#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"
#include "sample_spec.h"

/* Interface under test */
#include "registry.h"

#define SETTINGS                                                                         \
	"{'async_subagents': [{'name': 'far', 'description': 'Works.', 'graph_id': "     \
	"'books'}]}"
#define TASK                                                                             \
	"{'task_id': 't', 'agent_name': 'far', 'thread_id': 't', 'run_id': 'r', "        \
	"'status': 'running'}"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
definition(const struct middleware_use *use, const char *name)
{
	size_t i;

	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), name))
			return value_at(use->tools, i);
	ck_abort_msg("there is no tool %s", name);
}

/* The body that tool gives; tasks is all that the state has. */
static const struct value *
call_with(const char *tool, const char *args, const char *children, const char *tasks)
{
	const struct middleware_use *use = literal_use(arena, "async_subagent", SETTINGS);

	play.profile = value_map(arena, "tools",
	    value_array_add(arena, value_empty_array(), value_str(arena, tool)), NULL);
	play.request = value_map_with(arena,
	    literal(arena,
		arena_printf(arena,
		    "{'tool_call': {'id': 'c', 'name': '%s', 'args': %s}, 'children': "
		    "%s, 'state': {'async_tasks': %s}}",
		    tool, args, children, tasks)),
	    "tool", definition(use, tool));
	play.outcomes[0] = "none";
	play.count = 0;
	return play_tool(&play, stub_chain(arena, use, NULL));
}

static const struct value *
call(const char *tool, const char *args, const char *children)
{
	return call_with(tool, args, children, "{'t': " TASK "}");
}

static const struct value *
update_of(const struct value *body)
{
	return value_get(value_at(value_get(body, "commands"), 0), "update");
}

static const char *
text_of(const struct value *body)
{
	return value_get_text(
	    value_at(value_get(update_of(body), "messages"), 0), "content");
}

static const struct value *
task_of(const struct value *body)
{
	return value_get(value_get(update_of(body), "async_tasks"), "t");
}

static void
check_refused(const char *settings, const char *path, const char *says)
{
	const char *at = NULL, *error = NULL;

	ck_assert(registry_use(arena, "async_subagent", literal(arena, settings), &at,
		      &error) == NULL);
	ck_assert_str_eq(at, path);
	ck_assert_has(error, says);
}

START_TEST(mistakes_are_shown_where_they_stand)
{
	check_refused("{}", "/async_subagents", "");
	check_refused("{'async_subagents': []}", "/async_subagents", "names no agent");
	check_refused(
	    "{'async_subagents': ['x']}", "/async_subagents/0", "must be a map");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd'}]}",
	    "/async_subagents/0/graph_id", "needs a graph_id");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd', "
		      "'graph_id': 'g', 'url': 'ftp://x'}]}",
	    "/async_subagents/0/url", "http:// or https://");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd', "
		      "'graph_id': 'g', 'url': 7}]}",
	    "/async_subagents/0/url", "http:// or https://");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd', "
		      "'graph_id': 'g', 'url': 'http://u:p@x'}]}",
	    "/async_subagents/0/url", "without");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd', "
		      "'graph_id': 'g', 'headers': {'a': 'b'}}]}",
	    "/async_subagents/0/headers", "go with a url");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd', "
		      "'graph_id': 'g', 'url': 'http://x', 'headers': {'a b': 'c'}}]}",
	    "/async_subagents/0/headers", "has a name");
	check_refused(
	    "{'async_subagents': [{'name': 'x', 'description': 'd', 'graph_id': 'g', "
	    "'url': 'http://x', 'headers': {'authorization': 'c'}}]}",
	    "/async_subagents/0/headers", "--agent-server");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd', "
		      "'graph_id': 'g', 'url': 'http://x', 'headers': {'a': 7}}]}",
	    "/async_subagents/0/headers", "no text");
	check_refused("{'async_subagents': [{'name': 'x', 'description': 'd', "
		      "'graph_id': 'g', 'url': 'http://x', 'colour': 'red'}]}",
	    "/async_subagents/0/colour", "no such key");
	check_refused(
	    "{'async_subagents': [{'name': 'x', 'description': 'd', 'graph_id': 'g'}, "
	    "{'name': 'x', 'description': 'd', 'graph_id': 'g'}]}",
	    "/async_subagents/1/name", "already");
}
END_TEST

START_TEST(the_instructions_name_the_agents)
{
	play.profile = literal(arena, "{'model': 'x:y', 'system_prompt': 'S'}");
	play.request = literal(arena, "{}");
	play_model(&play,
	    stub_chain(arena, literal_use(arena, "async_subagent", SETTINGS), NULL));
	ck_assert_has(value_get_text(play.seen, "system"), "S\n\n");
	ck_assert_has(value_get_text(play.seen, "system"), "- far: Works.");
}
END_TEST

START_TEST(a_task_begins)
{
	const char *args = "{'description': 'Go.', 'subagent_type': 'far'}";
	const struct value *wish =
	    value_get(call("start_async_task", args, "[]"), "child");
	const struct value *body = call("start_async_task", args,
	    "[{'run': 'r', 'thread': 't', 'status': 'queued'}]");

	ck_assert_value(arena, value_get(wish, "op"), "'start'");
	ck_assert_value(arena, value_get(wish, "name"), "'far'");
	ck_assert_value(arena, value_get(wish, "middleware"), "'async_subagent'");
	ck_assert_has(text_of(body), "task_id: t");
	ck_assert_value(arena, value_get(task_of(body), "status"), "'running'");
	ck_assert_value(arena, value_get(task_of(body), "agent_name"), "'far'");
	ck_assert_value(arena, value_get(task_of(body), "run_id"), "'r'");
	body = call(
	    "start_async_task", "{'description': 'Go.', 'subagent_type': 'near'}", "[]");
	ck_assert_has(text_of(body), "`far`");
	ck_assert_value(arena,
	    value_get(value_at(value_get(update_of(body), "messages"), 0), "status"),
	    "'success'");
	body = call("start_async_task", args,
	    "[{'fault': {'type': 'RuntimeError', 'message': 'no agent'}}]");
	ck_assert_has(text_of(body), "no agent");
}
END_TEST

START_TEST(a_task_is_looked_at)
{
	const struct value *wish =
	    value_get(call("check_async_task", "{'task_id': 't'}", "[]"), "child");
	const struct value *body = call("check_async_task", "{'task_id': 't'}",
	    "[{'runs': [{'status': 'success', 'content': 'Found it.'}]}]");

	ck_assert_value(arena, value_get(wish, "runs"), "[{'run': 'r', 'thread': 't'}]");
	ck_assert_str_eq(text_of(body),
	    "{\"status\":\"success\",\"thread_id\":\"t\",\"result\":\"Found it.\"}");
	ck_assert_value(arena, value_get(task_of(body), "status"), "'success'");
	body = call("check_async_task", "{'task_id': 't'}",
	    "[{'runs': [{'status': 'quarantined', 'fault': {'message': 'bad'}}]}]");
	ck_assert_has(text_of(body), "\"status\":\"error\"");
	ck_assert_has(text_of(body), "\"error\":\"bad\"");
	ck_assert_has(
	    text_of(call("check_async_task", "{'task_id': 'x'}", "[]")), "no task `x`");
}
END_TEST

START_TEST(a_task_is_told_more)
{
	const char *args = "{'task_id': 't', 'message': 'Hurry.'}";
	const struct value *wish =
	    value_get(call("update_async_task", args, "[]"), "child");
	const struct value *body = call("update_async_task", args,
	    "[{'run': 'r2', 'thread': 't', 'status': 'queued'}]");

	ck_assert_value(arena, value_get(wish, "op"), "'update'");
	ck_assert_value(arena, value_get(wish, "thread"), "'t'");
	ck_assert_value(arena, value_get(wish, "run"), "'r'");
	ck_assert_value(arena, value_get(task_of(body), "run_id"), "'r2'");
}
END_TEST

START_TEST(a_task_is_cancelled)
{
	const struct value *body = call("cancel_async_task", "{'task_id': 't'}",
	    "[{'run': 'r', 'thread': 't', 'status': 'cancelled'}]");

	ck_assert_has(text_of(body), "is cancelled");
	ck_assert_value(arena, value_get(task_of(body), "status"), "'cancelled'");
	body = call("cancel_async_task", "{'task_id': 't'}",
	    "[{'run': 'r', 'thread': 't', 'status': 'success'}]");
	ck_assert_has(text_of(body), "had ended before: success");
}
END_TEST

START_TEST(tasks_are_listed_as_they_stand)
{
	const struct value *body = call("list_async_tasks", "{}",
	    "[{'runs': [{'status': 'success', 'content': 'x'}]}]");

	ck_assert_has(text_of(body), "task_id: t agent: far status: success");
	ck_assert_value(arena, value_get(task_of(body), "status"), "'success'");
	body = call("list_async_tasks", "{'status_filter': 'running'}",
	    "[{'runs': [{'status': 'success'}]}]");
	ck_assert_has(text_of(body), "no such task");
}
END_TEST

/* A user may write the field. */
START_TEST(what_is_no_task_is_none)
{
	const char *tasks =
	    "{'t': {'status': 'running'}, 'u': 7, 'v': {'task_id': 'v', 'run_id': 'r', "
	    "'thread_id': 't', 'status': 'running'}}";
	const char *args = "{'task_id': 't', 'message': 'm'}";

	ck_assert_has(text_of(call_with("list_async_tasks", "{}",
			  "[{'runs': [{'status': 'success'}]}]", tasks)),
	    "no such task");
	ck_assert_has(
	    text_of(call_with("list_async_tasks", "{}", "[]", tasks)), "no such task");
	ck_assert_has(
	    text_of(call_with("check_async_task", "{'task_id': 't'}", "[]", tasks)),
	    "no task `t`");
	ck_assert_has(
	    text_of(call_with("update_async_task", args, "[]", tasks)), "no task `t`");
	ck_assert_has(
	    text_of(call_with("cancel_async_task", "{'task_id': 'v'}", "[]", tasks)),
	    "no task `v`");
}
END_TEST

TCase *tcase_async_subagent(void);
TCase *
tcase_async_subagent(void)
{
	TCase *tcase = tcase_create("async_subagent");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, mistakes_are_shown_where_they_stand);
	tcase_add_test(tcase, the_instructions_name_the_agents);
	tcase_add_test(tcase, a_task_begins);
	tcase_add_test(tcase, a_task_is_looked_at);
	tcase_add_test(tcase, a_task_is_told_more);
	tcase_add_test(tcase, a_task_is_cancelled);
	tcase_add_test(tcase, tasks_are_listed_as_they_stand);
	tcase_add_test(tcase, what_is_no_task_is_none);
	return tcase;
}
