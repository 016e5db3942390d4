/* `flotilla serve` as a server of the Model Context Protocol: agents are its tools. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "serve_bench.h"

TCase *tcase_serve_mcp(void);

/* The answer to a request with those members, behind its id, which must be 7. */
static const struct value *
answer_to(const char *members)
{
	const struct value *answer = serve_post(
	    "/mcp", serve_text("{'jsonrpc': '2.0', 'id': 7, %s}", members), 200);

	ck_assert_str_eq(value_get_text(answer, "jsonrpc"), "2.0");
	ck_assert_int_eq(value_get_int(answer, "id", -1), 7);
	return answer;
}

static const struct value *
result_of(const char *members)
{
	const struct value *result = value_get(answer_to(members), "result");

	ck_assert(value_is(result, VALUE_MAP));
	return result;
}

static const struct value *
called(const char *agent)
{
	return result_of(
	    serve_text("'method': 'tools/call', 'params': {'name': '%s', 'arguments': "
		       "{'messages': [{'role': 'user', 'content': 'Hi'}]}}",
		agent));
}

static const char *
text_of(const struct value *result)
{
	const struct value *content = value_get(result, "content");

	ck_assert_uint_eq(value_size(content), 1);
	ck_assert_str_eq(value_get_text(value_at(content, 0), "type"), "text");
	return value_get_text(value_at(content, 0), "text");
}

/* Of an answer that is an error. */
static void
expect_error(const struct value *answer, int code, const char *says)
{
	const struct value *error = value_get(answer, "error");

	ck_assert_int_eq(value_get_int(error, "code", 0), code);
	ck_assert_has(value_get_text(error, "message"), says);
}

START_TEST(the_protocols_revision_is_agreed_on)
{
	const struct value *result = result_of("'method': 'initialize', 'params': "
					       "{'protocolVersion': '2025-03-26', "
					       "'capabilities': {}}");

	ck_assert_str_eq(value_get_text(result, "protocolVersion"), "2025-03-26");
	ck_assert(value_has(value_get(result, "capabilities"), "tools"));
	result = result_of("'method': 'initialize', 'params': {'protocolVersion': "
			   "'1999-01-01'}");
	ck_assert_str_eq(value_get_text(result, "protocolVersion"), "2025-06-18");
	ck_assert_uint_eq(value_size(result_of("'method': 'ping'")), 0);
}
END_TEST

START_TEST(what_asks_for_no_answer_gets_none)
{
	struct serve_answer answer = ASK(.path = "/mcp",
	    .body = "{'jsonrpc': '2.0', 'method': 'notifications/initialized'}");

	ck_assert_int_eq(answer.status, 202);
	ck_assert_str_eq(answer.body, "");
	ck_assert_int_eq(ASK(.path = "/mcp").status, 405); /* no stream of ours */
	ck_assert_int_eq(ASK(.method = "DELETE", .path = "/mcp").status, 405);
}
END_TEST

START_TEST(agents_are_tools)
{
	const struct value *tools =
	    value_get(result_of("'method': 'tools/list'"), "tools");
	const char *last = "";
	bool has_quick = false;
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		const struct value *tool = value_at(tools, i);
		const struct value *schema = value_get(tool, "inputSchema");
		const char *name = value_get_text(tool, "name");

		ck_assert_str_lt(last, name);
		last = name;
		has_quick |= value_text_is(value_get(tool, "name"), "quick");
		ck_assert_ptr_nonnull(value_get_text(tool, "description"));
		ck_assert_str_eq(value_get_text(schema, "type"), "object");
		ck_assert(value_has(value_get(schema, "properties"), "messages"));
	}
	ck_assert(has_quick);
	tools = value_get(
	    result_of(
		serve_text("'method': 'tools/list', 'params': {'cursor': '%s'}", last)),
	    "tools");
	ck_assert_uint_eq(value_size(tools), 0);
}
END_TEST

/* 40 agents like quick, each with a description of a MiB. */
#define LARGE_AGENTS                                                                     \
	"local source = cmsgpack.unpack(redis.call('GET', 'fl:agent:' .. "               \
	"redis.call('HGET', KEYS[1], 'quick'))) "                                        \
	"source.description = string.rep('x', 1048576) "                                 \
	"for i = 1, 40 do local name = string.format('large-%02d', i) "                  \
	"source.name = name "                                                            \
	"redis.call('SET', 'fl:agent:' .. name, cmsgpack.pack(source)) "                 \
	"redis.call('HSET', KEYS[1], name, name) end"
