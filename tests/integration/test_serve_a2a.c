/* `flotilla serve` for other agents: the Agent2Agent protocol, in both of its versions. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "serve_bench.h"

TCase *tcase_serve_a2a(void);

#define MESSAGE                                                                          \
	"'message': {'messageId': 'm', 'role': 'ROLE_USER', 'parts': [{'text': 'Hi'}]"

static const struct value *
answer_to(const char *agent, const char *method, const char *params)
{
	const struct value *answer = serve_post(serve_text("/a2a/%s", agent),
	    serve_text("{'jsonrpc': '2.0', 'id': 7, 'method': '%s', 'params': {%s}}",
		method, params),
	    200);

	ck_assert_int_eq(value_get_int(answer, "id", -1), 7);
	return answer;
}

static const struct value *
result_of(const char *agent, const char *method, const char *params)
{
	const struct value *answer = answer_to(agent, method, params);
	const struct value *result = value_get(answer, "result");

	ck_assert_msg(value_is(result, VALUE_MAP), "%s: %s", method,
	    value_get_text(value_get(answer, "error"), "message"));
	return result;
}

static void
expect_error(
    const char *agent, const char *method, const char *params, int code, const char *says)
{
	const struct value *error = value_get(answer_to(agent, method, params), "error");

	ck_assert_int_eq(value_get_int(error, "code", 0), code);
	ck_assert_has(value_get_text(error, "message"), says);
}

static const char *
state_of(const struct value *task)
{
	return value_get_text(value_get(task, "status"), "state");
}

static const char *
answer_of(const struct value *task)
{
	const struct value *artifact = value_at(value_get(task, "artifacts"), 0);

	return value_get_text(value_at(value_get(artifact, "parts"), 0), "text");
}

START_TEST(an_agent_has_a_card)
{
	const struct value *card =
	    serve_get("/.well-known/agent-card.json?assistant_id=talker", 200);
	const struct value *interface =
	    value_at(value_get(card, "supportedInterfaces"), 0);

	ck_assert_str_eq(value_get_text(card, "name"), "talker");
	ck_assert_has(value_get_text(card, "description"), "and then talks");
	ck_assert_str_eq(value_get_text(interface, "protocolVersion"), "1.0");
	ck_assert_str_eq(value_get_text(interface, "url"),
	    arena_printf(serve_bench.fleet.arena, "%s/a2a/talker", serve_bench.url));
	ck_assert(
	    value_equal(serve_get("/a2a/talker/.well-known/agent-card.json", 200), card));
	serve_get("/.well-known/agent-card.json", 422);
	serve_get("/a2a/nobody/.well-known/agent-card.json", 404);
}
END_TEST

START_TEST(a_message_begins_a_task_and_the_next_one_goes_on_in_its_context)
{
	const struct value *task =
	    value_get(result_of("talker", "SendMessage", MESSAGE "}"), "task");
	const char *context = value_get_text(task, "contextId");
	const char *id = value_get_text(task, "id");
	const struct value *list;

	ck_assert_str_eq(state_of(task), "TASK_STATE_COMPLETED");
	ck_assert_str_eq(answer_of(task), SERVE_TALK);
	ck_assert(value_equal(
	    result_of("talker", "GetTask", serve_text("'id': '%s'", id)), task));
	/* 0.3 has it under other names. */
	task = result_of("talker", "tasks/get", serve_text("'id': '%s'", id));
	ck_assert_str_eq(state_of(task), "completed");
	ck_assert_str_eq(value_get_text(task, "kind"), "task");
	task = result_of("quick", "message/send",
	    serve_text("'message': {'kind': 'message', 'messageId': 'm', 'role': 'user', "
		       "'contextId': '%s', 'parts': [{'kind': 'text', 'text': 'Hi'}]}",
		context));
	ck_assert_str_eq(value_get_text(task, "contextId"), context);
	ck_assert_str_eq(state_of(task), "completed");
	list = value_get(
	    result_of("talker", "ListTasks",
		serve_text("'contextId': '%s', 'includeArtifacts': true", context)),
	    "tasks");
	ck_assert_uint_eq(value_size(list), 1); /* the other is another agent's */
	ck_assert(value_equal(
	    value_get(value_at(list, 0), "id"), value_str(serve_bench.fleet.arena, id)));
	ck_assert_str_eq(answer_of(value_at(list, 0)), SERVE_TALK);
	/* It is not there for who asks another agent. */
	expect_error(
	    "quick", "GetTask", serve_text("'id': '%s'", id), -32001, "not found");
}
END_TEST

