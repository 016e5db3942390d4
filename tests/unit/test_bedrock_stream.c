/* Answers of Bedrock, whole and in frames. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/bedrock_stream.h"

#include "bounds.h"
#include "json.h"
#include "literal.h"
#include "scripted_frames.h"

static struct arena *arena;
static struct packet shown; /* "|" behind each piece, "/" before another block */

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	packet_release(&shown);
	arena_destroy(&arena);
}

static void
show(void *arg, const char *text, size_t size)
{
	(void)arg;
	packet_append(&shown, text, size);
	packet_append(&shown, "|", 1);
}

static void
show_break(void *arg)
{
	(void)arg;
	packet_append(&shown, "/", 1);
}

/* Returns the frames of a list of {name: body}, in order; of exceptions "!name". */
static struct packet
frames_of(const char *events)
{
	const struct value *list = literal(arena, arena_printf(arena, "[%s]", events));
	struct packet packet = { 0 };

	for (size_t i = 0; i < value_size(list); i++) {
		const struct value_pair *pair = value_at(list, i)->pairs;
		const char *name = value_text(pair->key);
		bool failed = *name == '!';

		scripted_frame(&packet, failed ? "exception" : "event", name + failed,
		    json_text(arena, pair->value));
	}
	return packet;
}

/* Feeds the body in pieces of so many bytes, each a copy of its own size. */
static const struct value *
read_in_pieces(const struct packet *body, size_t piece, struct fault **fault_r)
{
	struct answer_stream *stream = answer_stream_open(&bedrock_stream, arena, "b");
	const struct value *message = NULL;
	int fed = 0;

	shown.size = 0;
	stream->on_text = show;
	stream->on_break = show_break;
	for (size_t at = 0; at < body->size && fed == 0; at += piece) {
		size_t size = body->size - at < piece ? body->size - at : piece;
		char *copy = malloc(size);

		memcpy(copy, body->data + at, size);
		fed = answer_stream_feed(stream, copy, size);
		free(copy);
	}
	if (fed == 0)
		message = answer_stream_end(stream, fault_r);
	else
		*fault_r = stream->fault;
	answer_stream_close(stream);
	packet_append(&shown, "", 1);
	return message;
}

/* --- messages ---------------------------------------------------------------------- */

#define BEGIN "{'messageStart':{'role':'assistant'}}"
#define DELTA(index, delta)                                                              \
	",{'contentBlockDelta':{'delta':{" delta "},'contentBlockIndex':" #index "}}"
#define START(index, start)                                                              \
	",{'contentBlockStart':{'start':{" start "},'contentBlockIndex':" #index "}}"
#define STOP(index) ",{'contentBlockStop':{'contentBlockIndex':" #index "}}"
#define REASON(reason) ",{'messageStop':{'stopReason':'" reason "'}}"
#define USAGE                                                                            \
	"'usage':{'inputTokens':10,'outputTokens':15,'totalTokens':30,"                  \
	"'cacheReadInputTokens':5},'metrics':{'latencyMs':7}"
