#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"
#include "lua_kit.h"
#include "registry.h"

/* Interface under test: the middleware `lua`, through the chains. */
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

/* --- what a spec may say ------------------------------------------------------------ */

START_TEST(a_use_has_the_hooks_its_code_defines)
{
	const struct middleware_use *use = lua_use(arena,
	    "before_model = {can_jump_to = {'end', 'tools'}, run = function() end}\n"
	    "function wrap_tool_call(request, handler) return handler(request) end\n"
	    "local function helper() end\n"
	    "function another_helper() return helper() end\n",
	    "{'name': 'mine', 'state': {'n': {'type': 'integer', 'default': 0, "
	    "'reducer': 'add', 'private': true}}}");
	int hook;

	ck_assert_str_eq(use->name, "mine");
	for (hook = 0; hook < HOOK_COUNT; hook++)
		ck_assert_int_eq(use->hooks[hook],
		    hook == HOOK_BEFORE_MODEL || hook == HOOK_WRAP_TOOL_CALL);
	ck_assert_uint_eq(
	    use->jumps[HOOK_BEFORE_MODEL], (unsigned)JUMP_END | (unsigned)JUMP_TOOLS);
	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].otherwise, "0");
	ck_assert(use->fields[0].reducer == REDUCE_ADD);
	ck_assert(use->fields[0].omit_from_input && use->fields[0].omit_from_output);
	ck_assert_value(arena, use->reads, "['n']");
	use = lua_use(arena, "reads = {'messages'} function dynamic_prompt() end", NULL);
	ck_assert_value(arena, use->reads, "['messages']");
	ck_assert(use->hooks[HOOK_WRAP_MODEL_CALL]);
	ck_assert_str_eq(use->name, "lua");
}
END_TEST

static const struct {
	const char *code, *settings, *reason;
} refused[] = {
	{ "before_model = function(", NULL,
	    "/code: lua:1: <name> or '...' expected near <eof>" },
	{ "\n\nx = = 1", "{'file': 'hooks/limit.lua'}",
	    "/code: hooks/limit.lua:3: unexpected symbol near '='" },
	{ "error('no')", NULL, "/code: lua:1: no" },
	{ "x = 1", NULL, "the code defines no hook" },
	{ "\nfunction before_modle() end", NULL,
	    "lua:2: there is no hook \"before_modle\"; did you mean \"before_model\"?" },
	{ "before_model = 3", NULL, "before_model is a number; a hook is a function" },
	{ "before_model = {}", NULL, "before_model is a table without a function `run`" },
	{ "\nbefore_model = {can_jump_to = {'nowhere'}, run = function() end}", NULL,
	    "lua:2: before_model: there is no jump to \"nowhere\"" },
	{ "before_model = {can_jump_to = 'end', run = function() end}", NULL,
	    "can_jump_to is a list" },
	{ "wrap_model_call = {can_jump_to = {'end'}, run = function() end}", NULL,
	    "wrap_model_call cannot jump" },
	{ "reads = 3 function before_model() end", NULL, "reads is a list" },
	{ "reads = {{}} function before_model() end", NULL, "reads is a list" },
	{ "while true do end", NULL,
	    "lua:1: ran longer than instruction_limit, 1000000, allows" },
	{ "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end",
	    "{'memory_limit_bytes': 200000}", "memory_limit_bytes, 200000" },
	{ "\033Lua", NULL, "/code: lua:1: " },
	{ "function before_model() end", "{'name': 'a.b'}", "no name for a middleware" },
	{ "function before_model() end", "{'instruction_limit': 1}",
	    "/instruction_limit: must be at least 1000" },
	{ "function before_model() end", "{'nmae': 'x'}", "name" },
	{ "function before_model() end", "{'tools': [{'name': 't', 'description': 'd'}]}",
	    "/tools: the code has no wrap_tool_call" },
	{ "function wrap_tool_call() end", "{'tools': [{'name': 't'}]}",
	    "/tools/0: needs a description" },
	{ "function wrap_tool_call() end",
	    "{'tools': [{'name': 't', 'description': 'd', 'parameters': {'type': 1}}]}",
	    "/tools/0: parameters: " },
	{ "function before_model() end", "{'state': {'n': 3}}",
	    "/state/n: must be a map" },
	{ "function before_model() end", "{'state': {'n': {'tpye': 'integer'}}}",
	    "/state/n: a state field has no \"tpye\"" },
	{ "function before_model() end", "{'state': {'n': {'reducer': 'sub'}}}",
	    "/state/n: there is no reducer \"sub\"" },
	{ "function before_model() end",
	    "{'state': {'n': {'type': 'integer', 'reducer': ['add']}}}",
	    "/state/n: reducer must be a string, not a list" },
	{ "function before_model() end", "{'state': {'n': {'type': {}}}}",
	    "/state/n: type must be a string, not a map" },
	{ "function before_model() end", "{'state': {'n': {'private': 1}}}",
	    "/state/n: private must be true or false" },
};

