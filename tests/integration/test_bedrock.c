/* The model worker against a provider that answers as Amazon Bedrock would, and looks at who has signed. */
#include <check.h>
#include <string.h>

#include "literal.h"
#include "model_bench.h"
#include "scripted_bedrock.h"

TCase *tcase_bedrock(void);

static struct model_bench bench;

static void
setup(void)
{
	model_bench_start(&bench, NULL);
}

static void
teardown(void)
{
	model_bench_stop(&bench);
}

#define ID "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
#define MODEL "'model':'bedrock_converse:" ID "'"
#define RETRY                                                                            \
	"'middleware':[{'name':'model_retry','settings':{'max_retries':2,"               \
	"'initial_delay':0,'jitter':false}}]"

static const unsigned ways[] = { 0, WIRE_STREAM };

static const struct value *
sent(size_t index)
{
	return value_at(model_bench_requests(&bench), index);
}

START_TEST(a_call_is_signed_and_answered)
{
	const struct value *body, *request;

	model_bench_script(&bench,
	    "{'" ID
	    "':[{'blocks':[{'reasoningContent':{'reasoningText':{'text':'let me think',"
	    "'signature':'S=='}}},{'text':'one two 四'},{'toolUse':{'toolUseId':'t1',"
	    "'name':'f','input':{'a':'é'}}}],'usage':{'inputTokens':3,'outputTokens':9,"
	    "'cacheReadInputTokens':20},'piece_bytes':11}]}");
	body = model_bench_call(&bench, ways[_i],
	    "{" MODEL ",'system_prompt':'Be kind.','model_settings':{'max_tokens':99,"
	    "'top_k':5},'tools':[{'name':'f','description':'F.','parameters':{'type':"
	    "'object'}}]}",
	    "{}");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'type':'ai','content':[{'type':'reasoning_content','reasoning_content':{"
	    "'text':'let me think','signature':'S=='}},{'type':'text','text':"
	    "'one two 四'},{'type':'tool_use','id':'t1','name':'f','input':{'a':'é'}}],"
	    "'tool_calls':[{'name':'f','args':{'a':'é'},'id':'t1','type':'tool_call'}],"
	    "'usage_metadata':{'input_tokens':23,'output_tokens':9,'total_tokens':32,"
	    "'input_token_details':{'cache_read':20,'cache_creation':0}},"
	    "'response_metadata':{'stopReason':'tool_use','metrics':{'latencyMs':1},"
	    "'model_provider':'bedrock_converse','model_name':'" ID "'}}]");
	request = sent(0);
	ck_assert_str_eq(value_get_text(request, "path"),
	    ways[_i] == 0
		? "/gate/model/eu.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"
		: "/gate/model/eu.anthropic.claude-haiku-4-5-20251001-v1%3A0/"
		  "converse-stream");
	ck_assert_str_eq(
	    value_get_text(request, "x-amz-security-token"), SCRIPTED_AWS_SESSION);
	ck_assert_str_eq(value_get_text(request, "accept"),
	    ways[_i] == 0 ? "application/json" : "application/vnd.amazon.eventstream");
	ck_assert_value(bench.arena, value_get(request, "body"),
	    "{'system':[{'text':'Be kind.'}],'messages':[{'role':'user','content':[{"
	    "'text':'hi'}]}],'toolConfig':{'tools':[{'toolSpec':{'name':'f',"
	    "'description':'F.','inputSchema':{'json':{'type':'object'}}}}]},"
	    "'inferenceConfig':{'maxTokens':99},'additionalModelRequestFields':{'top_k':"
	    "5}}");
	ck_assert_str_eq(
	    model_bench_shown(&bench), ways[_i] == WIRE_STREAM ? "one two 四" : "");
}
END_TEST

#define ARN "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc"
#define ARN_PATH                                                                         \
	"/gate/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3A"               \
	"application-inference-profile%2Fabc/converse"

static const char *const second[] = {
	"{'http_error':503,'error':'ServiceUnavailableException','message':'busy'}",
	"{'content':'Half','stream_error':{'type':'throttlingException','message':'no'}}",
};

START_TEST(who_is_throttled_tries_again)
{
	const struct value *body;

	model_bench_script(&bench,
	    arena_printf(bench.arena,
		"{'" ARN "':[{'http_error':429,'error':'ThrottlingException','message':"
		"'slow'},%s,{'content':'Done.'}]}",
		second[_i]));
	body = model_bench_call(
	    &bench, ways[_i], "{'model':'bedrock_converse:" ARN "'," RETRY "}", "{}");
	body = value_at(value_get(body, "messages"), 0);
	ck_assert_str_eq(value_get_text(body, "content"), "Done.");
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 3);
	ck_assert_str_eq(
	    value_get_text(sent(0), "path"), _i == 0 ? ARN_PATH : ARN_PATH "-stream");
}
END_TEST

/* Which ones do not is AWS's to say; who watches sees the answer all the same. */
START_TEST(a_model_that_does_not_stream_is_asked_for_all_of_it)
{
	const struct value *body;

	model_bench_script(&bench,
	    "{'" ID "':[{'http_error':400,'error':'ValidationException','message':"
	    "'This model doesn\\u0027t support tool use in streaming mode.'},"
	    "{'blocks':[{'text':'one '},{'text':'two'}]}]}");
	body = model_bench_call(&bench, WIRE_STREAM, "{" MODEL "}", "{}");
	ck_assert_value(bench.arena,
	    value_get(value_at(value_get(body, "messages"), 0), "content"),
	    "[{'type':'text','text':'one '},{'type':'text','text':'two'}]");
	ck_assert_str_eq(model_bench_shown(&bench), "one two");
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 2);
}
END_TEST

