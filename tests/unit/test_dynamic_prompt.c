#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

static struct arena *arena;
static struct play play;
static const char *path, *error;

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

static const struct middleware_use *
use_of(const char *settings)
{
	path = error = "";
	return registry_use(
	    arena, "dynamic_prompt", literal(arena, settings), &path, &error);
}

/* The prompt that the model sees, or what the call fails with. */
static const char *
prompt_of(const char *settings)
{
	const struct middleware_use *use = use_of(settings);
	const struct value *body;

	ck_assert_msg(use != NULL, "%s: %s", path, error);
	play.profile = literal(arena,
	    "{'model': 'scripted:m', 'agent': 'helper', 'system_prompt': 'Be kind.'}");
	play.request = literal(arena,
	    "{'messages': [], 'run': 'r1', 'thread': 't1', 'context': {'user': {'name': "
	    "'Ann {state.plan}', 'age': 7}, 'none': null, 'tags': ['a', 'b']}, 'state': "
	    "{'plan': ['eat', {'x': 'sleep'}], 'mood': 'good'}}");
	play.seen = NULL;
	body = play_model(&play, stub_chain(arena, use, NULL));
	return play.seen != NULL ? value_get_text(play.seen, "system")
				 : stub_outcome(arena, body);
}

static const struct {
	const char *template, *prompt;
} templates[] = {
	{ "Be brief.", "Be brief." },
	{ "", "" },
	/* What a value holds is not a template. */
	{ "For {context.user.name}.", "For Ann {state.plan}." },
	{ "{context.user.age}{context.tags.1}", "7b" },
	{ "{context.user}", "{\\\"name\\\":\\\"Ann {state.plan}\\\",\\\"age\\\":7}" },
	{ "{state.mood} {state.plan.0} {state.plan.1.x}", "good eat sleep" },
	{ "{system_prompt} As {agent} of {model} in {thread}, {run}.",
	    "Be kind. As helper of scripted:m in t1, r1." },
	{ "{{context.user}} {} {\\\"a\\\": {1}} { x }",
	    "{context.user} {} {\\\"a\\\": {1}} { x }" },
};

START_TEST(values_stand_in_their_places)
{
	const struct value *expected =
	    literal(arena, arena_printf(arena, "'%s'", templates[_i].prompt));

	ck_assert_str_eq(
	    prompt_of(arena_printf(arena, "{'template': '%s'}", templates[_i].template)),
	    value_text(expected));
}
END_TEST

static const char *const absent[] = { "context.who", "context.none", "context.tags.2",
	"context.tags.x", "context.user.name.x", "state.what", "state.plan.1.y" };

START_TEST(what_is_missing_fails_the_call_or_is_empty_or_has_a_default)
{
	const char *name = absent[_i], *text;

	text = prompt_of(arena_printf(arena, "{'template': 'Hi {%s}.'}", name));
	ck_assert_ptr_nonnull(strstr(text, "fault: KeyError: "));
	ck_assert_ptr_nonnull(
	    strstr(text, arena_printf(arena, "{%s} has no value", name)));
	ck_assert_str_eq(prompt_of(arena_printf(arena,
			     "{'template': 'Hi {%s}.', 'missing': 'empty'}", name)),
	    "Hi .");
	ck_assert_str_eq(
	    prompt_of(arena_printf(
		arena, "{'template': 'Hi {%s}.', 'defaults': {'%s': [1]}}", name, name)),
	    "Hi [1].");
}
END_TEST

START_TEST(a_missing_value_is_no_matter_for_a_retry)
{
	const struct value *body;

	prompt_of("{'template': 'x'}");
	body = play_model(
	    &play, stub_chain(arena, use_of("{'template': '{context.who}'}"), NULL));
	ck_assert(value_get_bool(value_get(body, "fault"), "fatal", false));
	ck_assert(!value_get_bool(value_get(body, "fault"), "retryable", true));
}
END_TEST

START_TEST(workers_get_the_fields_that_the_template_names)
{
	ck_assert_value(arena,
	    use_of("{'template': '{state.plan.0} {state.mood} {state.plan} "
		   "{{state.other}} {context.x}'}")
		->reads,
	    "['plan', 'mood']");
}
END_TEST

static const struct {
	const char *settings, *path, *error;
} wrong[] = {
	{ "{}", "/template", "needs the setting" },
	{ "{'template': 7}", "/template", "string" },
	{ "{'template': 'Hi {name}'}", "/template", "there is no {name}" },
	{ "{'template': 'Hi {contxt.name}'}", "/template", "did you mean context?" },
	{ "{'template': 'Hi {model.name}'}", "/template", "there is no {model.name}" },
	{ "{'template': 'Hi {state}'}", "/template", "needs a field" },
	{ "{'template': 'Hi {context.}'}", "/template", "a part without a name" },
	{ "{'template': 'Hi {context..a}'}", "/template", "a part without a name" },
	{ "{'template': 'Hi {state.messages.0}'}", "/template", "conversation" },
	{ "{'template': 'Hi {context.a}', 'defaults': {'context.b': 1}}",
	    "/defaults/context.b", "has no {context.b}" },
	{ "{'template': 'Hi', 'defaults': []}", "/defaults", "map" },
	{ "{'template': 'Hi', 'missing': 'refuse'}", "/missing", "error" },
	{ "{'template': 'Hi', 'prompt': 'x'}", "/prompt", "prompt" },
};

START_TEST(bad_settings_are_refused_with_their_name)
{
	ck_assert_ptr_null(use_of(wrong[_i].settings));
	ck_assert_str_eq(path, wrong[_i].path);
	ck_assert_msg(strstr(error, wrong[_i].error) != NULL, "%s", error);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_dynamic_prompt(void);
TCase *
tcase_dynamic_prompt(void)
{
	TCase *tcase = tcase_create("dynamic_prompt");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, values_stand_in_their_places, 0, COUNT(templates));
	tcase_add_loop_test(tcase,
	    what_is_missing_fails_the_call_or_is_empty_or_has_a_default, 0,
	    COUNT(absent));
	tcase_add_test(tcase, a_missing_value_is_no_matter_for_a_retry);
	tcase_add_test(tcase, workers_get_the_fields_that_the_template_names);
	tcase_add_loop_test(
	    tcase, bad_settings_are_refused_with_their_name, 0, COUNT(wrong));
	return tcase;
}
