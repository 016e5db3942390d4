#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/openai_answer.h"

#include "bounds.h"
#include "json.h"
#include "literal.h"

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

/* Returns the body of an answer with this message. */
static const struct value *
body_with(const char *message)
{
	return value_map(arena, "choices",
	    literal(arena, value_text(value_printf(arena, "[{'message':%s}]", message))),
	    NULL);
}

/* --- answers ----------------------------------------------------------------------- */

/* `message` of the answer and the AI message it becomes, type and response_metadata
 * apart. */
static const struct {
	const char *message, *read;
} messages[] = {
	{ "{'role':'assistant','content':'hi'}", "{'content':'hi'}" },
	{ "{'content':null}", "{'content':''}" },
	{ "{}", "{'content':''}" },
	{ "{'content':[{'type':'text','text':'a'}]}",
	    "{'content':[{'type':'text','text':'a'}]}" },
	{ "{'content':null,'refusal':'no'}",
	    "{'content':'','additional_kwargs':{'refusal':'no'}}" },
	{ "{'content':'a','refusal':null,'reasoning_content':'hm'}",
	    "{'content':'a','additional_kwargs':{'reasoning_content':'hm'}}" },
	{ "{'content':'a','reasoning_content':null}", "{'content':'a'}" },
	{ "{'content':'a','reasoning_details':[{'type':'reasoning.encrypted','data':'E'}]"
	  "}",
	    "{'content':'a','additional_kwargs':{'reasoning_details':[{'type':"
	    "'reasoning.encrypted','data':'E'}]}}" },
	{ "{'content':'a','reasoning_details':[]}", "{'content':'a'}" },
	{ "{'reasoning_content':'hm','tool_calls':[{'id':'c1','function':{'name':'f'}},"
	  "{'id':'c2','function':{'name':'g','arguments':'oops'},'extra_content':{'x':1}}"
	  ","
	  "{'id':'c3','function':{'name':'h'},'extra_content':{'x':2}}]}",
	    "{'content':'','tool_calls':[{'name':'f','args':{},'id':'c1','type':"
	    "'tool_call'},{'name':'h','args':{},'id':'c3','type':'tool_call'}],"
	    "'invalid_tool_calls':[{'name':'g','args':'oops','id':'c2','error':'line 1, "
	    "column 2: invalid char in json text.','type':'invalid_tool_call'}],"
	    "'additional_kwargs':{'reasoning_content':'hm','extra_content':{'c2':{'x':1},"
	    "'c3':{'x':2}}}}" },
	{ "{'content':'','tool_calls':[]}", "{'content':''}" },
	{ "{'tool_calls':[{'id':'c1','type':'function','function':{'name':'add','"
	  "arguments':"
	  "'{\\'a\\':1,\\'b\\':[2]}'}}]}",
	    "{'content':'','tool_calls':[{'name':'add','args':{'a':1,'b':[2]},'id':'c1',"
	    "'type':'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'now','arguments':''}}]}",
	    "{'content':'','tool_calls':[{'name':'now','args':{},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'now'}}]}",
	    "{'content':'','tool_calls':[{'name':'now','args':{},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'now','arguments':'null'}}]}",
	    "{'content':'','tool_calls':[{'name':'now','args':{},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':{'a':1}}}]}",
	    "{'content':'','tool_calls':[{'name':'f','args':{'a':1},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':"
	  "'{\\'a\\':\\'x\\n\\ty\\\\\\'z\\u0001\\'\\n}'}}]}",
	    "{'content':'','tool_calls':[{'name':'f','args':{'a':'x\\n\\ty\\'z\\u0001'},"
	    "'id':'c1','type':'tool_call'}]}" },
	/* A line break is no escape. */
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':"
	  "'{\\'a\\':\\'x\\\\\\n\\'}'}}]}",
	    "{'content':'','invalid_tool_calls':[{'name':'f','args':'{\\'a\\':\\'"
	    "x\\\\\\n\\'}',"
	    "'id':'c1','error':'line 1, column 9: inside a string, \\u0027\\\\\\u0027 "
	    "occurs "
	    "before a "
	    "character which it may not.','type':'invalid_tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':'[1]'}}]}",
	    "{'content':'','invalid_tool_calls':[{'name':'f','args':'[1]','id':'c1','"
	    "error':"
	    "'the arguments are not a JSON object','type':'invalid_tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':5}}]}",
	    "{'content':'','invalid_tool_calls':[{'name':'f','args':'5','id':'c1','error'"
	    ":"
	    "'the arguments are not a JSON object','type':'invalid_tool_call'}]}" },
};

