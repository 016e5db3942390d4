#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "repeated.h"

/* Interface under test */
#include "skills.h"

static struct arena *arena;
static struct play play;
static struct turn turn;

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

/* --- settings -------------------------------------------------------------------------- */

#define PROMPT                                                                           \
	"'system_prompt': '{skills_locations}|{skills_list}|{skills_load_warnings}|{x}'"

static const struct {
	const char *settings, *path, *reason;
} wrong[] = {
	{ "{}", "/sources", "needs the setting" },
	{ "{'sources': '/skills'}", "/sources", "list" },
	{ "{'sources': ['/a', '/../b']}", "/sources/1", ".." },
	{ "{'sources': [['/a']]}", "/sources/0", "label" },
	{ "{'sources': [['/a', 'A', 'B']]}", "/sources/0", "label" },
	{ "{'sources': [7]}", "/sources/0", "label" },
	{ "{'sources': [], 'system_prompt': '{skills_list} {skills_locations}'}",
	    "/system_prompt", "{skills_load_warnings}" },
	{ "{'sources': [], 'backend': {'filesystem': {}}}",
	    "/backend/filesystem/root_dir", "absolute" },
};

START_TEST(settings_are_checked)
{
	literal_refused(
	    arena, "skills", wrong[_i].settings, wrong[_i].path, wrong[_i].reason);
}
END_TEST

START_TEST(what_is_loaded_is_private)
{
	const struct middleware_use *use =
	    literal_use(arena, "skills", "{'sources': ['/a'], 'backend': 'store'}");

	ck_assert_uint_eq(use->field_count, 2);
	ck_assert_str_eq(use->fields[0].name, "skills_metadata");
	ck_assert(use->fields[0].omit_from_input && use->fields[0].omit_from_output);
	ck_assert(value_contains(use->reads, "skills_metadata"));
}
END_TEST

/* --- loading ---------------------------------------------------------------------------- */

static const struct value *
no_store(struct turn *asking, const struct value *op)
{
	const struct value *first = value_at(value_get(op, "namespace"), 0);

	return value_text_is(first, "gone")
		   ? NULL
		   : literal(asking->arena,
			 "{'fault': {'type': 'ConnectionError', 'message': 'no store'}}");
}

static const struct value *
load(const char *settings, const char *state)
{
	turn = (struct turn){ .arena = arena,
		.use = literal_use(arena, "skills", settings),
		.messages = value_empty_array(),
		.state = literal(arena, state),
		.notes = { .arena = arena },
		.store = no_store };
	return chain_node_hook(&turn, HOOK_BEFORE_AGENT);
}

#define SKILL(name, what)                                                                \
	"{'content': '---\\nname: " name "\\ndescription: " what "\\n---\\n# It\\n'}"
#define FILES                                                                            \
	"{'files': {'/base/web/SKILL.md': " SKILL("web",                                 \
	    "old") ", "                                                                  \
		   "'/base/web/more.md': {'content': 'x'}, '/base/none/x.md': "          \
		   "{'content': 'x'}, "                                                  \
		   "'/base/SKILL.md': " SKILL(                                           \
		       "base", "itself") ", '/base/ads/SKILL.md': " SKILL("ads",         \
		       "ads") ", '/own/web/SKILL.md': " SKILL("web",                     \
		       "new") ", "                                                       \
			      "'/own/bad/SKILL.md': {'content': '# Bad'}, "              \
			      "'/own/two/deep/SKILL.md': " SKILL("deep",                 \
				  "deep") ", '/own/odd/SKILL.md': " SKILL("other",       \
				  "odd") "}}"

/* "name:description path, ..." */
static const char *
outline(const struct value *update)
{
	const struct value *skills = value_get(update, "skills_metadata");
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(skills); i++) {
		const struct value *skill = value_at(skills, i);

		text = arena_printf(arena, "%s%s%s:%s %s", text, i == 0 ? "" : ", ",
		    value_get_text(skill, "name"), value_get_text(skill, "description"),
		    value_get_text(skill, "path"));
	}
	return text;
}

START_TEST(each_folder_in_a_source_with_a_skill_file_is_one)
{
	const struct value *update = load("{'sources': ['/base/', '/nowhere']}", FILES);

	ck_assert_str_eq(
	    outline(update), "ads:ads /base/ads/SKILL.md, web:old /base/web/SKILL.md");
	ck_assert(value_is_nil(value_get(update, "skills_load_errors")));
}
END_TEST

START_TEST(of_one_name_the_last_source_counts)
{
	const struct value *update =
	    load("{'sources': ['/base', ['own', 'Mine']]}", FILES);

	ck_assert_str_eq(outline(update),
	    "ads:ads /base/ads/SKILL.md, web:new /own/web/SKILL.md, other:odd "
	    "/own/odd/SKILL.md");
	ck_assert_uint_eq(value_size(value_get(update, "skills_load_errors")), 1);
	ck_assert_has(value_text(value_at(value_get(update, "skills_load_errors"), 0)),
	    "/own/bad/SKILL.md");
	ck_assert_has(json_text(arena, value_list_end(&turn.notes)), "not the folder's");
}
END_TEST