/* Sent with a key. Returns the answer. */
static const struct value *
send_once(const char *agent, const char *key, const char *message)
{
	struct serve_answer answer = ASK(.path = serve_text("/a2a/%s", agent),
	    .body = serve_text("{'jsonrpc': '2.0', 'id': 7, 'method': 'SendMessage', "
			       "'params': {%s}}",
		message),
	    .headers = { serve_text("Idempotency-Key: %s", key) });

	ck_assert_int_eq(answer.status, 200);
	return answer.json;
}

static const char *
of_task(const struct value *answer, const char *name)
{
	return value_get_text(value_get(value_get(answer, "result"), "task"), name);
}

/* Also without a context, which is made for it. */
START_TEST(a_message_that_is_sent_again_begins_no_other_task)
{
	const struct value *first = send_once("quick", "a letter", MESSAGE "}");
	const struct value *again = send_once("quick", "a letter", MESSAGE "}");
	const struct value *other =
	    send_once("quick", "a letter", MESSAGE "}, 'metadata': {'is': 'another'}");

	ck_assert_ptr_nonnull(of_task(first, "id"));
	ck_assert_str_ne(of_task(first, "id"), of_task(first, "contextId"));
	ck_assert(value_equal(again, first));
	ck_assert_has(
	    value_get_text(value_get(other, "error"), "message"), "another run");
	again = send_once("talker", "a letter", MESSAGE "}");
	ck_assert_str_ne(of_task(again, "contextId"), of_task(first, "contextId"));
}
END_TEST

#define APPROVES "{'data': {'decisions': [{'type': 'approve'}]}}"

START_TEST(an_answer_that_is_sent_again_is_the_same_one)
{
	const struct value *task = result_of("approver", "SendMessage", MESSAGE "}");
	const char *id = value_get_text(value_get(task, "task"), "id");
	const char *message =
	    serve_text("'message': {'messageId': 'n', 'role': "
		       "'ROLE_USER', 'taskId': '%s', 'parts': [" APPROVES "]}",
		id);
	const struct value *first = send_once("approver", "an answer", message);

	ck_assert_str_eq(of_task(first, "id"), id);
	ck_assert(value_equal(send_once("approver", "an answer", message), first));
	ck_assert_has(
	    value_get_text(
		value_get(send_once("approver", "another", message), "error"), "message"),
	    "asks nothing");
	ck_assert_uint_eq(
	    value_size(serve_get(
		serve_text("/threads/%s/runs", of_task(first, "contextId")), 200)),
	    2);
}
END_TEST

START_TEST(a_task_that_asks_goes_on_with_the_answer)
{
	const struct value *task =
	    value_get(result_of("approver", "SendMessage", MESSAGE "}"), "task");
	const char *id = value_get_text(task, "id"), *again;
	const struct value *list;

	ck_assert_str_eq(state_of(task), "TASK_STATE_INPUT_REQUIRED");
	again = serve_text(
	    "'message': {'messageId': 'n', 'role': 'ROLE_USER', 'taskId': '%s', 'parts': "
	    "[{'data': {'decisions': [{'type': 'approve'}]}}]}",
	    id);
	task = value_get(result_of("approver", "SendMessage", again), "task");
	ck_assert_str_eq(value_get_text(task, "id"), id);
	ck_assert_str_eq(state_of(task), "TASK_STATE_COMPLETED");
	ck_assert_str_eq(answer_of(task), "It is done.");
	ck_assert(value_equal(
	    result_of("approver", "GetTask", serve_text("'id': '%s'", id)), task));
	list = value_get(
	    result_of("approver", "ListTasks",
		serve_text("'contextId': '%s'", value_get_text(task, "contextId"))),
	    "tasks");
	ck_assert_uint_eq(value_size(list), 1);
	ck_assert_str_eq(state_of(value_at(list, 0)), "TASK_STATE_COMPLETED");
	expect_error("approver", "SendMessage", again, -32602, "asks nothing");
	expect_error("approver", "CancelTask", serve_text("'id': '%s'", id), -32002,
	    "cannot be canceled");
}
END_TEST

