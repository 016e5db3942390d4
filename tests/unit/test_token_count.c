#include <check.h>
#include <string.h>

#include "literal.h"

/* Interface under test */
#include "token_count.h"

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

/* What langchain_core's count_tokens_approximately gives for [message], worked out by hand:
 * ceil(characters / 4) + 3. */
static const struct {
	const char *message;
	int64_t tokens;
} messages[] = {
	/* user */
	{ "{'type': 'human', 'content': ''}", 1 + 3 },
	{ "{'type': 'human', 'content': 'abcd'}", 2 + 3 },
	{ "{'type': 'human', 'content': 'abcde'}", 3 + 3 },
	{ "{'type': 'human', 'content': 'abcd', 'name': 'ann'}", 3 + 3 },
	/* Characters, not bytes: 16 of them, and some more than a word of memory. */
	{ "{'type': 'human', 'content': '文件文件文件文件文件文件文件文件'}", 5 + 3 },
	{ "{'type': 'human', 'content': 'é'}", 2 + 3 },
	/* assistant */
	{ "{'type': 'ai', 'content': 'abc'}", 3 + 3 },
	{ "{'type': 'ai', 'content': 'abc', 'tool_calls': []}", 3 + 3 },
	/* [{'name': 'add', 'args': {'a': 1, 'b': None}, 'id': 'c1', 'type': 'tool_call'}] */
	{ "{'type': 'ai', 'content': '', 'tool_calls': [{'name': 'add', 'args': {'a': 1, "
	  "'b': null}, 'id': 'c1', 'type': 'tool_call'}]}",
	    22 + 3 },
	/* [{'x': [True, 1.0, 0.25, '\n']}] */
	{ "{'type': 'ai', 'content': '', 'tool_calls': [{'x': [true, 1.0, 0.25, "
	  "'\\n']}]}",
	    11 + 3 },
	/* [{'x': "it's", 'y': 'it\'s "so"', 'z': -1234567}] */
	{ "{'type': 'ai', 'content': '', 'tool_calls': [{'x': 'it\\u0027s', 'y': "
	  "'it\\u0027s \\u0022so\\u0022', 'z': -1234567}]}",
	    15 + 3 },
	/* A plain beginning, and characters of several bytes far behind it. */
	{ "{'type': 'human', 'content': "
	  "'0123456789012345678901234567890123456789éé0123456789文'}",
	    15 + 3 },
	/* Calls of a model that answers in blocks are among these. */
	{ "{'type': 'ai', 'content': [{'type': 'text', 'text': 'abc'}], 'tool_calls': "
	  "[{'name': 'add', 'args': {}}]}",
	    3 + 3 },
	/* tool, c1 */
	{ "{'type': 'tool', 'content': 'abcdef', 'tool_call_id': 'c1'}", 3 + 3 },
	{ "{'type': 'system', 'content': 'abcd'}", 3 + 3 },
	/* Blocks: text as it is, images a flat number, others as Python writes them. */
	{ "{'type': 'human', 'content': ['ab', {'type': 'text', 'text': 'cd'}]}", 2 + 3 },
	{ "{'type': 'human', 'content': [{'type': 'image_url', 'image_url': {'url': "
	  "'data:0000000000000000000000'}}, {'type': 'image', 'data': '0'}]}",
	    1 + 3 + 170 },
	/* {'type': 'file', 'id': 'f1'} */
	{ "{'type': 'human', 'content': [{'type': 'file', 'id': 'f1'}]}", 8 + 3 },
};

START_TEST(counts_a_message_as_langchain_does)
{
	ck_assert_int_eq(token_count_message(literal(arena, messages[_i].message), 4.0),
	    messages[_i].tokens);
}
END_TEST

START_TEST(a_message_that_is_none_counts_as_empty)
{
	ck_assert_int_eq(token_count_message(NULL, 4.0), 3);
	ck_assert_int_eq(token_count_message(literal(arena, "'x'"), 4.0), 3);
	ck_assert_int_eq(
	    token_count_message(literal(arena, "{'type': 7, 'content': 7}"), 4.0), 1 + 3);
	ck_assert_int_eq(token_count_messages(NULL, 4.0), 0);
}
END_TEST

START_TEST(claudes_tokens_are_shorter)
{
	ck_assert_double_eq(token_chars("anthropic:claude-x"), 3.3);
	ck_assert_double_eq(token_chars("openai:anthropic"), 4.0);
	ck_assert_double_eq(token_chars(NULL), 4.0);
	ck_assert_int_eq(
	    token_count_message(
		literal(arena, "{'type': 'human', 'content': '123456'}"), 3.3),
	    4 + 3);
}
END_TEST

