#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "chat.h"
#include "literal.h"

#include "memory.h"
#include "sample_messages.h"

#define human(id, content) sample_human(arena, id, content)
#define removal(id) sample_removal(arena, id)
#define calling(calls) sample_calling(arena, calls)
#define call(id, name) sample_call(arena, id, name)
#define malformed(id, name) sample_malformed_call(arena, id, name)
#define answer(id) sample_answer(arena, id)
#define list(...) sample_list(arena, (const struct value *[]){ __VA_ARGS__, NULL })

static struct arena *arena;
static int fresh_ids;

static void
setup(void)
{
	arena = arena_new();
	fresh_ids = 0;
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
fresh(void *arg, struct arena *where)
{
	ck_assert_ptr_eq(arg, &fresh_ids);
	return value_printf(where, "fresh-%d", ++fresh_ids);
}

/* Writes ids and contents as "a=x b=y" for comparing. */
static const char *
shown(const struct value *messages)
{
	const char *text = "", *id;
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		id = value_get_text(value_at(messages, i), "id");
		text = arena_printf(arena, "%s%s%s=%s", text, i == 0 ? "" : " ",
		    id == NULL ? "-" : id, chat_text(arena, value_at(messages, i)));
	}
	return text;
}

static const struct value *
added(const struct value *left, const struct value *right)
{
	const char *error = NULL;
	const struct value *result =
	    chat_add_messages(arena, left, right, fresh, &fresh_ids, &error);

	ck_assert_msg(result != NULL, "%s", error);
	return result;
}

static const char *
add_refused(const struct value *left, const struct value *right)
{
	const char *error = NULL;

	ck_assert_ptr_null(
	    chat_add_messages(arena, left, right, fresh, &fresh_ids, &error));
	ck_assert_ptr_nonnull(error);
	return error;
}

/* --- add_messages ------------------------------------------------------------------- */

START_TEST(new_messages_are_appended_and_missing_ids_filled_in)
{
	const struct value *left = list(human("a", "1"));

	ck_assert_str_eq(
	    shown(added(left, list(chat_human(arena, "2"), human("c", "3")))),
	    "a=1 fresh-1=2 c=3");
	ck_assert_str_eq(
	    shown(added(left, list(chat_human(arena, "2")))), "a=1 fresh-2=2");
	ck_assert_str_eq(shown(added(NULL, list(human("x", "1")))), "x=1");
	ck_assert_str_eq(shown(added(left, NULL)), "a=1");
	ck_assert_str_eq(
	    shown(added(list(chat_human(arena, "old")), list(human("b", "2")))),
	    "fresh-3=old b=2");
	ck_assert_uint_eq(value_size(left), 1);
}
END_TEST

START_TEST(a_known_id_is_replaced_where_it_stands)
{
	const struct value *left =
	    list(human("a", "1"), human("b", "2"), human("c", "3"));

	ck_assert_str_eq(shown(added(left, list(human("b", "new"), human("d", "4")))),
	    "a=1 b=new c=3 d=4");
	ck_assert_str_eq(shown(added(left, list(human("d", "4"), human("d", "5")))),
	    "a=1 b=2 c=3 d=5");
}
END_TEST

START_TEST(removals_remove)
{
	const struct value *left =
	    list(human("a", "1"), human("b", "2"), human("c", "3"));

	ck_assert_str_eq(shown(added(left, list(removal("b")))), "a=1 c=3");
	ck_assert_str_eq(
	    shown(added(left, list(removal("a"), human("d", "4"), removal("c")))),
	    "b=2 d=4");
	ck_assert_str_eq(
	    shown(added(left, list(human("d", "4"), removal("d")))), "a=1 b=2 c=3");
	ck_assert_str_eq(shown(added(left, list(removal("a"), removal("a")))), "b=2 c=3");
}
END_TEST

