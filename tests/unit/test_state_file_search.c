#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "tool_trial.h"

/* Interface under test */
#include "backend.h"
#include "registry.h"

TCase *tcase_state_file_search(void);

static struct tool_trial trial;
static struct arena *arena;
static const char *settings;

static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	settings = "{}";
	trial.state = literal(arena,
	    "{'text_editor_files': {"
	    "'/src/a.py': {'content': 'import os\\nprint(1)\\n', 'modified_at': "
	    "'2026-01-01'},"
	    "'/src/deep/b.py': {'content': ['import re', 'x = 1'], 'modified_at': "
	    "'2026-03-01'},"
	    "'/notes.md': {'content': 'an import\\n', 'modified_at': '2026-02-01'},"
	    "'/image.png': {'content': 'aW1wb3J0', 'encoding': 'base64'}},"
	    "'memory_files': {'/memories/m': {'content': 'remembered'}}}");
	stub_log_clear();
}

static void
tear_down(void)
{
	tool_trial_close(&trial);
}

static void
call(size_t tool, const char *args)
{
	const struct middleware_use *use =
	    literal_use(arena, "state_file_search", settings);

	trial.chain = stub_chain(arena, use, NULL);
	tool_trial_call(
	    &trial, value_at(use->tools, tool), json_text(arena, literal(arena, args)));
}

static const char *
glob(const char *args)
{
	call(0, args);
	return tool_trial_answer(&trial, "success");
}

static const char *
grep(const char *args)
{
	call(1, args);
	return tool_trial_answer(&trial, "success");
}

START_TEST(names_are_found_newest_first)
{
	ck_assert_str_eq(glob("{'pattern': '**/*.py'}"), "/src/deep/b.py\n/src/a.py");
	ck_assert_str_eq(
	    glob("{'pattern': '*.py', 'path': '/src/deep'}"), "/src/deep/b.py");
	ck_assert_str_eq(glob("{'pattern': '*.c'}"), "No files found");
	call(0, "{'pattern': '{a'}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "pattern");
	call(0, "{'pattern': '*', 'path': '/../x'}");
	tool_trial_answer(&trial, "error");
}
END_TEST

START_TEST(a_list_that_is_cut_is_searched_to_its_end)
{
	const struct value *file = literal(arena, "{'content': 'nothing'}"),
			   *found = literal(arena, "{'content': 'needle'}");
	struct value_fields files = { .arena = arena };
	size_t i;

	for (i = 0; i < BACKEND_ENTRIES_MAX + 1; i++)
		value_fields_set(&files, arena_printf(arena, "/f%05zu", i),
		    i == BACKEND_ENTRIES_MAX / 2 ? found : file);
	trial.state =
	    value_map(arena, "text_editor_files", value_fields_end(&files), NULL);
	ck_assert_str_eq(grep("{'pattern': 'needle'}"),
	    "/f05000\n[There is more, which was left out: narrow the search.]");
}
END_TEST

START_TEST(lines_are_found_in_the_order_of_paths)
{
	ck_assert_str_eq(grep("{'pattern': '^import'}"), "/src/a.py\n/src/deep/b.py");
	ck_assert_str_eq(grep("{'pattern': 'import', 'output_mode': 'content'}"),
	    "/notes.md:1:an import\n/src/a.py:1:import os\n/src/deep/b.py:1:import re");
	ck_assert_str_eq(grep("{'pattern': '[0-9]', 'output_mode': 'count'}"),
	    "/src/a.py:1\n/src/deep/b.py:1");
	ck_assert_str_eq(grep("{'pattern': 'import', 'include': '*.md'}"), "/notes.md");
	ck_assert_str_eq(
	    grep("{'pattern': 'import', 'include': 'src/*.py'}"), "/src/a.py");
	ck_assert_str_eq(
	    grep("{'pattern': 'import', 'path': '/src/deep'}"), "/src/deep/b.py");
	ck_assert_str_eq(grep("{'pattern': 'nothing'}"), "No matches found");
}
END_TEST

START_TEST(what_is_no_pattern_is_said)
{
	call(1, "{'pattern': '(unclosed'}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "Invalid regex pattern");
	call(1, "{'pattern': 'x', 'include': '[a'}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "Invalid include pattern");
}
END_TEST

START_TEST(a_pattern_that_takes_too_much_work_leaves_the_file_out)
{
	char *text = arena_alloc(arena, 50001);

	memset(text, 'a', 50000);
	trial.state = value_map(arena, "text_editor_files",
	    value_map(arena, "/a",
		value_map(arena, "content", value_str(arena, text), NULL), NULL),
	    NULL);
	ck_assert_has(grep("{'pattern': '(a+)+[bc]'}"), "too much work");
}
END_TEST

START_TEST(it_is_told_whose_files)
{
	settings = "{'state_key': 'memory_files'}";
	ck_assert_str_eq(glob("{'pattern': '**'}"), "/memories/m");
	ck_assert_value(arena,
	    literal_use(arena, "state_file_search", settings)->tool_reads,
	    "['memory_files']");
	settings = "{'state_key': 'files'}";
	ck_assert_str_eq(grep("{'pattern': '.'}"), "No matches found");
}
END_TEST

TCase *
tcase_state_file_search(void)
{
	TCase *tcase = tcase_create("state_file_search");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, names_are_found_newest_first);
	tcase_add_test(tcase, a_list_that_is_cut_is_searched_to_its_end);
	tcase_add_test(tcase, lines_are_found_in_the_order_of_paths);
	tcase_add_test(tcase, what_is_no_pattern_is_said);
	tcase_add_test(tcase, a_pattern_that_takes_too_much_work_leaves_the_file_out);
	tcase_add_test(tcase, it_is_told_whose_files);
	return tcase;
}