#define NO_LARGE_AGENTS                                                                  \
	"for i = 1, 40 do local name = string.format('large-%02d', i) "                  \
	"redis.call('DEL', 'fl:agent:' .. name) redis.call('HDEL', KEYS[1], name) end"

static void
change_agents(const char *script)
{
	const struct cli redis = { "redis-cli", NULL, serve_bench.fleet.arena };
	struct said said = CLI(&redis, "-s", serve_bench.fleet.redis + strlen("unix://"),
	    "EVAL", script, "1", "fl:agents");

	ck_assert_msg(said.status == 0 && *said.out == '\n', "%s", said.out);
}

START_TEST(a_page_of_tools_is_not_too_large)
{
	const char *cursor = "";
	size_t count = 0, pages = 0, i;

	change_agents(LARGE_AGENTS);
	while (cursor != NULL) {
		const struct value *result = result_of(serve_text(
		    "'method': 'tools/list', 'params': {'cursor': '%s'}", cursor));
		const struct value *tools = value_get(result, "tools");

		for (i = 0; i < value_size(tools); i++)
			count += strncmp(value_get_text(value_at(tools, i), "name"),
				     "large-", 6) == 0;
		cursor = value_get_text(result, "nextCursor");
		pages++;
	}
	ck_assert_uint_eq(count, 40);
	ck_assert_uint_eq(pages, 2);
	change_agents(NO_LARGE_AGENTS);
}
END_TEST

START_TEST(a_call_is_a_run)
{
	int64_t count = serve_thread_count();
	const struct value *result = called("quick");

	ck_assert_str_eq(text_of(result), "First.");
	ck_assert(!value_get_bool(result, "isError", true));
	ck_assert_int_eq(serve_thread_count(), count); /* it took its thread along */
}
END_TEST

START_TEST(a_run_that_fails_or_asks_is_an_error_that_the_model_may_read)
{
	const struct value *result = called("broken");

	ck_assert(value_get_bool(result, "isError", false));
	ck_assert_has(text_of(result), ": ");
	result = called("careful"); /* pauses, and asks nothing */
	ck_assert(value_get_bool(result, "isError", false));
	ck_assert_has(text_of(result), "human");
	result = called("approver");
	ck_assert(value_get_bool(result, "isError", false));
	ck_assert_has(text_of(result), "action_requests");
}
END_TEST

START_TEST(what_cannot_be_done_is_an_error_of_the_protocol)
{
	expect_error(answer_to("'method': 'prompts/list'"), -32601, "prompts/list");
	expect_error(answer_to("'method': 'tools/call', 'params': {'name': 'nobody', "
			       "'arguments': {}}"),
	    -32602, "nobody");
	expect_error(answer_to("'method': 'tools/call'"), -32602, "name");
	expect_error(answer_to("'method': 'tools/call', 'params': {'name': 'quick', "
			       "'arguments': {'messages': 1}}"),
	    -32602, "messages");
	expect_error(answer_to("'method': 'tools/call', 'params': {'name': 'quick'}"),
	    -32602, "arguments");
	expect_error(serve_post("/mcp", "[1]", 200), -32600, "JSON-RPC");
	expect_error(serve_post("/mcp", "{", 200), -32700, "no JSON");
	ck_assert(value_has(serve_post("/mcp", "{", 200), "id"));
	expect_error(
	    serve_post("/mcp",
		serve_text("{'jsonrpc': '2.0', 'id': {}, 'method': 'ping'}"), 200),
	    -32600, "JSON-RPC");
	ck_assert_int_eq(
	    ASK(.path = "/mcp", .body = "{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}",
		.headers = { "MCP-Protocol-Version: 1900-01-01" })
		.status,
	    400);
	expect_error(
	    serve_post("/mcp", "{'id': 1, 'method': 'ping'}", 200), -32600, "JSON-RPC");
}
END_TEST

TCase *
tcase_serve_mcp(void)
{
	TCase *tcase = tcase_create("serve_mcp");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, the_protocols_revision_is_agreed_on);
	tcase_add_test(tcase, what_asks_for_no_answer_gets_none);
	tcase_add_test(tcase, agents_are_tools);
	tcase_add_test(tcase, a_page_of_tools_is_not_too_large);
	tcase_add_test(tcase, a_call_is_a_run);
	tcase_add_test(
	    tcase, a_run_that_fails_or_asks_is_an_error_that_the_model_may_read);
	tcase_add_test(tcase, what_cannot_be_done_is_an_error_of_the_protocol);
	return tcase;
}
