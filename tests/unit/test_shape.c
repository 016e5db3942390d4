/* What the fleet knows in the forms of LangGraph's API. */
#include <check.h>

#include "literal.h"

/* Interface under test */
#include "shape.h"

TCase *tcase_shape(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* --- times -------------------------------------------------------------------------------- */

static const struct {
	int64_t ms;
	const char *expected;
} times[] = {
	{ INT64_C(1795645124188), "'2026-11-25T22:18:44.188Z'" },
	{ INT64_C(1767225600000), "'2026-01-01T00:00:00.000Z'" },
	{ 1, "'1970-01-01T00:00:00.001Z'" },
	{ 0, "null" },
	{ -5, "null" },
};

START_TEST(a_time_is_a_date_with_milliseconds)
{
	ck_assert_value(arena, shape_time(arena, times[_i].ms), times[_i].expected);
}
END_TEST

/* --- messages and values ------------------------------------------------------------------ */

static const char *const messages[][2] = {
	{ "{'type': 'human', 'content': 'Hi'}",
	    "{'type': 'human', 'content': 'Hi', 'additional_kwargs': {}, "
	    "'response_metadata': {}}" },
	{ "{'type': 'ai', 'content': 'Hi'}",
	    "{'type': 'ai', 'content': 'Hi', 'additional_kwargs': {}, "
	    "'response_metadata': {}, 'tool_calls': [], 'invalid_tool_calls': []}" },
	{ "{'type': 'ai', 'content': '', 'tool_calls': [{'id': 'c'}], "
	  "'additional_kwargs': {'k': 1}, 'response_metadata': {'m': 2}, "
	  "'invalid_tool_calls': [{}]}",
	    "{'type': 'ai', 'content': '', 'tool_calls': [{'id': 'c'}], "
	    "'additional_kwargs': {'k': 1}, 'response_metadata': {'m': 2}, "
	    "'invalid_tool_calls': [{}]}" },
	{ "{'type': 'tool', 'content': '1', 'tool_call_id': 'c', 'status': 'error'}",
	    "{'type': 'tool', 'content': '1', 'tool_call_id': 'c', 'status': 'error', "
	    "'additional_kwargs': {}, 'response_metadata': {}}" },
};

START_TEST(a_message_has_all_keys_of_its_kind)
{
	ck_assert_value(arena, shape_message(arena, literal(arena, messages[_i][0])),
	    messages[_i][1]);
}
END_TEST

START_TEST(private_fields_are_not_shown)
{
	const struct value *said = literal(arena, "[{'type': 'human', 'content': 'Hi'}]");
	const struct value *fields =
	    literal(arena, "{'n': 1, 'secret': 2, 'more': null}");
	struct shape_view view = { literal(arena, "['secret', 'other']"), false };

	ck_assert_value(arena, shape_values(arena, said, fields, &view),
	    "{'messages': [{'type': 'human', 'content': 'Hi', 'additional_kwargs': {}, "
	    "'response_metadata': {}}], 'n': 1, 'more': null}");
	ck_assert_value(
	    arena, shape_fields(arena, fields, &view), "{'n': 1, 'more': null}");
	view.has_shown = true;
	ck_assert_value(arena, shape_fields(arena, fields, &view), "{'secret': 2}");
	view = (struct shape_view){ NULL, true };
	ck_assert_value(arena, shape_fields(arena, fields, &view), "{}");
	view = (struct shape_view){ 0 };
	ck_assert_value(
	    arena, shape_values(arena, NULL, NULL, &view), "{'messages': []}");
}
END_TEST

START_TEST(an_update_without_messages_has_none)
{
	ck_assert_value(arena,
	    shape_update(arena, value_empty_array(), literal(arena, "{'n': 1}")),
	    "{'n': 1}");
	ck_assert_value(arena,
	    shape_update(
		arena, literal(arena, "[{'type': 'tool', 'content': ''}]"), NULL),
	    "{'messages': [{'type': 'tool', 'content': '', 'additional_kwargs': {}, "
	    "'response_metadata': {}}]}");
}
END_TEST

START_TEST(what_is_asked_has_an_id_and_a_value)
{
	ck_assert_value(arena,
	    shape_interrupts(arena,
		literal(arena, "[{'id': 'i', 'value': {'q': 1}, 'from': 'tool'}]")),
	    "[{'id': 'i', 'value': {'q': 1}}]");
	ck_assert_value(arena, shape_interrupts(arena, NULL), "[]");
}
END_TEST

/* --- runs --------------------------------------------------------------------------------- */

static const char *const run_statuses[][2] = {
	{ "{'status': 'queued'}", "pending" },
	{ "{'status': 'delayed'}", "pending" },
	{ "{'status': 'running'}", "running" },
	{ "{'status': 'success'}", "success" },
	{ "{'status': 'interrupted'}", "interrupted" },
	{ "{'status': 'cancelled'}", "interrupted" },
	{ "{'status': 'refused'}", "error" },
	{ "{'status': 'error'}", "error" },
	{ "{'status': 'error', 'fault': {'type': 'ToolError'}}", "error" },
	{ "{'status': 'error', 'fault': {'type': 'TimeoutError'}}", "timeout" },
	{ "{}", "pending" },
};

START_TEST(a_run_has_langgraphs_statuses)
{
	ck_assert_str_eq(
	    shape_run_status(literal(arena, run_statuses[_i][0])), run_statuses[_i][1]);
}
END_TEST

static const char *const runs[][2] = {
	{ "{'run': 'r', 'thread': 't', 'agent': 'a', 'status': 'success', 'created': "
	  "1767225600000, 'started': 1767225601000, 'ended': 1767225602500, "
	  "'metadata': {'k': 1}, 'multitask': 'reject', 'steps': 4}",
	    "{'run_id': 'r', 'thread_id': 't', 'assistant_id': 'a', 'created_at': "
	    "'2026-01-01T00:00:00.000Z', 'updated_at': '2026-01-01T00:00:02.500Z', "
	    "'status': 'success', 'metadata': {'k': 1}, 'kwargs': {}, "
	    "'multitask_strategy': 'reject'}" },
	{ "{'run': 'r', 'thread': 't', 'agent': 'a', 'status': 'running', 'created': "
	  "1767225600000, 'started': 1767225601000}",
	    "{'run_id': 'r', 'thread_id': 't', 'assistant_id': 'a', 'created_at': "
	    "'2026-01-01T00:00:00.000Z', 'updated_at': '2026-01-01T00:00:01.000Z', "
	    "'status': 'running', 'metadata': {}, 'kwargs': {}, 'multitask_strategy': "
	    "'enqueue'}" },
	{ "{'run': 'r', 'thread': 't', 'agent': 'a', 'created': 1767225600000}",
	    "{'run_id': 'r', 'thread_id': 't', 'assistant_id': 'a', 'created_at': "
	    "'2026-01-01T00:00:00.000Z', 'updated_at': '2026-01-01T00:00:00.000Z', "
	    "'status': 'pending', 'metadata': {}, 'kwargs': {}, 'multitask_strategy': "
	    "'enqueue'}" },
};

START_TEST(a_run_is_shown_with_its_times)
{
	ck_assert_value(
	    arena, shape_run(arena, literal(arena, runs[_i][0])), runs[_i][1]);
}
END_TEST

/* --- threads ------------------------------------------------------------------------------ */

static const char *const thread_statuses[][2] = {
	{ "{'head': {'status': 'success'}}", "idle" },
	{ "{'head': {'status': 'cancelled'}}", "idle" },
	{ "{'head': {'status': 'interrupted'}}", "interrupted" },
	{ "{'head': {'status': 'error'}}", "error" },
	{ "{'run': 'r', 'head': {'status': 'interrupted'}}", "busy" },
	{ "{'run': '', 'head': {'status': 'success'}}", "idle" },
	{ "{'queue': ['r'], 'head': {'status': 'success'}}", "busy" },
	{ "{'queue': [], 'head': null}", "idle" },
	{ "{}", "idle" },
};

START_TEST(a_thread_has_langgraphs_statuses)
{
	ck_assert_str_eq(shape_thread_status(literal(arena, thread_statuses[_i][0])),
	    thread_statuses[_i][1]);
}
END_TEST

START_TEST(a_new_thread_has_no_values_and_no_interrupts)
{
	ck_assert_value(arena,
	    shape_thread(arena,
		literal(arena, "{'thread': 't', 'created': 1767225600000, 'metadata': "
			       "{'who': 'me'}}"),
		NULL, NULL),
	    "{'thread_id': 't', 'created_at': '2026-01-01T00:00:00.000Z', 'updated_at': "
	    "'2026-01-01T00:00:00.000Z', 'state_updated_at': '2026-01-01T00:00:00.000Z', "
	    "'metadata': {'who': 'me'}, 'status': 'idle', "
	    "'config': {}, 'values': null, 'interrupts': {}}");
}
END_TEST

START_TEST(a_thread_says_its_agent_and_what_it_asks)
{
	ck_assert_value(arena,
	    shape_thread(arena,
		literal(arena,
		    "{'thread': 't', 'version': 3, 'created': 1767225600000, 'head': "
		    "{'status': 'interrupted', 'agent': 'a'}, 'asks': [{'id': 'i', "
		    "'value': '?', 'more': 1}]}"),
		literal(arena, "{'at': 1767225601000}"), literal(arena, "{'n': 1}")),
	    "{'thread_id': 't', 'created_at': '2026-01-01T00:00:00.000Z', 'updated_at': "
	    "'2026-01-01T00:00:01.000Z', 'state_updated_at': '2026-01-01T00:00:01.000Z', "
	    "'metadata': {'graph_id': 'a', 'assistant_id': "
	    "'a'}, 'status': 'interrupted', 'config': {}, 'values': {'n': 1}, "
	    "'interrupts': {'t:3': [{'id': 'i', 'value': '?'}]}}");
}
END_TEST

START_TEST(the_agent_of_the_last_run_is_a_threads)
{
	const struct value *thread = shape_thread(arena,
	    literal(arena, "{'thread': 't', 'head': {'agent': 'new'}, 'metadata': "
			   "{'graph_id': 'old', 'k': 1}}"),
	    NULL, value_empty_map());

	ck_assert_value(arena, value_get(thread, "metadata"),
	    "{'graph_id': 'new', 'k': 1, 'assistant_id': 'new'}");
	ck_assert_value(arena, value_get(thread, "interrupts"), "{}");
}
END_TEST

/* --- states ------------------------------------------------------------------------------- */

START_TEST(a_checkpoint_is_a_version)
{
	ck_assert_value(arena, shape_checkpoint(arena, "t", 7),
	    "{'thread_id': 't', 'checkpoint_ns': '', 'checkpoint_id': '7', "
	    "'checkpoint_map': null}");
	ck_assert_value(arena, shape_checkpoint(arena, "t", 0),
	    "{'thread_id': 't', 'checkpoint_ns': '', 'checkpoint_id': '0', "
	    "'checkpoint_map': null}");
}
END_TEST

START_TEST(a_thread_without_a_checkpoint_has_an_empty_state)
{
	ck_assert_value(arena, shape_no_state(arena),
	    "{'values': {}, 'next': [], 'tasks': [], 'interrupts': [], 'metadata': {}, "
	    "'created_at': null, 'checkpoint': null, 'parent_checkpoint': null, "
	    "'checkpoint_id': null, 'parent_checkpoint_id': null}");
}
END_TEST

#define LAST                                                                             \
	"{'version': 3, 'parent': 2, 'at': 1767225600000, 'source': 'loop', 'step': 1, " \
	"'run': 'r'}"
#define LAST_SHOWN                                                                       \
	"'metadata': {'source': 'loop', 'step': 1, 'parents': {}, 'thread_id': 't', "    \
	"'run_id': 'r', 'graph_id': 'a', 'assistant_id': 'a'}, 'created_at': "           \
	"'2026-01-01T00:00:00.000Z', 'checkpoint': {'thread_id': 't', "                  \
	"'checkpoint_ns': '', 'checkpoint_id': '3', 'checkpoint_map': null}, "           \
	"'parent_checkpoint': {'thread_id': 't', 'checkpoint_ns': '', "                  \
	"'checkpoint_id': '2', 'checkpoint_map': null}, 'checkpoint_id': '3', "          \
	"'parent_checkpoint_id': '2'"

START_TEST(a_state_that_waits_says_for_what)
{
	ck_assert_value(arena,
	    shape_state(arena,
		literal(arena, "{'thread': 't', 'version': 3, 'head': {'next': 'tools', "
			       "'agent': 'a'}}"),
		literal(arena, LAST), literal(arena, "{'n': 1}"),
		literal(arena, "[{'id': 'i', 'value': '?'}]")),
	    "{'values': {'n': 1}, 'next': ['tools'], 'tasks': [{'id': 't:3', 'name': "
	    "'tools', 'path': ['__pregel_pull', 'tools'], 'error': null, 'interrupts': "
	    "[{'id': 'i', 'value': '?'}], 'checkpoint': null, 'state': null, 'result': "
	    "null}], 'interrupts': [{'id': 'i', 'value': '?'}], " LAST_SHOWN "}");
}
END_TEST

static const char *const over[] = {
	"{'thread': 't', 'version': 3, 'head': {'next': '__end__', 'agent': 'a'}}",
	"{'thread': 't', 'version': 3, 'head': {'agent': 'a'}}",
};

START_TEST(a_state_that_is_over_has_nothing_next)
{
	ck_assert_value(arena,
	    shape_state(arena, literal(arena, over[_i]), literal(arena, LAST),
		literal(arena, "{'n': 1}"), NULL),
	    "{'values': {'n': 1}, 'next': [], 'tasks': [], 'interrupts': [], " LAST_SHOWN
	    "}");
}
END_TEST

/* Before the first checkpoint stands the empty thread, which has no parent. */
START_TEST(the_first_state_is_the_empty_thread)
{
	const struct value *state = shape_state(arena, literal(arena, over[0]),
	    literal(arena, "{'version': 1, 'at': 5}"), value_empty_map(), NULL);

	ck_assert_str_eq(
	    value_get_text(value_get(state, "parent_checkpoint"), "checkpoint_id"), "0");
	ck_assert_str_eq(value_get_text(state, "parent_checkpoint_id"), "0");
	ck_assert_value(arena,
	    shape_first_state(arena,
		literal(arena, "{'thread': 't', 'created': 1767225600000}"),
		literal(arena, "{'messages': []}")),
	    "{'values': {'messages': []}, 'next': ['__start__'], 'tasks': [], "
	    "'interrupts': [], 'metadata': {'source': 'input', 'step': -1, 'parents': "
	    "{}, 'thread_id': 't'}, 'created_at': '2026-01-01T00:00:00.000Z', "
	    "'checkpoint': "
	    "{'thread_id': 't', 'checkpoint_ns': '', 'checkpoint_id': '0', "
	    "'checkpoint_map': null}, 'parent_checkpoint': null, 'checkpoint_id': '0', "
	    "'parent_checkpoint_id': null}");
}
END_TEST

/* --- assistants --------------------------------------------------------------------------- */

static const char *const assistants[][3] = {
	{ "{'model': 'openai:x', 'description': 'helps'}",
	    "[{'at': 1767225600000}, {'at': 1767225601000}]",
	    "{'assistant_id': 'a', 'graph_id': 'a', 'name': 'a', 'description': 'helps', "
	    "'version': 2, 'created_at': '2026-01-01T00:00:00.000Z', 'updated_at': "
	    "'2026-01-01T00:00:01.000Z', 'config': {}, 'context': {}, 'metadata': "
	    "{'created_by': 'system', 'model': 'openai:x', 'version': 'v'}}" },
	{ "{'model': 'openai:x', 'description': 7}", "[]",
	    "{'assistant_id': 'a', 'graph_id': 'a', 'name': 'a', 'description': null, "
	    "'version': 1, 'created_at': '1970-01-01T00:00:00.001Z', 'updated_at': "
	    "'1970-01-01T00:00:00.001Z', 'config': {}, 'context': {}, 'metadata': "
	    "{'created_by': 'system', 'model': 'openai:x', 'version': 'v'}}" },
};

START_TEST(an_agent_is_an_assistant_of_its_name)
{
	ck_assert_value(arena,
	    shape_assistant(arena, "a", "v", literal(arena, assistants[_i][0]),
		literal(arena, assistants[_i][1])),
	    assistants[_i][2]);
}
END_TEST

TCase *
tcase_shape(void)
{
	TCase *tcase = tcase_create("shape");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_time_is_a_date_with_milliseconds, 0, COUNT(times));
	tcase_add_loop_test(
	    tcase, a_message_has_all_keys_of_its_kind, 0, COUNT(messages));
	tcase_add_test(tcase, private_fields_are_not_shown);
	tcase_add_test(tcase, an_update_without_messages_has_none);
	tcase_add_test(tcase, what_is_asked_has_an_id_and_a_value);
	tcase_add_loop_test(tcase, a_run_has_langgraphs_statuses, 0, COUNT(run_statuses));
	tcase_add_loop_test(tcase, a_run_is_shown_with_its_times, 0, COUNT(runs));
	tcase_add_loop_test(
	    tcase, a_thread_has_langgraphs_statuses, 0, COUNT(thread_statuses));
	tcase_add_test(tcase, a_new_thread_has_no_values_and_no_interrupts);
	tcase_add_test(tcase, a_thread_says_its_agent_and_what_it_asks);
	tcase_add_test(tcase, the_agent_of_the_last_run_is_a_threads);
	tcase_add_test(tcase, a_checkpoint_is_a_version);
	tcase_add_test(tcase, a_thread_without_a_checkpoint_has_an_empty_state);
	tcase_add_test(tcase, a_state_that_waits_says_for_what);
	tcase_add_loop_test(tcase, a_state_that_is_over_has_nothing_next, 0, COUNT(over));
	tcase_add_test(tcase, the_first_state_is_the_empty_thread);
	tcase_add_loop_test(
	    tcase, an_agent_is_an_assistant_of_its_name, 0, COUNT(assistants));
	return tcase;
}
