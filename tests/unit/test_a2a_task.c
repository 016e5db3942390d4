/* Runs as tasks of the Agent2Agent protocol, and its messages as what a run is given. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "../../cli/serve/rpc/a2a_task.h"

TCase *tcase_a2a_task(void);

static struct arena *arena;

static void
open_arena(void)
{
	arena = arena_new();
}

static void
close_arena(void)
{
	arena_destroy(&arena);
}

/* --- messages ------------------------------------------------------------------------------- */

static const struct {
	const char *parts, *content;
} said[] = {
	{ "[{'kind': 'text', 'text': 'Hi'}]", "'Hi'" },
	{ "[{'text': 'Hi'}]", "'Hi'" },
	{ "[{'text': 'H\\u0000i'}]", "'H\\u0000i'" },
	{ "[{'kind': 'text', 'text': 'Hi'}, {'kind': 'text', 'text': 'there'}]",
	    "'Hi\\nthere'" },
	{ "[{'data': {'a': 1}}]", "'{\\\"a\\\":1}'" },
	{ "[{'text': 'Look'}, {'url': 'https://a.example/b.png', 'mediaType': "
	  "'image/png'}]",
	    "[{'type': 'text', 'text': 'Look'}, {'type': 'image', 'url': "
	    "'https://a.example/b.png', 'mime_type': 'image/png'}]" },
	{ "[{'kind': 'file', 'file': {'bytes': 'AAAA', 'mimeType': 'application/pdf'}}]",
	    "[{'type': 'file', 'base64': 'AAAA', 'mime_type': 'application/pdf'}]" },
	{ "[{'raw': 'AAAA', 'filename': 'x'}]", "[{'type': 'file', 'base64': 'AAAA'}]" },
	/* What is none of them. */
	{ "[]", NULL },
	{ "'Hi'", NULL },
	{ "[{'kind': 'text'}]", NULL },
	{ "[{'kind': 'video'}]", NULL },
	{ "['Hi']", NULL },
	{ "[{'kind': 'file', 'file': {'uri': 'a', 'bytes': 'b'}}]", NULL },
	{ "[{'kind': 'file', 'file': 'a'}]", NULL },
};

static const char *
json(const char *text)
{
	return json_text(arena, literal(arena, text));
}

START_TEST(parts_are_content)
{
	const struct value *message =
	    literal(arena, arena_printf(arena, "{'parts': %s}", said[_i].parts));
	const char *wrong = NULL;
	const struct value *content = a2a_content(arena, message, &wrong);

	if (said[_i].content == NULL) {
		ck_assert_ptr_null(content);
		ck_assert_has(wrong, "message.parts");
	} else {
		ck_assert_ptr_nonnull(content);
		ck_assert_str_eq(json_text(arena, content), json(said[_i].content));
	}
}
END_TEST

START_TEST(an_answer_is_data_or_a_text)
{
	const char *wrong;

	ck_assert_str_eq(
	    json_text(arena,
		a2a_answer(arena,
		    literal(arena, "{'parts': [{'text': 'yes'}, {'data': {'a': 1}}]}"),
		    &wrong)),
	    "{\"a\":1}");
	ck_assert_str_eq(
	    json_text(arena, a2a_answer(arena,
				 literal(arena, "{'parts': [{'text': 'yes'}]}"), &wrong)),
	    "\"yes\"");
	ck_assert_ptr_null(a2a_answer(arena, literal(arena, "{}"), &wrong));
	ck_assert(a2a_is_users(literal(arena, "{'role': 'user'}")));
	ck_assert(a2a_is_users(literal(arena, "{'role': 'ROLE_USER'}")));
	ck_assert(!a2a_is_users(literal(arena, "{'role': 'agent'}")));
}
END_TEST

/* An answer that comes late is none to the next question. */
START_TEST(an_answer_is_to_the_question_that_was_seen)
{
	const struct value *one =
	    literal(arena, "{'interrupts': [{'id': 'i', 'value': 'Which?'}]}");
	const struct value *two = literal(
	    arena, "{'interrupts': [{'id': 'i', 'value': 1}, {'id': 'j', 'value': 2}]}");
	const struct value *map = literal(arena, "{'i': 'yes'}");

	ck_assert(value_equal(a2a_resume(arena, one, VALUE_TEXT("yes")), map));
	ck_assert(value_equal(a2a_resume(arena, one, map), map));
	ck_assert(value_equal(a2a_resume(arena, two, map), map));
	ck_assert(value_equal(
	    a2a_resume(arena, literal(arena, "{}"), value_nil()), value_nil()));
}
END_TEST

