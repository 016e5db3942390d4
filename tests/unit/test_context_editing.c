#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *path, *error;

static const struct middleware_use *
use_of(const char *settings)
{
	path = error = "";
	return registry_use(
	    arena, "context_editing", literal(arena, settings), &path, &error);
}

/* What the model sees of messages. */
static const struct value *
seen(const char *settings, const char *messages)
{
	const struct middleware_use *use = use_of(settings);

	ck_assert_msg(use != NULL, "%s: %s", path, error);
	play.profile = literal(arena,
	    "{'model': 'openai:x', 'system_prompt': 'A prompt of 24 letters..', "
	    "'tools': []}");
	play.request = value_map(arena, "messages", literal(arena, messages), NULL);
	play.count = 0;
	play_model(&play, stub_chain(arena, use, NULL));
	return value_get(play.seen, "messages");
}

/* The contents of the tool messages, joined. */
static const char *
results(const struct value *messages)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (chat_is(value_at(messages, i), "tool"))
			text =
			    arena_printf(arena, "%s%s%s", text, *text != '\0' ? " " : "",
				chat_text(arena, value_at(messages, i)));
	return text;
}

#define CALL(id, name)                                                                   \
	"{'type': 'ai', 'id': 'm" id "', 'tool_calls': [{'id': '" id "', 'name': '" name \
	"', 'args': {'q': 1}}]}"
#define RESULT(id, text)                                                                 \
	"{'type': 'tool', 'tool_call_id': '" id "', 'content': '" text "'}"
#define LONG "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd" /* 10 tokens */
#define THREE                                                                            \
	"[{'type': 'human', 'content': 'go'}, " CALL("1", "a") ", " RESULT(              \
	    "1", "one " LONG) ", " CALL("2", "b") ", " RESULT("2",                       \
	    "two " LONG) ", " CALL("3", "a") ", " RESULT("3", "three " LONG) "]"

START_TEST(old_results_are_cleared_and_the_last_ones_stay)
{
	ck_assert_str_eq(results(seen("{'edits': [{'trigger': 10, 'keep': 1}]}", THREE)),
	    "[cleared] [cleared] three " LONG);
	ck_assert_str_eq(
	    results(seen(
		"{'edits': [{'trigger': 10, 'keep': 0, 'placeholder': '-'}]}", THREE)),
	    "- - -");
	ck_assert_str_eq(results(seen("{'edits': [{'trigger': 10, 'keep': 9}]}", THREE)),
	    "one " LONG " two " LONG " three " LONG);
	/* Three by default, from 100,000 tokens on. */
	ck_assert_str_eq(
	    results(seen("{}", THREE)), "one " LONG " two " LONG " three " LONG);
}
END_TEST

START_TEST(what_is_cleared_says_so_and_the_rest_stays)
{
	const struct value *messages = seen("{'edits': [{'trigger': 10, 'keep': 2}]}",
	    "[" CALL("1",
		"a") ", {'type': 'tool', 'id': 't1', 'tool_call_id': '1', 'name': "
		     "'a', 'status': 'success', 'content': '" LONG LONG
		     "', 'artifact': {'x': 1}, 'response_metadata': {'k': 1}}, " CALL(
			 "2", "a") ", " RESULT("2", LONG) ", " RESULT("2", LONG) "]");

	ck_assert_value(arena, value_at(messages, 1),
	    "{'type': 'tool', 'id': 't1', 'tool_call_id': '1', 'name': 'a', 'status': "
	    "'success', 'content': '[cleared]', 'response_metadata': {'k': 1, "
	    "'context_editing': {'cleared': true, 'strategy': 'clear_tool_uses'}}}");
}
END_TEST

START_TEST(at_the_trigger_nothing_is_cleared_above_it_is)
{
	const char *settings;
	int tokens;

	/* user, "go": 2 + 3; three calls of 14 + 3, three results of 13 + 3. */
	for (tokens = 200; tokens > 0; tokens--) {
		settings = arena_printf(
		    arena, "{'edits': [{'trigger': %d, 'keep': 0}]}", tokens);
		if (strstr(results(seen(settings, THREE)), "cleared") != NULL)
			break;
	}
	ck_assert_int_eq(tokens, 5 + 3 * 17 + 3 * 16 - 1);
}
END_TEST