#define END ",{'metadata':{" USAGE "}}"
/* The same in frames and whole. */
static const struct {
	const char *events;
	const char *content; /* of the plain answer */
	const char *reason;
	const char *message, *shown;
} rows[] = {
	{ BEGIN DELTA(0, "'text':'he'") DELTA(0, "'text':'llo'") STOP(0),
	    "[{'text':'hello'}]", "end_turn", "{'type':'ai','content':'hello',",
	    "he|llo|" },
	{ BEGIN DELTA(0, "'text':'ok'") STOP(0)
		START(1, "'toolUse':{'toolUseId':'t1','name':'f'}")
		    DELTA(1, "'toolUse':{'input':''}")
			DELTA(1, "'toolUse':{'input':'{\\u0022a\\u0022: \\u0022é'}")
			    DELTA(1, "'toolUse':{'input':'\\u0022}'}") STOP(1) START(
				2, "'toolUse':{'toolUseId':'t2','name':'g'}") STOP(2),
	    "[{'text':'ok'},{'toolUse':{'toolUseId':'t1','name':'f','input':{'a':'é'}}},"
	    "{'toolUse':{'toolUseId':'t2','name':'g','input':{}}}]",
	    "tool_use",
	    "{'type':'ai','content':'ok','tool_calls':[{'name':'f','args':{'a':'é'},'id':"
	    "'t1','type':'tool_call'},{'name':'g','args':{},'id':'t2','type':'tool_call'}"
	    "],",
	    "ok|" },
	{ BEGIN DELTA(0, "'reasoningContent':{'text':'h'}")
		DELTA(0, "'reasoningContent':{'text':'m'}")
		    DELTA(0, "'reasoningContent':{'signature':'S=='}") STOP(0)
			DELTA(1, "'reasoningContent':{'redactedContent':'R=='}") STOP(1)
			    DELTA(2, "'text':'so'") STOP(2) DELTA(3, "'text':'!'"),
	    "[{'reasoningContent':{'reasoningText':{'text':'hm','signature':'S=='}}},{"
	    "'reasoningContent':{'redactedContent':'R=='}},{'text':'so'},{'text':'!'}]",
	    "end_turn",
	    "{'type':'ai','content':[{'type':'reasoning_content','reasoning_content':{"
	    "'text':'hm','signature':'S=='}},{'type':'reasoning_content',"
	    "'reasoning_content':{'redacted_content':'R=='}},{'type':'text','text':'so'},"
	    "{'type':'text','text':'!'}],",
	    "so|/!|" },
	{ BEGIN DELTA(0, "'text':'a'")
		DELTA(0, "'citation':{'title':'T','location':{'web':{'url':'u'}}}"),
	    "[{'citationsContent':{'content':[{'text':'a'}],'citations':[{'title':'T',"
	    "'location':{'web':{'url':'u'}}}]}}]",
	    "end_turn",
	    "{'type':'ai','content':[{'type':'text','text':'a','citations':[{'title':'T',"
	    "'location':{'web':{'url':'u'}}}]}],",
	    "a|" },
	{ BEGIN START(0, "'toolUse':{'toolUseId':'s1','name':'nova_grounding','type':"
			 "'server_tool_use'}") STOP(0)
		START(1, "'toolResult':{'toolUseId':'s1','status':'success'}") DELTA(
		    1, "'toolResult':[{'json':{'a':1}}]") STOP(1) DELTA(2, "'text':'a'"),
	    "[{'toolUse':{'toolUseId':'s1','name':'nova_grounding','type':"
	    "'server_tool_use','input':{}}},{'toolResult':{'toolUseId':'s1','status':"
	    "'success','content':[{'json':{'a':1}}]}},{'text':'a'}]",
	    "end_turn",
	    "{'type':'ai','content':[{'type':'server_tool_use','id':'s1','name':"
	    "'nova_grounding','input':{}},{'type':'server_tool_result',"
	    "'tool_use_id':'s1','content':[{'type':'json','json':{'a':1}}]},{'type':"
	    "'text','text':'a'}],",
	    "a|" },
	/* without content, and what is of tomorrow */
	{ BEGIN ",{'ofTomorrow':{'a':1}}", "[]", "content_filtered",
	    "{'type':'ai','content':'',", "" },
};

static const char *
message_of(int i)
{
	return arena_printf(arena,
	    "%s'usage_metadata':{'input_tokens':15,'output_tokens':15,'total_tokens':30,"
	    "'input_token_details':{'cache_read':5,'cache_creation':0}},"
	    "'response_metadata':{'stopReason':'%s','metrics':{'latencyMs':7}}}",
	    rows[i].message, rows[i].reason);
}

