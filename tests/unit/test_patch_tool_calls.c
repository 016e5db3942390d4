#include <check.h>
#include <string.h>

#include "chain.h"
#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

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

/* The messages that the hook writes; NULL: none. */
static const struct value *
patch(const char *messages)
{
	struct turn turn = { .arena = arena,
		.use = literal_use(arena, "patch_tool_calls", "{}"),
		.messages = literal(arena, messages),
		.state = value_empty_map() };
	const struct value *update = chain_node_hook(&turn, HOOK_BEFORE_AGENT);

	ck_assert_ptr_null(turn.fault);
	return value_get(update, "messages");
}

/* What each message is: "ai", "tool:<the call's id>". */
static const char *
outline(const struct value *messages)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);
		const char *call = value_get_text(message, "tool_call_id");

		text = arena_printf(arena, "%s%s%s%s%s", text, i == 0 ? "" : " ",
		    value_get_text(message, "type"), call == NULL ? "" : ":",
		    call == NULL ? "" : call);
	}
	return text;
}

#define CALL(id) "{'id': '" id "', 'name': 'add', 'args': {}}"
#define ASK(calls) "{'type': 'ai', 'id': 'a', 'tool_calls': [" calls "]}"
#define ANSWER(id) "{'type': 'tool', 'tool_call_id': '" id "', 'content': 'done'}"
#define HUMAN "{'type': 'human', 'id': 'h', 'content': 'x'}"

START_TEST(it_answers_in_the_coordinators_place)
{
	const struct middleware_use *use = literal_use(arena, "patch_tool_calls", "{}");

	ck_assert(use->answers_open_calls);
	ck_assert(use->hooks[HOOK_BEFORE_AGENT] && !use->hooks[HOOK_WRAP_MODEL_CALL]);
	ck_assert(!literal_use(arena, "todo_list", "{}")->answers_open_calls);
}
END_TEST

static const char *const whole[] = {
	"[]",
	"[" HUMAN "]",
	"[" HUMAN ", {'type': 'ai', 'content': 'x'}]",
	"[" ASK(CALL("1") ", " CALL("2")) ", " ANSWER("2") ", " ANSWER("1") ", " HUMAN
									    "]",
	/* What cannot be answered. */
	"[{'type': 'ai', 'tool_calls': [{'name': 'add', 'args': {}}]}, " HUMAN "]",
	/* An answer to nothing. */
	"[" ANSWER("9") ", " HUMAN "]",
};

START_TEST(where_nothing_is_open_nothing_is_written)
{
	ck_assert_ptr_null(patch(whole[_i]));
}
END_TEST

START_TEST(an_open_call_is_answered_right_behind_its_message)
{
	const struct value *messages = patch("[" HUMAN ", " ASK(
	    CALL("1") ", " CALL("2") ", " CALL("3")) ", " ANSWER("2") ", " HUMAN "]");
	const struct value *answer = value_at(messages, 3);

	ck_assert_str_eq(outline(messages), "remove human ai tool:1 tool:3 tool:2 human");
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "id"), "__remove_all__");
	ck_assert_str_eq(value_get_text(value_at(messages, 2), "id"), "a");
	ck_assert_has(value_get_text(answer, "content"), "add");
	ck_assert_has(value_get_text(answer, "content"), "id 1");
	ck_assert_has(value_get_text(answer, "content"), "cancelled");
	ck_assert_str_eq(value_get_text(answer, "name"), "add");
	ck_assert_str_eq(value_get_text(answer, "status"), "error");
}
END_TEST

START_TEST(so_is_a_malformed_one_in_words_of_its_own)
{
	const struct value *messages = patch("[{'type': 'ai', 'tool_calls': [" CALL(
	    "1") "], 'invalid_tool_calls': [{'id': 'bad', "
		 "'name': 'mul', 'args': '{a: '}, {'id': 'odd', 'args': ''}, "
		 "{'name': 'none', 'args': ''}]}, " HUMAN "]");

	ck_assert_str_eq(outline(messages), "remove ai tool:1 tool:bad tool:odd human");
	ck_assert_has(value_get_text(value_at(messages, 2), "content"), "cancelled");
	ck_assert_has(value_get_text(value_at(messages, 3), "content"), "malformed");
	ck_assert_has(value_get_text(value_at(messages, 3), "content"), "mul");
	ck_assert_has(value_get_text(value_at(messages, 4), "content"), "id odd");
}
END_TEST

START_TEST(all_messages_are_looked_at)
{
	ck_assert_str_eq(outline(patch("[" ASK(CALL("1")) ", " HUMAN ", " ASK(
			     CALL("2")) ", " HUMAN ", " ASK(CALL("3")) "]")),
	    "remove ai tool:1 human ai tool:2 human ai tool:3");
}
END_TEST

START_TEST(an_id_that_is_used_again_is_two_calls)
{
	ck_assert_str_eq(outline(patch("[" ASK(CALL("1")) ", " HUMAN ", " ASK(
			     CALL("1")) ", " ANSWER("1") "]")),
	    "remove ai tool:1 human ai tool:1");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_patch_tool_calls(void);
TCase *
tcase_patch_tool_calls(void)
{
	TCase *tcase = tcase_create("patch_tool_calls");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, it_answers_in_the_coordinators_place);
	tcase_add_loop_test(
	    tcase, where_nothing_is_open_nothing_is_written, 0, COUNT(whole));
	tcase_add_test(tcase, an_open_call_is_answered_right_behind_its_message);
	tcase_add_test(tcase, so_is_a_malformed_one_in_words_of_its_own);
	tcase_add_test(tcase, all_messages_are_looked_at);
	tcase_add_test(tcase, an_id_that_is_used_again_is_two_calls);
	return tcase;
}