START_TEST(many_parts_take_no_more_than_they_are)
{
	struct value_list parts = { .arena = arena };
	const struct value *part = literal(arena, "{'text': 'aaaa'}"), *content;
	const char *wrong;
	size_t i, before;

	for (i = 0; i < 20000; i++)
		value_list_add(&parts, part);
	part = value_map(arena, "parts", value_list_end(&parts), NULL);
	before = arena_bytes(arena);
	content = a2a_content(arena, part, &wrong);
	ck_assert_uint_eq(content->size, 20000 * 5 - 1);
	ck_assert_uint_lt(arena_bytes(arena) - before, 20u << 20);
}
END_TEST

/* --- tasks ---------------------------------------------------------------------------------- */

static const struct {
	const char *status, *state, *name;
	bool is_over;
} states[] = {
	{ "'queued'", "submitted", "TASK_STATE_SUBMITTED", false },
	{ "'delayed'", "submitted", "TASK_STATE_SUBMITTED", false },
	{ "null", "submitted", "TASK_STATE_SUBMITTED", false },
	{ "'running'", "working", "TASK_STATE_WORKING", false },
	{ "'interrupted'", "input-required", "TASK_STATE_INPUT_REQUIRED", true },
	{ "'success'", "completed", "TASK_STATE_COMPLETED", true },
	{ "'cancelled'", "canceled", "TASK_STATE_CANCELED", true },
	{ "'refused'", "rejected", "TASK_STATE_REJECTED", true },
	{ "'error'", "failed", "TASK_STATE_FAILED", true },
	{ "'something'", "failed", "TASK_STATE_FAILED", true },
};

static struct a2a_run
run_of(enum a2a_dialect dialect, const char *record)
{
	return (struct a2a_run){ dialect, "t1", literal(arena, record) };
}

START_TEST(a_state_is_called_so)
{
	const char *text = arena_printf(
	    arena, "{'run': 'r', 'thread': 'c', 'status': %s}", states[_i].status);
	struct a2a_run run = run_of(A2A_0_3, text);
	const struct value *status;

	ck_assert_str_eq(a2a_state(run.record), states[_i].state);
	ck_assert_int_eq(a2a_is_over(states[_i].state), states[_i].is_over);
	status = value_get(a2a_status_update(arena, &run), "status");
	ck_assert_str_eq(value_get_text(status, "state"), states[_i].state);
	run.dialect = A2A_1_0;
	status = value_get(
	    value_get(a2a_status_update(arena, &run), "statusUpdate"), "status");
	ck_assert_str_eq(value_get_text(status, "state"), states[_i].name);
}
END_TEST

#define DONE                                                                             \
	"{'run': 'r2', 'thread': 'c', 'status': 'success', 'answer': 'Hi.', 'output': "  \
	"{'structured_response': {'a': 1}}}"

/* It has done nothing, and its thread waits as before. */
START_TEST(a_run_that_could_not_use_its_answer_is_none)
{
	static const char base[] = "{'status': 'error', 'events': %d, 'metadata': "
				   "{'a2a_task': 't'}, 'options': {'resume': {'i': 1}}}";

	ck_assert(!a2a_goes_on_with(literal(arena, arena_printf(arena, base, 4)), "t"));
	ck_assert(a2a_goes_on_with(literal(arena, arena_printf(arena, base, 5)), "t"));
	ck_assert(
	    !a2a_goes_on_with(literal(arena, arena_printf(arena, base, 5)), "other"));
	ck_assert(a2a_has_failed_to_answer(literal(arena, "{'status': 'refused'}")));
	ck_assert(!a2a_has_failed_to_answer(
	    literal(arena, "{'status': 'running', 'events': 2}")));
}
END_TEST

/* What went into a run may be large, and many are listed. */
START_TEST(what_is_kept_is_what_is_told)
{
	struct a2a_run whole = run_of(A2A_1_0,
	    "{'run': 'r', 'thread': 'c', 'status': 'success', 'input': {'messages': "
	    "[1]}, 'options': {'context': {'a': 1}}, 'output': {'notes': 'long', "
	    "'structured_response': {'a': 1}}, 'ended': 5000, 'events': 4}");
	struct a2a_run kept = whole;

	kept.record = a2a_keep(arena, whole.record);
	ck_assert(value_equal(a2a_task(arena, &kept), a2a_task(arena, &whole)));
	ck_assert(!value_has(kept.record, "input") && !value_has(kept.record, "options"));
	ck_assert(!value_has(value_get(kept.record, "output"), "notes"));
}
END_TEST

