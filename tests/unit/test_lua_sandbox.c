#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "literal.h"
#include "lua_kit.h"

/* Interface under test: the bounds of the middleware `lua`. */
#include "lua_vm.h"

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

static const char *
text_of(const char *code)
{
	const struct middleware_use *use = lua_use(arena,
	    arena_printf(arena, "function before_model(state, runtime) %s end", code),
	    "{'memory_limit_bytes': 1000000}");
	const struct value *update = lua_turn(arena, use, HOOK_BEFORE_MODEL, "{}");

	return value_get_text(update, "fault") != NULL ? value_get_text(update, "fault")
						       : value_get_text(update, "x");
}

/* What is not there: the name, so that the test says which. */
static const char *const absent[] = { "io", "os", "debug", "package", "require", "load",
	"loadfile", "dofile", "loadstring", "collectgarbage", "coroutine", "print", "_G",
	"rawset", "string.dump", "string.pack", "string.unpack", "getmetatable('')",
	"getmetatable(state)", "getmetatable(runtime).__index", "warn",
	"math.randomseed" };

START_TEST(nothing_reaches_outside)
{
	const char *text = text_of(arena_printf(arena,
	    "local ok, v = pcall(function() return %s end) "
	    "return {x = tostring(ok and v or nil)}",
	    absent[_i]));

	ck_assert_msg(strcmp(text, "nil") == 0 || strcmp(text, "false") == 0 ||
			  strcmp(text, "map") == 0,
	    "%s: %s", absent[_i], text);
}
END_TEST

#define INSTRUCTIONS "ran longer than instruction_limit, 1000000, allows"
#define MEMORY "memory_limit_bytes, 1000000"