START_TEST(the_arguments_can_go_as_well)
{
	const struct value *messages = seen(
	    "{'edits': [{'trigger': 10, 'keep': 1, 'clear_tool_inputs': true}]}",
	    "[{'type': 'ai', 'tool_calls': [{'id': '1', 'name': 'a', 'args': {'q': 1}}, "
	    "{'id': '2', 'name': 'b', 'args': {'q': 2}}, {'id': '3', 'name': 'b', "
	    "'args': "
	    "{'q': 3}}]}, " RESULT("1", LONG) ", " RESULT("2", LONG) ", " RESULT(
		"3", LONG) "]");

	ck_assert_value(arena, value_at(messages, 0),
	    "{'type': 'ai', 'tool_calls': [{'id': '1', 'name': 'a', 'args': {}}, {'id': "
	    "'2', 'name': 'b', 'args': {}}, {'id': '3', 'name': 'b', 'args': {'q': 3}}], "
	    "'response_metadata': {'context_editing': {'cleared_tool_inputs': ['1', "
	    "'2']}}}");
}
END_TEST

START_TEST(some_results_stay_whatever_the_size)
{
	/* Of excluded tools, by the result's name or else the call's. */
	ck_assert_str_eq(results(seen("{'edits': [{'trigger': 10, 'keep': 0, "
				      "'exclude_tools': ['a']}]}",
			     THREE)),
	    "one " LONG " [cleared] three " LONG);
	/* Without their call: another one's, none, or in front of it. */
	ck_assert_str_eq(results(seen("{'edits': [{'trigger': 10, 'keep': 0}]}",
			     "[" RESULT("1", "x") ", " CALL("1", "a") ", " RESULT(
				 "1", LONG) ", " RESULT("2", "y") ", " CALL("3",
				 "a") ", " RESULT("1", "z" LONG) "]")),
	    "x [cleared] y z" LONG);
}
END_TEST

START_TEST(clearing_stops_when_enough_is_saved)
{
	/* Each gives back 9 tokens or more. */
	ck_assert_str_eq(results(seen("{'edits': [{'trigger': 10, 'keep': 0, "
				      "'clear_at_least': 8}]}",
			     THREE)),
	    "[cleared] two " LONG " three " LONG);
	ck_assert_str_eq(results(seen("{'edits': [{'trigger': 10, 'keep': 0, "
				      "'clear_at_least': 12}]}",
			     THREE)),
	    "[cleared] [cleared] three " LONG);
}
END_TEST

START_TEST(a_later_edit_sees_what_the_first_one_left)
{
	ck_assert_str_eq(
	    results(seen("{'edits': [{'trigger': 10, 'keep': 2, 'placeholder': '1st'}, "
			 "{'trigger': 10, 'keep': 1, 'placeholder': '2nd'}]}",
		THREE)),
	    "1st 2nd three " LONG);
	/* 102 tokens at first, less than 95 behind the first edit. */
	ck_assert_str_eq(
	    results(seen("{'edits': [{'trigger': 95, 'keep': 2}, {'trigger': 95, "
			 "'keep': 0}]}",
		THREE)),
	    "[cleared] two " LONG " three " LONG);
}
END_TEST

#define COUNTED(method, trigger)                                                         \
	"{'token_count_method': '" method "', 'edits': [{'trigger': " trigger            \
	", 'keep': 0}]}"