START_TEST(a_message_is_read)
{
	const char *error = NULL;
	const struct value *message =
	    openai_answer(arena, body_with(messages[_i].message), &error);

	ck_assert_str_eq(value_get_text(message, "type"), "ai");
	message = value_map_with(arena, message, "type", NULL);
	message = value_map_with(arena, message, "response_metadata", NULL);
	ck_assert_value(arena, message, messages[_i].read);
}
END_TEST

START_TEST(malformed_arguments_make_an_invalid_call_beside_the_valid_ones)
{
	const char *error = NULL;
	const struct value *message = openai_answer(arena,
	    body_with("{'tool_calls':["
		      "{'id':'c1','function':{'name':'add','arguments':'{\\'a\\': 1,'}},"
		      "{'id':'c2','function':{'name':'add','arguments':'{}'}}]}"),
	    &error);
	const struct value *invalid =
	    value_at(value_get(message, "invalid_tool_calls"), 0);

	ck_assert_str_eq(value_get_text(invalid, "name"), "add");
	ck_assert_str_eq(value_get_text(invalid, "id"), "c1");
	ck_assert_str_eq(value_get_text(invalid, "args"), "{\"a\": 1,");
	ck_assert_ptr_nonnull(value_get_text(invalid, "error"));
	ck_assert_value(arena, value_get(message, "tool_calls"),
	    "[{'name':'add','args':{},'id':'c2','type':'tool_call'}]");
}
END_TEST

START_TEST(calls_without_an_id_of_their_own_get_one)
{
	const char *error = NULL;
	const struct value *message = openai_answer(arena,
	    body_with(
		"{'tool_calls':[{'function':{'name':'a'}},{'id':'','function':{'name':"
		"'b'}},{'id':'x','function':{'name':'c'}},{'id':'x','function':{"
		"'name':'d'}}]}"),
	    &error);
	const struct value *calls = value_get(message, "tool_calls");
	const char *ids[4];

	ck_assert_uint_eq(value_size(calls), 4);
	for (size_t i = 0; i < 4; i++) {
		ids[i] = value_get_text(value_at(calls, i), "id");
		ck_assert_uint_gt(strlen(ids[i]), 0);
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(ids[i], ids[j]);
	}
	ck_assert_str_eq(ids[2], "x");
}
END_TEST

START_TEST(usage_and_metadata_are_kept)
{
	const char *error = NULL;
	const struct value *message = openai_answer(arena,
	    literal(arena,
		"{'id':'chatcmpl-1','model':'gpt-4o-2024','system_fingerprint':'fp',"
		"'choices':[{'message':{'content':'x'},'finish_reason':'length'}],"
		"'usage':{'prompt_tokens':10,'completion_tokens':5,'total_tokens':15,"
		"'prompt_tokens_details':{'cached_tokens':4},"
		"'completion_tokens_details':{'reasoning_tokens':3}}}"),
	    &error);

	ck_assert_value(arena, value_get(message, "usage_metadata"),
	    "{'input_tokens':10,'output_tokens':5,'total_tokens':15,"
	    "'input_token_details':{'cache_read':4},'output_token_details':{'reasoning':"
	    "3}}");
	ck_assert_value(arena, value_get(message, "response_metadata"),
	    "{'finish_reason':'length','model_name':'gpt-4o-2024','id':'chatcmpl-1',"
	    "'system_fingerprint':'fp'}");
	ck_assert(!value_has(message, "id")); /* a server may give the same one twice */
}
END_TEST