static const struct {
	const char *code, *fault;
} bombs[] = {
	{ "while true do end", INSTRUCTIONS },
	{ "repeat until false", INSTRUCTIONS },
	{ "while true do pcall(function() while true do end end) end", INSTRUCTIONS },
	{ "local function f() pcall(f) while true do end end f()", INSTRUCTIONS },
	{ "xpcall(function() while true do end end, function() while true do end end)",
	    INSTRUCTIONS },
	{ "xpcall(error, function() while true do end end)", INSTRUCTIONS },
	{ "while true do xpcall(error, function() while true do end end) end",
	    INSTRUCTIONS },
	{ "xpcall(function() ('x'):gsub('x', function() while true do end end) end, "
	  "function() while true do end end)",
	    INSTRUCTIONS },
	{ "local function spin() while true do end end "
	  "xpcall(table.sort, function() xpcall(error, spin) end, {2, 1}, spin)",
	    INSTRUCTIONS },
	{ "return {x = select(2, xpcall(error, function(e) return e .. '!' end, 'oh'))}",
	    "oh!" },
	{ "return {x = select(2, xpcall(function(...) return ... end, error, 'given'))}",
	    "given" },
	{ "xpcall(error, {})", "bad argument #2 to 'xpcall' (function expected" },
	/* Where no memory is left for the place of a message. */
	{ "local t, a, n = {}, {}, 0 for i = 0, 255 do a[i] = string.char(i) end "
	  "for i = 1, 20000 do t[i] = false end "
	  "local function fill() while true do n = n + 1 "
	  "t[n] = a[n & 255] .. a[n >> 8 & 255] end end "
	  "local function spin() while true do end end "
	  "for i = 1, 9 do pcall(fill) end while true do pcall(spin) end",
	    INSTRUCTIONS },
	{ "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) "
	  "return t[1]",
	    "stack overflow" },
	{ "local t = setmetatable({}, {__index = function() while true do end end}) "
	  "return t[1]",
	    INSTRUCTIONS },
	{ "table.sort({3, 2, 1, 5, 4}, function() while true do end end)", INSTRUCTIONS },
	{ "('x'):gsub('x', function() while true do end end)", INSTRUCTIONS },
	{ "local x <close> = setmetatable({}, {__close = function() while true do end "
	  "end}) while true do end",
	    INSTRUCTIONS },
	{ "setmetatable({}, {__gc = function() while true do end end})",
	    "a metatable with __gc is not allowed" },
	{ "local t = {} while true do t[#t + 1] = {} end", MEMORY },
	{ "local s = 'x' while true do s = s .. s end", MEMORY },
	{ "while true do pcall(string.rep, 'x', 1 << 30) end", INSTRUCTIONS },
	{ "string.rep('x', 1 << 30)", INSTRUCTIONS },
	{ "string.rep('x', 1 << 20)", MEMORY },
	{ "string.rep('x', 1 << 50)", "resulting string too large" },
	{ "return {x = #string.rep('', 1 << 50) .. ''}", "0" },
	{ "string.rep('', 1 << 40, 'x')", "resulting string too large" },
	{ "string.find(('a'):rep(5000), '.-.-.-.-.-b')", INSTRUCTIONS },
	{ "string.match(('a'):rep(30000), ('a*'):rep(12) .. 'b')", INSTRUCTIONS },
	{ "string.find(('a'):rep(200000), ('a?'):rep(300) .. 'b')", "too complex" },
	{ "for w in ('a'):rep(100000):gmatch('a*b') do end", INSTRUCTIONS },
	{ "string.find(('('):rep(100000), ('%b()'):rep(9))", INSTRUCTIONS },
	{ "local s = ('x'):rep(100000) for i = 1, 11 do s:gsub('', tostring) end",
	    INSTRUCTIONS },
	{ "('b'):rep(20000):find('[' .. ('a'):rep(100000) .. ']')", INSTRUCTIONS },
	{ "('b'):rep(20000):find('%f[' .. ('a'):rep(100000) .. ']')", INSTRUCTIONS },
	{ "('b'):rep(20000):gsub('[' .. ('a'):rep(100000) .. ']', 'x')", INSTRUCTIONS },
	{ "('b'):rep(20000):gmatch('[' .. ('a'):rep(100000) .. ']*c')()", INSTRUCTIONS },
	{ "for i = 1, 1000 do pcall(string.find, 'b', '[' .. ('a'):rep(100000)) end",
	    INSTRUCTIONS },
	{ "string.find(('('):rep(1000), ('('):rep(40))", "too many captures" },
	{ "table.move({}, 1, 1 << 60, 2)", INSTRUCTIONS },
	{ "table.insert(setmetatable({}, {__len = function() return 1 << 40 end}), 1, 1)",
	    "a table with __len cannot be used here" },
	{ "table.concat(setmetatable({}, {__len = function() return 1 << 40 end}))",
	    "a table with __len cannot be used here" },
	{ "table.concat({}, '', 1, 1 << 60)", INSTRUCTIONS },
	{ "table.concat({}, '', math.mininteger, math.maxinteger)", INSTRUCTIONS },
	{ "table.concat(setmetatable({}, {__index = table.concat}), '', 1, "
	  "math.maxinteger)",
	    INSTRUCTIONS },
	{ "table.concat({}, '', 1, 3)", "invalid value (nil) at index 1" },
	{ "return {x = table.concat({'a', 'b', 'c'}, '-', 2) .. table.concat({}, '', 2, "
	  "1)}",
	    "b-c" },
	{ "return {x = table.unpack({'a', 'b'}, 2)}", "b" },
	{ "local t = {3, 'x', 1} table.sort(t)", "attempt to compare" },
	{ "local t = {3, 10, 1} table.sort(t) return {x = table.concat(t, ' ')}",
	    "1 3 10" },
	{ "local t = {3, 10, 1} table.sort(t, function(a, b) return a > b end) "
	  "return {x = table.concat(t, ' ')}",
	    "10 3 1" },
	{ "table.sort({1, 2}, 3)", "bad argument #2 to 'sort' (function expected" },
	{ "local t = {} for i = 1, 1000 do t[i] = i end while true do table.sort(t) end",
	    INSTRUCTIONS },
	{ "local t = {} for i = 1, 10000 do table.insert(t, 1, i) end", INSTRUCTIONS },
	{ "return {x = table.unpack({}, 1, 1 << 40)}", "too many results" },
	{ "local function f() return 1 + f() end f()", MEMORY },
	{ "local function f() return f() end f()", INSTRUCTIONS },
	{ "local t = {} for i = 1, 3e5 do t = {t} end return {x = t}", MEMORY },
	{ "local t = {} for i = 1, 100 do t = {t} end return {x = t}",
	    "nested too deep" },
	{ "return {x = {[null] = 1}}", "names are not all texts" },
	{ "local m = {('x'):rep(500000)} while true do json.encode(m) end",
	    "memory_limit_bytes, 1000000" },
	{ "local s = '[' .. ('1,'):rep(100000) .. '1]' while true do json.decode(s) end",
	    "memory_limit_bytes, 1000000" },
	{ "json.decode(('['):rep(5000))", "json.decode: " },
	{ "string.len = 3", "Lua's own libraries cannot be changed" },
	{ "table.insert(string, 3)", "Lua's own libraries cannot be changed" },
	{ "setmetatable(string, {})", "cannot change a protected metatable" },
	{ "array(string)", "cannot change a protected metatable" },
	{ "array(_ENV)", "cannot change a protected metatable" },
	{ "array(array{1}) array(state)", NULL },
	{ "setmetatable(state, {})", NULL },
	{ "setmetatable(array{}, {})", "cannot change a protected metatable" },
	{ "runtime.x = 3", "attempt to index a runtime value" },
	/* What a table is still to be filled with is not to be seen, nor to be put elsewhere. */
	{ "local raw = pairs({}) local t = json.decode('{\"a\": 1}') return {x = raw(t)}",
	    "a" },
	{ "local t, names = json.decode('{\"a\": {\"b\": 1}, \"c\": [2]}'), {} "
	  "local raw = pairs({}) for k, v in raw, t.a do names[#names + 1] = type(k) end "
	  "for k, v in raw, t.c do names[#names + 1] = type(k) end "
	  "return {x = table.concat(names, ' ')}",
	    "string number" },
	{ "local t = setmetatable({}, {__pairs = function() return 'own' end}) "
	  "return {x = pairs(t)}",
	    "own" },
	{ "pairs()", "bad argument #1 to 'pairs'" },
};

