#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test: tool_error */
#include "registry.h"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	play.profile = literal(arena, "{'model': 'openai:main', 'tools': ['add']}");
	play.request = literal(arena,
	    "{'messages': [], 'tool_call': {'name': 'add', 'args': {}, 'id': 'c1'}, "
	    "'tool': {'name': 'add', 'parameters': {'required': []}}}");
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *
run(const char *settings, const char *outcome)
{
	play.outcomes[play.count] = outcome;
	return stub_outcome(arena,
	    play_tool(&play,
		stub_chain(arena, literal_use(arena, "tool_error", settings), NULL)));
}

static const struct {
	const char *settings, *path, *reason;
} wrong[] = {
	{ "{}", "/catch", "needs the setting" },
	{ "{'catch': []}", "/catch", "must name a type" },
	{ "{'catch': ['']}", "/catch/0", "name of a type" },
	{ "{'catch': 4}", "/catch", "a list of strings" },
	{ "{'catch': ['Exception'], 'tools': [4]}", "/tools/0", "a string" },
	{ "{'catch': ['Exception'], 'on_error': {}}", "/on_error", "a string" },
	{ "{'catch': ['Exception'], 'on_error': 'Oh: {mesage}'}", "/on_error",
	    "did you mean {message}?" },
};

START_TEST(settings_that_make_no_sense_are_refused)
{
	literal_refused(
	    arena, "tool_error", wrong[_i].settings, wrong[_i].path, wrong[_i].reason);
}
END_TEST

START_TEST(what_it_catches_becomes_an_error_message)
{
	const struct value *body, *message;

	play.outcomes[0] = "!OSError /secret/path is full";
	body = play_tool(
	    &play, stub_chain(arena,
		       literal_use(arena, "tool_error", "{'catch': 'Exception'}"), NULL));
	message = value_at(
	    value_get(value_get(value_at(value_get(body, "commands"), 0), "update"),
		"messages"),
	    0);
	ck_assert_str_eq(value_get_text(message, "status"), "error");
	ck_assert_str_eq(value_get_text(message, "tool_call_id"), "c1");
	ck_assert_str_eq(
	    value_get_text(message, "content"), "The tool add failed with OSError.");
	/* Whoever watches is told all. */
	ck_assert_has(json_text(arena, value_get(body, "notes")), "/secret/path is full");
}
END_TEST

START_TEST(what_it_does_not_catch_travels_on)
{
	ck_assert_str_eq(
	    run("{'catch': ['TimeoutError']}", "!OSError full"), "fault: OSError: full");
	ck_assert_str_eq(
	    run("{'catch': ['Exception'], 'tools': ['mul']}", "!OSError full"),
	    "fault: OSError: full");
}
END_TEST

START_TEST(types_stand_for_what_inherits_from_them)
{
	ck_assert_has(
	    run("{'catch': ['OSError']}", "!FileNotFoundError x"), "FileNotFoundError");
	ck_assert_has(
	    run("{'catch': ['ValueError', 'OSError']}", "!ValueError x"), "add failed");
}
END_TEST

START_TEST(the_words_are_the_agents)
{
	ck_assert_str_eq(run("{'catch': ['Exception'], 'on_error': '{tool}: {message} "
			     "({type}, {{type}}, {})'}",
			     "!OSError {tool} full"),
	    "add: {tool} full (OSError, {type}, {})");
	ck_assert_str_eq(
	    run("{'catch': ['Exception'], 'on_error': ''}", "!OSError x"), "");
}
END_TEST

START_TEST(an_interrupt_and_a_cancellation_are_no_errors)
{
	const struct value *body;

	play.outcomes[0] = "?Sure?";
	body = play_tool(&play,
	    stub_chain(arena,
		literal_use(arena, "tool_error", "{'catch': ['Exception']}"), NULL));
	ck_assert(value_has(body, "interrupt"));
}
END_TEST

/* tool_retry with on_failure: error inside of it: the wrap outside has the last word. */
START_TEST(outside_of_a_retry_it_gets_what_that_gave_up)
{
	const struct chain *chain = stub_chain(arena,
	    literal_use(arena, "tool_error", "{'catch': ['Exception']}"),
	    literal_use(arena, "tool_retry",
		"{'max_retries': 1, 'initial_delay': 0, 'on_failure': 'error'}"),
	    NULL);

	play.outcomes[0] = play.outcomes[1] = "!TimeoutError late";
	ck_assert_str_eq(stub_outcome(arena, play_tool(&play, chain)),
	    "The tool add failed with TimeoutError.");
	ck_assert_uint_eq(play.count, 2);
}
END_TEST

START_TEST(inside_of_a_retry_it_leaves_nothing_to_try_again)
{
	const struct chain *chain =
	    stub_chain(arena, literal_use(arena, "tool_retry", "{'initial_delay': 0}"),
		literal_use(arena, "tool_error", "{'catch': ['TimeoutError']}"), NULL);

	play.outcomes[0] = "!TimeoutError late";
	ck_assert_str_eq(stub_outcome(arena, play_tool(&play, chain)),
	    "The tool add failed with TimeoutError.");
	ck_assert_uint_eq(play.count, 1);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_tool_error(void);
TCase *
tcase_tool_error(void)
{
	TCase *tcase = tcase_create("tool_error");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, settings_that_make_no_sense_are_refused, 0, COUNT(wrong));
	tcase_add_test(tcase, what_it_catches_becomes_an_error_message);
	tcase_add_test(tcase, what_it_does_not_catch_travels_on);
	tcase_add_test(tcase, types_stand_for_what_inherits_from_them);
	tcase_add_test(tcase, the_words_are_the_agents);
	tcase_add_test(tcase, an_interrupt_and_a_cancellation_are_no_errors);
	tcase_add_test(tcase, outside_of_a_retry_it_gets_what_that_gave_up);
	tcase_add_test(tcase, inside_of_a_retry_it_leaves_nothing_to_try_again);
	return tcase;
}