/* It asks as before. */
START_TEST(an_answer_that_is_none_ends_no_task)
{
	const struct value *task =
	    value_get(result_of("approver", "SendMessage", MESSAGE "}"), "task");
	const char *id = value_get_text(task, "id"), *context, *more;
	unsigned i;

	expect_error("approver", "SendMessage",
	    serve_text(MESSAGE ", 'taskId': '%s'}", id), -32602, "asks as before");
	task = result_of("approver", "GetTask", serve_text("'id': '%s'", id));
	ck_assert_str_eq(state_of(task), "TASK_STATE_INPUT_REQUIRED");
	task = value_get(
	    result_of("approver", "SendMessage",
		serve_text(
		    "'message': {'messageId': 'n', 'role': 'ROLE_USER', 'taskId': '%s', "
		    "'parts': [{'data': {'decisions': [{'type': 'approve'}]}}]}",
		    id)),
	    "task");
	ck_assert_str_eq(state_of(task), "TASK_STATE_COMPLETED");
	/* And stays what it is, whatever comes behind it. */
	context = value_get_text(task, "contextId");
	more = serve_text(MESSAGE ", 'contextId': '%s'}", context);
	for (i = 0; i < 12; i++)
		result_of("quick", "SendMessage", more);
	task = result_of("approver", "GetTask", serve_text("'id': '%s'", id));
	ck_assert_str_eq(state_of(task), "TASK_STATE_COMPLETED");
	ck_assert_str_eq(answer_of(task), "It is done.");
	task = value_at(
	    value_get(result_of("approver", "ListTasks",
			  serve_text("'contextId': '%s', 'pageSize': 1", context)),
		"tasks"),
	    0);
	ck_assert_str_eq(state_of(task), "TASK_STATE_COMPLETED");
}
END_TEST

START_TEST(who_does_not_wait_may_cancel)
{
	const struct value *task =
	    value_get(result_of("hanger", "SendMessage",
			  MESSAGE "}, 'configuration': {'returnImmediately': true}"),
		"task");
	const char *id = value_get_text(task, "id");

	ck_assert_has("TASK_STATE_WORKING TASK_STATE_SUBMITTED", state_of(task));
	task = result_of("hanger", "CancelTask", serve_text("'id': '%s'", id));
	ck_assert_str_eq(state_of(task), "TASK_STATE_CANCELED");
	task = result_of("hanger", "GetTask", serve_text("'id': '%s'", id));
	ck_assert_str_eq(state_of(task), "TASK_STATE_CANCELED");
}
END_TEST

/* What a stream has shown, as its client puts it together. */
struct heard {
	const char *text, *last;
	unsigned tasks, statuses, pieces;
	bool is_whole;
};

static bool
hear(void *arg, const struct serve_frame *frame)
{
	struct heard *heard = arg;
	const struct value *result = value_get(frame->data, "result");
	const struct value *update = value_get(result, "artifactUpdate");
	const char *text;

	if (value_has(result, "task"))
		heard->tasks++;
	if (value_has(result, "statusUpdate")) {
		heard->statuses++;
		heard->last = state_of(value_get(result, "statusUpdate"));
	}
	if (update == NULL)
		return true;
	text = value_get_text(
	    value_at(value_get(value_get(update, "artifact"), "parts"), 0), "text");
	heard->pieces++;
	heard->is_whole = value_get_bool(update, "lastChunk", false);
	heard->text =
	    value_get_bool(update, "append", false)
		? arena_printf(serve_bench.fleet.arena, "%s%s", heard->text, text)
		: text;
	return true;
}