START_TEST(what_would_never_end_ends_with_a_reason)
{
	const char *text = text_of(bombs[_i].code);

	if (bombs[_i].fault == NULL)
		ck_assert_ptr_null(text);
	else
		ck_assert_msg(text != NULL && strstr(text, bombs[_i].fault) != NULL,
		    "%s: %s", bombs[_i].code, text);
	ck_assert_str_eq(text_of("return {x = 'fine'}"), "fine");
}
END_TEST

START_TEST(what_stands_in_many_places_is_not_copied_for_all_of_them)
{
	const char *text = text_of("local s = ('x'):rep(100000) local t = {} "
				   "for i = 1, 600 do t[i] = s end json.encode(t)");

	ck_assert_msg(text != NULL && strstr(text, MEMORY) != NULL, "%s", text);
	ck_assert_uint_lt(arena_bytes(arena), 4000000);
}
END_TEST

/* What came from outside is lent, not copied; but it is written out wherever it stands. */
static const char *const lent[] = { "json.encode(t)", "return {x = t}",
	"runtime.interrupt(t)",
	"local u = {} for i = 1, 1000 do u[i] = t end json.encode(u)" };

START_TEST(what_is_lent_counts_in_each_place)
{
	const char *text = text_of(arena_printf(arena,
	    "local v = json.decode('[\"' .. ('x'):rep(100000) .. '\"]') "
	    "local t = {} for i = 1, 1000 do t[i] = v end %s",
	    lent[_i]));

	ck_assert_msg(
	    text != NULL && strstr(text, MEMORY) != NULL, "%s: %s", lent[_i], text);
	ck_assert_uint_lt(arena_bytes(arena), 4000000);
}
END_TEST

