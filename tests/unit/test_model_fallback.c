#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "json.h"
#include "literal.h"
#include "registry.h"
#include "spec.h"

/* Interface under test: model_fallback */

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	play.profile = literal(arena, "{'model': 'openai:main', 'tools': ['add']}");
	play.request = literal(arena, "{'messages': []}");
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *
ask(const char *settings, const struct value **body_r)
{
	*body_r = play_model(&play,
	    stub_chain(arena, literal_use(arena, "model_fallback", settings), NULL));
	return stub_outcome(arena, *body_r);
}

/* --- settings ----------------------------------------------------------------------- */

static const struct {
	const char *settings, *path, *reason;
} wrong[] = {
	{ "{}", "/models", "needs the setting" },
	{ "{'models': []}", "/models", "1 to 32 models, not 0" },
	{ "{'models': 'openai:mini'}", "/models", "must be a list" },
	{ "{'models': ['mini']}", "/models/0", "provider:name" },
	{ "{'models': ['openai:mini', ':x']}", "/models/1", "provider:name" },
	{ "{'models': ['open ai:mini']}", "/models/0", "without spaces" },
	{ "{'models': [4]}", "/models/0", "not an integer" },
	{ "{'models': [{}]}", "/models/0/model", "not null" },
	{ "{'models': [{'model': 'mini'}]}", "/models/0/model", "provider:name" },
	{ "{'models': [{'model': 'a:b', 'settings': {}}]}", "/models/0/settings",
	    "model and model_settings" },
	{ "{'models': [{'model': 'a:b', 'model_settings': []}]}",
	    "/models/0/model_settings", "must be a map" },
};

START_TEST(models_that_are_none_are_refused)
{
	literal_refused(arena, "model_fallback", wrong[_i].settings, wrong[_i].path,
	    wrong[_i].reason);
}
END_TEST

START_TEST(its_models_are_the_uses)
{
	ck_assert_value(arena,
	    literal_use(arena, "model_fallback", "{'models': ['a:b', {'model': 'c:d'}]}")
		->asks_models,
	    "['a:b', 'c:d']");
}
END_TEST

START_TEST(a_scripted_model_without_replies_is_refused_with_its_place)
{
	const char *path = "", *error = "";

	ck_assert_ptr_null(spec_load(arena,
	    literal(arena, "{'name': 'a', 'model': 'scripted:m', 'script': {'m': []}, "
			   "'middleware': ['todo_list', {'model_fallback': {'models': "
			   "['scripted:n']}}]}"),
	    "a", &path, &error));
	ck_assert_str_eq(path, "/middleware/1");
	ck_assert_has(error, "no replies of 'n'");
}
END_TEST

/* --- one after the other ------------------------------------------------------------ */

START_TEST(models_are_asked_in_their_order_until_one_answers)
{
	const struct value *body;

	play.outcomes[0] = "!InternalServerError down";
	play.outcomes[1] = "!RateLimitError slow";
	play.outcomes[2] = "here";
	ck_assert_str_eq(
	    ask("{'models': ['openai:mini', 'openai:tiny', 'openai:never']}", &body),
	    "here");
	ck_assert_uint_eq(play.count, 3);
	ck_assert_str_eq(value_get_text(play.seen, "model"), "openai:tiny");
	/* Who watches learns who answered, and why not the first. */
	ck_assert_uint_eq(value_size(value_get(body, "notes")), 3);
	ck_assert_has(json_text(arena, value_get(body, "notes")),
	    "openai:main failed with InternalServerError: down; asking openai:mini");
	ck_assert_has(json_text(arena, value_get(body, "notes")), "openai:tiny answered");
}
END_TEST

START_TEST(when_none_answers_the_last_fault_counts)
{
	const struct value *body;

	play.outcomes[0] = "!InternalServerError one";
	play.outcomes[1] = "!BadRequestError two";
	ck_assert_str_eq(
	    ask("{'models': ['openai:mini']}", &body), "fault: BadRequestError: two");
	ck_assert_has(
	    json_text(arena, value_get(body, "notes")), "there is no other model");
}
END_TEST

START_TEST(a_mistake_of_the_agent_is_no_reason_to_ask_another)
{
	const struct value *body;
	const struct chain *chain = stub_chain(arena,
	    literal_use(arena, "model_fallback", "{'models': ['openai:mini']}"),
	    stub_use(arena, "A",
		"{'override': [['tools', [{'name': "
		"'ghost'}]]]}"),
	    NULL);

	body = play_model(&play, chain);
	ck_assert_has(stub_outcome(arena, body), "ghost");
	ck_assert_uint_eq(play.count, 0);
}
END_TEST

START_TEST(retries_inside_are_each_models_own)
{
	const struct chain *chain = stub_chain(arena,
	    literal_use(arena, "model_fallback", "{'models': ['openai:mini']}"),
	    literal_use(arena, "model_retry",
		"{'max_retries': 1, 'initial_delay': 0, 'on_failure': 'error'}"),
	    NULL);

	play.outcomes[0] = play.outcomes[1] = play.outcomes[2] = "!TimeoutError late";
	play.outcomes[3] = "at last";
	ck_assert_str_eq(stub_outcome(arena, play_model(&play, chain)), "at last");
	ck_assert_str_eq(value_get_text(play.seen, "model"), "openai:mini");
}
END_TEST