START_TEST(code_that_will_not_do_is_refused_with_its_line)
{
	ck_assert_has(lua_refusal(arena, refused[_i].code, refused[_i].settings),
	    refused[_i].reason);
}
END_TEST

START_TEST(without_code_there_is_none)
{
	const char *path = "", *error = "";

	ck_assert_ptr_null(registry_use(arena, "lua", NULL, &path, &error));
	ck_assert_has(error, "needs the setting \"code\"");
	ck_assert_ptr_null(registry_use(
	    arena, "lua", literal(arena, "{'file': 'x.lua'}"), &path, &error));
	ck_assert_str_eq(path, "/file");
}
END_TEST

START_TEST(checked_settings_pass_again)
{
	const struct middleware_use *use =
	    lua_use(arena, "function before_model() end", "{'settings': {'a': 1}}");
	const char *path, *error;
	const struct middleware_use *again =
	    registry_use(arena, "lua", use->settings, &path, &error);

	ck_assert_ptr_nonnull(again);
	ck_assert(value_equal(use->settings, again->settings));
}
END_TEST

/* --- node hooks --------------------------------------------------------------------- */

static const struct {
	const char *code, *state, *update;
} turns[] = {
	{ "return nil", "{}", NULL },
	{ "return {n = state.n + 1, f = 1.0, s = 'x', b = true, z = null}", "{'n': 2}",
	    "{'n': 3, 'f': 1.0, 's': 'x', 'b': true, 'z': null}" },
	{ "return {n = math.maxinteger, m = math.mininteger}", "{}",
	    "{'n': 9223372036854775807, 'm': -9223372036854775808}" },
	{ "return {a = array{}, m = {}, l = {1, 2}, messages = {}}", "{}",
	    "{'a': [], 'm': {}, 'l': [1, 2], 'messages': []}" },
	{ "state.l[#state.l + 1] = 4 table.insert(state.l, 5) return {l = state.l}",
	    "{'l': [3]}", "{'l': [3, 4, 5]}" },
	{ "state.m.x = nil return {m = state.m, e = state.e}", "{'m': {'x': 1}, 'e': []}",
	    "{'m': {}, 'e': []}" },
	{ "return state", "{'m': {'x': [[1], {}]}}",
	    "{'m': {'x': [[1], {}]}, 'messages': []}" },
	{ "local n = 0 for k, v in pairs(state.m) do n = n + v end "
	  "for i, v in ipairs(state.l) do n = n + i * v end return {n = n + #state.l}",
	    "{'m': {'x': 1, 'y': 2}, 'l': [10, 20]}", "{'n': 55}" },
	{ "return {n = #state.messages, t = state.messages[1].content, z = state.z == "
	  "null, "
	  "k = next(state.m), jump_to = 'end'}",
	    "{'messages': [{'type': 'human', 'content': 'hi'}], 'z': null, 'm': {'q': "
	    "1}}",
	    "{'n': 1, 't': 'hi', 'z': true, 'k': 'q', 'jump_to': 'end'}" },
	{ "return {who = runtime.agent .. runtime.run_id .. runtime.thread_id .. "
	  "runtime.name .. runtime.tenant, user = runtime.context.user, x = "
	  "runtime.settings.x}",
	    "{}", "{'who': 'helperrtluaacme', 'user': 'u', 'x': 7}" },
	{ "local t = json.decode('{\"a\": [1, 2.5, null]}') t.a[1] = 9 "
	  "return {j = json.encode(t.a)}",
	    "{}", "{'j': '[9,2.5,null]'}" },
	{ "return {a = ('x-y'):gsub('%-', '+'), b = ('k=v'):match('(%w+)=(%w+)'), "
	  "c = ('abc'):find('b', 1, true), d = string.format('%d%s', 3, 'z')}",
	    "{}", "{'a': 'x+y', 'b': 'k', 'c': 2, 'd': '3z'}" },
	{ "local ok, e = pcall(error, {type = 'ValueError', message = 'm'}) "
	  "return {ok = ok, t = e.type, s = tostring(e.message)}",
	    "{}", "{'ok': false, 't': 'ValueError', 's': 'm'}" },
	{ "runtime.sleep(0) runtime:sleep(0) return {slept = true}", "{}",
	    "{'slept': true}" },
};