/* Half of it must not pass for all of it, where somebody has caught the error. */
START_TEST(what_does_not_fit_is_not_there_in_part)
{
	static const char *const ways[] = { "v[60000]", "#v", "next(v)", "rawlen(v)" };
	const struct middleware_use *use = lua_use(arena,
	    arena_printf(arena,
		"function before_model(state) local v = state.v "
		"pcall(function() return v[1] end) return {x = tostring(%s)} end",
		ways[_i]),
	    "{'memory_limit_bytes': 1000000}");
	const struct value *update;
	const char *ones = "[1", *text;
	struct packet packet = { 0 };
	size_t i;

	packet_append(&packet, "{'v':", 5);
	for (i = 0; i < 60000; i++, ones = ",1")
		packet_append(&packet, ones, 2);
	packet_append(&packet, "]}", 3);
	update = lua_turn(arena, use, HOOK_BEFORE_MODEL, packet.data);
	packet_release(&packet);
	text = value_get_text(update, "fault");
	if (text == NULL)
		text = value_get_text(update, "x");
	ck_assert_msg(strcmp(text, "60000") == 0 || strstr(text, MEMORY) != NULL,
	    "%s: %s", ways[_i], text);
}
END_TEST

static size_t
count_lines(FILE *file, const char *text)
{
	char line[4096];
	size_t count = 0;

	rewind(file);
	while (fgets(line, sizeof line, file) != NULL)
		count += strstr(line, text) != NULL;
	return count;
}

START_TEST(a_call_logs_so_many_lines_and_says_that_there_were_more)
{
	int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	dup2(fileno(file), STDERR_FILENO);
	ck_assert_str_eq(
	    text_of("for i = 1, 300 do runtime.log('line', i) end return {x = 'fine'}"),
	    "fine");
	ck_assert_str_eq(text_of("runtime.log('anew') return {x = 'fine'}"), "fine");
	dup2(saved, STDERR_FILENO);
	close(saved);
	ck_assert_uint_eq(count_lines(file, "line "), 100);
	ck_assert_uint_eq(count_lines(file, "line 100"), 1);
	ck_assert_uint_eq(count_lines(file, "what else this call logs is left out"), 1);
	ck_assert_uint_eq(count_lines(file, "anew"), 1);
	fclose(file);
}
END_TEST

/* What one instruction may take long over: much memory is there to walk through. */
static const char *const slow[] = {
	"local s = 'x' for i = 1, 22 do s = s .. s end while true do local a = s .. 'y' "
	"end",
	"local s = 'x' for i = 1, 22 do s = s .. s end while true do utf8.len(s) end",
	"local s = 'x' for i = 1, 22 do s = s .. s end while true do s:upper() end",
	"local t = {} for i = 1, 3e5 do t['k' .. i] = i end for k in pairs(t) do t[k] = "
	"nil end while true do next(t) end",
	"while true do pcall(table.unpack, {}, 1, 200000) end",
	/* Of what is empty a replacement may have very much: nothing grows. */
	"('x'):rep(100000):gsub('y*', ('%0'):rep(2000000))",
	"('x'):rep(100000):gsub('(y*)', ('%1'):rep(2000000))",
	"('b'):rep(100000):find('[' .. ('a'):rep(1000000) .. ']')",
	"local s = 'x' for i = 1, 22 do s = s .. s end local t = {} for i = 1, 10000 do "
	"t[i] = s end table.sort(t)",
	"local s = 'x' for i = 1, 22 do s = s .. s end local t = {} for i = 1, 10000 do "
	"t[i] = s end table.sort(t, string.upper)",
	"while true do end",
};

START_TEST(nothing_holds_the_process_up)
{
	const struct middleware_use *use = lua_use(arena,
	    arena_printf(arena, "function before_model(state, runtime) %s end", slow[_i]),
	    "{'memory_limit_bytes': 100000000, 'instruction_limit': 100000000}");
	const char *text =
	    value_get_text(lua_turn(arena, use, HOOK_BEFORE_MODEL, "{}"), "fault");

	/* A fast machine comes to the other limit first. */
	ck_assert_msg(text != NULL && (strstr(text, "held the process up") != NULL ||
					  strstr(text, "instruction_limit") != NULL),
	    "%s: %s", slow[_i], text);
}
END_TEST

