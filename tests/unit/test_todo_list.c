#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

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

static const struct middleware_use *
todo_use(const char *settings)
{
	return literal_use(arena, "todo_list", settings);
}

START_TEST(the_plan_is_a_field_that_no_input_sets)
{
	const struct middleware_use *use = todo_use("{}");

	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "todos");
	ck_assert(use->fields[0].omit_from_input && !use->fields[0].omit_from_output);
	ck_assert(!use->fields[0].untracked);
	ck_assert(use->hooks[HOOK_AFTER_MODEL] && use->hooks[HOOK_WRAP_MODEL_CALL]);
	ck_assert(!use->hooks[HOOK_WRAP_TOOL_CALL]);
	ck_assert_uint_eq(value_size(use->reads), 0);
}
END_TEST

/* --- the prompt --------------------------------------------------------------------- */

static const char *
prompt_of(const char *settings, const char *profile, const char *request)
{
	play.profile = literal(arena, profile);
	play.request = literal(arena, request);
	play.count = 0;
	play_model(&play, stub_chain(arena, todo_use(settings), NULL));
	return value_get_text(play.seen, "system");
}

START_TEST(the_instructions_stand_behind_the_agents_prompt)
{
	const char *prompt =
	    prompt_of("{}", "{'model': 'x:y', 'system_prompt': 'Plan well.'}", "{}");

	ck_assert_int_eq(strncmp(prompt, "Plan well.\n\n", 12), 0);
	ck_assert_has(prompt, "write_todos");
	/* Without a prompt they are the prompt. */
	ck_assert_str_eq(prompt_of("{}", "{'model': 'x:y'}", "{}"), prompt + 12);
}
END_TEST

START_TEST(the_instructions_can_be_replaced)
{
	const char *profile = "{'model': 'x:y', 'system_prompt': 'S'}";

	ck_assert_str_eq(prompt_of("{'system_prompt': 'Use lists.'}", profile, "{}"),
	    "S\n\nUse lists.");
	ck_assert_str_eq(prompt_of("{'system_prompt': ''}", profile, "{}"), "S");
}
END_TEST

START_TEST(the_list_as_it_stands_can_be_shown)
{
	const char *settings = "{'system_prompt': 'P', 'inject_current_todos': true}";
	const char *request = "{'state': {'todos': [{'content': 'a', 'status': "
			      "'pending'}]}}";

	ck_assert(value_contains(todo_use(settings)->reads, "todos"));
	ck_assert_str_eq(prompt_of(settings, "{'model': 'x:y'}", request),
	    "P\n\nYour todos at this point: "
	    "[{\"content\":\"a\",\"status\":\"pending\"}]");
	ck_assert_str_eq(prompt_of(settings, "{'model': 'x:y'}", "{}"), "P");
	ck_assert_str_eq(
	    prompt_of("{'system_prompt': 'P'}", "{'model': 'x:y'}", request), "P");
}
END_TEST

/* --- the tool ----------------------------------------------------------------------- */

static const struct value *
write_todos(const char *args)
{
	const struct middleware_use *use = todo_use("{}");

	play.profile = literal(arena, "{'tools': ['write_todos']}");
	play.request = value_map(arena, "tool_call",
	    value_map(arena, "name", value_str(arena, "write_todos"), "id",
		value_str(arena, "t1"), "args", literal(arena, args), NULL),
	    "tool", value_at(use->tools, 0), NULL);
	play.outcomes[0] = play.outcomes[1] = "none";
	return play_tool(&play, stub_chain(arena, use, NULL));
}

START_TEST(write_todos_replaces_the_list_and_answers)
{
	const struct value *update = value_get(
	    value_at(value_get(write_todos("{'todos': [{'content': '文件', 'status': "
					   "'in_progress'}]}"),
			 "commands"),
		0),
	    "update");
	const struct value *message = value_at(value_get(update, "messages"), 0);

	ck_assert_value(arena, value_get(update, "todos"),
	    "[{'content': '文件', 'status': 'in_progress'}]");
	ck_assert_has(value_get_text(message, "content"), "文件");
	ck_assert_str_eq(value_get_text(message, "tool_call_id"), "t1");
	ck_assert_str_eq(value_get_text(message, "name"), "write_todos");
	ck_assert_str_eq(value_get_text(message, "status"), "success");
}
END_TEST

START_TEST(what_else_the_model_puts_into_a_todo_is_left_out)
{
	const struct value *update = value_get(
	    value_at(value_get(write_todos("{'todos': [{'content': 'x', 'id': 4, "
					   "'status': 'pending', 'why': null}]}"),
			 "commands"),
		0),
	    "update");

	ck_assert_value(
	    arena, value_get(update, "todos"), "[{'content': 'x', 'status': 'pending'}]");
	ck_assert_has(
	    value_get_text(value_at(value_get(update, "messages"), 0), "content"),
	    "[{\"content\":\"x\",\"status\":\"pending\"}]");
}
END_TEST