START_TEST(the_models_count_has_prompt_and_report)
{
	const char *messages = "[" CALL("1", "a") ", " RESULT(
	    "1", LONG) ", {'type': 'ai', 'content': 'ok', "
		       "'usage_metadata': {'total_tokens': 4000}}]";

	/* 17 + 15 + 6, the prompt 11; a quarter more. */
	ck_assert_str_eq(results(seen(COUNTED("approximate", "38"), messages)), LONG);
	ck_assert_str_eq(
	    results(seen(COUNTED("approximate", "37"), messages)), "[cleared]");
	ck_assert_str_eq(results(seen(COUNTED("model", "62"), messages)), LONG);
	ck_assert_str_eq(results(seen(COUNTED("model", "61"), messages)), "[cleared]");
}
END_TEST

static const struct {
	const char *settings, *path, *error;
} wrong[] = {
	{ "{'edit': []}", "/edit", "did you mean \"edits\"" },
	{ "{'edits': {}}", "/edits", "a list" },
	{ "{'edits': [7]}", "/edits/0", "a map" },
	{ "{'edits': [{}, {'trigger': -1}]}", "/edits/1/trigger", "0" },
	{ "{'edits': [{'keep': 'all'}]}", "/edits/0/keep", "integer" },
	{ "{'edits': [{'keeps': 3}]}", "/edits/0/keeps", "did you mean \"keep\"" },
	{ "{'edits': [{'placeholder': 3}]}", "/edits/0/placeholder", "string" },
	{ "{'edits': [{'type': 'clear_all'}]}", "/edits/0/type", "clear_tool_uses" },
	{ "{'token_count_method': 'exact'}", "/token_count_method", "approximate" },
};

START_TEST(bad_settings_are_refused_with_their_name)
{
	ck_assert_ptr_null(use_of(wrong[_i].settings));
	ck_assert_str_eq(path, wrong[_i].path);
	ck_assert_msg(strstr(error, wrong[_i].error) != NULL, "%s", error);
}
END_TEST

/* A long thread costs what it is long: each result is looked at once. */
START_TEST(two_thousand_messages_are_edited_at_once)
{
	struct value_list list = { .arena = arena };
	const struct value *messages;
	size_t i;

	for (i = 0; i < 1000; i++) {
		list.arena = arena;
		value_list_add(&list,
		    literal(arena, arena_printf(arena,
				       "{'type': 'ai', 'tool_calls': [{'id': 'c%zu', "
				       "'name': 'a', 'args': {}}]}",
				       i)));
		value_list_add(
		    &list, chat_tool(arena, LONG, arena_printf(arena, "c%zu", i), "a",
			       "success"));
	}
	play.profile = literal(arena, "{'model': 'openai:x'}");
	play.request = value_map(arena, "messages", value_list_end(&list), NULL);
	play_model(&play, stub_chain(arena,
			      use_of("{'edits': [{'trigger': 100, "
				     "'clear_tool_inputs': true, 'clear_at_least': "
				     "100000}]}"),
			      NULL));
	messages = value_get(play.seen, "messages");
	ck_assert_uint_eq(value_size(messages), 2000);
	ck_assert_str_eq(chat_text(arena, value_at(messages, 1993)), "[cleared]");
	ck_assert_str_eq(chat_text(arena, value_at(messages, 1995)), LONG);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_context_editing(void);
TCase *
tcase_context_editing(void)
{
	TCase *tcase = tcase_create("context_editing");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, old_results_are_cleared_and_the_last_ones_stay);
	tcase_add_test(tcase, what_is_cleared_says_so_and_the_rest_stays);
	tcase_add_test(tcase, at_the_trigger_nothing_is_cleared_above_it_is);
	tcase_add_test(tcase, the_arguments_can_go_as_well);
	tcase_add_test(tcase, some_results_stay_whatever_the_size);
	tcase_add_test(tcase, clearing_stops_when_enough_is_saved);
	tcase_add_test(tcase, a_later_edit_sees_what_the_first_one_left);
	tcase_add_test(tcase, the_models_count_has_prompt_and_report);
	tcase_add_loop_test(
	    tcase, bad_settings_are_refused_with_their_name, 0, COUNT(wrong));
	tcase_add_test(tcase, two_thousand_messages_are_edited_at_once);
	return tcase;
}