START_TEST(prompt_and_tools_count)
{
	const struct value *tools = literal(arena, "[{'name': 'add'}]");

	ck_assert_int_eq(token_count_head(NULL, NULL, 4.0), 0);
	ck_assert_int_eq(token_count_head("", literal(arena, "[]"), 4.0), 0);
	ck_assert_int_eq(token_count_head("abcd", NULL, 4.0), 3 + 3);
	/* [{'name': 'add'}] */
	ck_assert_int_eq(token_count_head(NULL, tools, 4.0), 5);
	ck_assert_int_eq(token_count_head("abcd", tools, 4.0), 3 + 3 + 5);
}
END_TEST

/* --- what was reported -------------------------------------------------------------- */

#define HUMAN "{'type': 'human', 'content': 'abcd'}" /* 5 tokens */
#define AI(total)                                                                        \
	"{'type': 'ai', 'id': 'a1', 'content': 'abc', 'usage_metadata': "                \
	"{'total_tokens': " total "}}" /* 6 tokens */

static int64_t
count(const char *given, const char *model, const char *sender, const char *stale)
{
	const struct token_request request = { .model = model,
		.sender = sender,
		.messages = literal(arena, given),
		.stale = stale };

	return token_count_request(&request);
}

START_TEST(a_report_corrects_the_count_by_a_quarter_at_most)
{
	ck_assert_int_eq(count("[" HUMAN ", " HUMAN "]", "openai:x", NULL, NULL), 10);
	ck_assert_int_eq(
	    count("[" HUMAN ", " AI("12") ", " HUMAN "]", "openai:x", NULL, NULL), 18);
	ck_assert_int_eq(
	    count("[" HUMAN ", " AI("900") ", " HUMAN "]", "openai:x", NULL, NULL), 20);
	ck_assert_int_eq(
	    count("[" HUMAN ", " AI("3") ", " HUMAN "]", "openai:x", NULL, NULL), 16);
}
END_TEST

START_TEST(a_report_of_another_provider_or_history_is_none)
{
	const char *given = "[" HUMAN ", " AI("900") "]";
	const char *other = "[" HUMAN ", {'type': 'ai', 'content': 'abc', "
			    "'usage_metadata': {'total_tokens': 900}, "
			    "'response_metadata': {'model_provider': 'openai'}}]";

	ck_assert_int_eq(count(given, "openai:x", "openai:y", NULL), 14);
	ck_assert_int_eq(count(given, "openai:x", "local:y", NULL), 11);
	ck_assert_int_eq(count(given, "openai:x", NULL, "a0"), 14);
	ck_assert_int_eq(count(given, "openai:x", NULL, "a1"), 11);
	ck_assert_int_eq(count(other, "openai:x", "local:y", NULL), 14);
	ck_assert_int_eq(count(other, "local:x", "local:y", NULL), 11);
}
END_TEST

START_TEST(reports_the_last_ai_messages_total)
{
	const struct value *given =
	    literal(arena, "[" AI("7") ", " HUMAN ", " AI("9") ", " HUMAN "]");
	size_t at = 0;

	ck_assert_int_eq(token_reported(given, "openai:x", "openai:y", &at), 9);
	ck_assert_uint_eq(at, 2);
	ck_assert_int_eq(token_reported(given, "local:x", "openai:y", &at), -1);
	ck_assert_int_eq(token_reported(given, "openai:x", NULL, NULL), -1);
	ck_assert_int_eq(
	    token_reported(literal(arena, "[" HUMAN "]"), "openai:x", "openai:x", NULL),
	    -1);
	ck_assert_int_eq(token_reported(literal(arena, "[{'type': 'ai'}]"), "openai:x",
			     "openai:x", NULL),
	    -1);
}
END_TEST

TCase *tcase_token_count(void);
TCase *
tcase_token_count(void)
{
	TCase *tcase = tcase_create("token_count");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, counts_a_message_as_langchain_does, 0,
	    (int)(sizeof messages / sizeof *messages));
	tcase_add_test(tcase, a_message_that_is_none_counts_as_empty);
	tcase_add_test(tcase, claudes_tokens_are_shorter);
	tcase_add_test(tcase, prompt_and_tools_count);
	tcase_add_test(tcase, a_report_corrects_the_count_by_a_quarter_at_most);
	tcase_add_test(tcase, a_report_of_another_provider_or_history_is_none);
	tcase_add_test(tcase, reports_the_last_ai_messages_total);
	return tcase;
}