START_TEST(a_list_may_be_emptied)
{
	ck_assert_value(arena,
	    value_get(
		value_get(
		    value_at(value_get(write_todos("{'todos': []}"), "commands"), 0),
		    "update"),
		"todos"),
	    "[]");
}
END_TEST

static const char *const wrong[] = {
	"{}",
	"{'todos': 'all of it'}",
	"{'todos': [{'content': 'x'}]}",
	"{'todos': [{'content': 'x', 'status': 'someday'}]}",
	"{'todos': [{'content': 1, 'status': 'pending'}]}",
	"{'todos': ['x']}",
};

START_TEST(a_list_that_is_none_is_answered_with_an_error)
{
	const struct value *body = write_todos(wrong[_i]);
	const struct value *update =
	    value_get(value_at(value_get(body, "commands"), 0), "update");

	ck_assert_has(stub_outcome(arena, body), "write_todos");
	ck_assert(!value_has(update, "todos"));
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(update, "messages"), 0), "status"),
	    "error");
}
END_TEST

START_TEST(the_description_can_be_replaced)
{
	ck_assert_str_eq(
	    value_get_text(value_at(todo_use("{'tool_description': 'Mine.'}")->tools, 0),
		"description"),
	    "Mine.");
	ck_assert_has(value_get_text(value_at(todo_use("{}")->tools, 0), "description"),
	    "in_progress");
}
END_TEST

/* --- lists side by side ------------------------------------------------------------- */

static const struct value *
after_model(const char *messages)
{
	struct turn turn = { .arena = arena,
		.use = todo_use("{}"),
		.messages = literal(arena, messages) };
	const struct value *update = chain_node_hook(&turn, HOOK_AFTER_MODEL);

	ck_assert_ptr_null(turn.fault);
	return update;
}

#define CALL(id) "{'id': '" id "', 'name': 'write_todos', 'args': {'todos': []}}"
#define OTHER "{'id': 'o', 'name': 'add', 'args': {}}"

START_TEST(several_lists_in_one_message_are_all_refused)
{
	const struct value *messages =
	    value_get(after_model("[{'type': 'ai', 'tool_calls': [" CALL(
			  "t1") ", " OTHER ", " CALL("t2") "]}]"),
		"messages");
	size_t i;

	ck_assert_uint_eq(value_size(messages), 2);
	for (i = 0; i < 2; i++) {
		const struct value *message = value_at(messages, i);

		ck_assert_str_eq(
		    value_get_text(message, "tool_call_id"), i == 0 ? "t1" : "t2");
		ck_assert_str_eq(value_get_text(message, "status"), "error");
		ck_assert_str_eq(value_get_text(message, "name"), "write_todos");
		ck_assert_has(value_get_text(message, "content"), "write_todos");
	}
}
END_TEST

START_TEST(what_is_answered_already_is_not_answered_again)
{
	const struct value *messages = value_get(
	    after_model("[{'type': 'ai', 'tool_calls': [" CALL("t1") ", " CALL(
		"t2") "]}, "
		      "{'type': 'tool', 'tool_call_id': 't1', 'content': 'limit'}]"),
	    "messages");

	ck_assert_uint_eq(value_size(messages), 1);
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "tool_call_id"), "t2");
}
END_TEST

static const char *const fine[] = {
	"[]",
	"[{'type': 'human', 'content': 'x'}]",
	"[{'type': 'ai', 'content': 'x'}]",
	"[{'type': 'ai', 'tool_calls': [" CALL("t1") ", " OTHER "]}]",
	/* Of an earlier message. */
	"[{'type': 'ai', 'tool_calls': [" CALL("t1") ", " CALL("t2") "]}, {'type': 'ai', "
								     "'content': 'x'}]",
};

START_TEST(one_list_is_fine)
{
	ck_assert_ptr_null(after_model(fine[_i]));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_todo_list(void);
TCase *
tcase_todo_list(void)
{
	TCase *tcase = tcase_create("todo_list");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_plan_is_a_field_that_no_input_sets);
	tcase_add_test(tcase, the_instructions_stand_behind_the_agents_prompt);
	tcase_add_test(tcase, the_instructions_can_be_replaced);
	tcase_add_test(tcase, the_list_as_it_stands_can_be_shown);
	tcase_add_test(tcase, write_todos_replaces_the_list_and_answers);
	tcase_add_test(tcase, what_else_the_model_puts_into_a_todo_is_left_out);
	tcase_add_test(tcase, a_list_may_be_emptied);
	tcase_add_loop_test(
	    tcase, a_list_that_is_none_is_answered_with_an_error, 0, COUNT(wrong));
	tcase_add_test(tcase, the_description_can_be_replaced);
	tcase_add_test(tcase, several_lists_in_one_message_are_all_refused);
	tcase_add_test(tcase, what_is_answered_already_is_not_answered_again);
	tcase_add_loop_test(tcase, one_list_is_fine, 0, COUNT(fine));
	return tcase;
}
