/* deepagents_summarization: what may be set, and long arguments of old calls. */
#include <check.h>
#include <string.h>

#include "json.h"
#include "literal.h"
#include "registry.h"

/* Interface under test */
#include "../../middleware/builtin/deepagents_summarization.h"

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

#define CALLS(id, name, args)                                                            \
	"{'type': 'ai', 'id': '" id "', 'content': '', 'tool_calls': [{'id': 'c" id      \
	"', 'name': '" name "', 'args': " args "}]}"
#define H(id) "{'type': 'human', 'id': '" id "', 'content': 'question " id "'}"
#define T(id, call)                                                                      \
	"{'type': 'tool', 'id': '" id "', 'tool_call_id': '" call "', 'content': "       \
	"'done'}"

/* --- old arguments -------------------------------------------------------------------------- */

#define LONG "012345678901234567890123456789"
#define SHORTENING                                                                       \
	"{'trigger': null, 'truncate_args_settings': {'trigger': ['messages', 5], "      \
	"'keep': ['messages', 3], 'max_length': 29}}"

static const char *
content_of_call(const struct value *messages, size_t at, const char *arg)
{
	return value_get_text(
	    value_get(
		value_at(value_get(value_at(messages, at), "tool_calls"), 0), "args"),
	    arg);
}

START_TEST(long_arguments_of_old_calls_are_cut)
{
	const struct value *messages = literal(
	    arena, "[" H("1") ", " CALLS("2", "write_file",
		       "{'content': '" LONG "', 'file_path': '/a'}") ", " CALLS("3",
		       "add", "{'content': '" LONG "'}") ", " H("4") ", " CALLS("5",
		       "edit_file", "{'old_string': '" LONG "'}") ", " T("6", "c5") "]");
	const struct middleware_use *use =
	    literal_use(arena, "deepagents_summarization", SHORTENING);
	const struct value *settings = value_get(use->settings, "truncate_args_settings");
	struct deep_view view = { .messages = messages };
	struct token_request request = { .messages = messages };

	ck_assert(deep_view_shorten(arena, &view, settings, &request));
	ck_assert_str_eq(content_of_call(view.messages, 1, "content"),
	    "01234567890123456789...(argument truncated)");
	ck_assert_str_eq(content_of_call(view.messages, 1, "file_path"), "/a");
	ck_assert_str_eq(content_of_call(view.messages, 2, "content"), LONG);
	ck_assert_str_eq(content_of_call(view.messages, 4, "old_string"), LONG);
	ck_assert_str_eq(content_of_call(messages, 1, "content"), LONG);
	view.messages = value_array_slice(arena, messages, 0, 4);
	ck_assert(!deep_view_shorten(arena, &view, settings, &request));
	view.messages = messages;
	ck_assert(!deep_view_shorten(arena, &view, value_nil(), &request));
}
END_TEST

/* --- settings ------------------------------------------------------------------------------- */

static const struct {
	const char *agent,
	    *settings; /* what is left of them; the model's window is 1000 */
} defaults[] = {
	{ "local:m",
	    "{'trigger': [{'tokens': 850}], 'keep': {'tokens': 100}, "
	    "'truncate_args_settings': {'trigger': [{'tokens': 850}], 'keep': {'tokens': "
	    "100}, 'max_length': 2000, 'truncation_text': '...(argument truncated)'}}" },
	{ "local:other",
	    "{'trigger': [{'tokens': 170000}], 'keep': {'messages': 6}, "
	    "'truncate_args_settings': {'trigger': [{'messages': 20}], 'keep': "
	    "{'messages': 20}, 'max_length': 2000, 'truncation_text': "
	    "'...(argument truncated)'}}" },
};

START_TEST(what_is_not_set_is_of_the_agents_model)
{
	const struct use_agent agent = { .model = defaults[_i].agent,
		.model_profile =
		    _i == 0 ? literal(arena, "{'max_input_tokens': 1000}") : NULL };
	const char *path = "", *error = "";
	const struct middleware_use *use = registry_use_of(
	    arena, &agent, NULL, "deepagents_summarization", NULL, &path, &error);
	const struct value *expected = literal(arena, defaults[_i].settings);
	size_t i;

	ck_assert_msg(use != NULL, "%s: %s", path, error);
	for (i = 0; i < expected->size; i++)
		ck_assert_msg(
		    value_equal(value_get(use->settings, expected->pairs[i].key->text),
			expected->pairs[i].value),
		    "%s", json_text(arena, use->settings));
	ck_assert_uint_eq(value_size(use->tools), 0);
	/* In a worker, which knows no more than they say. */
	ck_assert(value_equal(use->settings,
	    registry_use(arena, "deepagents_summarization", use->settings, &path, &error)
		->settings));
}
END_TEST

static const struct {
	const char *settings, *path, *error;
} wrong[] = {
	{ "{'model': 7}", "/model", "must be a model" },
	{ "{'triger': 1}", "/triger", "did you mean \"trigger\"" },
	{ "{'trigger': ['words', 1]}", "/trigger", "\"words\"" },
	{ "{'keep': ['fraction', 0.5]}", "/keep", "max_input_tokens" },
	{ "{'summary_prompt': 'Be short.'}", "/summary_prompt", "{messages}" },
	{ "{'truncate_args_settings': {'keep': 1}}", "/truncate_args_settings/keep",
	    "must be a size" },
	{ "{'truncate_args_settings': {'max': 1}}", "/truncate_args_settings/max",
	    "has no setting" },
	{ "{'history_path_prefix': '../x'}", "/history_path_prefix", "path of a folder" },
	{ "{'history_path_prefix': '/a/../b'}", "/history_path_prefix", ".." },
	{ "{'backend': 'disk'}", "/backend", "state" },
};

START_TEST(bad_settings_are_refused_with_their_name)
{
	literal_refused(arena, "deepagents_summarization", wrong[_i].settings,
	    wrong[_i].path, wrong[_i].error);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_deepagents_settings(void);

TCase *
tcase_deepagents_settings(void)
{
	TCase *tcase = tcase_create("deepagents_settings");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, long_arguments_of_old_calls_are_cut);
	tcase_add_loop_test(
	    tcase, what_is_not_set_is_of_the_agents_model, 0, COUNT(defaults));
	tcase_add_loop_test(
	    tcase, bad_settings_are_refused_with_their_name, 0, COUNT(wrong));
	return tcase;
}
