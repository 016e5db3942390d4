#include <check.h>
#include <string.h>

#include "chain.h"
#include "has.h"
#include "json.h"
#include "literal.h"
#include "registry.h"

/* Interface under test */
#include "rubric.h"

static struct arena *arena;

/* The grader: what it answers in order, NULL: the run is cancelled; and what it was asked. */
static struct {
	const char *answers[4];
	size_t count;
	const struct value *wish;
} grader;

static void
setup(void)
{
	arena = arena_new();
	memset(&grader, 0, sizeof grader);
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
answer(struct turn *turn, const struct value *wish)
{
	const char *text = grader.answers[grader.count++];

	grader.wish = wish;
	return text == NULL ? NULL : literal(turn->arena, text);
}

static struct turn turn;

static const struct value *
run(enum hook hook, const char *settings, const char *state, const char *messages)
{
	turn = (struct turn){ .arena = arena,
		.use = literal_use(arena, "rubric", settings),
		.run = "run-1",
		.notes = { .arena = arena },
		.messages = literal(arena, messages),
		.state = literal(arena, state),
		.call_model = answer };
	return chain_node_hook(&turn, hook);
}

#define TALK                                                                             \
	"[{'type': 'human', 'content': 'Write.'}, {'type': 'ai', 'content': 'Text.'}]"
#define STATE "{'rubric': 'It is long.', '_rubric_iterations': 0}"
#define GOOD                                                                             \
	"{'structured_response': {'result': 'satisfied', 'explanation': 'Fine.',"        \
	" 'criteria': [{'name': 'length', 'passed': true}]}}"
#define POOR                                                                             \
	"{'structured_response': {'result': 'needs_revision', 'explanation': 'Short.',"  \
	" 'criteria': [{'name': 'length', 'passed': false, 'gap': 'two pages more'},"    \
	" {'name': 'tone', 'passed': true}, {'name': 'title', 'passed': false}]}}"
#define HOPELESS                                                                         \
	"{'structured_response': {'result': 'failed', 'explanation': 'No rubric.'}}"

static const struct value *
grade(const char *first)
{
	grader.answers[0] = first;
	return run(HOOK_AFTER_AGENT, "{}", STATE, TALK);
}

/* --- declarations ------------------------------------------------------------------- */

START_TEST(only_the_rubric_is_the_users)
{
	const struct middleware_use *use = literal_use(arena, "rubric", "{}");
	size_t i;

	ck_assert_uint_eq(use->field_count, 6);
	ck_assert_str_eq(use->fields[0].name, "rubric");
	ck_assert(!use->fields[0].omit_from_input && !use->fields[0].omit_from_output);
	for (i = 1; i < use->field_count; i++)
		ck_assert(
		    use->fields[i].omit_from_input && use->fields[i].omit_from_output);
	ck_assert_uint_eq(use->jumps[HOOK_AFTER_AGENT], JUMP_MODEL);
	ck_assert_uint_eq(value_size(use->asks_models), 0);
	ck_assert(value_contains(
	    literal_use(arena, "rubric", "{'model': 'openai:gpt-4o'}")->asks_models,
	    "openai:gpt-4o"));
}
END_TEST

START_TEST(settings_are_checked)
{
	literal_refused(arena, "rubric", "{'max_iterations': 0}", "/max_iterations", "1");
	literal_refused(arena, "rubric", "{'model': 'gpt'}", "/model", "provider:name");
}
END_TEST

/* --- a grading begins ---------------------------------------------------------------- */

START_TEST(a_new_rubric_begins_a_grading)
{
	ck_assert_value(arena,
	    run(HOOK_BEFORE_AGENT, "{}",
		"{'rubric': 'new', '_active_rubric': 'old', '_rubric_status': "
		"'needs_revision', '_rubric_iterations': 2}",
		TALK),
	    "{'_rubric_iterations': 0, '_rubric_status': null, "
	    "'_current_grading_run_id': 'run-1', '_active_rubric': 'new'}");
}
END_TEST

static const char *const ends[] = { "satisfied", "failed", "max_iterations_reached",
	"grader_error" };

START_TEST(the_same_one_begins_another_when_the_last_has_ended)
{
	const struct value *update = run(HOOK_BEFORE_AGENT, "{}",
	    arena_printf(arena,
		"{'rubric': 'r', '_active_rubric': 'r', '_rubric_status': '%s'}",
		ends[_i]),
	    TALK);

	ck_assert_int_eq(value_get_int(update, "_rubric_iterations", -1), 0);
}
END_TEST

static const char *const quiet[] = {
	"{}",
	"{'rubric': null}",
	"{'rubric': ''}",
	"{'rubric': 'r', '_active_rubric': 'r'}",
	"{'rubric': 'r', '_active_rubric': 'r', '_rubric_status': 'needs_revision'}",
};

START_TEST(else_nothing_changes)
{
	ck_assert_ptr_null(run(HOOK_BEFORE_AGENT, "{}", quiet[_i], TALK));
}
END_TEST

START_TEST(without_a_rubric_nobody_is_asked)
{
	ck_assert_ptr_null(run(HOOK_AFTER_AGENT, "{}", quiet[_i], TALK));
	ck_assert_uint_eq(grader.count, 0);
}
END_TEST

/* --- verdicts --------------------------------------------------------------------------- */

START_TEST(a_satisfied_grader_lets_the_run_end)
{
	const struct value *update = grade(GOOD);

	ck_assert_value(arena, update,
	    "{'_rubric_status': 'satisfied', '_rubric_iterations': 1, "
	    "'_rubric_evaluations': [{'grading_run_id': 'run-1', 'iteration': 0, "
	    "'result': 'satisfied', 'explanation': 'Fine.', 'criteria': [{'name': "
	    "'length', 'passed': true}]}]}");
	ck_assert_has(json_text(arena, value_list_end(&turn.notes)), "satisfied: Fine.");
}
END_TEST

START_TEST(one_that_is_not_sends_the_run_back_to_the_model)
{
	const struct value *update = grade(POOR), *message;
	const char *text;

	message = value_at(value_get(update, "messages"), 0);
	text = value_get_text(message, "content");
	ck_assert_str_eq(value_get_text(update, "jump_to"), "model");
	ck_assert_str_eq(value_get_text(update, "_rubric_status"), "needs_revision");
	ck_assert_str_eq(value_get_text(message, "type"), "human");
	ck_assert_str_eq(value_get_text(message, "name"), "rubric_grader");
	ck_assert_str_eq(
	    value_get_text(value_get(message, "additional_kwargs"), "lc_source"),
	    "rubric_grader");
	ck_assert_has(text, "Short.");
	ck_assert_has(text, "\n- length: two pages more\n- title\n");
	ck_assert_ptr_null(strstr(text, "tone"));
}
END_TEST

/* What a grader that repeats itself writes. */
START_TEST(many_criteria_take_no_more_memory_than_their_names)
{
	const char *criteria = "{'name': 'length', 'passed': false, 'gap': 'more of it'}";
	const struct value *update;
	size_t before;
	int i;

	for (i = 0; i < 12; i++) /* 4096 of them */
		criteria = arena_printf(arena, "%s, %s", criteria, criteria);
	criteria = arena_printf(arena,
	    "{'structured_response': {'result': 'needs_revision', 'explanation': "
	    "'Short.', 'criteria': [%s]}}",
	    criteria);
	before = arena_bytes(arena);
	update = grade(criteria);
	ck_assert_str_eq(value_get_text(update, "jump_to"), "model");
	ck_assert_uint_lt(arena_bytes(arena) - before, 16u << 20);
}
END_TEST

START_TEST(a_rubric_that_cannot_be_applied_ends_it)
{
	const struct value *update = grade(HOPELESS);

	ck_assert_str_eq(value_get_text(update, "_rubric_status"), "failed");
	ck_assert(!value_has(update, "jump_to"));
	ck_assert_value(arena,
	    value_get(value_at(value_get(update, "_rubric_evaluations"), 0), "criteria"),
	    "[]");
}
END_TEST

START_TEST(the_last_iteration_ends_it)
{
	const struct value *update;

	grader.answers[0] = POOR;
	update = run(HOOK_AFTER_AGENT, "{'max_iterations': 2}",
	    "{'rubric': 'r', '_rubric_iterations': 1, '_current_grading_run_id': 'g'}",
	    TALK);
	ck_assert_str_eq(
	    value_get_text(update, "_rubric_status"), "max_iterations_reached");
	ck_assert_int_eq(value_get_int(update, "_rubric_iterations", 0), 2);
	ck_assert(!value_has(update, "jump_to") && !value_has(update, "messages"));
	ck_assert_str_eq(
	    value_get_text(
		value_at(value_get(update, "_rubric_evaluations"), 0), "grading_run_id"),
	    "g");
}
END_TEST

/* --- a grader that fails ----------------------------------------------------------------- */

START_TEST(a_grader_that_cannot_be_asked_ends_it_and_the_run_succeeds)
{
	const struct value *update =
	    grade("{'fault': {'type': 'RateLimitError', 'message': 'slow'}}");

	ck_assert_ptr_null(turn.fault);
	ck_assert_str_eq(value_get_text(update, "_rubric_status"), "grader_error");
	ck_assert_has(
	    value_get_text(
		value_at(value_get(update, "_rubric_evaluations"), 0), "explanation"),
	    "RateLimitError: slow");
	ck_assert(!value_has(update, "jump_to"));
	ck_assert_uint_eq(grader.count, 1);
}
END_TEST

#define FAULT(type) "{'fault': {'type': '" type "', 'message': 'no'}}"
#define SAID(verdict) "{'structured_response': " verdict "}"

static const char *const unfit[] = {
	"{'messages': [{'type': 'ai', 'content': '', 'tool_calls': [{'id': 'c', 'name': "
	"'GraderResponse', 'args': {}}]}, {'type': 'tool', 'tool_call_id': 'c', "
	"'content': 'Error'}]}",
	FAULT("StructuredOutputValidationError"),
	FAULT("MultipleStructuredOutputsError"),
	SAID("{'result': 'good', 'explanation': 'x'}"),
	SAID("{'result': 'satisfied'}"),
	SAID("{'result': 'satisfied', 'explanation': 'x', 'criteria': [{'name': 'a', "
	     "'passed': false}]}"),
	SAID("{'result': 'needs_revision', 'explanation': 'x', 'criteria': [{'name': "
	     "'a', 'passed': true}]}"),
};

START_TEST(an_answer_that_is_no_verdict_is_asked_for_again)
{
	grader.answers[1] = GOOD;
	ck_assert_str_eq(value_get_text(grade(unfit[_i]), "_rubric_status"), "satisfied");
	ck_assert_uint_eq(grader.count, 2);
	ck_assert_has(
	    json_text(arena, value_get(grader.wish, "messages")), "cannot be taken");
}
END_TEST

START_TEST(some_of_them_are_an_error_of_the_grader)
{
	grader.answers[1] = grader.answers[2] = unfit[0];
	ck_assert_str_eq(
	    value_get_text(grade(unfit[0]), "_rubric_status"), "grader_error");
	ck_assert_uint_eq(grader.count, RUBRIC_TRIES_MAX);
	/* All that was said is there. */
	ck_assert_uint_eq(value_size(value_get(grader.wish, "messages")), 7);
}
END_TEST

/* The loop of LangChain's grader ends with an answer that calls nothing. */
START_TEST(words_are_no_verdict_and_end_it)
{
	const char *words = "{'messages': [{'type': 'ai', 'content': 'It is good.'}]}";

	ck_assert_str_eq(value_get_text(grade(words), "_rubric_status"), "grader_error");
	ck_assert_uint_eq(grader.count, 1);
}
END_TEST

START_TEST(a_cancelled_run_writes_nothing)
{
	ck_assert_ptr_null(grade(NULL));
	ck_assert(turn.fault->control);
}
END_TEST

/* --- the question ----------------------------------------------------------------------- */

START_TEST(the_grader_gets_instructions_rubric_transcript_and_schema)
{
	const char *text;

	grade(GOOD);
	text = chat_text(arena, value_at(value_get(grader.wish, "messages"), 0));
	ck_assert(!value_has(grader.wish, "model"));
	ck_assert_has(value_get_text(grader.wish, "system_prompt"), "needs_revision");
	ck_assert_has(text, "It is long.");
	ck_assert_has(text, "{\"role\":\"user\",\"text\":\"Write.\"}\n"
			    "{\"role\":\"assistant\",\"text\":\"Text.\"}");
	ck_assert_str_eq(
	    value_get_text(
		value_at(
		    value_get(value_get(grader.wish, "response_format"), "schemas"), 0),
		"title"),
	    "GraderResponse");
}
END_TEST

START_TEST(model_and_instructions_can_be_others)
{
	grader.answers[0] = GOOD;
	run(HOOK_AFTER_AGENT, "{'model': 'openai:judge', 'system_prompt': 'Be strict.'}",
	    STATE, TALK);
	ck_assert_str_eq(value_get_text(grader.wish, "model"), "openai:judge");
	ck_assert_str_eq(value_get_text(grader.wish, "system_prompt"), "Be strict.");
}
END_TEST

/* --- the transcript ---------------------------------------------------------------------- */

START_TEST(every_kind_of_message_is_a_line)
{
	ck_assert_str_eq(
	    rubric_transcript(arena,
		literal(arena,
		    "[{'type': 'human', 'content': [{'type': 'text', 'text': 'Look:'}, "
		    "{'type': 'image_url', 'image_url': 'x'}]},"
		    "{'type': 'ai', 'content': '', 'tool_calls': [{'id': '1', 'name': "
		    "'add', 'args': {'a': 1}}]},"
		    "{'type': 'tool', 'name': 'add', 'tool_call_id': '1', 'content': "
		    "'2'},"
		    "{'type': 'human', 'content': 'Again.', 'additional_kwargs': "
		    "{'lc_source': 'rubric_grader'}},"
		    "{'type': 'tool', 'content': 'a\\u0000b'}]")),
	    "{\"role\":\"user\",\"text\":\"Look:\\n(image_url)\"}\n"
	    "{\"role\":\"assistant\",\"text\":\"(calls add with {\\\"a\\\":1})\"}\n"
	    "{\"role\":\"tool:add\",\"text\":\"2\"}\n"
	    "{\"role\":\"grader\",\"text\":\"Again.\"}\n"
	    "{\"role\":\"tool\",\"text\":\"a\\u0000b\"}");
	ck_assert_str_eq(rubric_transcript(arena, value_empty_array()), "");
}
END_TEST

static const struct value *
numbered(size_t count)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(
		    &list, i == 1 ? chat_human(arena, "the task")
				  : chat_ai(arena, arena_printf(arena, "n%zu", i)));
	return value_list_end(&list);
}

