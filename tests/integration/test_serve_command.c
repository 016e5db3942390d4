/* `flotilla serve`: runs that begin by a command of LangGraph's: goto, update, resume. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "literal.h"
#include "story_bench.h"

TCase *tcase_serve_command(void);

#define ASKS_NOTE                                                                        \
	"{'type': 'ai', 'content': '', 'tool_calls': [{'id': 'z', 'name': 'note', "      \
	"'args': {'text': 'z'}}]}"

static const struct value *
command(const char *thread, const char *text, long status)
{
	return serve_post(serve_text("/threads/%s/runs/wait", thread),
	    serve_text("{'assistant_id': 'careful', 'command': %s}", text), status);
}

static const struct value *
state_of(const char *thread)
{
	return serve_get(serve_text("/threads/%s/state", thread), 200);
}

static const char *
next_of(const char *thread)
{
	const struct value *next = value_get(state_of(thread), "next");

	return value_size(next) == 0 ? "" : value_text(value_at(next, 0));
}

START_TEST(a_run_begins_at_a_node)
{
	const char *id = serve_thread();
	const struct value *values, *history;

	values = command(
	    id, "{'update': {'messages': [{'role': 'user', 'content': 'Hi'}]}}", 200);
	ck_assert_uint_eq(value_size(value_get(values, "messages")), 1);
	ck_assert_str_eq(next_of(id), "");
	values = command(id, "{'goto': 'model'}", 200);
	ck_assert_str_eq(serve_last_text(values), "May I?");
	ck_assert_str_eq(next_of(id), "tools");
	/* The node that is next may be named, and is not paused in front of again. */
	values = command(id, "{'goto': ['tools']}", 200);
	ck_assert_str_eq(serve_last_text(values), "Thank you.");
	history = serve_get(serve_text("/threads/%s/history", id), 200);
	ck_assert_str_eq(
	    value_get_text(
		value_get(value_at(history, value_size(history) - 2), "metadata"),
		"source"),
	    "input");
	values = serve_post("/runs/wait",
	    "{'assistant_id': 'quick', 'command': {'goto': 'model', 'update': "
	    "[['messages', [{'role': 'user', 'content': 'Hi'}]]]}}",
	    200);
	ck_assert_str_eq(serve_last_text(values), "First.");
}
END_TEST

START_TEST(its_stream_shows_what_it_does)
{
	const char *id = serve_thread();
	struct story story = { 0 };
	const struct value *first;

	ASK(.path = serve_text("/threads/%s/runs/stream", id),
	    .body = "{'assistant_id': 'careful', 'stream_mode': ['values', 'updates', "
		    "'tasks'], 'command': {'goto': 'tools', 'update': {'messages': "
		    "[" ASKS_NOTE "]}}}",
	    .on_frame = story_on_frame, .arg = &story);
	ck_assert_str_eq(story.frames[1].event, "tasks");
	first = story.frames[1].data;
	ck_assert_str_eq(value_get_text(first, "name"), "tools");
	ck_assert_uint_eq(
	    value_size(value_get(value_get(first, "input"), "messages")), 1);
	ck_assert_str_eq(
	    serve_last_text(story_last(&story, "values")->data), "Thank you.");
	ck_assert_uint_eq(story_count(&story, "updates"), 2);
}
END_TEST

/* What an input may have, an update may as well. */
START_TEST(calls_may_have_openais_form)
{
	const char *id = serve_thread();
	const struct value *messages = value_get(
	    command(id,
		"{'goto': 'tools', 'update': {'messages': [{'role': 'assistant', "
		"'content': '', 'tool_calls': [{'id': 'c1', 'type': 'function', "
		"'function': {'name': 'note', 'arguments': "
		"'{\\'text\\':\\'a\\'}'}}]}]}}",
		200),
	    "messages");

	ck_assert_value(serve_bench.fleet.arena,
	    value_get(value_at(messages, 0), "tool_calls"),
	    "[{'name': 'note', 'args': {'text': 'a'}, 'id': 'c1', 'type': "
	    "'tool_call'}]");
	ck_assert_str_eq(value_get_text(value_at(messages, 1), "tool_call_id"), "c1");
	ck_assert_str_eq(value_get_text(value_at(messages, 1), "status"), "success");
}
END_TEST

/* What a question asks is answered, and the state changed before. */
START_TEST(an_answer_comes_with_an_update)
{
	const char *id = serve_thread();
	const struct value *values;

	serve_run_end(id, serve_run(id, "approver", ""));
	values = serve_post(serve_text("/threads/%s/runs/wait", id),
	    "{'assistant_id': 'approver', 'command': {'resume': {'decisions': [{'type': "
	    "'approve'}]}, 'update': {'messages': [{'type': 'human', 'content': 'By the "
	    "way'}]}}}",
	    200);
	ck_assert_msg(value_has(values, "messages"), "%s",
	    json_text(serve_bench.fleet.arena, values));
	ck_assert_str_eq(serve_last_text(values), "It is done.");
}
END_TEST

