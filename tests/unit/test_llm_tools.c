#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test: llm_tool_selector, llm_tool_emulator */
#include "registry.h"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	play.profile = literal(arena,
	    "{'model': 'openai:main', 'wraps_tools': true, 'tools': [{'name': 'a', "
	    "'description': 'Does a.'}, {'name': 'b'}, {'name': 'c'}, {'type': "
	    "'web_search', 'name': 'w'}]}");
	play.request = literal(arena,
	    "{'messages': [{'type': 'human', 'content': 'first'}, {'type': 'ai', "
	    "'content': 'x'}, {'type': 'human', 'content': 'last'}, {'type': 'tool', "
	    "'tool_call_id': 'x', 'content': 'y'}]}");
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct {
	const char *type, *settings, *path, *reason;
} wrong[] = {
	{ "llm_tool_selector", "{'model': 'picker'}", "/model", "provider:name" },
	{ "llm_tool_selector", "{'model': 4}", "/model", "not an integer" },
	{ "llm_tool_selector", "{'max_tools': 0}", "/max_tools", "at least 1" },
	{ "llm_tool_selector", "{'max_retries': -1}", "/max_retries", "at least 0" },
	{ "llm_tool_selector", "{'always_include': [1]}", "/always_include/0",
	    "a string" },
	{ "llm_tool_selector", "{'on_parsing_failure': 'nothing'}", "/on_parsing_failure",
	    "error, none, all" },
	{ "llm_tool_selector", "{'on_parsing_failure': ['a', 1]}",
	    "/on_parsing_failure/1", "name of a tool" },
	{ "llm_tool_selector", "{'system_prompt': []}", "/system_prompt", "a string" },
	{ "llm_tool_emulator", "{'model': ':'}", "/model", "provider:name" },
	{ "llm_tool_emulator", "{'tools': {}}", "/tools", "a list of strings" },
};

START_TEST(settings_that_make_no_sense_are_refused)
{
	literal_refused(
	    arena, wrong[_i].type, wrong[_i].settings, wrong[_i].path, wrong[_i].reason);
}
END_TEST

START_TEST(the_models_they_ask_are_known)
{
	ck_assert_value(arena,
	    literal_use(arena, "llm_tool_selector", "{'model': 'x:picker'}")->asks_models,
	    "['x:picker']");
	ck_assert_value(
	    arena, literal_use(arena, "llm_tool_emulator", "{}")->asks_models, "[]");
}
END_TEST

/* --- selecting ---------------------------------------------------------------------- */

#define PICK(names)                                                                      \
	"{'type': 'ai', 'content': '', 'tool_calls': [{'id': 's', 'name': "              \
	"'ToolSelection', 'args': {'tools': " names "}}]}"

static const struct value *
select_with(const char *settings)
{
	return play_model(&play,
	    stub_chain(arena, literal_use(arena, "llm_tool_selector", settings), NULL));
}

/* "a c": the names of the tools in the last request. */
static const char *
offered(void)
{
	const struct value *tools = value_get(play.seen, "tools");
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : " ",
		    value_get_text(value_at(tools, i), "name"));
	return text;
}

static const struct {
	const char *settings, *pick, *offered;
} picks[] = {
	{ "{}", PICK("['c', 'a']"), "a c w" },
	{ "{}", PICK("[]"), "w" },
	{ "{}", PICK("['b', 'b', 'b']"), "b w" },
	{ "{'max_tools': 2}", PICK("['c', 'c', 'b', 'a']"), "b c w" },
	{ "{'always_include': 'b'}", PICK("['c']"), "c b w" },
	{ "{'always_include': ['c', 'b'], 'max_tools': 1}", PICK("['a']"), "a b c w" },
};

START_TEST(the_request_has_the_tools_that_were_picked)
{
	const struct value *body;

	play.outcomes[0] = picks[_i].pick;
	body = select_with(picks[_i].settings);
	ck_assert_str_eq(stub_outcome(arena, body), "ok");
	ck_assert_str_eq(offered(), picks[_i].offered);
	ck_assert_uint_eq(play.count, 2);
	ck_assert_has(json_text(arena, value_get(body, "notes")), "selected ");
}
END_TEST