START_TEST(they_are_loaded_once_unless_somebody_takes_them_away)
{
	ck_assert_ptr_null(load("{'sources': ['/base']}", "{'skills_metadata': []}"));
	ck_assert_ptr_nonnull(
	    load("{'sources': ['/base']}", "{'skills_metadata': null}"));
}
END_TEST

START_TEST(a_source_that_cannot_be_read_is_an_error_to_show)
{
	const struct value *update =
	    load("{'sources': ['/a', '/b'], 'backend': 'store'}", "{}");

	ck_assert_ptr_null(turn.fault);
	ck_assert_value(arena, value_get(update, "skills_metadata"), "[]");
	ck_assert_uint_eq(value_size(value_get(update, "skills_load_errors")), 2);
	ck_assert_has(
	    value_text(value_at(value_get(update, "skills_load_errors"), 0)), "no store");
}
END_TEST

START_TEST(a_cancelled_run_writes_nothing)
{
	ck_assert_ptr_null(load(
	    "{'sources': ['/a'], 'backend': {'store': {'namespace': ['gone']}}}", "{}"));
	ck_assert(turn.fault->control);
}
END_TEST

/* count folders "/many/<i>" with that text in their files. */
static const struct value *
load_many(size_t count, const char *format)
{
	struct value_fields files = { .arena = arena };
	const struct value *file;
	size_t i;

	for (i = 0; i < count; i++) {
		file = value_map(arena, "content",
		    value_printf(arena, "---\nname: n%zu\n%s\n---\n", i, format), NULL);
		value_fields_set(
		    &files, arena_printf(arena, "/many/n%zu/SKILL.md", i), file);
	}
	turn = (struct turn){ .arena = arena,
		.use = literal_use(arena, "skills", "{'sources': ['/many']}"),
		.messages = value_empty_array(),
		.notes = { .arena = arena },
		.state = value_map(arena, "files", value_fields_end(&files), NULL) };
	return chain_node_hook(&turn, HOOK_BEFORE_AGENT);
}

START_TEST(errors_are_few_and_short)
{
	const struct value *errors =
	    value_get(load_many(SKILL_ERRORS_MAX + 5,
			  arena_printf(arena, "%s: 1\n%s: 2", repeated(arena, "ä", 700),
			      repeated(arena, "ä", 700))),
		"skills_load_errors");

	ck_assert_uint_eq(value_size(errors), SKILL_ERRORS_MAX);
	ck_assert_uint_le(value_at(errors, 0)->size, SKILL_ERROR_CHARS_MAX * 2ul);
}
END_TEST

START_TEST(folders_are_counted)
{
	const struct value *update = load_many(SKILL_FOLDERS_MAX + 1, "description: d");

	ck_assert_uint_eq(
	    value_size(value_get(update, "skills_metadata")), SKILL_FOLDERS_MAX);
	ck_assert_has(value_text(value_at(value_get(update, "skills_load_errors"), 0)),
	    "more skills than are read");
}
END_TEST

START_TEST(what_they_say_is_limited_in_all)
{
	const struct value *update =
	    load_many(140, arena_printf(arena, "description: d\nlicense: %s",
			       repeated(arena, "ä", 4000)));

	ck_assert_uint_lt(value_size(value_get(update, "skills_metadata")), 140);
	ck_assert_has(value_text(value_at(value_get(update, "skills_load_errors"), 0)),
	    "more skills than are read");
}
END_TEST

START_TEST(so_is_what_is_read_in_vain)
{
	const struct value *update = load_many(
	    100, arena_printf(arena, "description: ' %s", repeated(arena, "ä", 8000)));

	ck_assert_value(arena, value_get(update, "skills_metadata"), "[]");
	ck_assert_uint_eq(
	    value_size(value_get(update, "skills_load_errors")), SKILL_ERRORS_MAX);
}
END_TEST

static const char *
first_error(const struct value *update)
{
	const char *text =
	    value_text(value_at(value_get(update, "skills_load_errors"), 0));

	ck_assert_msg(text != NULL, "all is taken");
	return text;
}

START_TEST(one_that_says_too_much_with_aliases_is_none)
{
	const struct value *update =
	    load_many(1, arena_printf(arena,
			     "description: d\nmetadata: {a: &a %s, b: [*a, *a, *a, *a, "
			     "*a, *a, *a, *a, "
			     "*a, *a]}",
			     repeated(arena, "ä", 8000)));

	ck_assert_value(arena, value_get(update, "skills_metadata"), "[]");
	ck_assert_has(first_error(update), "says more than");
}
END_TEST

START_TEST(what_is_read_of_all_files_is_limited)
{
	const struct value *update =
	    load_many(9, arena_printf(arena, "description: d\n---\n%s",
			     repeated(arena, "ä", 4 << 20)));

	ck_assert_uint_eq(value_size(value_get(update, "skills_metadata")), 8);
	ck_assert_has(first_error(update), "more skills than are read");
}
END_TEST