START_TEST(a_node_hook_sees_the_state_and_returns_an_update)
{
	const struct middleware_use *use = lua_use(arena,
	    arena_printf(
		arena, "function before_model(state, runtime) %s end", turns[_i].code),
	    "{'settings': {'x': 7}}");
	const struct value *update =
	    lua_turn(arena, use, HOOK_BEFORE_MODEL, turns[_i].state);

	if (turns[_i].update == NULL)
		ck_assert_ptr_null(update);
	else
		ck_assert_value(arena, update, turns[_i].update);
	/* Integers stay integers. */
	if (value_has(update, "f"))
		ck_assert(value_is(value_get(update, "f"), VALUE_FLOAT));
	if (value_has(update, "n"))
		ck_assert(value_is(value_get(update, "n"), VALUE_INT));
}
END_TEST

static const struct {
	const char *code, *fault;
} failures[] = {
	{ "\n return state.x.y", "LuaError: lua:2: attempt to index a nil value" },
	{ "error('no')", "LuaError: lua:1: no" },
	{ "error({type = 'TimeoutError', message = 'late'})", "TimeoutError: late" },
	{ "error({})", "LuaError: lua: raised a table" },
	{ "error(nil)", "LuaError: lua: raised a nil" },
	{ "return 3", "LuaError: before_model returns nil or a table of updates" },
	{ "return {1, 2}", "LuaError: before_model returns a list" },
	{ "return {x = print}", NULL },
	{ "return {x = pairs}", "LuaError: the update has a function in it" },
	{ "return {x = {1, a = 2}}", "LuaError: the update has a table with both" },
	{ "return {x = {[1.5] = 2}}", "LuaError: the update has a table whose names" },
	{ "return {x = {[2] = 2}}", "LuaError: the update has a table whose names" },
	{ "return {x = 1/0}", "LuaError: the update has a number that is not finite" },
	{ "local t = {} t.t = t return t", "LuaError: the update is nested too deep" },
	{ "runtime.sleep(-1)", "must be 0 to 86400000 ms" },
	{ "runtime.call_model(3)", "bad argument #1" },
	{ "('x'):gsub('x', function() runtime.sleep(1) end)",
	    "what waits cannot be called from here" },
};