START_TEST(a_stream_is_put_together_whatever_its_pieces)
{
	static const size_t pieces[] = { 1, 2, 7, 64, 1 << 20 };
	struct packet body =
	    frames_of(arena_printf(arena, "%s,{'messageStop':{'stopReason':'%s'}}" END,
		rows[_i].events, rows[_i].reason));

	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
		struct fault *fault = NULL;
		const struct value *message = read_in_pieces(&body, pieces[i], &fault);

		ck_assert_msg(message != NULL, "%s", fault == NULL ? "" : fault->message);
		ck_assert_value(arena, message, message_of(_i));
		ck_assert_str_eq(shown.data, rows[_i].shown);
	}
	packet_release(&body);
}
END_TEST

/* Also where a stream was asked for. */
START_TEST(a_plain_answer_says_the_same)
{
	const char *text = json_text(arena,
	    literal(arena,
		arena_printf(arena,
		    "{'output':{'message':{'role':'assistant','content':%s}},'stopReason'"
		    ":'%s'," USAGE "}",
		    rows[_i].content, rows[_i].reason)));
	struct packet body = { .data = (char *)text, .size = strlen(text) };
	struct fault *fault = NULL;
	const struct value *message = read_in_pieces(&body, 9, &fault);

	ck_assert_msg(message != NULL, "%s", fault == NULL ? "" : fault->message);
	ck_assert_value(arena, message, message_of(_i));
}
END_TEST

START_TEST(an_input_that_is_no_json_is_an_invalid_call)
{
	struct packet body =
	    frames_of(BEGIN START(0, "'toolUse':{'toolUseId':'t1','name':'f'}")
		    DELTA(0, "'toolUse':{'input':'{oops'}") REASON("max_tokens"));
	struct fault *fault = NULL;
	const struct value *message = read_in_pieces(&body, 5, &fault), *calls;

	ck_assert_ptr_nonnull(message); /* though no metadata came */
	calls = value_get(message, "invalid_tool_calls");
	ck_assert_str_eq(value_get_text(value_at(calls, 0), "args"), "{oops");
	ck_assert_ptr_null(value_get(message, "usage_metadata"));
	packet_release(&body);
}
END_TEST

/* --- what is none ------------------------------------------------------------------ */

static const struct {
	const char *events, *type, *reason;
} bad[] = {
	{ "", "APIConnectionError", "broke off before its end" },
	{ BEGIN DELTA(0, "'text':'a'") STOP(0), "APIConnectionError", "broke off" },
	{ BEGIN REASON(""), "APIConnectionError", "broke off" },
	{ BEGIN END, "APIConnectionError", "broke off" },
	{ BEGIN DELTA(0, "'text':'a'") ",{'!throttlingException':{'message':'slow'}}",
	    "RateLimitError", "status 429: throttlingException: slow" },
	{ "{'!validationException':{'message':'Input is too long for requested model'}}",
	    "ContextOverflowError", "too long" },
	{ "{'messageStart':[1]}", "APIResponseError", "no JSON object" },
	{ BEGIN START(0, "'toolUse':{'toolUseId':'t1'}") REASON("tool_use") END,
	    "APIResponseError", "has no name" },
};

START_TEST(what_is_no_whole_answer_is_a_fault)
{
	struct packet body = frames_of(bad[_i].events);
	struct fault *fault = NULL;

	ck_assert_ptr_null(read_in_pieces(&body, 5, &fault));
	ck_assert_str_eq(fault->type, bad[_i].type);
	ck_assert_msg(strstr(fault->message, bad[_i].reason) != NULL,
	    "'%s' is not in: %s", bad[_i].reason, fault->message);
	packet_release(&body);
}
END_TEST

/* An error of the transport, and what is no frame at all. */
START_TEST(what_is_no_event_is_a_fault)
{
	struct packet body = { 0 },
		      page = { .data = (char *)"<html>Sign in", .size = 13 };
	struct fault *fault = NULL;

	scripted_frame_with(&body,
	    (const char *const[][2]){ { ":message-type", "error" },
		{ ":error-code", "InternalServerException" },
		{ ":error-message", "it broke" }, { NULL, NULL } },
	    "", 0);
	ck_assert_ptr_null(read_in_pieces(&body, 3, &fault));
	ck_assert_str_eq(fault->type, "InternalServerError");
	ck_assert_ptr_nonnull(strstr(fault->message, "it broke"));
	packet_release(&body);
	ck_assert_ptr_null(read_in_pieces(&page, 3, &fault));
	ck_assert_str_eq(fault->type, "APIResponseError");
}
END_TEST

