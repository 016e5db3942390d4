/* `flotilla serve` for who comes from LangGraph's server: what its clients send and expect that is easily left out. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"
#include "serve_bench.h"

TCase *tcase_serve_moved(void);

static struct fleet_up *const fleet = &serve_bench.fleet;

/* The path of a thread, with more behind it. */
static const char *
at(const char *thread, const char *more)
{
	return serve_text("/threads/%s%s", thread, more);
}

static const struct value *
state_of(const char *thread)
{
	return serve_get(at(thread, "/state"), 200);
}

static void
assert_next(const char *thread, const char *next)
{
	ck_assert_value(fleet->arena, value_get(state_of(thread), "next"), next);
}

/* Runs talker on a thread of its own, which is returned: its versions are 1, the input, to 4. */
static const char *
thread_with_talk(void)
{
	const char *thread = serve_thread();

	ck_assert_str_eq(
	    serve_run_end(thread, serve_run(thread, "talker", "")), "success");
	return thread;
}

/* --- messages ----------------------------------------------------------------------------- */

/* Messages of LangChain for JavaScript, as JSON.stringify writes them. */
START_TEST(messages_may_be_constructed)
{
	const char *thread = serve_thread();
	const struct value *values = serve_post(at(thread, "/runs/wait"),
	    "{'assistant_id': 'quick', 'input': {'messages': [{'lc': 1, 'type': "
	    "'constructor', 'id': ['langchain_core', 'messages', 'HumanMessage'], "
	    "'kwargs': {'content': 'Hi', 'id': 'mine', 'additional_kwargs': {}, "
	    "'response_metadata': {}}}]}}",
	    200);

	ck_assert_value(fleet->arena, value_at(value_get(values, "messages"), 0),
	    "{'content': 'Hi', 'id': 'mine', 'additional_kwargs': {}, "
	    "'response_metadata': {}, 'type': 'human'}");
}
END_TEST

/* --- states ------------------------------------------------------------------------------- */

/* As RemoteGraph's getState asks. */
START_TEST(a_checkpoint_without_an_id_is_the_newest)
{
	const char *thread = serve_thread();
	const char *body = serve_text("{'checkpoint': {'thread_id': '%s'}}", thread);

	serve_run_end(thread, serve_run(thread, "quick", ""));
	ck_assert(value_equal(
	    serve_post(at(thread, "/state/checkpoint"), body, 200), state_of(thread)));
}
END_TEST

/* An edited question is asked again: the update is by the node that ran at its checkpoint, not by the thread's last. */
START_TEST(an_input_of_the_past_may_be_changed_and_run_again)
{
	const char *thread = thread_with_talk(), *checkpoint;
	const struct value *input = value_at(
	    value_get(
		value_get(serve_get(at(thread, "/state/1"), 200), "values"), "messages"),
	    0);
	const struct value *values;

	checkpoint = value_get_text(
	    value_get(serve_post(at(thread, "/state"),
			  serve_text("{'checkpoint_id': '1', 'values': {'messages': "
				     "[{'type': 'human', 'id': '%s', 'content': "
				     "'Edited'}]}}",
			      value_get_text(input, "id")),
			  200),
		"checkpoint"),
	    "checkpoint_id");
	assert_next(thread, "['model']");
	values = serve_post(at(thread, "/runs/wait"),
	    serve_text("{'assistant_id': 'talker', 'checkpoint_id': '%s'}", checkpoint),
	    200);
	ck_assert_uint_eq(value_size(value_get(values, "messages")), 4);
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(values, "messages"), 0), "content"),
	    "Edited");
}
END_TEST

/* A conversation that is brought along. */
START_TEST(a_new_thread_may_be_written)
{
	const char *thread = value_get_text(
	    serve_post("/threads", "{'metadata': {'graph_id': 'quick'}}", 200),
	    "thread_id");

	serve_post(at(thread, "/state"),
	    "{'values': {'messages': [{'role': 'user', 'content': 'Hi'}]}}", 200);
	assert_next(thread, "['model']");
	serve_post(at(thread, "/state"),
	    "{'as_node': 'model', 'values': {'messages': [{'role': 'assistant', "
	    "'content': 'Ho'}]}}",
	    200);
	assert_next(thread, "[]");
	serve_post(at(thread, "/state"),
	    "{'as_node': '__start__', 'values': {'messages': [{'role': 'user', "
	    "'content': 'Hi'}]}}",
	    200);
	assert_next(thread, "['model']");
	ck_assert_str_eq(serve_last_text(serve_post(at(thread, "/runs/wait"),
			     "{'assistant_id': 'quick', 'input': null}", 200)),
	    "Second.");
}
END_TEST

START_TEST(an_update_may_change_nothing)
{
	const char *thread = thread_with_talk();
	const struct value *copied;

	serve_post(at(thread, "/state"), "{'values': null, 'checkpoint_id': '2'}", 200);
	assert_next(thread, "['tools']");
	copied = value_get(state_of(thread), "values");
	ck_assert(value_equal(
	    copied, value_get(serve_get(at(thread, "/state/2"), 200), "values")));
	serve_post(at(thread, "/state"), "{'as_node': '__end__'}", 200);
	assert_next(thread, "[]");
	serve_post(at(thread, "/state"),
	    "{'values': null, 'as_node': '__copy__', 'checkpoint_id': '3'}", 200);
	assert_next(thread, "['model']");
	serve_post(at(thread, "/state"), "{'values': 'none'}", 422);
}
END_TEST

TCase *
tcase_serve_moved(void)
{
	TCase *tcase = tcase_create("serve_moved");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, messages_may_be_constructed);
	tcase_add_test(tcase, a_checkpoint_without_an_id_is_the_newest);
	tcase_add_test(tcase, an_input_of_the_past_may_be_changed_and_run_again);
	tcase_add_test(tcase, a_new_thread_may_be_written);
	tcase_add_test(tcase, an_update_may_change_nothing);
	return tcase;
}