START_TEST(a_mistake_ends_the_run_with_its_line)
{
	const struct middleware_use *use = lua_use(arena,
	    arena_printf(
		arena, "function before_model(state, runtime) %s end", failures[_i].code),
	    NULL);
	const struct value *update = lua_turn(arena, use, HOOK_BEFORE_MODEL, "{}");

	if (failures[_i].fault != NULL)
		ck_assert_has(value_get_text(update, "fault"), failures[_i].fault);
	else
		ck_assert_value(arena, update, "{}");
	/* The next call finds all as it was. */
	use = lua_use(arena, "function before_model() return {n = 1} end", NULL);
	ck_assert_value(arena, lua_turn(arena, use, HOOK_BEFORE_MODEL, "{}"), "{'n': 1}");
}
END_TEST

START_TEST(nothing_survives_a_call)
{
	const struct middleware_use *use = lua_use(arena,
	    "count = 0 local other = 0\n"
	    "function before_model() count = count + 1 other = other + 1\n"
	    "  leaked = (leaked or 0) + 1\n"
	    "  return {n = count * 100 + other * 10 + leaked} end",
	    NULL);
	int i;

	for (i = 0; i < 3; i++)
		ck_assert_value(
		    arena, lua_turn(arena, use, HOOK_BEFORE_MODEL, "{}"), "{'n': 111}");
}
END_TEST

static bool
on_streams(struct turn *turn)
{
	return turn->arg != NULL;
}

static void
on_stream(struct turn *turn, const struct value *value)
{
	struct value_list *told = turn->arg;

	value_list_add(told, value);
}

/* Where nobody listens the value is not even looked at. */
START_TEST(a_node_hook_streams)
{
	struct value_list told = { .arena = arena };
	struct turn turn = { .arena = arena, .streams = on_streams, .stream = on_stream };

	turn.use = lua_use(arena,
	    "function after_model(state, runtime)\n"
	    "  runtime.stream{done = 0.5}; runtime:stream('half'); runtime.stream(nil)\n"
	    "  runtime.stream(function() end)\n"
	    "end",
	    NULL);
	chain_node_hook(&turn, HOOK_AFTER_MODEL);
	ck_assert_ptr_null(turn.fault);
	turn.arg = &told;
	chain_node_hook(&turn, HOOK_AFTER_MODEL);
	ck_assert_has(turn.fault->message, "what is streamed");
	ck_assert_value(arena, value_list_end(&told), "[{'done': 0.5}, 'half', null]");
}
END_TEST

static const struct value *
on_call_model(struct turn *turn, const struct value *request)
{
	if (value_text_is(value_get(request, "model"), "bad"))
		return literal(turn->arena,
		    "{'fault': {'type': 'RateLimitError', 'message': 'slow down'}}");
	if (value_text_is(value_get(request, "model"), "gone"))
		return NULL;
	return value_map(turn->arena, "messages",
	    literal(turn->arena, "[{'type': 'ai', 'content': 'forty-two'}]"), NULL);
}

START_TEST(a_node_hook_asks_a_model_and_notes)
{
	struct turn turn = { .arena = arena, .call_model = on_call_model };

	turn.messages = turn.state = NULL;
	turn.use = lua_use(arena,
	    "function after_model(state, runtime)\n"
	    "  local ok, e = pcall(runtime.call_model, {model = 'bad', messages = 'x'})\n"
	    "  runtime.note('failed', e)\n"
	    "  local r = runtime.call_model{model = 'good', messages = 'x'}\n"
	    "  return {a = r.text, b = r.message.type, c = e.type, d = tostring(e)}\n"
	    "end",
	    NULL);
	ck_assert_value(arena, chain_node_hook(&turn, HOOK_AFTER_MODEL),
	    "{'a': 'forty-two', 'b': 'ai', 'c': 'RateLimitError', "
	    "'d': 'RateLimitError: slow down'}");
	ck_assert_value(arena, value_list_end(&turn.notes),
	    "[{'middleware': 'lua', 'text': 'failed RateLimitError: slow down'}]");
	/* A cancelled call never comes back, whatever stands around it. */
	turn.use = lua_use(arena,
	    "function after_model(state, runtime)\n"
	    "  pcall(runtime.call_model, {model = 'gone', messages = 'x'})\n"
	    "  return {n = 1} end",
	    NULL);
	ck_assert_ptr_null(chain_node_hook(&turn, HOOK_AFTER_MODEL));
	ck_assert(turn.fault->control);
}
END_TEST