static size_t
lines(const char *text)
{
	size_t count = *text == '\0' ? 0 : 1;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

START_TEST(a_long_one_is_its_end_and_the_task)
{
	const char *text = rubric_transcript(arena, numbered(RUBRIC_MESSAGES_MAX));

	ck_assert_uint_eq(lines(text), RUBRIC_MESSAGES_MAX);
	ck_assert_has(text, "\"n0\"");
	text = rubric_transcript(arena, numbered(RUBRIC_MESSAGES_MAX + 10));
	ck_assert_uint_eq(lines(text), RUBRIC_MESSAGES_MAX);
	ck_assert_int_eq(
	    strncmp(text, "{\"role\":\"user\",\"text\":\"the task\"}\n", 34), 0);
	ck_assert_has(text, "\"n39\"");
	ck_assert_has(text, "\"n11\"");
	ck_assert_ptr_null(strstr(text, "\"n10\""));
}
END_TEST

START_TEST(a_long_message_is_cut_between_characters)
{
	struct packet packet = { 0 };
	const struct value *message;
	const char *text;
	size_t i;

	for (i = 0; i < RUBRIC_CHARS_MAX; i++)
		packet_append(&packet, "文", 3);
	message = chat_human(arena, arena_copy(arena, packet.data, packet.size));
	text = rubric_transcript(arena, value_array(arena, &message, 1));
	ck_assert_ptr_null(strstr(text, "cut here"));
	packet_append(&packet, "x", 1);
	message = chat_human(arena, arena_copy(arena, packet.data, packet.size));
	text = rubric_transcript(arena, value_array(arena, &message, 1));
	ck_assert_has(text, "文 [cut here]\"}");
	packet_release(&packet);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_rubric(void);
TCase *
tcase_rubric(void)
{
	TCase *tcase = tcase_create("rubric");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, only_the_rubric_is_the_users);
	tcase_add_test(tcase, settings_are_checked);
	tcase_add_test(tcase, a_new_rubric_begins_a_grading);
	tcase_add_loop_test(
	    tcase, the_same_one_begins_another_when_the_last_has_ended, 0, COUNT(ends));
	tcase_add_loop_test(tcase, else_nothing_changes, 0, COUNT(quiet));
	tcase_add_loop_test(tcase, without_a_rubric_nobody_is_asked, 0, 3);
	tcase_add_test(tcase, a_satisfied_grader_lets_the_run_end);
	tcase_add_test(tcase, one_that_is_not_sends_the_run_back_to_the_model);
	tcase_add_test(tcase, many_criteria_take_no_more_memory_than_their_names);
	tcase_add_test(tcase, a_rubric_that_cannot_be_applied_ends_it);
	tcase_add_test(tcase, the_last_iteration_ends_it);
	tcase_add_test(tcase, a_grader_that_cannot_be_asked_ends_it_and_the_run_succeeds);
	tcase_add_loop_test(
	    tcase, an_answer_that_is_no_verdict_is_asked_for_again, 0, COUNT(unfit));
	tcase_add_test(tcase, some_of_them_are_an_error_of_the_grader);
	tcase_add_test(tcase, words_are_no_verdict_and_end_it);
	tcase_add_test(tcase, a_cancelled_run_writes_nothing);
	tcase_add_test(tcase, the_grader_gets_instructions_rubric_transcript_and_schema);
	tcase_add_test(tcase, model_and_instructions_can_be_others);
	tcase_add_test(tcase, every_kind_of_message_is_a_line);
	tcase_add_test(tcase, a_long_one_is_its_end_and_the_task);
	tcase_add_test(tcase, a_long_message_is_cut_between_characters);
	return tcase;
}