static const struct {
	const char *reply, *type, *message;
} failures[] = {
	{ "'http_error':429,'error':'ThrottlingException','message':'slow'",
	    "RateLimitError",
	    "bedrock_converse answered with status 429: ThrottlingException: slow" },
	{ "'http_error':400,'error':'ValidationException:http://internal.amazon.com/"
	  "','message':'Input is too long for requested model.'",
	    "ContextOverflowError", "ValidationException: Input is too long" },
	{ "'http_error':403,'error':'ExpiredTokenException','message':'token "
	  "expired " SCRIPTED_AWS_SESSION " of " SCRIPTED_AWS_SECRET ".'",
	    "AuthenticationError",
	    "ExpiredTokenException: token expired [key] of [key]; keys are read when the "
	    "worker starts" },
	{ "'http_error':403,'error':'InvalidSignatureException','message':'Signature "
	  "expired: 20150830T123600Z is now earlier than 20150830T124100Z'",
	    "AuthenticationError", "; the clock of this machine, by which requests are" },
};

START_TEST(a_failure_is_typed_and_tells_no_secret)
{
	const struct value *fault;
	const char *message;

	model_bench_script(
	    &bench, arena_printf(bench.arena, "{'" ID "':[{%s}]}", failures[_i].reply));
	fault = value_get(
	    model_bench_call(&bench, ways[_i % 2], "{" MODEL "}", "{}"), "fault");
	ck_assert_str_eq(value_get_text(fault, "type"), failures[_i].type);
	message = value_get_text(fault, "message");
	ck_assert_msg(strstr(message, failures[_i].message) != NULL, "%s", message);
	ck_assert_ptr_null(strstr(message, "scripted+session"));
	ck_assert_ptr_null(strstr(message, "MDENG"));
}
END_TEST

TCase *
tcase_bedrock(void)
{
	TCase *tcase = tcase_create("bedrock");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_call_is_signed_and_answered, 0, 2);
	tcase_add_loop_test(tcase, who_is_throttled_tries_again, 0, 2);
	tcase_add_test(tcase, a_model_that_does_not_stream_is_asked_for_all_of_it);
	tcase_add_loop_test(tcase, a_failure_is_typed_and_tells_no_secret, 0,
	    (int)(sizeof failures / sizeof failures[0]));
	return tcase;
}