static struct heard
stream(const char *agent, const char *method, const char *params)
{
	struct heard heard = { .text = "", .last = "" };
	struct serve_answer answer = ASK(.path = serve_text("/a2a/%s", agent),
	    .body =
		serve_text("{'jsonrpc': '2.0', 'id': 7, 'method': '%s', 'params': {%s}}",
		    method, params),
	    .on_frame = hear, .arg = &heard);

	ck_assert_int_eq(answer.status, 200);
	return heard;
}

START_TEST(a_stream_tells_what_comes)
{
	struct heard heard = stream("talker", "SendStreamingMessage", MESSAGE "}");

	ck_assert_uint_eq(heard.tasks, 1);
	ck_assert_uint_ge(heard.statuses, 2);
	ck_assert_uint_gt(heard.pieces, 3);
	ck_assert(heard.is_whole);
	ck_assert_str_eq(heard.text, SERVE_TALK);
	ck_assert_str_eq(heard.last, "TASK_STATE_COMPLETED");
}
END_TEST

START_TEST(who_subscribes_late_hears_what_came_of_it)
{
	const struct value *task =
	    value_get(result_of("talker", "SendMessage", MESSAGE "}"), "task");
	struct heard heard = stream("talker", "SubscribeToTask",
	    serve_text("'id': '%s'", value_get_text(task, "id")));

	ck_assert_uint_eq(heard.tasks, 1);
	ck_assert_str_eq(heard.text, SERVE_TALK);
	ck_assert_str_eq(heard.last, "TASK_STATE_COMPLETED");
}
END_TEST

START_TEST(what_cannot_be_done_is_an_error)
{
	expect_error("nobody", "SendMessage", MESSAGE "}", -32602, "no agent 'nobody'");
	expect_error("quick", "SendMessage", "", -32602, "message: must be a map");
	expect_error("quick", "SendMessage",
	    "'message': {'role': 'ROLE_AGENT', 'parts': [{'text': 'Hi'}]}", -32602,
	    "role user");
	expect_error("quick", "SendMessage", "'message': {'role': 'ROLE_USER'}", -32602,
	    "message.parts");
	expect_error(
	    "quick", "SendMessage", MESSAGE ", 'taskId': 'none'}", -32001, "not found");
	expect_error("quick", "SendMessage", MESSAGE ", 'contextId': 'a b'}", -32602,
	    "contextId: is no id");
	expect_error("quick", "SendMessage", MESSAGE ", 'taskId': 5}", -32602, "texts");
	expect_error("quick", "SendMessage", MESSAGE "}, 'metadata': []", -32602,
	    "metadata: must be a map");
	expect_error("quick", "GetTask", "", -32001, "not found");
	expect_error("quick", "ListTasks", "", -32602, "by their context");
	expect_error("quick", "ListTasks", "'contextId': 'c', 'pageToken': '-1'", -32602,
	    "pageToken");
	expect_error(
	    "quick", "ListTasks", "'contextId': 'c', 'pageSize': 0", -32602, "pageSize");
	expect_error(
	    "quick", "CreateTaskPushNotificationConfig", "", -32003, "not supported");
	expect_error("quick", "Dance", "", -32601, "there is no 'Dance'");
	expect_error("careful", "message/stream", "'message': 1", -32602, "message");
}
END_TEST

TCase *
tcase_serve_a2a(void)
{
	TCase *tcase = tcase_create("serve_a2a");

	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_agent_has_a_card);
	tcase_add_test(
	    tcase, a_message_begins_a_task_and_the_next_one_goes_on_in_its_context);
	tcase_add_test(tcase, a_message_that_is_sent_again_begins_no_other_task);
	tcase_add_test(tcase, an_answer_that_is_sent_again_is_the_same_one);
	tcase_add_test(tcase, a_task_that_asks_goes_on_with_the_answer);
	tcase_add_test(tcase, an_answer_that_is_none_ends_no_task);
	tcase_add_test(tcase, who_does_not_wait_may_cancel);
	tcase_add_test(tcase, a_stream_tells_what_comes);
	tcase_add_test(tcase, who_subscribes_late_hears_what_came_of_it);
	tcase_add_test(tcase, what_cannot_be_done_is_an_error);
	return tcase;
}