/* --- the prompt ------------------------------------------------------------------------- */

static const char *
prompt_of(const char *settings, const char *state)
{
	play.profile = literal(arena, "{'model': 'x:y', 'system_prompt': 'S'}");
	play.request = literal(arena, arena_printf(arena, "{'state': %s}", state));
	play.count = 0;
	play_model(
	    &play, stub_chain(arena, literal_use(arena, "skills", settings), NULL));
	return value_get_text(play.seen, "system");
}

#define KNOWN                                                                            \
	"{'skills_metadata': [{'name': 'web', 'description': 'Looks up.', 'path': "      \
	"'/s/web/SKILL.md', 'license': 'MIT', 'compatibility': 'all', 'allowed_tools': " \
	"['a', 'b']}, {'name': 'ads', 'description': 'Sells {x}.', 'path': "             \
	"'/s/ads/SKILL.md', 'license': null, 'allowed_tools': []}]"

static const struct {
	const char *settings, *state, *prompt;
} prompts[] = {
	{ "{'sources': ['/skills/user/'], " PROMPT "}", KNOWN "}",
	    "S\n\n- User: `/skills/user/`|"
	    "- **web**: Looks up. (License: MIT, Compatibility: all)\n"
	    "  Tools: a, b\n  File: `/s/web/SKILL.md`\n"
	    "- **ads**: Sells {x}.\n  File: `/s/ads/SKILL.md`||{x}" },
	{ "{'sources': [['/', 'Mine'], '/'], " PROMPT "}", "{}",
	    "S\n\n- Mine: `/`\n- All: `/` (counts before the others)|(There are none "
	    "yet.)||{x}" },
	{ "{'sources': [], " PROMPT "}", "{'skills_load_errors': ['no a', 'no b']}",
	    "S\n\n|(There are none yet.)|\n\n<skill_load_warnings>\nThese could not be "
	    "read:\n- no a\n- no b\n</skill_load_warnings>|{x}" },
	{ "{'sources': ['/a'], 'system_prompt': null}", KNOWN "}", "S" },
};

START_TEST(the_prompt_has_what_they_say)
{
	ck_assert_str_eq(
	    prompt_of(prompts[_i].settings, prompts[_i].state), prompts[_i].prompt);
}
END_TEST

START_TEST(the_built_in_one_tells_how_to_use_them)
{
	const char *prompt = prompt_of(
	    "{'sources': ['/skills/user/']}", KNOWN ", 'skills_load_errors': ['no c']}");

	ck_assert_int_eq(strncmp(prompt, "S\n\n## Skills\n", 13), 0);
	ck_assert_has(prompt, "read_file");
	ck_assert_has(prompt, "/s/ads/SKILL.md");
	ck_assert_has(prompt, "no c");
}
END_TEST

START_TEST(many_tools_take_no_more_memory_than_their_names)
{
	const char *tools = "'a'";
	const char *state;
	size_t before;
	int i;

	for (i = 0; i < 11; i++) /* 2048 of them */
		tools = arena_printf(arena, "%s, %s", tools, tools);
	state = arena_printf(arena,
	    "{'skills_metadata': [{'name': 'web', 'description': 'd', 'path': '/s', "
	    "'allowed_tools': [%s]}]}",
	    tools);
	before = arena_bytes(arena);
	ck_assert_has(prompt_of("{'sources': ['/a']}", state), "a, a, a");
	ck_assert_uint_lt(arena_bytes(arena) - before, 2u << 20);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_skills(void);
TCase *
tcase_skills(void)
{
	TCase *tcase = tcase_create("skills");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, settings_are_checked, 0, COUNT(wrong));
	tcase_add_test(tcase, what_is_loaded_is_private);
	tcase_add_test(tcase, each_folder_in_a_source_with_a_skill_file_is_one);
	tcase_add_test(tcase, of_one_name_the_last_source_counts);
	tcase_add_test(tcase, they_are_loaded_once_unless_somebody_takes_them_away);
	tcase_add_test(tcase, a_source_that_cannot_be_read_is_an_error_to_show);
	tcase_add_test(tcase, a_cancelled_run_writes_nothing);
	tcase_add_test(tcase, errors_are_few_and_short);
	tcase_add_test(tcase, folders_are_counted);
	tcase_add_test(tcase, what_they_say_is_limited_in_all);
	tcase_add_test(tcase, so_is_what_is_read_in_vain);
	tcase_add_test(tcase, one_that_says_too_much_with_aliases_is_none);
	tcase_add_test(tcase, what_is_read_of_all_files_is_limited);
	tcase_add_loop_test(tcase, the_prompt_has_what_they_say, 0, COUNT(prompts));
	tcase_add_test(tcase, the_built_in_one_tells_how_to_use_them);
	tcase_add_test(tcase, many_tools_take_no_more_memory_than_their_names);
	return tcase;
}