/* Each nests as deep as liblua lets it, on the stack that is there for it. */
static const char *const deep[] = {
	"local function f(n) return (('x'):gsub('x', function() return f(n + 1) end)) "
	"end "
	"f(1)",
	"local function f() table.sort({2, 1}, function(a, b) f() return a < b end) end "
	"f()",
	"local t = {} setmetatable(t, {__index = function(_, k) return t[k .. 'x'] end}) "
	"return {x = t.a}",
	"local t = setmetatable({}, {}) getmetatable(t).__tostring = function() return "
	"tostring(t) end tostring(t)",
	"local t = setmetatable({}, {}) getmetatable(t).__concat = function(a, b) return "
	"t .. b end return {x = t .. 'x'}",
	"local t = setmetatable({}, {}) getmetatable(t).__eq = function(a) return t == "
	"{} "
	"end return {x = t == {}}",
	"local t = setmetatable({}, {}) getmetatable(t).__tostring = function() return "
	"string.format('%s', t) end return {x = string.format('%s', t)}",
	"local function f() return pcall(f) or error('x') end pcall(f) error('overflow')",
	"local function f() error('x') end xpcall(f, function(e) error(e) end) "
	"error('stack overflow')",
	"local t = setmetatable({}, {}) getmetatable(t).__lt = function(a, b) "
	"table.sort({t, t, t}) return true end table.sort({t, t, t})",
};

START_TEST(deep_nesting_is_an_error_not_a_crash)
{
	const char *text = text_of(deep[_i]);

	ck_assert_msg(
	    text != NULL && strstr(text, "overflow") != NULL, "%s: %s", deep[_i], text);
}
END_TEST

/* As deep as the parser goes. */
START_TEST(code_nests_as_deep_as_it_may)
{
	static const char *const pieces[][3] = {
		{ "(", "1", ")" },
		{ "{", "1", "}" },
		{ "(function() return ", "1", " end)()" },
		{ "- ", "1", "" },
		{ "'x' .. ", "'y'", "" },
	};
	const char *reason;
	size_t depth, i;

	for (i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		const char *open = "", *close = "";

		for (depth = 0; depth < 250; depth++) {
			open = arena_printf(arena, "%s%s", open, pieces[i][0]);
			close = arena_printf(arena, "%s%s", close, pieces[i][2]);
		}
		reason = lua_refusal(arena,
		    arena_printf(arena, "x = %s%s%s", open, pieces[i][1], close), NULL);
		ck_assert_msg(strstr(reason, "overflow") != NULL ||
				  strstr(reason, "C levels") != NULL,
		    "%s", reason);
	}
}
END_TEST

