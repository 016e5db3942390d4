#include <check.h>
#include <string.h>

/* Interface under test */
#include "chat.h"

#include "sample_messages.h"

#define human(id, content) sample_human(arena, id, content)
#define removal(id) sample_removal(arena, id)
#define calling(calls) sample_calling(arena, calls)
#define call(id, name) sample_call(arena, id, name)
#define answer(id) sample_answer(arena, id)
#define list(...) sample_list(arena, (const struct value *[]){ __VA_ARGS__, NULL })

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

static const struct value *
normal(const struct value *given)
{
	const char *error = NULL;
	const struct value *messages = chat_normalise(arena, given, &error);

	ck_assert_msg(messages != NULL, "%s", error);
	return messages;
}

static const char *
refused(const struct value *given)
{
	const char *error = NULL;

	ck_assert_ptr_null(chat_normalise(arena, given, &error));
	ck_assert_ptr_nonnull(error);
	return error;
}

static const struct value *
role(const char *name, const char *content)
{
	return value_map(arena, "role", value_str(arena, name), "content",
	    value_str(arena, content), NULL);
}

START_TEST(strings_maps_and_lists_of_both_are_messages)
{
	const struct value *hello = value_str(arena, "hello");
	const struct value *messages;

	ck_assert(value_equal(normal(hello), list(chat_human(arena, "hello"))));
	ck_assert(value_equal(normal(role("user", "x")), list(chat_human(arena, "x"))));
	/* As of other protocols: the type is theirs. */
	ck_assert(
	    value_equal(normal(sample_with(arena, role("user", "x"), "type", "message")),
		list(chat_human(arena, "x"))));
	messages = normal(list(hello, role("assistant", "y"), role("system", "z"),
	    list(value_str(arena, "user"), value_str(arena, "pair"))));
	ck_assert_uint_eq(value_size(messages), 4);
	ck_assert(value_equal(value_at(messages, 1), chat_ai(arena, "y")));
	ck_assert(value_equal(value_at(messages, 2), chat_system(arena, "z")));
	ck_assert(value_equal(value_at(messages, 3), chat_human(arena, "pair")));
	ck_assert(!value_has(value_at(messages, 0), "id"));
	ck_assert_uint_eq(value_size(normal(value_empty_array())), 0);
}
END_TEST

START_TEST(what_has_the_form_is_passed_on_as_it_is)
{
	const struct value *given = list(human("a", "1"),
	    calling(list(call("c1", "search"))), answer("c1"), removal("a"));

	ck_assert_ptr_eq(normal(given), given);
}
END_TEST

START_TEST(removals_are_short_to_write)
{
	const struct value *one =
	    value_map(arena, "remove", value_str(arena, "m1"), NULL);
	const struct value *all =
	    value_map(arena, "remove", value_str(arena, "all"), NULL);

	ck_assert(value_equal(
	    normal(list(one, all)), list(removal("m1"), removal(REMOVE_ALL))));
}
END_TEST

START_TEST(what_models_leave_out_is_filled_in)
{
	const struct value *bare = value_map(
	    arena, "name", value_str(arena, "add"), "args", value_empty_map(), NULL);
	const struct value *ai =
	    value_map(arena, "type", value_str(arena, "AIMessageChunk"), "content",
		value_nil(), "id", value_nil(), "tool_calls", list(bare), NULL);
	const struct value *message = value_at(normal(ai), 0);
	const struct value *tool =
	    value_map(arena, "type", value_str(arena, "tool"), "content",
		value_str(arena, "42"), "tool_call_id", value_str(arena, "c1"), NULL);

	ck_assert(chat_is(message, "ai"));
	ck_assert_str_eq(value_get_text(message, "content"), "");
	ck_assert(!value_has(message, "id"));
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(message, "tool_calls"), 0), "type"),
	    "tool_call");
	ck_assert_str_eq(value_get_text(value_at(normal(tool), 0), "status"), "success");
}
END_TEST

START_TEST(null_is_no_content)
{
	const struct value *given =
	    value_map_with(arena, role("user", "x"), "content", value_nil());

	ck_assert(value_equal(normal(given), list(chat_human(arena, ""))));
}
END_TEST

static const struct value *
written(const char *class, const struct value *kwargs)
{
	return value_map(arena, "lc", value_int(arena, 1), "type",
	    value_str(arena, "constructor"), "id",
	    list(value_str(arena, "langchain_core"), value_str(arena, "messages"),
		value_str(arena, class)),
	    "kwargs", kwargs, NULL);
}