START_TEST(removed_and_set_again_keeps_the_old_position)
{
	const struct value *left =
	    list(human("a", "1"), human("b", "2"), human("c", "3"));

	ck_assert_str_eq(
	    shown(added(left, list(removal("a"), human("a", "new")))), "a=new b=2 c=3");
	ck_assert_str_eq(
	    shown(added(left, list(human("a", "new"), removal("a")))), "b=2 c=3");
}
END_TEST

START_TEST(removing_what_is_not_there_is_an_error_that_names_it)
{
	const char *error = add_refused(list(human("a", "1")), list(removal("zz")));

	ck_assert_ptr_nonnull(strstr(error, "zz"));
	ck_assert_ptr_nonnull(strstr(error, "messages[0]"));
	error = add_refused(NULL, list(chat_human(arena, "x"), removal("a")));
	ck_assert_ptr_nonnull(strstr(error, "messages[1]"));
	add_refused(list(human("a", "1")),
	    list(value_map(arena, "type", value_str(arena, "remove"), NULL)));
}
END_TEST

START_TEST(remove_all_keeps_only_what_follows_the_last_marker)
{
	const struct value *left = list(human("a", "1"), human("b", "2"));

	ck_assert_str_eq(shown(added(left, list(removal(REMOVE_ALL)))), "");
	ck_assert_str_eq(
	    shown(added(left, list(human("x", "lost"), removal(REMOVE_ALL),
				  human("b", "new"), chat_human(arena, "3")))),
	    "b=new fresh-1=3");
	ck_assert_str_eq(shown(added(left, list(removal(REMOVE_ALL), human("x", "lost"),
					       removal(REMOVE_ALL), human("y", "kept")))),
	    "y=kept");
	/* What is gone can no longer be removed. */
	add_refused(left, list(removal(REMOVE_ALL), removal("a")));
}
END_TEST

START_TEST(messages_that_do_not_change_are_shared)
{
	const struct value *left = list(human("a", "1"), human("b", "2"));
	const struct value *result = added(left, list(human("b", "3")));

	ck_assert_ptr_eq(value_at(result, 0), value_at(left, 0));
}
END_TEST

START_TEST(long_lists_keep_order)
{
	struct value_list many = { .arena = arena };
	const struct value *result;
	char id[16];
	int i;

	for (i = 0; i < 3000; i++) {
		snprintf(id, sizeof id, "m%d", i);
		value_list_add(&many, human(id, "x"));
	}
	result = added(value_list_end(&many),
	    list(removal("m0"), human("m1500", "new"), removal("m2999")));
	ck_assert_uint_eq(value_size(result), 2998);
	ck_assert_str_eq(value_get_text(value_at(result, 1499), "content"), "new");
	ck_assert_str_eq(value_get_text(value_at(result, 2997), "id"), "m2998");
	ck_assert(value_equal(
	    added(value_list_end(&many), value_list_end(&many)), value_list_end(&many)));
}
END_TEST

/* --- asking ------------------------------------------------------------------------- */

START_TEST(text_is_the_string_or_the_text_blocks_joined)
{
	const struct value *image = value_map(arena, "type", value_str(arena, "image"),
	    "url", value_str(arena, "http://x"), NULL);
	const struct value *block = value_map(arena, "type", value_str(arena, "text"),
	    "text", value_str(arena, "one "), NULL);
	const struct value *message = value_map_with(arena, chat_ai(arena, ""), "content",
	    list(block, image, value_str(arena, "two")));

	ck_assert_str_eq(chat_text(arena, chat_human(arena, "hello")), "hello");
	ck_assert_str_eq(chat_text(arena, message), "one two");
	ck_assert_str_eq(chat_text(arena, NULL), "");
	ck_assert_str_eq(chat_text(arena, removal("a")), "");
}
END_TEST