START_TEST(retries_outside_ask_all_models_again)
{
	const struct chain *chain = stub_chain(arena,
	    literal_use(arena, "model_retry", "{'max_retries': 1, 'initial_delay': 0}"),
	    literal_use(arena, "model_fallback", "{'models': ['openai:mini']}"), NULL);

	play.outcomes[0] = play.outcomes[1] = "!TimeoutError late";
	play.outcomes[2] = "at last";
	ck_assert_str_eq(stub_outcome(arena, play_model(&play, chain)), "at last");
	ck_assert_str_eq(value_get_text(play.seen, "model"), "openai:main");
}
END_TEST

/* --- settings of models ------------------------------------------------------------- */

static const struct {
	const char *models, *settings;
} carried[] = {
	{ "['openai:mini']",
	    "{'temperature': 0.5, 'seed': 7, 'cache_control': {'type': 'ephemeral'}}" },
	{ "['anthropic:c']", "{'temperature': 0.5}" },
	/* A name that only begins like it. */
	{ "['openai2:mini']", "{'temperature': 0.5}" },
	{ "[{'model': 'anthropic:c', 'model_settings': {'top_k': 4, 'temperature': 1}}]",
	    "{'temperature': 1, 'top_k': 4}" },
	{ "[{'model': 'openai:mini', 'model_settings': {'seed': 8}}]",
	    "{'temperature': 0.5, 'seed': 8, 'cache_control': {'type': 'ephemeral'}}" },
	/* The second is of the first one's provider again: from what the agent says. */
	{ "['anthropic:c', 'openai:mini']",
	    "{'temperature': 0.5, 'seed': 7, 'cache_control': {'type': 'ephemeral'}}" },
};

START_TEST(another_provider_gets_what_every_provider_knows)
{
	const struct value *body;

	play.profile = literal(arena,
	    "{'model': 'openai:main', 'model_settings': {'temperature': 0.5, 'seed': 7, "
	    "'cache_control': {'type': 'ephemeral'}}}");
	play.outcomes[0] = "!InternalServerError down";
	play.outcomes[1] = _i == 5 ? "!InternalServerError down" : NULL;
	ask(arena_printf(arena, "{'models': %s}", carried[_i].models), &body);
	ck_assert_value(arena, value_get(play.seen, "settings"), carried[_i].settings);
}
END_TEST

START_TEST(tools_that_a_provider_runs_itself_stay_with_it)
{
	const struct value *body;

	play.profile = literal(arena,
	    "{'model': 'openai:main', 'wraps_tools': true, 'tools': [{'name': 'add'}, "
	    "{'type': 'web_search', 'name': 'web'}, {'type': 'function', 'name': 'f'}]}");
	play.outcomes[0] = play.outcomes[2] = "!InternalServerError down";
	ask("{'models': ['anthropic:c']}", &body);
	ck_assert_value(arena, value_get(play.seen, "tools"),
	    "[{'name': 'add'}, {'type': 'function', 'name': 'f'}]");
	ck_assert_has(json_text(arena, value_get(body, "notes")), "web_search");
	ask("{'models': ['openai:c']}", &body);
	ck_assert_uint_eq(value_size(value_get(play.seen, "tools")), 3);
}
END_TEST

/* `auto`: by itself where the model can, else through an output tool. */
START_TEST(structured_output_is_asked_for_as_the_other_model_gives_it)
{
	const struct value *body;

	play.profile = literal(arena,
	    "{'model': 'openai:main', 'tools': [], 'response_format': {'strategy': "
	    "'auto', 'handle_errors': true, 'schemas': [{'title': 'Answer', 'type': "
	    "'object', 'properties': {}}]}}");
	play.capable = "openai:main";
	play.outcomes[0] = "!InternalServerError down";
	play.outcomes[1] = "{'type': 'ai', 'content': '', 'tool_calls': [{'id': 'c', "
			   "'name': 'Answer', 'args': {}}]}";
	ask("{'models': ['other:mini']}", &body);
	ck_assert_uint_eq(value_size(value_get(play.seen, "tools")), 1);
	ck_assert_value(arena, value_get(body, "structured_response"), "{}");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_model_fallback(void);
TCase *
tcase_model_fallback(void)
{
	TCase *tcase = tcase_create("model_fallback");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, models_that_are_none_are_refused, 0, COUNT(wrong));
	tcase_add_test(tcase, its_models_are_the_uses);
	tcase_add_test(tcase, a_scripted_model_without_replies_is_refused_with_its_place);
	tcase_add_test(tcase, models_are_asked_in_their_order_until_one_answers);
	tcase_add_test(tcase, when_none_answers_the_last_fault_counts);
	tcase_add_test(tcase, a_mistake_of_the_agent_is_no_reason_to_ask_another);
	tcase_add_test(tcase, retries_inside_are_each_models_own);
	tcase_add_test(tcase, retries_outside_ask_all_models_again);
	tcase_add_loop_test(
	    tcase, another_provider_gets_what_every_provider_knows, 0, COUNT(carried));
	tcase_add_test(tcase, tools_that_a_provider_runs_itself_stay_with_it);
	tcase_add_test(tcase, structured_output_is_asked_for_as_the_other_model_gives_it);
	return tcase;
}
