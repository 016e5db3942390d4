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

static bool
count_frame(void *arg, const struct serve_frame *frame)
{
	if (strcmp(frame->event, "values") == 0)
		(*(int *)arg)++;
	return true;
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

/* The ids of the checkpoints of a history, a blank behind each. */
static const char *
history_of(const char *thread, const char *body)
{
	const struct value *states =
	    serve_post(at(thread, "/history"), serve_text("%s", body), 200);
	const char *ids = "";
	size_t i;

	for (i = 0; i < value_size(states); i++)
		ids = serve_text("%s%s ", ids,
		    value_get_text(
			value_get(value_at(states, i), "checkpoint"), "checkpoint_id"));
	return ids;
}

START_TEST(a_history_has_what_is_asked_for)
{
	const char *thread = thread_with_talk();

	ck_assert_str_eq(history_of(thread, "{}"), "4 3 2 1 0 ");
	ck_assert_str_eq(history_of(thread, "{'metadata': {'source': 'input'}}"), "1 0 ");
	ck_assert_str_eq(
	    history_of(thread, "{'metadata': {'source': 'input'}, 'limit': 1}"), "1 ");
	ck_assert_str_eq(
	    history_of(thread, "{'metadata': {'source': 'loop'}, 'before': '3'}"), "2 ");
	ck_assert_str_eq(history_of(thread, "{'metadata': {'who': 'me'}}"), "");
	/* What its run was submitted with counts as well. */
	serve_run_end(
	    thread, serve_run(thread, "quick", "'metadata': {'who': 'me', 'step': 'x'}"));
	ck_assert_str_eq(history_of(thread, "{'metadata': {'who': 'me'}}"), "6 5 ");
	ck_assert_value(fleet->arena,
	    value_get(value_get(state_of(thread), "metadata"), "step"), "1");
	ck_assert_str_eq(history_of(thread, "{'checkpoint': {'checkpoint_ns': ''}}"),
	    "6 5 4 3 2 1 0 ");
	ck_assert_str_eq(
	    history_of(thread, "{'checkpoint': {'checkpoint_id': '2'}}"), "2 ");
	ck_assert_str_eq(
	    history_of(thread, "{'checkpoint': {'checkpoint_id': '0'}}"), "0 ");
	ck_assert_str_eq(
	    history_of(thread, "{'checkpoint': {'checkpoint_id': '9'}}"), "");
	ck_assert_str_eq(
	    history_of(thread, "{'checkpoint': {'checkpoint_id': '2'}, 'before': '2'}"),
	    "");
	serve_post(at(thread, "/history"), "{'metadata': 1}", 422);
	serve_post(at(thread, "/history"), "{'checkpoint': {'checkpoint_id': 'x'}}", 422);
}
END_TEST

/* What useStream shows of a thread whose run has failed, when its page is loaded again. */
START_TEST(a_state_says_why_its_run_has_failed)
{
	const char *thread = serve_thread();
	const struct value *state, *task;
	const char *error;

	serve_run_end(thread, serve_run(thread, "broken", ""));
	state = state_of(thread);
	task = value_at(value_get(state, "tasks"), 0);
	error = value_get_text(task, "error");
	ck_assert_ptr_nonnull(error);
	ck_assert_has(
	    value_get_text(fleet_up_json(fleet, error), "message"), "no such key");
	ck_assert_ptr_nonnull(value_get_text(fleet_up_json(fleet, error), "name"));
	ck_assert(value_equal(
	    value_at(serve_post(at(thread, "/history"), "{'limit': 1}", 200), 0), state));
	serve_run_end(thread, serve_run(thread, "quick", ""));
	ck_assert_uint_eq(value_size(value_get(state_of(thread), "tasks")), 0);
}
END_TEST

/* --- threads ------------------------------------------------------------------------------ */

START_TEST(a_copy_has_the_metadata)
{
	const struct value *empty =
	    serve_post("/threads", "{'metadata': {'who': 'me', 'n': [1]}}", 200);
	const char *thread = value_get_text(empty, "thread_id");
	const struct value *copy = serve_post(at(thread, "/copy"), "", 200);

	ck_assert_str_ne(value_get_text(copy, "thread_id"), thread);
	ck_assert(value_equal(value_get(copy, "metadata"), value_get(empty, "metadata")));
	serve_run_end(thread, serve_run(thread, "quick", ""));
	copy = serve_post(at(thread, "/copy"), "{}", 200);
	ck_assert_value(fleet->arena, value_get(copy, "metadata"),
	    "{'who': 'me', 'n': [1], 'graph_id': 'quick', 'assistant_id': 'quick'}");
	ck_assert_str_eq(serve_last_text(value_get(copy, "values")), "First.");
}
END_TEST

#define STEP(node, type)                                                                 \
	"{'updates': [{'as_node': '" node "', 'values': {'messages': [{'type': '" type   \
	"', 'content': 'Hm'}]}}]}"

/* As threads are carried from one deployment to another. */
START_TEST(a_thread_may_be_made_with_its_past)
{
	const struct value *thread = serve_post("/threads",
	    "{'metadata': {'graph_id': 'quick'}, 'supersteps': [" STEP(
		"__start__", "human") ", " STEP("model", "ai") "]}",
	    200);
	const char *id = value_get_text(thread, "thread_id");
	int64_t count = serve_thread_count();

	ck_assert_uint_eq(
	    value_size(value_get(value_get(thread, "values"), "messages")), 2);
	assert_next(id, "[]");
	ck_assert_str_eq(serve_last_text(serve_post(at(id, "/runs/wait"),
			     "{'assistant_id': 'quick', " HI "}", 200)),
	    "Second.");
	/* By a command as well. */
	thread = serve_post("/threads",
	    "{'metadata': {'graph_id': 'quick'}, 'supersteps': [{'updates': [{'as_node': "
	    "'__start__', 'values': null, 'command': {'update': [['messages', "
	    "'Hm']]}}]}]}",
	    200);
	ck_assert_str_eq(serve_last_text(value_get(thread, "values")), "Hm");
	count++;
	/* What cannot be made is not there either. */
	serve_post("/threads",
	    "{'metadata': {'graph_id': 'quick'}, 'supersteps': [" STEP(
		"__start__", "human") ", " STEP("nobody", "ai") "]}",
	    422);
	serve_post("/threads", "{'supersteps': [" STEP("__start__", "human") "]}", 422);
	serve_post("/threads",
	    "{'metadata': {'graph_id': 'quick'}, 'supersteps': [{'updates': [{'as_node': "
	    "'model', 'command': {'goto': 'x'}}]}]}",
	    422);
	serve_post("/threads",
	    "{'metadata': {'graph_id': 'quick'}, 'supersteps': [{'updates': [{'as_node': "
	    "'model', 'values': {}, 'command': {'update': {}}}]}]}",
	    422);
	serve_post("/threads", "{'supersteps': 1}", 422);
	ck_assert_int_eq(serve_thread_count(), count);
}
END_TEST

START_TEST(what_a_thread_cannot_be_made_of_makes_none)
{
	static const char *const bodies[] = { "null", "[1]", "1", "{'thread_id': 5}",
		"{'if_exists': 'maybe'}", "{'if_exists': 1}", "{'metadata': 'x'}" };
	int64_t count = serve_thread_count();
	size_t i;

	for (i = 0; i < sizeof bodies / sizeof *bodies; i++)
		serve_post("/threads", bodies[i], 422);
	ck_assert_int_eq(serve_thread_count(), count);
}
END_TEST

/* As clients write a name into a path, whatever it is made of. */
START_TEST(a_name_may_have_what_paths_are_made_of)
{
	const char *where = "/threads/a%2Fb%23c%25d%3Ce%2f";
	int count = 0;
	struct serve_answer answer;

	serve_post("/threads", "{'thread_id': 'a/b#c%d<e/'}", 200);
	ck_assert_str_eq(
	    value_get_text(serve_get(where, 200), "thread_id"), "a/b#c%d<e/");
	answer = ASK(.path = serve_text("%s/runs/stream", where),
	    .body = "{'assistant_id': 'quick', " HI "}", .on_frame = count_frame,
	    .arg = &count);
	ck_assert_int_eq(answer.status, 200);
	ck_assert_has(
	    serve_header(&answer, "Location"), "/threads/a%2Fb%23c%25d%3Ce%2F/runs/");
	ck_assert_has(
	    serve_header(&answer, "Content-Location"), "/threads/a/b#c%d<e//runs/");
	count = 0;
	answer = ASK(.path = serve_header(&answer, "Location"), .on_frame = count_frame,
	    .arg = &count);
	ck_assert_int_eq(answer.status, 200);
	ck_assert_int_ge(count, 1);
	serve_get("/threads/a/b", 404);
	serve_get("/threads/a%1Fb", 404);
	serve_get("/threads%2Fnone", 404);
	ASK(.method = "PUT", .path = "/store/items",
	    .body = "{'namespace': ['moved'], 'key': 'a/b', 'value': {}}");
	ck_assert_str_eq(
	    value_get_text(
		serve_get("/store/items?namespace=moved&key=a%2Fb", 200), "key"),
	    "a/b");
	ck_assert_int_eq(ASK(.method = "DELETE", .path = where).status, 204);
}
END_TEST

/* Also what no call of the API has seen. */
START_TEST(what_is_refused_is_told_as_json)
{
	struct serve_answer answer = ASK(.path = "/threads", .body = "{}",
	    .headers = { "Transfer-Encoding: gzip, chunked" });

	ck_assert_int_eq(answer.status, 400);
	ck_assert_str_eq(serve_header(&answer, "Content-Type"), "application/json");
	ck_assert_has(value_get_text(answer.json, "detail"), "Transfer-Encoding");
}
END_TEST

/* --- runs --------------------------------------------------------------------------------- */

/* Its client knows no thread of it. */
START_TEST(a_run_without_thread_is_joined)
{
	const char *run = value_get_text(
	    serve_post("/runs", "{'assistant_id': 'talker', " HI "}", 200), "run_id");
	int count = 0;
	struct serve_answer answer =
	    ASK(.path = serve_text("/runs/%s/stream?stream_mode=values", run),
		.on_frame = count_frame, .arg = &count);

	ck_assert_int_eq(answer.status, 200);
	ck_assert_int_ge(count, 1);
	ck_assert_int_eq(ASK(.path = "/runs/nobody/stream").status, 404);
	answer = ASK(.path = "/runs/stream", .on_frame = count_frame, .arg = &count,
	    .body = "{'assistant_id': 'quick', " HI "}");
	ck_assert_has(serve_header(&answer, "Location"), "/stream?stream_mode=values");
}
END_TEST

/* As useStream's edit of a message is sent. */
START_TEST(a_run_may_fork_by_its_configuration)
{
	const char *thread = thread_with_talk();

	serve_post(at(thread, "/runs/wait"),
	    "{'assistant_id': 'talker', 'input': null, 'config': {'configurable': "
	    "{'checkpoint_id': '2'}}}",
	    200);
	ck_assert_str_eq(
	    history_of(thread, "{'metadata': {'source': 'fork'}, 'limit': 1}"), "5 ");
	ck_assert_has(serve_last_text(value_get(state_of(thread), "values")), "Once");
	serve_post(at(thread, "/runs"),
	    "{'assistant_id': 'talker', 'input': null, 'config': {'configurable': "
	    "{'checkpoint_id': 'x'}}}",
	    422);
}
END_TEST

START_TEST(no_stream_mode_is_the_values)
{
	int count = 0;

	ASK(.path = "/runs/stream", .on_frame = count_frame, .arg = &count,
	    .body = "{'assistant_id': 'quick', 'stream_mode': [], " HI "}");
	ck_assert_int_ge(count, 1);
}
END_TEST

START_TEST(runs_of_a_status_are_counted_alone)
{
	const char *thread = serve_thread();
	const char *first = serve_run(thread, "quick", ""), *second, *path;
	const struct value *runs;

	serve_run_end(thread, first);
	second = serve_run(thread, "quick", "");
	serve_run_end(thread, second);
	serve_run_end(thread, serve_run(thread, "broken", ""));
	path = at(thread, "/runs?status=success&limit=1");
	runs = serve_get(path, 200);
	ck_assert_uint_eq(value_size(runs), 1);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "run_id"), second);
	runs = serve_get(serve_text("%s&offset=1", path), 200);
	ck_assert_uint_eq(value_size(runs), 1);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "run_id"), first);
	ck_assert_uint_eq(value_size(serve_get(serve_text("%s&offset=2", path), 200)), 0);
	ck_assert_uint_eq(
	    value_size(serve_get(at(thread, "/runs?limit=1&offset=1"), 200)), 1);
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
	tcase_add_test(tcase, a_history_has_what_is_asked_for);
	tcase_add_test(tcase, a_state_says_why_its_run_has_failed);
	tcase_add_test(tcase, a_copy_has_the_metadata);
	tcase_add_test(tcase, a_thread_may_be_made_with_its_past);
	tcase_add_test(tcase, what_a_thread_cannot_be_made_of_makes_none);
	tcase_add_test(tcase, a_name_may_have_what_paths_are_made_of);
	tcase_add_test(tcase, what_is_refused_is_told_as_json);
	tcase_add_test(tcase, a_run_without_thread_is_joined);
	tcase_add_test(tcase, a_run_may_fork_by_its_configuration);
	tcase_add_test(tcase, no_stream_mode_is_the_values);
	tcase_add_test(tcase, runs_of_a_status_are_counted_alone);
	return tcase;
}