/* Who reads a text up to its first NUL would not see what stands behind it, and what is asked of a provider has all. */
START_TEST(nothing_is_hidden_behind_a_nul)
{
	const struct value *text = value_strn(arena, "a\0b\0", 4), *said;
	const struct value *whole = value_map(arena, "content", text, NULL);
	const struct value *blocks = value_map(arena, "content",
	    list(text,
		value_map(arena, "type", value_str(arena, "text"), "text", text, NULL)),
	    NULL);

	ck_assert(chat_said(arena, whole) == text);
	ck_assert_str_eq(chat_text(arena, whole), "a b ");
	said = chat_said(arena, blocks);
	ck_assert_uint_eq(said->size, 8);
	ck_assert_mem_eq(said->text, "a\0b\0a\0b\0", 8);
	ck_assert_str_eq(chat_text(arena, blocks), "a b a b ");
}
END_TEST

/* 8 MiB of NULs, as many as one input may bring: each is looked at once, or this takes minutes. */
START_TEST(a_text_of_nuls_is_gone_through_once)
{
	const size_t size = 8u << 20;
	char *nuls = xcalloc(size, 1);
	const struct value *message =
	    value_map(arena, "content", value_strn(arena, nuls, size), NULL);
	const char *text = chat_text(arena, message);

	free(nuls);
	ck_assert_uint_eq(strspn(text, " "), size);
	ck_assert_int_eq(text[size], '\0');
}
END_TEST

START_TEST(messages_are_made_with_their_fields)
{
	const struct value *tool = chat_tool(arena, "42", "c1", "add", "success");

	ck_assert(chat_is(chat_human(arena, "x"), "human"));
	ck_assert(chat_is(chat_system(arena, "x"), "system"));
	ck_assert(chat_is(chat_ai(arena, "x"), "ai"));
	ck_assert(!chat_is(NULL, "ai"));
	ck_assert(chat_is(tool, "tool"));
	ck_assert_str_eq(value_get_text(tool, "tool_call_id"), "c1");
	ck_assert_str_eq(value_get_text(tool, "name"), "add");
	ck_assert_str_eq(value_get_text(tool, "status"), "success");
	ck_assert(!value_has(chat_tool(arena, NULL, "c1", NULL, "error"), "name"));
}
END_TEST

START_TEST(pending_calls_are_those_of_the_last_ai_message_without_an_answer)
{
	const struct value *two = list(call("c1", "search"), call("c2", "search"));
	const struct value *pending;

	ck_assert_int_eq(chat_last_ai(NULL), -1);
	ck_assert_int_eq(chat_last_ai(list(human("a", "1"))), -1);
	ck_assert_uint_eq(value_size(chat_pending_calls(arena, NULL)), 0);
	ck_assert_uint_eq(
	    value_size(chat_pending_calls(arena, list(chat_ai(arena, "hi")))), 0);

	pending = chat_pending_calls(arena, list(human("a", "1"), calling(two)));
	ck_assert(value_equal(pending, two));
	pending = chat_pending_calls(
	    arena, list(human("a", "1"), calling(two), answer("c1"), human("b", "2")));
	ck_assert_uint_eq(value_size(pending), 1);
	ck_assert_str_eq(value_get_text(value_at(pending, 0), "id"), "c2");
	pending =
	    chat_pending_calls(arena, list(calling(two), answer("c2"), answer("c1")));
	ck_assert_uint_eq(value_size(pending), 0);
	/* An answer before the message is another call's. */
	pending = chat_pending_calls(arena, list(answer("c1"), calling(two)));
	ck_assert_uint_eq(value_size(pending), 2);
	/* Earlier AI messages do not count. */
	pending = chat_pending_calls(arena, list(calling(two), chat_ai(arena, "done")));
	ck_assert_uint_eq(value_size(pending), 0);
	ck_assert_int_eq(chat_last_ai(list(calling(two), chat_ai(arena, "done"))), 1);
}
END_TEST

/* --- dangling calls ----------------------------------------------------------------- */