static const struct {
	const char *body, *reason;
} unreadable[] = {
	{ "{}", "it has no output" },
	{ "{'output':{'message':{'content':'a'}}}", "it has no output" },
	{ "{'output':{'message':{'content':[1]}}}", "not a list of blocks" },
	{ "{'output':{'message':{'content':[{'toolUse':{'toolUseId':'t'}}]}}}",
	    "no name" },
	{ "{'Output':{'__type':'com.amazon.coral.service#UnknownOperationException'}}",
	    "it has no output" },
};

START_TEST(what_is_no_plain_answer_is_a_fault)
{
	const char *text = json_text(arena, literal(arena, unreadable[_i].body));
	struct packet body = { .data = (char *)text, .size = strlen(text) };
	struct fault *fault = NULL;

	ck_assert_ptr_null(read_in_pieces(&body, 4, &fault));
	ck_assert_str_eq(fault->type, "APIResponseError");
	ck_assert_ptr_nonnull(strstr(fault->message, unreadable[_i].reason));
}
END_TEST

START_TEST(there_is_an_end_to_blocks)
{
	struct packet body = { 0 };
	struct fault *fault = NULL;

	for (unsigned i = 0; i <= ANSWER_BLOCKS_MAX; i++)
		scripted_frame(&body, "event", "contentBlockDelta",
		    arena_printf(arena,
			"{\"delta\":{\"text\":\"\"},\"contentBlockIndex\":%u}", i));
	ck_assert_ptr_null(read_in_pieces(&body, 4096, &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "too many blocks"));
	packet_release(&body);
}
END_TEST

/* Whatever is kept, and however often. */
static const char *const endless[] = {
	"{\"delta\":{\"text\":\"%s\"},\"contentBlockIndex\":0}",
	"{\"delta\":{\"reasoningContent\":{\"text\":\"%s\"}}}",
	"{\"delta\":{\"citation\":{\"title\":\"%s\"}}}",
};

START_TEST(there_is_an_end_to_what_is_kept)
{
	struct packet body = { 0 };
	struct fault *fault = NULL;
	char pad[100001];

	memset(pad, 'x', sizeof pad - 1);
	pad[sizeof pad - 1] = '\0';
	for (size_t size = 0; size < (size_t)2 * ANSWER_BYTES_MAX; size += sizeof pad) {
		const char *gap = strstr(endless[_i], "%s");

		scripted_frame(&body, "event", "contentBlockDelta",
		    arena_printf(arena, "%.*s%s%s", (int)(gap - endless[_i]), endless[_i],
			pad, gap + 2));
	}
	ck_assert_ptr_null(read_in_pieces(&body, 4096, &fault));
	ck_assert_str_eq(fault->type, "APIResponseError");
	ck_assert_ptr_nonnull(strstr(fault->message, "it is too large"));
	packet_release(&body);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_bedrock_stream(void);

TCase *
tcase_bedrock_stream(void)
{
	TCase *tcase = tcase_create("bedrock_stream");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, a_stream_is_put_together_whatever_its_pieces, 0, COUNT(rows));
	tcase_add_loop_test(tcase, a_plain_answer_says_the_same, 0, COUNT(rows));
	tcase_add_test(tcase, an_input_that_is_no_json_is_an_invalid_call);
	tcase_add_loop_test(tcase, what_is_no_whole_answer_is_a_fault, 0, COUNT(bad));
	tcase_add_test(tcase, what_is_no_event_is_a_fault);
	tcase_add_loop_test(
	    tcase, what_is_no_plain_answer_is_a_fault, 0, COUNT(unreadable));
	tcase_add_test(tcase, there_is_an_end_to_blocks);
	tcase_add_loop_test(tcase, there_is_an_end_to_what_is_kept, 0, COUNT(endless));
	return tcase;
}
