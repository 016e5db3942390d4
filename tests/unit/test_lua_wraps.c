#include <check.h>
#include <string.h>

#include "literal.h"
#include "lua_kit.h"

/* Interface under test: the wraps of the middleware `lua`, through the chains. */
#include "chain.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static struct play
play_of(void)
{
	struct play play = { .arena = arena };

	play.profile = literal(arena,
	    "{'model': 'x:y', 'agent': 'helper', 'tools': ['add', 'mul'], 'wraps_tools': "
	    "true, 'system_prompt': 'Be kind.'}");
	play.request = literal(arena,
	    "{'run': 'r', 'thread': 't', 'state': {'n': 4}, 'context': {'user': 'u'}, "
	    "'messages': [{'type': 'human', 'content': 'hi', 'id': 'm1'}], "
	    "'tool': {'name': 'add'}, 'tool_call': {'name': 'add', 'id': 'c', 'args': "
	    "{'a': 1}}}");
	return play;
}

/* --- models ------------------------------------------------------------------------- */

static const struct {
	const char *code;
	const char *outcomes[4];
	const char *outcome; /* as stub_outcome says it */
	const char *log;
} model_cases[] = {
	{ "return handler(request)", { "hello" }, "hello", "send" },
	{ "return 'short cut'", { NULL }, "short cut", "" },
	{ "return {type = 'ai', content = 'a message'}", { NULL }, "a message", "" },
	{ "return {content = 'no type'}", { NULL }, "no type", "" },
	{ "return {message = 'in a table'}", { NULL }, "in a table", "" },
	{ "return {messages = {{role = 'assistant', content = 'listed'}}}", { NULL },
	    "listed", "" },
	{ "local r = handler(request) r.message.content = r.text:upper() return r",
	    { "hello" }, "HELLO", "send" },
	{ "handler(request) return handler(request)", { "one", "two" }, "two",
	    "send send" },
	{ "for i = 1, 3 do local ok, r = pcall(handler, request)\n"
	  "  if ok then return r end\n"
	  "  runtime = request.runtime runtime.note(r.type)\n"
	  "end",
	    { "!TimeoutError late", "!RateLimitError slow", "third" }, "third",
	    "send send send" },
	{ "local ok, e = pcall(handler, request) error(e)", { "!TimeoutError late" },
	    "fault: TimeoutError: late", "send" },
	{ "return handler(request)", { "!TimeoutError late" },
	    "fault: TimeoutError: late", "send" },
	{ "local ok, e = pcall(handler, request) e.message = 'too ' .. e.message "
	  "error(e)",
	    { "!TimeoutError late" }, "fault: TimeoutError: too late", "send" },
	/* Nothing in it says where we keep the fault. */
	{ "local ok, e = pcall(handler, request) local names = {} "
	  "for name in pairs(e) do names[#names + 1] = tostring(name) end "
	  "table.sort(names) return table.concat(names, ' ')",
	    { "!TimeoutError late" }, "message retry_after_ms retryable type", "send" },
	{ "local ok, e = pcall(handler, request) "
	  "local forged = {type = 'ValueError', message = 'forged'} "
	  "for name in pairs(e) do if type(name) ~= 'string' then forged[name] = name "
	  "end end "
	  "error(forged)",
	    { "!TimeoutError late" }, "fault: ValueError: forged", "send" },
	{ "error('oh')", { NULL }, "fault: LuaError: lua:1: oh", "" },
	{ "error{type = ('x'):rep(100), message = 'oh'}", { NULL }, "x: oh", "" },
	{ "error{type = ('x'):rep(101), message = 'oh'}", { NULL },
	    "fault: LuaError: lua: raised a table; errors are texts or", "" },
	/* What is not UTF-8 is replaced, as everywhere. */
	{ "return 'a\\xffb\\xed\\xa0\\x80'", { NULL },
	    "a\xef\xbf\xbd"
	    "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	    "" },
	{ "error{type = 'Odd\\xff', message = 'a\\xff'}", { NULL },
	    "fault: Odd\xef\xbf\xbd: a\xef\xbf\xbd", "" },
	{ "error('a\\xff')", { NULL }, "lua:1: a\xef\xbf\xbd", "" },
	{ "return nil", { NULL },
	    "fault: TypeError: lua.wrap_model_call gave no response", "" },
	{ "return 3", { NULL },
	    "fault: LuaError: wrap_model_call returns a response, a message or a text, "
	    "not a number",
	    "" },
	{ "return {type = 'human', content = 'x'}", { NULL },
	    "fault: TypeError: lua.wrap_model_call gave no AI message", "" },
	{ "handler()", { NULL }, "fault: LuaError: lua:1: bad argument #1 to 'handler'",
	    "" },
	{ "request.model = 'z'", { NULL },
	    "fault: LuaError: lua:1: a request is never changed: "
	    "request:override{model = ...}",
	    "" },
	{ "request:override{mdoel = 'z'}", { NULL }, "did you mean \"model\"?", "" },
	{ "request:override{messages = 3}", { NULL }, "LuaError", "" },
	{ "request:override{tools = 3}", { NULL }, "LuaError", "" },
	{ "local ok = pcall(request.override, request, {tools = 3}) "
	  "return handler(request).text .. tostring(ok)",
	    { "fine " }, "fine false", "send" },
	{ "return request.messages[1].content .. request.model .. request.system_prompt "
	  ".. #request.tools .. request.state.n .. request.state.messages[1].id .. "
	  "request.runtime.context.user .. request.runtime.agent",
	    { NULL }, "hix:yBe kind.24m1uhelper", "" },
	{ "request.messages[1].content = 'changed' return request.messages[1].content",
	    { NULL }, "changed", "" },
	{ "local r = request.runtime.call_model{messages = 'x'} "
	  "return r.text .. handler(request).text",
	    { "own ", "chain" }, "own chain", "send send" },
	{ "request.runtime.sleep(0) return handler(request)", { "after" }, "after",
	    "send" },
};

START_TEST(a_model_wrap_does_as_it_says)
{
	const struct middleware_use *use = lua_use(arena,
	    arena_printf(arena, "function wrap_model_call(request, handler) %s end",
		model_cases[_i].code),
	    NULL);
	struct play play = play_of();
	const char *outcome;

	memcpy(play.outcomes, model_cases[_i].outcomes, sizeof model_cases[_i].outcomes);
	outcome = stub_outcome(arena, play_model(&play, stub_chain(arena, use, NULL)));
	ck_assert_msg(strstr(outcome, model_cases[_i].outcome) != NULL, "%s", outcome);
	ck_assert_msg(
	    strstr(stub_log(), model_cases[_i].log) != NULL &&
		(model_cases[_i].log[0] != '\0' || strstr(stub_log(), "send") == NULL),
	    "%s", stub_log());
}
END_TEST

/* What a handler answers is not of the hook's making. */
START_TEST(a_large_answer_is_not_the_hooks_memory)
{
	const struct middleware_use *use = lua_use(arena,
	    "function wrap_model_call(request, handler) local r = handler(request) "
	    "json.encode({1}) return 'fine' end",
	    "{'memory_limit_bytes': 1000000}");
	struct play play = play_of();
	char *text = arena_alloc(arena, 4000000);

	memset(text, 'x', 4000000 - 1);
	play.outcomes[0] = text;
	ck_assert_str_eq(
	    stub_outcome(arena, play_model(&play, stub_chain(arena, use, NULL))), "fine");
}
END_TEST

/* By its name alone a chunk's error is no cancellation: wraps outside may catch it. */
START_TEST(an_error_of_a_chunk_is_an_error_whatever_its_type)
{
	static const char *const types[] = { "GraphInterrupt", "CancelledError" };
	const char *error =
	    arena_printf(arena, "error{type = '%s', message = 'oh'}", types[_i]);
	struct play play = play_of();
	const struct value *fault;

	fault = value_get(
	    play_model(&play,
		stub_chain(arena,
		    lua_use(arena,
			arena_printf(arena, "function wrap_model_call() %s end", error),
			NULL),
		    NULL)),
	    "fault");
	ck_assert_str_eq(value_get_text(fault, "type"), types[_i]);
	ck_assert(!value_get_bool(fault, "control", false));
}
END_TEST

static const struct value *
seen_by(const char *code, const char *outcome)
{
	struct play play = play_of();

	play.outcomes[0] = outcome;
	play_model(&play, stub_chain(arena, lua_use(arena, code, NULL), NULL));
	return play.seen;
}

START_TEST(every_field_of_a_request_can_be_overridden)
{
	const struct value *seen = seen_by(
	    "function wrap_model_call(request, handler)\n"
	    "  local messages = request.messages\n"
	    "  table.insert(messages, {role = 'user', content = 'more'})\n"
	    "  return handler(request:override{model = 'z:z', system_prompt = null,\n"
	    "    messages = messages, tools = {{name = 'add'}}, tool_choice = 'auto',\n"
	    "    response_format = null, model_settings = {temperature = 0.5}})\n"
	    "end",
	    NULL);

	ck_assert_value(arena, seen,
	    "{'model': 'z:z', 'messages': [{'type': 'human', 'content': 'hi', 'id': "
	    "'m1'}, {'type': 'human', 'content': 'more'}], 'system': null, 'tools': "
	    "[{'name': 'add'}], 'choice': 'auto', 'settings': "
	    "{'temperature': 0.5}}");
	seen = seen_by("function wrap_model_call(request, handler)\n"
		       "  request:override{model = 'never', messages = {}}\n"
		       "  return handler(request:override{messages = {}})\n"
		       "end",
	    NULL);
	ck_assert_str_eq(value_get_text(seen, "model"), "x:y");
	ck_assert_value(arena, value_get(seen, "messages"), "[]");
}
END_TEST

START_TEST(a_prompt_and_a_modified_request_reach_the_model)
{
	ck_assert_str_eq(
	    value_get_text(seen_by("function dynamic_prompt(request)\n"
				   "  return request.system_prompt .. ' You speak to '\n"
				   "    .. request.runtime.context.user\n"
				   "end",
			       NULL),
		"system"),
	    "Be kind. You speak to u");
	ck_assert_str_eq(
	    value_get_text(seen_by("function dynamic_prompt() end", NULL), "system"),
	    "Be kind.");
	/* The prompt is there when the wrap of the same code runs. */
	ck_assert_str_eq(
	    value_get_text(seen_by("function dynamic_prompt() return 'a' end\n"
				   "function wrap_model_call(request, handler)\n"
				   "  return handler(request:override{system_prompt =\n"
				   "    request.system_prompt .. 'b'})\n"
				   "end",
			       NULL),
		"system"),
	    "ab");
	ck_assert_str_eq(
	    value_get_text(seen_by("function modify_model_request(request)\n"
				   "  return request:override{model = 'm:m'}\n"
				   "end",
			       NULL),
		"model"),
	    "m:m");
}
END_TEST

START_TEST(a_failed_prompt_or_modification_fails_the_call)
{
	struct play play = play_of();
	const struct middleware_use *use =
	    lua_use(arena, "function dynamic_prompt() return 3 end", NULL);

	ck_assert_str_eq(
	    stub_outcome(arena, play_model(&play, stub_chain(arena, use, NULL))),
	    "fault: LuaError: dynamic_prompt returns a text, not a number");
	use = lua_use(arena, "function modify_model_request() error('x') end", NULL);
	ck_assert_str_eq(
	    stub_outcome(arena, play_model(&play, stub_chain(arena, use, NULL))),
	    "fault: LuaError: lua:1: x");
	use = lua_use(arena, "function modify_model_request() end", NULL);
	ck_assert_str_eq(
	    stub_outcome(arena, play_model(&play, stub_chain(arena, use, NULL))),
	    "fault: TypeError: lua.modify_model_request gave no request");
}
END_TEST

START_TEST(wraps_nest_and_their_updates_are_collected)
{
	static const char code[] =
	    "function wrap_model_call(request, handler)\n"
	    "  local ok, response = pcall(handler, request)\n"
	    "  if not ok then response = handler(request) end\n"
	    "  response.message.content = runtime_name(request) .. response.text\n"
	    "  response.update = {who = runtime_name(request)}\n"
	    "  return response\n"
	    "end\n"
	    "function runtime_name(request) return request.runtime.name end\n";
	const struct middleware_use *a = lua_use(arena, code, "{'name': 'A'}");
	const struct middleware_use *b = lua_use(arena, code, "{'name': 'B'}");
	struct play play = play_of();
	const struct value *body;

	play.outcomes[0] = "!TimeoutError late";
	play.outcomes[1] = "x";
	body = play_model(&play, stub_chain(arena, a, b, NULL));
	ck_assert_str_eq(stub_outcome(arena, body), "ABx");
	ck_assert_value(
	    arena, value_get(body, "updates"), "[{'who': 'B'}, {'who': 'A'}]");
}
END_TEST

static struct model_response *
on_cancelled(void *arg, struct model_request *sent, unsigned attempt, const char *tag)
{
	(void)arg;
	(void)attempt;
	(void)tag;
	return model_fail(sent, fault_cancelled(arena));
}

START_TEST(cancellation_passes_every_pcall)
{
	const struct model_backend backend = { .send = on_cancelled };
	struct play play = play_of();
	const struct middleware_use *use = lua_use(arena,
	    "function wrap_model_call(request, handler)\n"
	    "  pcall(handler, request) return 'nothing happened' end",
	    NULL);
	const struct value *body = chain_model_call(
	    arena, stub_chain(arena, use, NULL), play.profile, play.request, &backend);

	ck_assert(value_get_bool(value_get(body, "fault"), "control", false));
}
END_TEST

START_TEST(an_interrupt_of_a_wrap_waits_for_its_answer)
{
	const struct middleware_use *use = lua_use(arena,
	    "function wrap_model_call(request, handler)\n"
	    "  local ok, answer = pcall(request.runtime.interrupt, 'may I?')\n"
	    "  return 'answer: ' .. answer end\n"
	    "function wrap_tool_call(request, handler)\n"
	    "  return request.runtime.interrupt('may it?') .. handler(request).content\n"
	    "end",
	    NULL);
	const struct chain *chain = stub_chain(arena, use, NULL);
	struct play play = play_of();

	ck_assert_value(arena, play_model(&play, chain), "{'interrupt': 'may I?'}");
	ck_assert_value(arena, play_tool(&play, chain),
	    "{'interrupt': 'may it?', 'about': {'asker': 'lua'}}");
	play.request =
	    value_map_with(arena, play.request, "answers", literal(arena, "['yes ']"));
	ck_assert_str_eq(stub_outcome(arena, play_model(&play, chain)), "answer: yes ");
	ck_assert_str_eq(stub_outcome(arena, play_tool(&play, chain)), "yes 1");
}
END_TEST

/* --- tools -------------------------------------------------------------------------- */

static const struct {
	const char *code, *outcomes[3], *outcome;
} tool_cases[] = {
	{ "return handler(request)", { NULL }, "1" },
	{ "return 'instead of ' .. request.tool_call.name .. request.tool_call.id ..\n"
	  "  request.tool_call.args.a .. request.tool.name .. request.state.n",
	    { NULL }, "instead of addc1add4" },
	{ "return {content = 'a message', status = 'error'}", { NULL }, "a message" },
	{ "return {type = 'tool', tool_call_id = 'c', content = 'whole'}", { NULL },
	    "whole" },
	{ "return {update = {messages = {{type = 'tool', tool_call_id = "
	  "request.tool_call.id, content = 'command'}}, n = 1}, goto_ = nil}",
	    { NULL }, "command" },
	{ "local r = handler(request) r.message.content = r.content .. '!' return r",
	    { NULL }, "1!" },
	{ "return handler(request:override{args = {a = 7}})", { NULL }, "7" },
	{ "return handler(request:override{tool_call = {name = 'mul', args = {a = 3}}})",
	    { NULL }, "3" },
	{ "return handler(request:override{name = 'mul'}).message.name", { NULL },
	    "mul" },
	{ "return handler(request:override{tool = {name = 'new'}, args = {a = 8}})",
	    { NULL }, "8" },
	{ "local r = request:override{state = {n = 5, messages = {{role = 'user', "
	  "content = "
	  "'hi'}}}} return r.state.n .. r.state.messages[1].type .. request.state.n ..\n"
	  "  handler(r).content",
	    { NULL }, "5human41" },
	{ "return request:override{state = {messages = {}}}.state.messages[1] == nil and "
	  "'none'",
	    { NULL }, "none" },
	{ "return request:override{state = null}.state.n == nil and 'none'", { NULL },
	    "none" },
	{ "return handler(request:override{state = {messages = {{role = 'x'}}}})",
	    { NULL }, "LuaError" },
	{ "return handler(request:override{state = 3})", { NULL }, "LuaError" },
	{ "local ok, e = pcall(handler, request) return e.type .. ': ' .. e.message",
	    { "!OSError disk full" }, "OSError: disk full" },
	{ "for i = 1, 3 do local ok, r = pcall(handler, request) if ok then return r end "
	  "end",
	    { "!OSError a", "!OSError b" }, "1" },
	{ "return handler(request)", { "!OSError disk full" },
	    "fault: OSError: disk full" },
	{ "error('mine')", { NULL }, "fault: LuaError: lua:1: mine" },
	{ "return nil", { NULL },
	    "fault: ValueError: lua.wrap_tool_call gave no result" },
	{ "return {update = {}}", { NULL }, "without a tool message" },
	{ "return {update = 3}", { NULL }, "whose update is not a map" },
	{ "return true", { NULL }, "wrap_tool_call returns a result, a message" },
	{ "return handler(request:override{args = 3})", { NULL }, "LuaError" },
	{ "return handler(request:override{nmae = 'x'})", { NULL }, "did you mean" },
	{ "return request.idempotency_key", { NULL }, "key-1" },
};

START_TEST(a_tool_wrap_does_as_it_says)
{
	const struct middleware_use *use = lua_use(arena,
	    arena_printf(arena, "function wrap_tool_call(request, handler) %s end",
		tool_cases[_i].code),
	    NULL);
	struct play play = play_of();
	const char *outcome;

	memcpy(play.outcomes, tool_cases[_i].outcomes, sizeof tool_cases[_i].outcomes);
	outcome = stub_outcome(arena, play_tool(&play, stub_chain(arena, use, NULL)));
	ck_assert_msg(strstr(outcome, tool_cases[_i].outcome) != NULL, "%s", outcome);
}
END_TEST

/* The tool's own error is the agent's to judge; a hook's own ends the run. */
START_TEST(whose_fault_it_is_stays_known)
{
	struct play play = play_of();
	const struct middleware_use *use = lua_use(arena,
	    "function wrap_tool_call(request, handler)\n"
	    "  local ok, r = pcall(handler, request)\n"
	    "  if not ok then error(r) end\n"
	    "  error('my own') end",
	    NULL);
	const struct value *body;

	play.outcomes[0] = "!OSError disk full";
	body = play_tool(&play, stub_chain(arena, use, NULL));
	ck_assert(!value_get_bool(value_get(body, "fault"), "fatal", false));
	body = play_tool(&play, stub_chain(arena, use, NULL));
	ck_assert(value_get_bool(value_get(body, "fault"), "fatal", false));
}
END_TEST

START_TEST(a_tool_that_the_code_brings_is_answered_by_its_wrap)
{
	const struct middleware_use *use = lua_use(arena,
	    "function wrap_tool_call(request, handler)\n"
	    "  if request.tool_call.name ~= 'roll' then return handler(request) end\n"
	    "  return 'rolled ' .. request.tool_call.args.sides end",
	    "{'tools': [{'name': 'roll', 'description': 'Rolls.'}]}");
	struct play play = play_of();

	ck_assert_value(arena, use->tools,
	    "[{'name': 'roll', 'description': 'Rolls.', 'parameters': {'type': "
	    "'object'}}]");
	play.request = literal(
	    arena, "{'tool_call': {'name': 'roll', 'id': 'c', 'args': {'sides': 6}}}");
	ck_assert_str_eq(
	    stub_outcome(arena, play_tool(&play, stub_chain(arena, use, NULL))),
	    "rolled 6");
}
END_TEST

TCase *tcase_lua_wraps(void);
TCase *
tcase_lua_wraps(void)
{
	TCase *tcase = tcase_create("lua_wraps");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_large_answer_is_not_the_hooks_memory);
	tcase_add_loop_test(
	    tcase, an_error_of_a_chunk_is_an_error_whatever_its_type, 0, 2);
	tcase_add_loop_test(tcase, a_model_wrap_does_as_it_says, 0,
	    sizeof model_cases / sizeof *model_cases);
	tcase_add_test(tcase, every_field_of_a_request_can_be_overridden);
	tcase_add_test(tcase, a_prompt_and_a_modified_request_reach_the_model);
	tcase_add_test(tcase, a_failed_prompt_or_modification_fails_the_call);
	tcase_add_test(tcase, wraps_nest_and_their_updates_are_collected);
	tcase_add_test(tcase, cancellation_passes_every_pcall);
	tcase_add_test(tcase, an_interrupt_of_a_wrap_waits_for_its_answer);
	tcase_add_loop_test(tcase, a_tool_wrap_does_as_it_says, 0,
	    sizeof tool_cases / sizeof *tool_cases);
	tcase_add_test(tcase, whose_fault_it_is_stays_known);
	tcase_add_test(tcase, a_tool_that_the_code_brings_is_answered_by_its_wrap);
	return tcase;
}