static const struct {
	const char *code, *x;
} patterns[] = {
	{ "('hello world'):match('^(%w+)')", "hello" },
	{ "('key = value'):match('^(%w+)%s*=%s*(%w+)$')", "key" },
	{ "select(2, ('key = value'):match('^(%w+)%s*=%s*(%w+)$'))", "value" },
	{ "('  trim  '):match('^%s*(.-)%s*$')", "trim" },
	{ "('[[x]]'):match('%[(%b[])%]')", "[x]" },
	{ "('f(a(b)c)d'):match('%b()')", "(a(b)c)" },
	{ "('THE (quick) fox'):find('%((%a+)%)')", "5" },
	{ "('abc'):find('b()')", "2" },
	{ "select(3, ('abc'):find('b()'))", "3" },
	{ "('a.b'):find('.', 1, true)", "2" },
	{ "('abc'):find('', 10)", "nil" },
	{ "('abc'):find('', 4)", "4" },
	{ "('abc'):find('c', -1)", "3" },
	{ "('x'):rep(3, ',')", "x,x,x" },
	{ "('abc'):gsub('', '-')", "-a-b-c-" },
	{ "('abc'):gsub('%w', '%0%0')", "aabbcc" },
	{ "('hello world'):gsub('(%w+) (%w+)', '%2 %1')", "world hello" },
	{ "('$name is $age'):gsub('%$(%w+)', {name = 'Ada', age = 36})", "Ada is 36" },
	{ "('abc'):gsub('b', function() return false end)", "abc" },
	{ "('a,b,,c'):gsub(',', ';', 2)", "a;b;,c" },
	{ "select(2, ('aaa'):gsub('a', 'b'))", "3" },
	{ "('THE (quick) fox'):gsub('%f[%a]%a+', string.lower)", "the (quick) fox" },
	{ "('aXb'):match('[^%l]')", "X" },
	{ "('a-b'):match('[a%-]+')", "a-" },
	{ "('a]b'):match('[]]')", "]" },
	{ "('x^y'):match('[x^]+')", "x^" },
	{ "('2024-01-31'):match('(%d+)-(%d+)-(%d+)')", "2024" },
	{ "('\"q\" x'):match('([\"\\']).-%1')", "\"" },
	{ "('caaab'):match('a-b')", "aaab" },
	{ "('caaab'):match('ca?')", "ca" },
	{ "('abc'):match('$')", "" },
	{ "('a$c'):match('a$c')", "a$c" },
	{ "pcall(string.find, 'x', '[a')", "false" },
	{ "pcall(string.find, 'x', '%')", "false" },
	{ "pcall(string.find, 'x', '(x')", "false" },
	{ "pcall(string.match, 'x', 'x)')", "false" },
	{ "pcall(string.find, 'x', '%1')", "false" },
	{ "pcall(string.find, 'x', '%f')", "false" },
	{ "pcall(string.find, 'x', '%b')", "false" },
	{ "pcall(string.gsub, 'x', 'x', '%2')", "false" },
	{ "pcall(string.gsub, 'x', 'x', '%')", "false" },
	{ "(function() local s = '' for k, v in ('a=1,b=2'):gmatch('(%w)=(%w)') do s = s "
	  ".. k .. v end return s end)()",
	    "a1b2" },
	{ "(function() local n = 0 for w in ('abc'):gmatch('') do n = n + 1 end return n "
	  "end)()",
	    "4" },
	{ "('%d'):format(3.0)", "3" },
	{ "('\\0a'):match('%z*(a)')", "a" },
};

START_TEST(patterns_are_luas)
{
	ck_assert_str_eq(text_of(arena_printf(
			     arena, "return {x = tostring((%s))}", patterns[_i].code)),
	    patterns[_i].x);
}
END_TEST

TCase *tcase_lua_sandbox(void);
TCase *
tcase_lua_sandbox(void)
{
	TCase *tcase = tcase_create("lua_sandbox");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, nothing_reaches_outside, 0, sizeof absent / sizeof *absent);
	tcase_add_loop_test(tcase, what_would_never_end_ends_with_a_reason, 0,
	    sizeof bombs / sizeof *bombs);
	tcase_add_test(tcase, what_stands_in_many_places_is_not_copied_for_all_of_them);
	tcase_add_loop_test(tcase, what_does_not_fit_is_not_there_in_part, 0, 4);
	tcase_add_loop_test(
	    tcase, what_is_lent_counts_in_each_place, 0, sizeof lent / sizeof *lent);
	tcase_add_test(tcase, a_call_logs_so_many_lines_and_says_that_there_were_more);
	tcase_add_loop_test(
	    tcase, nothing_holds_the_process_up, 0, sizeof slow / sizeof *slow);
	tcase_add_loop_test(
	    tcase, deep_nesting_is_an_error_not_a_crash, 0, sizeof deep / sizeof *deep);
	tcase_add_test(tcase, code_nests_as_deep_as_it_may);
	tcase_add_loop_test(
	    tcase, patterns_are_luas, 0, sizeof patterns / sizeof *patterns);
	return tcase;
}