START_TEST(what_dangles_nowhere_is_not_touched)
{
	const struct value *two = list(call("c1", "search"), call("c2", "search"));
	const struct value *whole = list(human("a", "1"), calling(two), answer("c2"),
	    answer("c1"), chat_ai(arena, "ok"));

	ck_assert_ptr_eq(chat_answer_dangling(arena, whole), whole);
	ck_assert_ptr_eq(
	    chat_answer_dangling(arena, value_empty_array()), value_empty_array());
	ck_assert_ptr_null(chat_answer_dangling(arena, NULL));
}
END_TEST

static void
assert_repaired(const struct value *message, const char *id, const char *name)
{
	ck_assert(chat_is(message, "tool"));
	ck_assert_str_eq(value_get_text(message, "tool_call_id"), id);
	ck_assert_str_eq(value_get_text(message, "status"), "error");
	ck_assert_ptr_nonnull(strstr(chat_text(arena, message), id));
	ck_assert_ptr_nonnull(strstr(chat_text(arena, message), name));
}

START_TEST(every_dangling_call_is_answered_behind_its_message)
{
	const struct value *two = list(call("c1", "search"), call("c2", "write"));
	const struct value *fixed = chat_answer_dangling(
	    arena, list(human("a", "1"), calling(two), answer("c1"), human("b", "2"),
		       calling(list(call("c3", "read"))), human("c", "3")));

	ck_assert_uint_eq(value_size(fixed), 8);
	assert_repaired(value_at(fixed, 2), "c2", "write");
	ck_assert_str_eq(value_get_text(value_at(fixed, 3), "tool_call_id"), "c1");
	ck_assert(chat_is(value_at(fixed, 4), "human"));
	assert_repaired(value_at(fixed, 6), "c3", "read");
	ck_assert_ptr_eq(chat_answer_dangling(arena, fixed), fixed);
	ck_assert_uint_eq(value_size(chat_pending_calls(arena, fixed)), 0);
}
END_TEST

START_TEST(malformed_calls_are_answered_too)
{
	const struct value *ai =
	    value_map_with(arena, calling(list(call("c1", "search"))),
		"invalid_tool_calls", list(malformed("c2", "write")));
	const struct value *fixed = chat_answer_dangling(arena, list(ai));

	ck_assert_uint_eq(value_size(fixed), 3);
	assert_repaired(value_at(fixed, 1), "c1", "search");
	assert_repaired(value_at(fixed, 2), "c2", "write");
	ck_assert_str_ne(
	    chat_text(arena, value_at(fixed, 1)), chat_text(arena, value_at(fixed, 2)));
	fixed = chat_answer_dangling(arena, list(ai, answer("c1"), answer("c2")));
	ck_assert_uint_eq(value_size(fixed), 3);
}
END_TEST

START_TEST(a_call_id_used_again_is_another_call)
{
	const struct value *one = list(call("call_0", "search"));
	const struct value *fixed = chat_answer_dangling(
	    arena, list(calling(one), human("a", "1"), calling(one), answer("call_0")));

	ck_assert_uint_eq(value_size(fixed), 5);
	assert_repaired(value_at(fixed, 1), "call_0", "search");
	fixed = chat_answer_dangling(
	    arena, list(calling(one), human("a", "1"),
		       value_map_with(arena, chat_ai(arena, ""), "invalid_tool_calls",
			   list(malformed("call_0", "search"))),
		       answer("call_0")));
	ck_assert_uint_eq(value_size(fixed), 5);
	assert_repaired(value_at(fixed, 1), "call_0", "search");
}
END_TEST

/* So many that to look for each through all others would take minutes. */
START_TEST(many_open_calls_are_answered)
{
	const size_t count = 60000;
	struct value_list messages = { .arena = arena };
	const struct value *fixed;
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&messages,
		    calling(list(call(arena_printf(arena, "c%zu", i), "search"))));
	value_list_add(&messages, human("a", "1"));
	value_list_add(&messages, answer("c7"));
	fixed = chat_answer_dangling(arena, value_list_end(&messages));
	ck_assert_uint_eq(value_size(fixed), 2 * count + 1);
	assert_repaired(value_at(fixed, 13), "c6", "search");
	ck_assert(chat_is(value_at(fixed, 15), "ai"));
	assert_repaired(value_at(fixed, 16), "c8", "search");
}
END_TEST