/* What the selecting model is shown: the first send is the last when it fails. */
START_TEST(the_model_that_picks_sees_the_question_and_the_list)
{
	const char *system;

	play.outcomes[0] = "!RateLimitError slow";
	ck_assert_str_eq(stub_outcome(arena, select_with("{'model': 'x:picker', "
							 "'max_tools': 2}")),
	    "fault: RateLimitError: slow");
	ck_assert_str_eq(play.tag, "llm_tool_selector"); /* not the user's to see */
	ck_assert_str_eq(value_get_text(play.seen, "model"), "x:picker");
	ck_assert_value(arena, value_get(play.seen, "messages"),
	    "[{'type': 'human', 'content': 'last'}]");
	system = value_get_text(play.seen, "system");
	ck_assert_has(system, "only the first 2 are taken");
	ck_assert_has(system, "- a: Does a.\n- b\n- c");
	ck_assert_ptr_null(strstr(system, "- w"));
	play.count = 0;
	select_with("{'system_prompt': 'Pick well.', 'always_include': ['a']}");
	ck_assert_str_eq(value_get_text(play.seen, "model"), "openai:main");
	ck_assert_str_eq(
	    value_get_text(play.seen, "system"), "Pick well.\n\nThe tools:\n- b\n- c");
}
END_TEST

/* As an agent of several MCP servers has them. */
START_TEST(long_descriptions_of_many_tools_are_written_once)
{
	struct value_list tools = { .arena = arena };
	char text[4001];
	size_t i, before;

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (i = 0; i < 256; i++)
		value_list_add(
		    &tools, value_map(arena, "name", value_printf(arena, "t%zu", i),
				"description", value_str(arena, text), NULL));
	play.profile = value_map(arena, "model", value_str(arena, "openai:main"), "tools",
	    value_list_end(&tools), NULL);
	play.outcomes[0] = PICK("['t255']");
	before = arena_bytes(arena);
	select_with("{}");
	ck_assert_str_eq(offered(), "t255");
	ck_assert_uint_lt(arena_bytes(arena) - before, 32u << 20);
}
END_TEST

START_TEST(without_a_choice_nobody_is_asked)
{
	select_with("{'always_include': ['a', 'b', 'c']}");
	ck_assert_uint_eq(play.count, 1);
	ck_assert_str_eq(offered(), "a b c w");
	play.profile = literal(arena, "{'model': 'openai:main', 'tools': []}");
	select_with("{'always_include': ['a']}");
	ck_assert_uint_eq(play.count, 2);
}
END_TEST

/* Behind the selected ones, and not in the list to select from; always_include may name it. */
START_TEST(a_tool_that_is_a_definition_only_is_never_left_out)
{
	play.profile = literal(arena,
	    "{'model': 'openai:main', 'tools': [{'name': 'd', 'schema_only': true}, "
	    "{'name': 'a'}, {'name': 'b'}]}");
	play.outcomes[0] = PICK("['b']");
	select_with("{'always_include': ['d']}");
	ck_assert_str_eq(offered(), "b d");
	play.count = 0;
	play.outcomes[0] = PICK("['d']");
	ck_assert_has(stub_outcome(arena, select_with("{}")), "'d'");
}
END_TEST

START_TEST(a_name_that_is_none_fails_the_call)
{
	play.outcomes[0] = PICK("['a', 'z']");
	ck_assert_has(stub_outcome(arena, select_with("{}")), "ValueError");
	ck_assert_uint_eq(play.count, 1);
	ck_assert_has(
	    stub_outcome(arena, select_with("{'always_include': ['z']}")), "'z'");
	ck_assert_uint_eq(play.count, 1);
}
END_TEST

START_TEST(a_run_that_nobody_asked_anything_fails)
{
	play.request = literal(arena, "{'messages': [{'type': 'ai', 'content': 'x'}]}");
	ck_assert_has(stub_outcome(arena, select_with("{}")), "AssertionError");
}
END_TEST

static const struct {
	const char *settings, *offered; /* NULL: fails */
	unsigned asked;
} failures[] = {
	{ "{}", NULL, 2 },
	{ "{'max_retries': 0}", NULL, 1 },
	{ "{'on_parsing_failure': 'none', 'always_include': 'b'}", "b w", 2 },
	{ "{'on_parsing_failure': 'all', 'max_retries': 3, 'max_tools': 1}", "a b c w",
	    4 },
	{ "{'on_parsing_failure': ['c', 'unknown']}", "c w", 2 },
};

