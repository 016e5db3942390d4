#include <check.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/anthropic_answer.h"
#include "../../worker-model/anthropic_pause.h"
#include "../../worker-model/anthropic_stream.h"

#include "bounds.h"
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

static const struct {
	const char *body, *message;
} answers[] = {
	{ "{'id':'msg_1','type':'message','role':'assistant','model':'claude-x','content'"
	  ":[{'type':'text','text':'hello'}],'stop_reason':'end_turn','stop_sequence':"
	  "null,'usage':{'input_tokens':10,'output_tokens':3}}",
	    "{'type':'ai','content':'hello','usage_metadata':{'input_tokens':10,'output_"
	    "tokens':3,'total_tokens':13},'response_metadata':{'stop_reason':'end_turn','"
	    "model_name':'claude-x','id':'msg_1'}}" },
	{ "{'content':[{'type':'text','text':'so'},{'type':'tool_use','id':'t1','name':'"
	  "f','input':{'a':1}},{'type':'tool_use','id':'t2','name':'g','input':{}}],'"
	  "stop_reason':'tool_use'}",
	    "{'type':'ai','content':'so','tool_calls':[{'name':'f','args':{'a':1},'id':'"
	    "t1','type':'tool_call'},{'name':'g','args':{},'id':'t2','type':'tool_call'}]"
	    ",'response_metadata':{'stop_reason':'tool_use'}}" },
	{ "{'content':[{'type':'tool_use','id':'t1','name':'f','input':{}}],'stop_reason'"
	  ":'tool_use'}",
	    "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'t1','"
	    "type':'tool_call'}],'response_metadata':{'stop_reason':'tool_use'}}" },
	{ "{'content':[{'type':'thinking','thinking':'hm','signature':'S'},{'type':'text'"
	  ",'text':'so'},{'type':'tool_use','id':'t1','name':'f','input':{}}],'stop_"
	  "reason':'tool_use'}",
	    "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S'},"
	    "{'type':'text','text':'so'},{'type':'tool_use','id':'t1','name':'f','input':"
	    "{}}],'tool_calls':[{'name':'f','args':{},'id':'t1','type':'tool_call'}],'"
	    "response_metadata':{'stop_reason':'tool_use'}}" },
	{ "{'content':[{'type':'redacted_thinking','data':'D'},{'type':'text','text':'so'"
	  "}],'stop_reason':'stop_sequence','stop_sequence':'END'}",
	    "{'type':'ai','content':[{'type':'redacted_thinking','data':'D'},{'type':'"
	    "text','text':'so'}],'response_metadata':{'stop_reason':'stop_sequence','"
	    "stop_sequence':'END'}}" },
	{ "{'content':[{'type':'text','text':'a','citations':[{'x':1}]}]}",
	    "{'type':'ai','content':[{'type':'text','text':'a','citations':[{'x':1}]}],'"
	    "response_metadata':{}}" },
	{ "{'content':[],'stop_reason':'refusal','stop_details':{'type':'refusal','"
	  "category':'cyber'}}",
	    "{'type':'ai','content':'','response_metadata':{'stop_reason':'refusal','"
	    "stop_details':{'type':'refusal','category':'cyber'}}}" },
	{ "{'content':[{'type':'tool_use','id':'t1','name':'f','input':'{oops'}]}",
	    "{'type':'ai','content':'','invalid_tool_calls':[{'name':'f','args':'{oops','"
	    "id':'t1','error':'?','type':'invalid_tool_call'}],'response_metadata':{}}" },
};

/* Why JSON is none is said by who reads it. */
static const struct value *
without_reason(const struct value *message)
{
	const struct value *invalid = value_get(message, "invalid_tool_calls"), *call;

	if (value_size(invalid) == 0)
		return message;
	call =
	    value_map_with(arena, value_at(invalid, 0), "error", value_str(arena, "?"));
	return value_map_with(
	    arena, message, "invalid_tool_calls", value_array(arena, &call, 1));
}

START_TEST(an_answer_becomes_a_message)
{
	const char *error = NULL;
	const struct value *message =
	    anthropic_answer(arena, literal(arena, answers[_i].body), &error);

	ck_assert_msg(message != NULL, "%s", error);
	ck_assert_value(arena, without_reason(message), answers[_i].message);
}
END_TEST

static const struct {
	const char *body, *reason;
} bad[] = {
	{ "{}", "it has no content" },
	{ "{'content':'text'}", "it has no content" },
	{ "{'content':['text']}", "its content is not a list of blocks" },
	{ "{'content':[{'text':'a'}]}", "its content is not a list of blocks" },
	{ "{'content':[{'type':'tool_use','id':'a','input':{}}]}",
	    "a tool call has no name" },
};

START_TEST(what_is_no_answer_is_said)
{
	const char *error = NULL;

	ck_assert_ptr_null(anthropic_answer(arena, literal(arena, bad[_i].body), &error));
	ck_assert_str_eq(error, bad[_i].reason);
}
END_TEST

static const struct {
	const char *usage, *metadata;
} usages[] = {
	{ "{'input_tokens':10,'output_tokens':2,'cache_read_input_tokens':100,'cache_"
	  "creation_input_tokens':40}",
	    "{'input_tokens':150,'output_tokens':2,'total_tokens':152,'input_token_"
	    "details':{'cache_read':100,'cache_creation':40}}" },
	{ "{'input_tokens':10,'output_tokens':2,'cache_read_input_tokens':100,'cache_"
	  "creation_input_tokens':40,'cache_creation':{'ephemeral_5m_input_tokens':30,'"
	  "ephemeral_1h_input_tokens':10}}",
	    "{'input_tokens':150,'output_tokens':2,'total_tokens':152,'input_token_"
	    "details':{'cache_read':100,'cache_creation':0,'ephemeral_5m_input_tokens':"
	    "30,'ephemeral_1h_input_tokens':10}}" },
	{ "{'input_tokens':-5,'output_tokens':1e300,'cache_read_input_tokens':null}",
	    "{'input_tokens':0,'output_tokens':0,'total_tokens':0}" },
};