static const struct value *
on_store(struct turn *turn, const struct value *op)
{
	if (value_text_is(value_get(op, "op"), "gone"))
		return NULL;
	if (!value_text_is(value_get(op, "op"), "get"))
		return literal(turn->arena,
		    "{'fault': {'type': 'ValueError', 'message': 'no such op'}}");
	return value_map(
	    turn->arena, "item", value_map(turn->arena, "value", op, NULL), NULL);
}

START_TEST(a_node_hook_reaches_long_term_memory)
{
	struct turn turn = { .arena = arena, .store = on_store };

	turn.use = lua_use(arena,
	    "function before_agent(state, runtime)\n"
	    "  local got = runtime.store{op = 'get', namespace = {'u', '7'}, key = 'k'}\n"
	    "  local ok, e = pcall(runtime.store, {op = 'take'})\n"
	    "  return {key = got.item.value.key, label = got.item.value.namespace[2],\n"
	    "    ok = ok, e = e.type}\n"
	    "end",
	    NULL);
	ck_assert_value(arena, chain_node_hook(&turn, HOOK_BEFORE_AGENT),
	    "{'key': 'k', 'label': '7', 'ok': false, 'e': 'ValueError'}");
	turn.use = lua_use(arena,
	    "function before_agent(state, runtime)\n"
	    "  pcall(runtime.store, {op = 'gone'}) return {n = 1} end",
	    NULL);
	ck_assert_ptr_null(chain_node_hook(&turn, HOOK_BEFORE_AGENT));
	ck_assert(turn.fault->control);
}
END_TEST

START_TEST(an_interrupt_is_answered_by_its_order)
{
	struct turn turn = { .arena = arena };

	turn.use = lua_use(arena,
	    "function before_model(state, runtime)\n"
	    "  local ok, first = pcall(runtime.interrupt, {ask = 'first?'})\n"
	    "  return {first = first, second = runtime.interrupt('second?')}\n"
	    "end",
	    NULL);
	ck_assert_ptr_null(chain_node_hook(&turn, HOOK_BEFORE_MODEL));
	ck_assert_ptr_null(turn.fault);
	ck_assert_value(arena, turn.interrupts.asked, "{'ask': 'first?'}");
	turn.interrupts =
	    (struct interrupts){ .answers = literal(arena, "[{'yes': true}, 2]") };
	ck_assert_value(arena, chain_node_hook(&turn, HOOK_BEFORE_MODEL),
	    "{'first': {'yes': true}, 'second': 2}");
}
END_TEST

TCase *tcase_lua(void);
TCase *
tcase_lua(void)
{
	TCase *tcase = tcase_create("lua");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_use_has_the_hooks_its_code_defines);
	tcase_add_loop_test(tcase, code_that_will_not_do_is_refused_with_its_line, 0,
	    sizeof refused / sizeof *refused);
	tcase_add_test(tcase, without_code_there_is_none);
	tcase_add_test(tcase, checked_settings_pass_again);
	tcase_add_loop_test(tcase, a_node_hook_sees_the_state_and_returns_an_update, 0,
	    sizeof turns / sizeof *turns);
	tcase_add_loop_test(tcase, a_mistake_ends_the_run_with_its_line, 0,
	    sizeof failures / sizeof *failures);
	tcase_add_test(tcase, nothing_survives_a_call);
	tcase_add_test(tcase, a_node_hook_asks_a_model_and_notes);
	tcase_add_test(tcase, a_node_hook_streams);
	tcase_add_test(tcase, a_node_hook_reaches_long_term_memory);
	tcase_add_test(tcase, an_interrupt_is_answered_by_its_order);
	return tcase;
}