#define SAID "{'run': 'r2', 'thread': 'c', 'status': 'success', 'answer': 'Hi.'}"

START_TEST(a_task_is_written_as_its_version_has_it)
{
	struct a2a_run old = run_of(A2A_0_3, SAID), new = run_of(A2A_1_0, DONE);

	ck_assert(value_equal(a2a_payload(arena, &old),
	    literal(arena,
		"{'kind': 'task', 'id': 't1', 'contextId': 'c', 'status': {'state': "
		"'completed'}, 'artifacts': [{'artifactId': 'r2', 'name': 'answer', "
		"'parts': [{'kind': 'text', 'text': 'Hi.'}]}]}")));
	ck_assert(value_equal(a2a_payload(arena, &new),
	    literal(arena,
		"{'task': {'id': 't1', 'contextId': 'c', 'status': {'state': "
		"'TASK_STATE_COMPLETED'}, 'artifacts': [{'artifactId': 'r2', 'name': "
		"'answer', 'parts': [{'data': {'a': 1}}]}]}}")));
}
END_TEST

START_TEST(what_is_asked_or_went_wrong_is_said)
{
	struct a2a_run asks = run_of(A2A_1_0,
	    "{'run': 'r', 'thread': 'c', 'status': 'interrupted', 'interrupts': [{'id': "
	    "'i', 'value': 'Which?'}]}");
	struct a2a_run fails = run_of(A2A_0_3,
	    "{'run': 'r', 'thread': 'c', 'status': 'error', 'fault': {'type': "
	    "'ValueError', 'message': 'no'}}");

	ck_assert_has(json_text(arena, a2a_task(arena, &asks)), "\"Which?\"");
	ck_assert_has(json_text(arena, a2a_task(arena, &asks)), "\"ROLE_AGENT\"");
	ck_assert_has(json_text(arena, a2a_task(arena, &fails)), "\"ValueError: no\"");
	ck_assert(!value_has(a2a_task(arena, &fails), "artifacts"));
}
END_TEST

START_TEST(events_say_whether_they_add)
{
	struct a2a_run run =
	    run_of(A2A_0_3, "{'run': 'r', 'thread': 'c', 'status': 'running'}");
	const struct value *event =
	    a2a_piece_update(arena, &run, VALUE_TEXT("Once "), true);

	ck_assert(value_equal(event,
	    literal(arena,
		"{'kind': 'artifact-update', 'taskId': 't1', 'contextId': 'c', "
		"'artifact': {'artifactId': 'r', 'name': 'answer', 'parts': [{'kind': "
		"'text', 'text': 'Once '}]}, 'append': true, 'lastChunk': false}")));
	run = run_of(A2A_1_0, DONE);
	event = value_get(a2a_answer_update(arena, &run), "artifactUpdate");
	ck_assert(value_get_bool(event, "lastChunk", false));
	ck_assert(!value_get_bool(event, "append", true));
	ck_assert(!value_has(event, "kind"));
}
END_TEST

TCase *
tcase_a2a_task(void)
{
	TCase *tcase = tcase_create("a2a_task");

	tcase_add_checked_fixture(tcase, open_arena, close_arena);
	tcase_add_loop_test(tcase, parts_are_content, 0, sizeof said / sizeof *said);
	tcase_add_test(tcase, an_answer_is_data_or_a_text);
	tcase_add_test(tcase, an_answer_is_to_the_question_that_was_seen);
	tcase_add_test(tcase, many_parts_take_no_more_than_they_are);
	tcase_add_loop_test(
	    tcase, a_state_is_called_so, 0, sizeof states / sizeof *states);
	tcase_add_test(tcase, a_run_that_could_not_use_its_answer_is_none);
	tcase_add_test(tcase, what_is_kept_is_what_is_told);
	tcase_add_test(tcase, a_task_is_written_as_its_version_has_it);
	tcase_add_test(tcase, what_is_asked_or_went_wrong_is_said);
	tcase_add_test(tcase, events_say_whether_they_add);
	return tcase;
}