START_TEST(tokens_of_the_cache_are_part_of_the_input)
{
	ck_assert_value(arena, anthropic_usage(arena, literal(arena, usages[_i].usage)),
	    usages[_i].metadata);
}
END_TEST

#define KEYS 5000
#define DELTAS 500
#define KEY_BYTES 24u

static void
feed(struct answer_stream *stream, const char *event)
{
	ck_assert_int_eq(answer_stream_feed(stream, event, strlen(event)), 0);
	ck_assert_int_eq(answer_stream_feed(stream, "\n\n", 2), 0);
}

/* Each event that goes on with the message copies what is kept of it: were all of it kept, 8 MiB of
 * a server's making could become terabytes. */
START_TEST(what_nobody_reads_of_a_streamed_message_is_not_kept)
{
	static char keys[KEYS * KEY_BYTES], event[2 * sizeof keys + 1000];
	struct answer_stream *stream =
	    answer_stream_open(&anthropic_stream, arena, "anthropic");
	struct fault *fault = NULL;
	const struct value *message;
	size_t used = 0;

	for (int i = 0; i < KEYS; i++)
		used +=
		    (size_t)snprintf(keys + used, sizeof keys - used, "\"key-%d\":1,", i);
	snprintf(event, sizeof event,
	    "data: {\"type\":\"message_start\",\"message\":{%s\"usage\":{%s"
	    "\"input_tokens\":10}}}",
	    keys, keys);
	feed(stream, event);
	for (int i = 0; i < DELTAS; i++) {
		snprintf(event, sizeof event,
		    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
		    "\"end_turn\",\"k%d\":1},\"usage\":{\"output_tokens\":15,\"k%d\":1}}",
		    i, i);
		feed(stream, event);
	}
	message = answer_stream_end(stream, &fault);
	answer_stream_close(stream);
	ck_assert_value(arena, value_get(message, "usage_metadata"),
	    "{'input_tokens':10,'output_tokens':15,'total_tokens':25}");
	ck_assert_uint_lt(arena_bytes(arena), (size_t)KEYS * KEY_BYTES * 10);
}
END_TEST

/* --- parts of one answer -------------------------------------------------------------- */

/* A message with that content: so many blocks of so many bytes. */
static const struct value *
part(size_t blocks, size_t bytes)
{
	struct value_list list = { .arena = arena };
	char *text = arena_alloc(arena, bytes);

	memset(text, 'x', bytes);
	for (size_t i = 0; i < blocks; i++)
		value_list_add(&list, value_map(arena, "type", value_str(arena, "text"),
					  "text", value_strn(arena, text, bytes), NULL));
	return value_map(arena, "content", value_list_end(&list), NULL);
}

#define HALF (ANSWER_BYTES_MAX / 2)

static const struct {
	size_t blocks, bytes, more_blocks, more_bytes;
	const char *reason;
} parts[] = {
	{ ANSWER_BLOCKS_MAX - 1, 1, 1, 1, NULL },
	{ ANSWER_BLOCKS_MAX, 1, 1, 1, "too many blocks in one message" },
	{ 1, HALF, 1, HALF - 100, NULL },
	{ 1, HALF, 1, HALF, "it is too large" },
};

START_TEST(a_plain_answer_has_no_more_blocks_than_a_streamed_one)
{
	const char *error = NULL;

	ck_assert_ptr_nonnull(
	    anthropic_answer(arena, part(ANSWER_BLOCKS_MAX, 1), &error));
	ck_assert_ptr_null(
	    anthropic_answer(arena, part(ANSWER_BLOCKS_MAX + 1, 1), &error));
	ck_assert_str_eq(error, "too many blocks in one message");
}
END_TEST

START_TEST(the_parts_together_are_no_more_than_one_answer)
{
	const char *error = "?";
	const struct value *message =
	    anthropic_joined(arena, part(parts[_i].blocks, parts[_i].bytes),
		part(parts[_i].more_blocks, parts[_i].more_bytes), &error);

	if (parts[_i].reason != NULL) {
		ck_assert_ptr_null(message);
		ck_assert_str_eq(error, parts[_i].reason);
		return;
	}
	ck_assert_uint_eq(value_size(value_get(message, "content")),
	    parts[_i].blocks + parts[_i].more_blocks);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_anthropic_answer(void);

TCase *
tcase_anthropic_answer(void)
{
	TCase *tcase = tcase_create("anthropic_answer");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, an_answer_becomes_a_message, 0, COUNT(answers));
	tcase_add_loop_test(tcase, what_is_no_answer_is_said, 0, COUNT(bad));
	tcase_add_loop_test(
	    tcase, tokens_of_the_cache_are_part_of_the_input, 0, COUNT(usages));
	tcase_add_test(tcase, what_nobody_reads_of_a_streamed_message_is_not_kept);
	tcase_add_test(tcase, a_plain_answer_has_no_more_blocks_than_a_streamed_one);
	tcase_add_loop_test(
	    tcase, the_parts_together_are_no_more_than_one_answer, 0, COUNT(parts));
	return tcase;
}