START_TEST(numbers_of_tokens_that_cannot_be_are_not_believed)
{
	ck_assert_value(arena,
	    openai_usage(arena,
		literal(arena,
		    "{'prompt_tokens':-3,'completion_tokens':9223372036854775807,"
		    "'total_tokens':'many'}"),
		&openai_chat_counts),
	    "{'input_tokens':0,'output_tokens':0,'total_tokens':0}");
	ck_assert_value(arena,
	    openai_usage(arena,
		literal(arena, "{'prompt_tokens':3,'completion_tokens':4}"),
		&openai_chat_counts),
	    "{'input_tokens':3,'output_tokens':4,'total_tokens':7}");
	ck_assert_ptr_null(openai_usage(arena, NULL, &openai_chat_counts));
	ck_assert_ptr_null(openai_usage(arena, value_nil(), &openai_chat_counts));
}
END_TEST

static const struct {
	const char *body, *reason;
} unreadable[] = {
	{ "{}", "it has no message" },
	{ "[]", "it has no message" },
	{ "'text'", "it has no message" },
	{ "{'choices':[]}", "it has no message" },
	{ "{'choices':{'0':1}}", "it has no message" },
	{ "{'choices':[{'message':'hi'}]}", "it has no message" },
	{ "{'choices':[{'delta':{'content':'x'}}]}", "it has no message" },
	{ "{'choices':[{'message':{'content':5}}]}",
	    "its content is neither text nor a list" },
	{ "{'choices':[{'message':{'tool_calls':[{'id':'1'}]}}]}",
	    "a tool call names no function" },
	{ "{'choices':[{'message':{'tool_calls':[{'function':{'name':''}}]}}]}",
	    "a tool call names no function" },
	{ "{'choices':[{'message':{'tool_calls':[7]}}]}",
	    "a tool call names no function" },
	{ "{'choices':[{'message':{'tool_calls':'abc'}}]}",
	    "a tool call names no function" },
};

START_TEST(what_is_no_answer_is_refused_with_a_reason)
{
	const char *error = NULL;

	ck_assert_ptr_null(
	    openai_answer(arena, literal(arena, unreadable[_i].body), &error));
	ck_assert_str_eq(error, unreadable[_i].reason);
}
END_TEST

/* Reads an answer whose message has so many items under a key. */
static const struct value *
answer_with(const char *key, const char *item, size_t count, const char **error_r)
{
	struct value_list items = { .arena = arena };
	const struct value *message, *choice;

	for (size_t i = 0; i < count; i++)
		value_list_add(&items, literal(arena, item));
	message = value_map(arena, key, value_list_end(&items), NULL);
	choice = value_map(arena, "message", message, NULL);
	return openai_answer(arena,
	    value_map(arena, "choices", value_array(arena, &choice, 1), NULL), error_r);
}

static const struct {
	const char *key, *item, *reason;
	size_t max;
} many[] = {
	{ "tool_calls", "{'function':{'name':'f'}}",
	    "more than 128 tool calls in one message", TOOL_CALLS_MAX },
	{ "content", "{'type':'text','text':'a'}", "too many blocks in one message",
	    ANSWER_BLOCKS_MAX },
	{ "reasoning_details", "{'type':'x'}", "too many blocks in one message",
	    ANSWER_BLOCKS_MAX },
};

START_TEST(more_than_the_limit_is_refused)
{
	const char *error = NULL;

	ck_assert_ptr_nonnull(
	    answer_with(many[_i].key, many[_i].item, many[_i].max, &error));
	ck_assert_ptr_null(
	    answer_with(many[_i].key, many[_i].item, many[_i].max + 1, &error));
	ck_assert_str_eq(error, many[_i].reason);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_openai_answer(void);

TCase *
tcase_openai_answer(void)
{
	TCase *tcase = tcase_create("openai_answer");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_message_is_read, 0, COUNT(messages));
	tcase_add_test(
	    tcase, malformed_arguments_make_an_invalid_call_beside_the_valid_ones);
	tcase_add_test(tcase, calls_without_an_id_of_their_own_get_one);
	tcase_add_test(tcase, usage_and_metadata_are_kept);
	tcase_add_test(tcase, numbers_of_tokens_that_cannot_be_are_not_believed);
	tcase_add_loop_test(
	    tcase, what_is_no_answer_is_refused_with_a_reason, 0, COUNT(unreadable));
	tcase_add_loop_test(tcase, more_than_the_limit_is_refused, 0, COUNT(many));
	return tcase;
}