/* As JSON.stringify(new HumanMessage(...)) has it. */
START_TEST(what_langchain_writes_for_a_message_is_one)
{
	const struct value *text =
	    value_map(arena, "content", value_str(arena, "x"), NULL);
	const struct value *id = value_map(arena, "id", value_str(arena, "m1"), NULL);

	ck_assert(value_equal(
	    normal(written("HumanMessage", text)), list(chat_human(arena, "x"))));
	ck_assert(value_equal(
	    normal(list(written("AIMessageChunk", text), written("RemoveMessage", id))),
	    list(chat_ai(arena, "x"), removal("m1"))));
	ck_assert(value_equal(normal(written("ToolMessage",
				  value_map_with(arena, answer("c1"), "type", NULL))),
	    list(answer("c1"))));
	ck_assert_ptr_nonnull(
	    strstr(refused(written("Human", text)), "messages[0].type"));
	ck_assert_ptr_nonnull(
	    strstr(refused(written("HumanMessage", NULL)), "messages[0].type"));
}
END_TEST

START_TEST(what_is_no_message_is_refused_with_its_place)
{
	const struct value *tool =
	    sample_with(arena, chat_human(arena, "x"), "type", "tool");
	const struct value *bad_args =
	    value_map_with(arena, call("c1", "x"), "args", value_str(arena, "{}"));

	ck_assert_str_eq(refused(list(chat_human(arena, "x"), value_int(arena, 1))),
	    "messages[1]: must be a string or a map");
	ck_assert_ptr_nonnull(strstr(refused(NULL), "messages[0]"));
	ck_assert_ptr_nonnull(strstr(
	    refused(list(sample_with(arena, chat_human(arena, "x"), "type", "robot"))),
	    "messages[0].type"));
	ck_assert_ptr_nonnull(strstr(refused(role("robot", "x")), "messages[0].role"));
	ck_assert_ptr_nonnull(
	    strstr(refused(sample_with(arena, role("robot", "x"), "type", "message")),
		"messages[0].type"));
	ck_assert_ptr_nonnull(strstr(refused(value_empty_map()), "messages[0].role"));
	ck_assert_ptr_nonnull(strstr(refused(tool), "messages[0].tool_call_id"));
	ck_assert_ptr_nonnull(
	    strstr(refused(sample_with(arena, answer("c1"), "status", "fine")),
		"messages[0].status"));
	ck_assert_ptr_nonnull(strstr(
	    refused(calling(list(bad_args))), "messages[0].tool_calls[0]: needs args"));
	ck_assert_ptr_nonnull(strstr(refused(calling(value_int(arena, 1))),
	    "messages[0].tool_calls: must be a list"));
	ck_assert_ptr_nonnull(strstr(
	    refused(value_map_with(arena, human("a", "x"), "id", value_int(arena, 1))),
	    "messages[0].id"));
	ck_assert_ptr_nonnull(
	    strstr(refused(value_map_with(arena, human("a", "x"), "content", NULL)),
		"messages[0].content"));
	ck_assert_ptr_nonnull(strstr(refused(value_map_with(arena, human("a", "x"),
					 "content", list(value_int(arena, 1)))),
	    "messages[0].content[0]"));
	ck_assert_ptr_nonnull(
	    strstr(refused(value_map(arena, "remove", value_int(arena, 1), NULL)),
		"messages[0].remove"));
	ck_assert_ptr_nonnull(
	    strstr(refused(value_map(arena, "type", value_str(arena, "remove"), NULL)),
		"messages[0].id"));
}
END_TEST

TCase *tcase_chat_normalise(void);
TCase *
tcase_chat_normalise(void)
{
	TCase *tcase = tcase_create("chat_normalise");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, strings_maps_and_lists_of_both_are_messages);
	tcase_add_test(tcase, what_has_the_form_is_passed_on_as_it_is);
	tcase_add_test(tcase, removals_are_short_to_write);
	tcase_add_test(tcase, what_models_leave_out_is_filled_in);
	tcase_add_test(tcase, null_is_no_content);
	tcase_add_test(tcase, what_langchain_writes_for_a_message_is_one);
	tcase_add_test(tcase, what_is_no_message_is_refused_with_its_place);
	return tcase;
}