/* So pages of LangGraph's set a question aside. */
START_TEST(at_the_end_nothing_is_asked)
{
	const char *id = serve_thread(), *run;
	const struct value *values, *state;

	serve_run_end(id, serve_run(id, "approver", ""));
	ck_assert_uint_eq(value_size(value_get(state_of(id), "interrupts")), 1);
	values = serve_post(serve_text("/threads/%s/runs/wait", id),
	    "{'assistant_id': 'approver', 'input': {}, 'command': {'goto': '__end__', "
	    "'update': {'messages': [{'type': 'ai', 'content': 'Never mind.'}]}}}",
	    200);
	ck_assert_str_eq(serve_last_text(values), "Never mind.");
	state = state_of(id);
	ck_assert_uint_eq(value_size(value_get(state, "next")), 0);
	ck_assert_uint_eq(value_size(value_get(state, "interrupts")), 0);
	ck_assert_str_eq(
	    value_get_text(serve_get(serve_text("/threads/%s", id), 200), "status"),
	    "idle");
	/* Behind another it waits. */
	id = serve_thread();
	run = serve_run(id, "slow", "");
	serve_run_wait(id, run, "running");
	values = serve_post(serve_text("/threads/%s/runs", id),
	    "{'assistant_id': 'slow', 'command': {'goto': '__end__'}}", 200);
	ck_assert_str_eq(value_get_text(values, "status"), "pending");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel?wait=1", id, run),
	    .body = "{}");
	ck_assert_str_eq(serve_run_end(id, value_get_text(values, "run_id")), "success");
	ck_assert_str_eq(next_of(id), "");
}
END_TEST

static const struct {
	const char *command, *error;
} refused[] = {
	{ "{}", "input: a new thread needs one" },
	{ "[]", "must have resume, goto or update" },
	{ "{'goto': 'modle'}", "did you mean 'model'?" },
	{ "{'goto': ['model', 'tools']}", "one node runs at a time" },
	{ "{'goto': {'node': 'model', 'input': {}}}", "Send" },
	{ "{'update': {'topic': 1}}", "no state field 'topic'" },
	{ "{'update': 1}", "must be a map" },
	{ "{'update': {'messages': [{'role': 'nobody', 'content': 'Hi'}]}}",
	    "command.update: messages[0]" },
	{ "{'update': {'messages': [{'role': 'assistant', 'content': '', 'tool_calls': "
	  "[{'id': 'c1', 'type': 'function', 'function': {'name': 'note', 'arguments': "
	  "'[1]'}}]}]}}",
	    "command.update: messages[0].tool_calls[0]: needs args" },
	{ "{'goto': 'model', 'graph': '__parent__'}", "no graph" },
};

START_TEST(what_cannot_be_done_is_refused)
{
	const char *id = serve_thread();
	struct serve_answer answer = ASK(.path = serve_text("/threads/%s/runs", id),
	    .body = serve_text(
		"{'assistant_id': 'careful', 'command': %s}", refused[_i].command));

	ck_assert_msg(answer.status == 422, "%ld %s", answer.status, answer.body);
	ck_assert_has(answer.body, refused[_i].error);
	ck_assert_uint_eq(
	    value_size(serve_get(serve_text("/threads/%s/runs", id), 200)), 0);
}
END_TEST

/* Beside the node that is next none runs; elsewhere one may. */
START_TEST(where_a_node_is_next_no_other_runs)
{
	const char *id = serve_thread();
	const struct value *values, *history;

	serve_run_end(id, serve_run(id, "careful", ""));
	ck_assert_str_eq(next_of(id), "tools");
	command(id, "{'goto': 'model'}", 422);
	ck_assert_str_eq(next_of(id), "tools");
	serve_post(serve_text("/threads/%s/state", id),
	    "{'values': null, 'as_node': '__end__'}", 200);
	ck_assert_str_eq(next_of(id), "");
	command(id, "{'goto': 'model'}", 200);
	history = serve_get(serve_text("/threads/%s/history?limit=100", id), 200);
	values = serve_post(serve_text("/threads/%s/runs/wait", id),
	    serve_text("{'assistant_id': 'careful', 'checkpoint_id': '%s', 'command': "
		       "{'goto': 'tools'}}",
		value_get_text(
		    value_get(value_at(history, value_size(history) - 3), "checkpoint"),
		    "checkpoint_id")),
	    200);
	ck_assert_str_eq(serve_last_text(values), "Thank you.");
}
END_TEST

/* Where the thread stands when its turn has come is not known yet. */
START_TEST(behind_another_run_it_waits)
{
	const char *id = serve_thread(), *slow = serve_run(id, "slow", ""), *run;

	while (*next_of(id) == '\0')
		serve_pause();
	run = value_get_text(
	    serve_post(serve_text("/threads/%s/runs", id),
		"{'assistant_id': 'careful', 'command': {'goto': 'tools'}}", 200),
	    "run_id");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel?wait=1", id, slow),
	    .body = "{}");
	/* It was cancelled in front of its model. */
	ck_assert_str_eq(serve_run_end(id, run), "error");
	run = value_get_text(
	    serve_post(serve_text("/threads/%s/runs", id),
		"{'assistant_id': 'slow', 'command': {'goto': 'model'}}", 200),
	    "run_id");
	serve_run_wait(id, run, "running");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel?wait=1", id, run),
	    .body = "{}");
}
END_TEST

TCase *
tcase_serve_command(void)
{
	TCase *tcase = tcase_create("serve_command");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, a_run_begins_at_a_node);
	tcase_add_test(tcase, its_stream_shows_what_it_does);
	tcase_add_test(tcase, calls_may_have_openais_form);
	tcase_add_test(tcase, an_answer_comes_with_an_update);
	tcase_add_test(tcase, at_the_end_nothing_is_asked);
	tcase_add_loop_test(
	    tcase, what_cannot_be_done_is_refused, 0, sizeof refused / sizeof *refused);
	tcase_add_test(tcase, where_a_node_is_next_no_other_runs);
	tcase_add_test(tcase, behind_another_run_it_waits);
	return tcase;
}