START_TEST(calls_without_an_id_do_not_stop_the_repair)
{
	const struct value *nameless =
	    value_map(arena, "args", value_str(arena, "{"), NULL);
	const struct value *ai = value_map_with(
	    arena, chat_ai(arena, ""), "invalid_tool_calls", list(nameless));

	ck_assert_uint_eq(value_size(chat_answer_dangling(arena, list(ai))), 1);
}
END_TEST

/* What Redis gives back may be anything. */
START_TEST(a_message_is_sound_when_others_can_rely_on_it)
{
	static const char *const sound[] = { "{'type': 'human', 'content': 'x'}",
		("{'type': 'ai', 'content': '', 'tool_calls': [{'name': 'n', 'args': "
		 "{}}]}"),
		"{'type': 'ai', 'invalid_tool_calls': [{'args': '{'}]}",
		"{'type': 'tool', 'content': 'x'}", "{'type': 'system'}" };
	static const char *const damaged[] = { "null", "7", "{}", "{'type': 7}",
		"{'type': 'robot'}", "{'type': 'ai', 'tool_calls': 1}",
		"{'type': 'ai', 'tool_calls': [null]}",
		"{'type': 'ai', 'tool_calls': [{'name': 7, 'args': {}}]}",
		"{'type': 'ai', 'tool_calls': [{'name': 'n', 'args': []}]}",
		"{'type': 'ai', 'tool_calls': [{'name': 'n', 'args': {}, 'id': 7}]}",
		"{'type': 'ai', 'invalid_tool_calls': [7]}" };
	size_t i;

	for (i = 0; i < sizeof sound / sizeof *sound; i++)
		ck_assert_msg(chat_is_sound(literal(arena, sound[i])), "%s", sound[i]);
	for (i = 0; i < sizeof damaged / sizeof *damaged; i++)
		ck_assert_msg(
		    !chat_is_sound(literal(arena, damaged[i])), "%s", damaged[i]);
	ck_assert(!chat_is_sound(NULL));
}
END_TEST

TCase *tcase_chat(void);
TCase *
tcase_chat(void)
{
	TCase *tcase = tcase_create("chat");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, new_messages_are_appended_and_missing_ids_filled_in);
	tcase_add_test(tcase, a_known_id_is_replaced_where_it_stands);
	tcase_add_test(tcase, removals_remove);
	tcase_add_test(tcase, removed_and_set_again_keeps_the_old_position);
	tcase_add_test(tcase, removing_what_is_not_there_is_an_error_that_names_it);
	tcase_add_test(tcase, remove_all_keeps_only_what_follows_the_last_marker);
	tcase_add_test(tcase, messages_that_do_not_change_are_shared);
	tcase_add_test(tcase, long_lists_keep_order);
	tcase_add_test(tcase, text_is_the_string_or_the_text_blocks_joined);
	tcase_add_test(tcase, nothing_is_hidden_behind_a_nul);
	tcase_add_test(tcase, a_text_of_nuls_is_gone_through_once);
	tcase_add_test(tcase, messages_are_made_with_their_fields);
	tcase_add_test(
	    tcase, pending_calls_are_those_of_the_last_ai_message_without_an_answer);
	tcase_add_test(tcase, what_dangles_nowhere_is_not_touched);
	tcase_add_test(tcase, every_dangling_call_is_answered_behind_its_message);
	tcase_add_test(tcase, malformed_calls_are_answered_too);
	tcase_add_test(tcase, a_call_id_used_again_is_another_call);
	tcase_add_test(tcase, many_open_calls_are_answered);
	tcase_add_test(tcase, calls_without_an_id_do_not_stop_the_repair);
	tcase_add_test(tcase, a_message_is_sound_when_others_can_rely_on_it);
	return tcase;
}