START_TEST(an_answer_that_is_no_selection_is_asked_for_again)
{
	static const char *const bad[] = { "Let me think.", PICK("'a'"), PICK("[1]"),
		"{'type': 'ai', 'content': '', 'tool_calls': []}" };
	const char *outcome;
	size_t i;

	for (i = 0; i < failures[_i].asked; i++)
		play.outcomes[i] = bad[i];
	outcome = stub_outcome(arena, select_with(failures[_i].settings));
	ck_assert_uint_eq(
	    play.count, failures[_i].asked + (failures[_i].offered != NULL));
	if (failures[_i].offered == NULL)
		ck_assert_has(outcome, "no selection");
	else
		ck_assert_str_eq(offered(), failures[_i].offered);
}
END_TEST

START_TEST(the_second_answer_may_be_one)
{
	play.outcomes[0] = "Hm.";
	play.outcomes[1] = "{\"tools\": [\"b\"]}"; /* as text: the provider strategy */
	select_with("{}");
	ck_assert_str_eq(offered(), "b w");
}
END_TEST

/* --- playing ------------------------------------------------------------------------ */

static const struct value *wished;

static const struct value *
answer_wish(void *arg, struct tool_request *request, const struct value *wish)
{
	const char *answer = arg == NULL ? NULL : ((struct play *)arg)->outcomes[1];

	wished = wish;
	return literal(tool_arena(request),
	    answer != NULL ? answer
			   : "{'messages': [{'type': 'ai', 'content': '58F, foggy'}]}");
}

static const struct value *
play_with(const char *settings)
{
	play.call_model = answer_wish;
	play.request = literal(arena,
	    "{'messages': [], 'tool_call': {'name': 'a', 'args': {'q': 'SF'}, 'id': "
	    "'c1'}, 'tool': {'name': 'a', 'description': 'Does a.', 'parameters': {}}}");
	return play_tool(&play,
	    stub_chain(arena, literal_use(arena, "llm_tool_emulator", settings), NULL));
}

START_TEST(a_model_plays_the_tool)
{
	const char *text;

	ck_assert_str_eq(
	    stub_outcome(arena, play_with("{'model': 'x:emu'}")), "58F, foggy");
	ck_assert_uint_eq(play.count, 0); /* the tool did not run */
	ck_assert_str_eq(value_get_text(wished, "model"), "x:emu");
	ck_assert_uint_eq(value_size(value_get(wished, "messages")), 1);
	text = value_get_text(value_at(value_get(wished, "messages"), 0), "content");
	ck_assert_has(text, "Tool: a\nDescription: Does a.\nArguments: {\"q\":\"SF\"}");
	play_with("{'tools': ['a']}");
	ck_assert(!value_has(wished, "model"));
}
END_TEST

START_TEST(other_tools_run)
{
	wished = NULL;
	play_with("{'tools': ['b']}");
	play_with("{'tools': []}");
	ck_assert_ptr_null(wished);
	ck_assert_uint_eq(play.count, 2);
}
END_TEST

START_TEST(a_player_that_fails_is_a_tool_that_fails)
{
	play.outcomes[1] = "{'fault': {'type': 'RateLimitError', 'message': 'slow', "
			   "'retryable': true}}";
	ck_assert_str_eq(
	    stub_outcome(arena, play_with("{}")), "fault: RateLimitError: slow");
	play.outcomes[1] = "{'messages': []}";
	ck_assert_has(stub_outcome(arena, play_with("{}")), "gave no message");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_llm_tools(void);
TCase *
tcase_llm_tools(void)
{
	TCase *tcase = tcase_create("llm_tools");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, settings_that_make_no_sense_are_refused, 0, COUNT(wrong));
	tcase_add_test(tcase, the_models_they_ask_are_known);
	tcase_add_loop_test(
	    tcase, the_request_has_the_tools_that_were_picked, 0, COUNT(picks));
	tcase_add_test(tcase, the_model_that_picks_sees_the_question_and_the_list);
	tcase_add_test(tcase, a_tool_that_is_a_definition_only_is_never_left_out);
	tcase_add_test(tcase, long_descriptions_of_many_tools_are_written_once);
	tcase_add_test(tcase, without_a_choice_nobody_is_asked);
	tcase_add_test(tcase, a_name_that_is_none_fails_the_call);
	tcase_add_test(tcase, a_run_that_nobody_asked_anything_fails);
	tcase_add_loop_test(
	    tcase, an_answer_that_is_no_selection_is_asked_for_again, 0, COUNT(failures));
	tcase_add_test(tcase, the_second_answer_may_be_one);
	tcase_add_test(tcase, a_model_plays_the_tool);
	tcase_add_test(tcase, other_tools_run);
	tcase_add_test(tcase, a_player_that_fails_is_a_tool_that_fails);
	return tcase;
}
