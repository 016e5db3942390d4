/* model_fallback from one provider to the other: the bodies of the requests, plain and streamed. */
#include <check.h>
#include <string.h>

#include "json.h"
#include "literal.h"
#include "model_bench.h"

TCase *tcase_fallback(void);

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

/* A round of the first model is behind it: what is its provider's own stands in the thread. */
#define THREAD                                                                           \
	"{'messages':[{'type':'human','content':'hi'},{'type':'ai','content':[{'type':"  \
	"'thinking','thinking':'hm','signature':'S=='},{'type':'text','text':'Wait.'},"  \
	"{'type':'tool_use','id':'t1','name':'f','input':{'a':1}}],'tool_calls':[{"      \
	"'name':'f','args':{'a':1},'id':'t1','type':'tool_call'}],'response_metadata':{" \
	"'model_provider':'anthropic'}},{'type':'tool','content':'3','tool_call_id':"    \
	"'t1','name':'f','status':'success'}]}"

#define TOOLS "'tools':[{'name':'f','description':'F.','parameters':{'type':'object'}}]"
#define FALLBACK(model)                                                                  \
	"'middleware':[{'name':'model_fallback','settings':{'models':['" model "']}}]"

static const struct {
	const char *profile, *path;
	const char *kept;    /* of the body */
	const char *gone[5]; /* words that are nowhere in it */
} ways[] = {
	{ "{'model':'anthropic:claude-haiku-4-5','system_prompt':'Be kind.',"
	  "'model_settings':{'temperature':0.5,'top_k':4,'cache_control':{'type':"
	  "'ephemeral'}}," TOOLS "," FALLBACK("openai:mini") "}",
	    "/v1/chat/completions", "{'model':'mini','temperature':0.5}",
	    { "top_k", "cache_control", "thinking", "signature", "tool_use" } },
	{ "{'model':'openai:mini','system_prompt':'Be kind.','model_settings':{"
	  "'temperature':0.5,'seed':4,'reasoning_effort':'low','logit_bias':{'1':2}},"
	  "" TOOLS "," FALLBACK("anthropic:claude-haiku-4-5") "}",
	    "/v1/messages", "{'model':'claude-haiku-4-5','temperature':0.5}",
	    { "seed", "reasoning_effort", "logit_bias", "tool_calls", "function" } },
};
#define WAYS (int)(sizeof ways / sizeof *ways)

START_TEST(another_providers_request_has_nothing_of_the_first_ones)
{
	const struct value *body, *request, *kept;
	const char *text;
	size_t i;

	model_bench_script(&bench,
	    _i % WAYS == 0 ? "{'claude-haiku-4-5':[{'http_error':529,'message':'over'}],"
			     "'mini':[{'content':'Hello.'}]}"
			   : "{'mini':[{'http_error':500,'message':'down'}],"
			     "'claude-haiku-4-5':[{'content':'Hello.'}]}");
	body = model_bench_call(
	    &bench, _i >= WAYS ? WIRE_STREAM : 0, ways[_i % WAYS].profile, THREAD);
	text = json_text(bench.arena, body);
	ck_assert_msg(strstr(text, "Hello.") != NULL, "%s", text);
	ck_assert_msg(strstr(text, " answered\"") != NULL, "%s", text);
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 2);
	request = value_at(model_bench_requests(&bench), 1);
	ck_assert_str_eq(value_get_text(request, "path"), ways[_i % WAYS].path);
	request = value_get(request, "body");
	kept = literal(bench.arena, ways[_i % WAYS].kept);
	for (i = 0; i < value_size(kept); i++)
		ck_assert(value_equal(kept->pairs[i].value,
		    value_get(request, value_text(kept->pairs[i].key))));
	text = json_text(bench.arena, request);
	ck_assert_ptr_nonnull(strstr(text, "Be kind."));
	ck_assert_ptr_nonnull(strstr(text, "\"t1\""));
	for (i = 0; i < 5; i++)
		ck_assert_msg(strstr(text, ways[_i % WAYS].gone[i]) == NULL, "%s in %s",
		    ways[_i % WAYS].gone[i], text);
}
END_TEST

TCase *
tcase_fallback(void)
{
	TCase *tcase = tcase_create("fallback");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(
	    tcase, another_providers_request_has_nothing_of_the_first_ones, 0, 2 * WAYS);
	return tcase;
}
