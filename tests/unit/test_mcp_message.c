#include <check.h>
#include <string.h>

#include "bounds.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "../../worker-tools/mcp_message.h"

TCase *tcase_mcp_message(void);

static struct arena *arena;
static struct mcp_options options;

static void
set_up(void)
{
	arena = arena_new();
	options = (struct mcp_options){ .name = "m", .prefix = "", .timeout_ms = 1000 };
}

static void
tear_down(void)
{
	arena_destroy(&arena);
}

static void
expect(const struct value *value, const char *text)
{
	ck_assert_str_eq(json_text(arena, value), json_text(arena, literal(arena, text)));
}

START_TEST(says_what_json_rpc_wants)
{
	ck_assert_str_eq(mcp_request(arena, 7, "tools/list", value_empty_map()),
	    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{}}");
	ck_assert_str_eq(mcp_notice(arena, "notifications/initialized", NULL),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	ck_assert_ptr_null(
	    strchr(mcp_request(arena, 1, "m", literal(arena, "{'text':'a\\nb'}")), '\n'));
}
END_TEST

static const struct {
	const char *text;
	enum mcp_kind kind;
	int64_t id;
} kinds[] = {
	{ "{'id':3,'result':{}}", MCP_RESPONSE, 3 },
	{ "{'id':4,'error':{'code':1}}", MCP_RESPONSE, 4 },
	{ "{'id':4,'method':'ping'}", MCP_REQUEST, 0 },
	{ "{'id':'a','method':'ping'}", MCP_REQUEST, 0 },
	{ "{'method':'notifications/x'}", MCP_NOTICE, 0 },
	{ "{'id':null,'method':'x'}", MCP_NOTICE, 0 },
	{ "{'id':'3','result':{}}", MCP_RESPONSE, 3 },
	{ "{'id':3}", MCP_RESPONSE, 3 }, /* who waits is told */
	{ "{'id':'3a','result':{}}", MCP_NOISE, 0 },
	{ "{'id':'','result':{}}", MCP_NOISE, 0 },
	{ "{'id':'9999999999999999999','result':{}}", MCP_NOISE, 0 },
	{ "{'id':3.5,'result':{}}", MCP_NOISE, 0 },
	{ "{'result':{}}", MCP_NOISE, 0 },
	{ "[]", MCP_NOISE, 0 },
	{ "3", MCP_NOISE, 0 },
};

START_TEST(knows_what_comes)
{
	int64_t id = 0;

	ck_assert_int_eq(
	    mcp_kind_of(literal(arena, kinds[_i].text), &id), kinds[_i].kind);
	ck_assert_int_eq(id, kinds[_i].id);
}
END_TEST

static const struct {
	const char *text;
	bool has_id;
	int64_t id;
} damages[] = {
	{ "{'id':7,'result':{'a':'", true, 7 },
	{ "{'result':{'id':3,'b':[{'id':4}]},'id' : 12}", true, 12 },
	{ "{'result':'\\',\\'id\\':9','id':-5", true, -5 },
	{ "{'result':'id','x':'id','id':6,", true, 6 },
	{ "{'id':8,'method':'ping','params':", false, 0 },
	{ "{'id':'8','result':", false, 0 },
	{ "{'id':8.5,'result':", false, 0 },
	{ "{'id':99999999999999999999,'result':", false, 0 },
	{ "{'id'", false, 0 },
	{ "{'id':", false, 0 },
	{ "{'id", false, 0 },
	{ "{}}}'id':3", false, 0 },
	{ "[{'id':3,'result':", false, 0 },
	{ "Listening on 'id':3", false, 0 },
	{ "", false, 0 },
};

START_TEST(sees_whose_damaged_answer_it_is)
{
	char *text = arena_strdup(arena, damages[_i].text), *at;
	int64_t id = 0;

	for (at = text; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	ck_assert_int_eq(mcp_damaged_id(text, strlen(text), &id), damages[_i].has_id);
	if (damages[_i].has_id)
		ck_assert_int_eq(id, damages[_i].id);
}
END_TEST

START_TEST(answers_what_the_server_asks)
{
	ck_assert_str_eq(mcp_answer(arena, literal(arena, "{'id':'a','method':'ping'}")),
	    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
	ck_assert_str_eq(
	    mcp_answer(arena, literal(arena, "{'id':2,'method':'roots/list'}")),
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,"
	    "\"message\":\"Method not found\"}}");
}
END_TEST

START_TEST(takes_a_result_or_says_why_there_is_none)
{
	const struct fault *fault;

	expect(mcp_result(arena, literal(arena, "{'id':1,'result':{'a':1}}"), &fault),
	    "{'a':1}");
	ck_assert_ptr_null(mcp_result(arena,
	    literal(arena, "{'id':1,'error':{'code':-1,'message':'no'}}"), &fault));
	ck_assert_str_eq(fault->type, "McpError");
	ck_assert_str_eq(fault->message, "no");
	ck_assert_ptr_null(mcp_result(arena, literal(arena, "{'id':1}"), &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "neither result nor error"));
	ck_assert_ptr_null(
	    mcp_result(arena, literal(arena, "{'id':1,'result':[]}"), &fault));
	ck_assert_str_eq(fault->type, "McpError");
}
END_TEST

/* --- tools ------------------------------------------------------------------------------ */

static const struct value *
tool_of(const char *text)
{
	const char *reason;

	return mcp_tool_of(arena, &options, literal(arena, text), &reason);
}

START_TEST(makes_a_tool_ours)
{
	expect(tool_of("{'name':'a.b/c','description':'d','inputSchema':{'type':'object',"
		       "'properties':{'x':{'type':'integer'}},'required':['x']}}"),
	    "{'remote':'a.b/"
	    "c','definition':{'name':'a_b_c','description':'d','parameters':{"
	    "'type':'object','properties':{'x':{'type':'integer'}},'required':['x']},"
	    "'return_direct':false,'idempotent':false,'timeout_ms':1000}}");
	options.prefix = "g_";
	expect(tool_of("{'name':'a','title':'T','annotations':{'readOnlyHint':true}}"),
	    "{'remote':'a','definition':{'name':'g_a','description':'T','parameters':{"
	    "'type':'object','properties':{}},'return_direct':false,'idempotent':true,"
	    "'timeout_ms':1000}}");
}
END_TEST

static bool
may_run_twice(const char *text)
{
	return value_get_bool(
	    value_get(tool_of(text), "definition"), "idempotent", false);
}

START_TEST(believes_its_hints_unless_the_file_says_it)
{
	static const char plain[] = "{'name':'a'}",
			  twice[] = "{'name':'a','annotations':{'idempotentHint':true}}";

	ck_assert(!may_run_twice(plain));
	ck_assert(may_run_twice(twice));
	options.idempotent = value_bool(true);
	ck_assert(may_run_twice(plain));
	options.idempotent = value_bool(false);
	ck_assert(!may_run_twice(twice));
	options.uncertain = value_str(arena, "interrupt");
	ck_assert_str_eq(
	    value_get_text(value_get(tool_of(twice), "definition"), "uncertain"),
	    "interrupt");
	options.idempotent = value_bool(true);
	ck_assert(!value_has(value_get(tool_of(twice), "definition"), "uncertain"));
}
END_TEST

static const struct {
	const char *text, *reason;
} left_out[] = {
	{ "{'name':'not wanted'}", NULL },
	{ "{'title':'a'}", "without a name" },
	{ "{'name':''}", "without a name" },
	{ "3", "without a name" },
	{ "{'name':'bad\\u0000'}", "a NUL" },
	{ "{'name':'"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}",
	    "longer than 64 bytes" },
	{ "{'name':'bad','inputSchema':{'properties':{'a':{'type':'strin'}}}}",
	    "no usable JSON Schema" },
};

START_TEST(leaves_out_what_cannot_be_offered)
{
	const char *reason = "";

	options.tools = literal(arena,
	    "['bad','"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']");
	ck_assert_ptr_null(
	    mcp_tool_of(arena, &options, literal(arena, left_out[_i].text), &reason));
	if (left_out[_i].reason == NULL)
		ck_assert_ptr_null(reason);
	else
		ck_assert_msg(strstr(reason, left_out[_i].reason) != NULL, "%s", reason);
}
END_TEST

START_TEST(what_models_are_told_of_a_tool_is_bounded)
{
	char *text = arena_alloc(arena, MCP_TOOL_BYTES_MAX + 1);
	const struct value *tool = literal(arena, "{'name':'a'}");
	const char *reason;

	memset(text, 'd', MCP_TOOL_BYTES_MAX);
	tool = value_map_with(arena, tool, "description", value_str(arena, text));
	ck_assert_ptr_null(mcp_tool_of(arena, &options, tool, &reason));
	ck_assert_msg(strstr(reason, "larger than") != NULL, "%s", reason);
	/* Its schema is not even looked at. */
	tool = value_map_with(arena, tool, "inputSchema",
	    literal(arena, "{'properties':{'a':{'type':'no such type'}}}"));
	ck_assert_ptr_null(mcp_tool_of(arena, &options, tool, &reason));
	ck_assert_msg(strstr(reason, "larger than") != NULL, "%s", reason);
}
END_TEST

/* --- what a call gives ------------------------------------------------------------------ */

static const struct {
	const char *result, *content, *artifact;
} given[] = {
	{ "{'content':[{'type':'text','text':'a'}]}", "'a'", "null" },
	{ "{'content':[{'type':'text','text':'a\\u0000b'}]}", "'a\\u0000b'", "null" },
	{ "{'content':[{'type':'resource','resource':{'text':'a\\u0000b'}}]}",
	    "'a\\u0000b'", "null" },
	{ "{'content':[]}", "''", "null" },
	{ "{}", "''", "null" },
	{ "{'content':[{'type':'text','text':'a'},{'type':'text','text':'b'}]}",
	    "[{'type':'text','text':'a'},{'type':'text','text':'b'}]", "null" },
	{ "{'content':[{'type':'audio','data':'eA==','mimeType':'audio/wav'}]}",
	    "[{'type':'audio','base64':'eA==','mime_type':'audio/wav'}]", "null" },
	{ "{'content':[{'type':'resource','resource':{'blob':'eA==','mimeType':'image/"
	  "png'}}]}",
	    "[{'type':'image','base64':'eA==','mime_type':'image/png'}]", "null" },
	{ "{'content':[{'type':'resource_link','uri':'u','mimeType':'image/gif'}]}",
	    "[{'type':'image','url':'u','mime_type':'image/gif'}]", "null" },
};

START_TEST(makes_content_of_it)
{
	const struct value *content, *artifact;
	const struct fault *fault;

	ck_assert_int_eq(mcp_content(arena, literal(arena, given[_i].result), &content,
			     &artifact, &fault),
	    0);
	expect(content, given[_i].content);
	expect(artifact, given[_i].artifact);
}
END_TEST

static const struct {
	const char *result, *text, *artifact;
} shown[] = {
	{ "{'content':[],'structuredContent':{'a':1}}", "{\"a\":1}",
	    "{'structured_content':{'a':1}}" },
	/* What nobody knows yet. */
	{ "{'content':[{'type':'new','x':1}]}", "{\"type\":\"new\",\"x\":1}", "null" },
};

START_TEST(shows_what_is_no_text_as_json)
{
	const struct value *content, *artifact;
	const struct fault *fault;

	ck_assert_int_eq(mcp_content(arena, literal(arena, shown[_i].result), &content,
			     &artifact, &fault),
	    0);
	ck_assert_str_eq(value_text(content), shown[_i].text);
	expect(artifact, shown[_i].artifact);
}
END_TEST

START_TEST(a_failure_is_one)
{
	const struct value *content, *artifact;
	const struct fault *fault;

	ck_assert_int_eq(
	    mcp_content(arena,
		literal(arena, "{'isError':true,'content':[{'type':'text','text':'a'},"
			       "{'type':'image'},{'type':'text','text':'b'}]}"),
		&content, &artifact, &fault),
	    -1);
	ck_assert_str_eq(fault->type, "ToolException");
	ck_assert_str_eq(fault->message, "a\nb");
	ck_assert_int_eq(mcp_content(arena, literal(arena, "{'isError':true}"), &content,
			     &artifact, &fault),
	    -1);
	ck_assert_ptr_nonnull(strstr(fault->message, "does not say why"));
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

TCase *
tcase_mcp_message(void)
{
	TCase *tcase = tcase_create("mcp_message");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, says_what_json_rpc_wants);
	tcase_add_loop_test(tcase, knows_what_comes, 0, COUNT(kinds));
	tcase_add_loop_test(tcase, sees_whose_damaged_answer_it_is, 0,
	    sizeof damages / sizeof damages[0]);
	tcase_add_test(tcase, answers_what_the_server_asks);
	tcase_add_test(tcase, takes_a_result_or_says_why_there_is_none);
	tcase_add_test(tcase, makes_a_tool_ours);
	tcase_add_test(tcase, what_models_are_told_of_a_tool_is_bounded);
	tcase_add_test(tcase, believes_its_hints_unless_the_file_says_it);
	tcase_add_loop_test(tcase, leaves_out_what_cannot_be_offered, 0, COUNT(left_out));
	tcase_add_loop_test(tcase, makes_content_of_it, 0, COUNT(given));
	tcase_add_loop_test(tcase, shows_what_is_no_text_as_json, 0, COUNT(shown));
	tcase_add_test(tcase, a_failure_is_one);
	return tcase;
}
