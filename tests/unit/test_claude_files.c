/* claude_text_editor and claude_memory: what their tool does with files. */
#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "children.h"
#include "has.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "process.h"
#include "tool_trial.h"

/* Interface under test */
#include "claude_files.h"
#include "registry.h"

TCase *tcase_claude_files(void);

#define EDITOR "claude_text_editor"
#define MEMORY "claude_memory"

static struct tool_trial trial;
static struct arena *arena;
static const char *name, *settings;
static char *folder;

static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	folder = folder_new();
	name = EDITOR;
	settings = "{}";
	stub_log_clear();
}

static void
tear_down(void)
{
	process_close();
	folder_remove(&folder);
	tool_trial_close(&trial);
}

static void
call(const char *args)
{
	const struct middleware_use *use = literal_use(arena, name, settings);

	trial.chain = stub_chain(arena, use, NULL);
	tool_trial_call(
	    &trial, value_at(use->tools, 0), json_text(arena, literal(arena, args)));
}

static const struct value *
update(void)
{
	return value_get(value_at(value_get(trial.body, "commands"), 0), "update");
}

static const char *
answer(const char *args)
{
	call(args);
	return tool_trial_answer(&trial, "success");
}

static const char *
refusal(const char *args)
{
	call(args);
	ck_assert_ptr_null(value_get(update(), "text_editor_files"));
	return tool_trial_answer(&trial, "error");
}

/* The files that the next call sees. */
static void
given(const char *files)
{
	trial.state = literal(arena,
	    arena_printf(arena, "{'%s': %s}",
		strcmp(name, MEMORY) == 0 ? "memory_files" : "text_editor_files", files));
}

/* What is written: the text of that file. */
static const char *
written(const char *path)
{
	return value_get_text(
	    value_get(value_get(update(), "text_editor_files"), path), "content");
}

/* --- view ----------------------------------------------------------------------------- */

START_TEST(a_file_is_shown_with_its_lines_numbered)
{
	/* The second in the form that LangChain has: a list of lines. */
	given(
	    "{'/a.txt': {'content': 'one\\ntwo\\n'}, '/b': {'content': ['x', '', 'y']}, "
	    "'/empty': {'content': ''}}");
	ck_assert_str_eq(answer("{'command': 'view', 'path': '/a.txt'}"), "1|one\n2|two");
	ck_assert_str_eq(answer("{'command': 'view', 'path': 'b'}"), "1|x\n2|\n3|y");
	ck_assert_str_eq(answer("{'command': 'view', 'path': '/empty'}"), "1|");
}
END_TEST

START_TEST(a_part_of_it_is_shown_when_that_is_wanted)
{
	given("{'/a': {'content': '1\\n2\\n3\\n4'}}");
	ck_assert_str_eq(
	    answer("{'command': 'view', 'path': '/a', 'view_range': [2, 3]}"),
	    "2|2\n3|3");
	ck_assert_str_eq(
	    answer("{'command': 'view', 'path': '/a', 'view_range': [4, -1]}"), "4|4");
	/* Some models write whole numbers so. */
	ck_assert_str_eq(
	    answer("{'command': 'view', 'path': '/a', 'view_range': [2.0, 3.0]}"),
	    "2|2\n3|3");
	ck_assert_has(refusal("{'command': 'view', 'path': '/a', 'view_range': [3, 2]}"),
	    "view_range");
	ck_assert_has(refusal("{'command': 'view', 'path': '/a', 'view_range': [0, 2]}"),
	    "view_range");
}
END_TEST

START_TEST(what_is_too_long_to_be_shown_is_said)
{
	char *text = arena_alloc(arena, CLAUDE_FILES_VIEW_BYTES + 100);
	const char *shown;
	size_t i;

	for (i = 0; i < CLAUDE_FILES_VIEW_BYTES; i++)
		text[i] = i % 1000 == 999 ? '\n' : 'x';
	trial.state = value_map(arena, "text_editor_files",
	    value_map(arena, "/long",
		value_map(arena, "content", value_str(arena, text), NULL), NULL),
	    NULL);
	shown = answer("{'command': 'view', 'path': '/long'}");
	ck_assert_uint_le(strlen(shown), CLAUDE_FILES_VIEW_BYTES + 200);
	ck_assert_has(shown, "lines more are not shown");
	/* Nor is what is short behind a line that is too long. */
	text[CLAUDE_FILES_VIEW_BYTES] = '\0';
	memset(text, 'x', CLAUDE_FILES_VIEW_BYTES);
	trial.state = value_map(arena, "text_editor_files",
	    value_map(arena, "/wide",
		value_map(arena, "content", value_printf(arena, "a\n%s\nb", text), NULL),
		NULL),
	    NULL);
	ck_assert_str_eq(answer("{'command': 'view', 'path': '/wide'}"),
	    "1|a\n[2 lines more are not shown: they are too long together; use "
	    "view_range]");
}
END_TEST

START_TEST(of_a_first_line_that_is_too_long_the_begin_is_shown)
{
	char *text = arena_alloc(arena, CLAUDE_FILES_VIEW_BYTES + 3);
	const char *shown;

	memset(text, 'x', CLAUDE_FILES_VIEW_BYTES - 1);
	memcpy(text + CLAUDE_FILES_VIEW_BYTES - 1, "\xc3\xa4y", 4);
	trial.state = value_map(arena, "text_editor_files",
	    value_map(arena, "/wide",
		value_map(arena, "content", value_printf(arena, "a\n%s\nb", text), NULL),
		NULL),
	    NULL);
	shown = answer("{'command': 'view', 'path': '/wide', 'view_range': [2, -1]}");
	ck_assert_uint_eq(strncmp(shown, "2|xxx", 5), 0);
	ck_assert_str_eq(strchr(shown, '\n'),
	    "\n[The line is too long: its last 3 bytes are not shown]\n[1 lines more "
	    "are not shown: they are too long together; use view_range]");
	ck_assert_uint_lt(strlen(shown), CLAUDE_FILES_VIEW_BYTES + 200);
}
END_TEST

START_TEST(a_folder_is_a_list)
{
	given("{'/src/a.c': {'content': ''}, '/src/b/c.c': {'content': ''}, '/d': "
	      "{'content': ''}}");
	ck_assert_str_eq(
	    answer("{'command': 'view', 'path': '/src/'}"), "/src/a.c\n/src/b/");
	ck_assert_str_eq(answer("{'command': 'view', 'path': '/'}"), "/d\n/src/");
	ck_assert_str_eq(
	    refusal("{'command': 'view', 'path': '/other'}"), "File not found: /other");
	given("{}");
	ck_assert_str_eq(
	    answer("{'command': 'view', 'path': '/'}"), "There are no files yet.");
}
END_TEST

/* --- what changes files ------------------------------------------------------------------ */

START_TEST(a_file_is_created_and_replaced)
{
	given("{'/a': {'content': 'old', 'created_at': 'then', 'modified_at': 'then'}}");
	ck_assert_str_eq(
	    answer("{'command': 'create', 'path': 'a', 'file_text': 'new\\n'}"),
	    "File created: a");
	ck_assert_str_eq(written("/a"), "new\n");
	ck_assert_str_eq(
	    value_get_text(
		value_get(value_get(update(), "text_editor_files"), "/a"), "created_at"),
	    "then");
	ck_assert_has(refusal("{'command': 'create', 'path': '/a'}"), "file_text");
	ck_assert_has(refusal("{'command': 'create', 'file_text': 'x'}"), "path");
}
END_TEST

START_TEST(a_text_is_replaced_where_it_stands_alone)
{
	given("{'/a': {'content': 'one two one'}}");
	ck_assert_str_eq(answer("{'command': 'str_replace', 'path': '/a', 'old_str': "
				"'two', 'new_str': '2'}"),
	    "String replaced in /a");
	ck_assert_str_eq(written("/a"), "one 2 one");
	ck_assert_str_eq(
	    answer("{'command': 'str_replace', 'path': '/a', 'old_str': ' two'}"),
	    "String replaced in /a");
	ck_assert_str_eq(written("/a"), "one one");
	ck_assert_has(refusal("{'command': 'str_replace', 'path': '/a', 'old_str': "
			      "'one', 'new_str': '1'}"),
	    "in 2 places");
	ck_assert_str_eq(refusal("{'command': 'str_replace', 'path': '/a', 'old_str': "
				 "'three', 'new_str': '3'}"),
	    "String not found in file: three");
	ck_assert_str_eq(refusal("{'command': 'str_replace', 'path': '/b', 'old_str': "
				 "'x', 'new_str': ''}"),
	    "File not found: /b");
	ck_assert_has(refusal("{'command': 'str_replace', 'path': '/a', 'old_str': '', "
			      "'new_str': 'x'}"),
	    "not found");
}
END_TEST

static const struct {
	const char *content, *line, *text, *result;
} inserts[] = {
	{ "a\\nb\\n", "0", "x", "x\na\nb\n" },
	{ "a\\nb\\n", "1", "x\\n", "a\nx\nb\n" },
	{ "a\\nb\\n", "2", "x", "a\nb\nx" },
	{ "a\\nb", "2", "x\\ny", "a\nb\nx\ny" },
	{ "", "0", "x", "x" },
	{ "a\\n", "1", "", "a\n" },
	{ "a\\nb", "1", "", "a\n\nb" },
};

START_TEST(lines_are_put_behind_a_line)
{
	given(arena_printf(arena, "{'/a': {'content': '%s'}}", inserts[_i].content));
	ck_assert_str_eq(
	    answer(arena_printf(arena,
		"{'command': 'insert', 'path': '/a', 'insert_line': %s, 'insert_text': "
		"'%s'}",
		inserts[_i].line, inserts[_i].text)),
	    "Text inserted in /a");
	ck_assert_str_eq(written("/a"), inserts[_i].result);
}
END_TEST

START_TEST(there_must_be_such_a_line)
{
	given("{'/a': {'content': 'a\\nb\\n'}}");
	ck_assert_has(refusal("{'command': 'insert', 'path': '/a', 'insert_line': 3, "
			      "'insert_text': 'x'}"),
	    "insert_line");
	ck_assert_has(refusal("{'command': 'insert', 'path': '/a', 'insert_line': -1, "
			      "'insert_text': 'x'}"),
	    "insert_line");
	ck_assert_has(refusal("{'command': 'insert', 'path': '/a', 'insert_text': 'x'}"),
	    "insert_line");
	ck_assert_has(refusal("{'command': 'insert', 'path': '/a', 'insert_line': 1}"),
	    "insert_text");
	/* A whole number all the same. */
	ck_assert_str_eq(answer("{'command': 'insert', 'path': '/a', 'insert_line': 1.0, "
				"'insert_text': 'x'}"),
	    "Text inserted in /a");
	ck_assert_str_eq(written("/a"), "a\nx\nb\n");
	/* As the tool of before called it. */
	ck_assert_str_eq(answer("{'command': 'insert', 'path': '/a', 'insert_line': 1, "
				"'new_str': 'x'}"),
	    "Text inserted in /a");
}
END_TEST

START_TEST(files_go_and_get_other_names)
{
	given("{'/a': {'content': 'x'}, '/b': {'content': 'y'}}");
	ck_assert_str_eq(
	    answer("{'command': 'delete', 'path': '/a'}"), "File deleted: /a");
	ck_assert_value(arena, value_get(update(), "text_editor_files"), "{'/a': null}");
	ck_assert_str_eq(
	    refusal("{'command': 'delete', 'path': '/c'}"), "File not found: /c");
	ck_assert_has(refusal("{'command': 'delete', 'path': '/'}"), "cannot be deleted");
	ck_assert_str_eq(
	    answer("{'command': 'rename', 'old_path': '/a', 'new_path': '/d/e'}"),
	    "File renamed: /a -> /d/e");
	ck_assert_str_eq(written("/d/e"), "x");
	ck_assert(
	    value_is_nil(value_get(value_get(update(), "text_editor_files"), "/a")));
	ck_assert_has(
	    refusal("{'command': 'rename', 'old_path': '/a', 'new_path': '/b'}"),
	    "/b is there already");
	ck_assert_str_eq(
	    refusal("{'command': 'rename', 'old_path': '/c', 'new_path': '/e'}"),
	    "File not found: /c");
}
END_TEST

/* --- paths ------------------------------------------------------------------------------- */

static const char *const strays[] = { "/../etc/passwd", "/a/../../x", "~root/x",
	"/memories/../x" };

START_TEST(no_path_leads_out)
{
	call(arena_printf(arena, "{'command': 'view', 'path': '%s'}", strays[_i]));
	tool_trial_answer(&trial, "error");
}
END_TEST

START_TEST(only_what_is_beneath_the_prefixes_is_touched)
{
	settings = "{'allowed_path_prefixes': ['/src/', '/doc']}";
	given("{'/src/a': {'content': 'x'}, '/document': {'content': 'y'}}");
	ck_assert_str_eq(answer("{'command': 'view', 'path': '/src/a'}"), "1|x");
	ck_assert_str_eq(refusal("{'command': 'view', 'path': '/document'}"),
	    "Path must start with one of /src/, /doc: /document");
	ck_assert_has(refusal("{'command': 'rename', 'old_path': '/src/a', 'new_path': "
			      "'/x'}"),
	    "Path must start with");
	ck_assert_has(
	    refusal("{'command': 'delete', 'path': '/src'}"), "cannot be deleted");
	ck_assert_str_eq(
	    answer("{'command': 'view', 'path': '/doc'}"), "There are no files yet.");
}
END_TEST

/* --- where files are ---------------------------------------------------------------------- */

START_TEST(files_are_in_a_folder)
{
	settings = arena_printf(
	    arena, "{'backend': {'filesystem': {'root_dir': '%s'}}}", folder);
	ck_assert_str_eq(
	    answer("{'command': 'create', 'path': '/d/a.txt', 'file_text': 'one\\n'}"),
	    "File created: /d/a.txt");
	ck_assert_ptr_null(value_get(update(), "text_editor_files"));
	ck_assert_str_eq(answer("{'command': 'insert', 'path': '/d/a.txt', "
				"'insert_line': 1, 'insert_text': 'two'}"),
	    "Text inserted in /d/a.txt");
	ck_assert_str_eq(
	    answer("{'command': 'view', 'path': '/d/a.txt'}"), "1|one\n2|two");
	ck_assert_str_eq(answer("{'command': 'rename', 'old_path': '/d/a.txt', "
				"'new_path': '/b.txt'}"),
	    "File renamed: /d/a.txt -> /b.txt");
	ck_assert_has(answer("{'command': 'view', 'path': '/'}"), "/b.txt");
	ck_assert_str_eq(refusal("{'command': 'view', 'path': '/d/a.txt'}"),
	    "File not found: /d/a.txt");
}
END_TEST

START_TEST(the_field_is_theirs_alone_and_goes_with_the_backend)
{
	const struct middleware_use *use = literal_use(arena, EDITOR, "{}");

	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "text_editor_files");
	ck_assert_value(arena, use->tool_reads, "['text_editor_files']");
	use = literal_use(arena, MEMORY, "{}");
	ck_assert_str_eq(use->fields[0].name, "memory_files");
	use = literal_use(arena, MEMORY, "{'backend': 'store'}");
	ck_assert_uint_eq(use->field_count, 0);
	ck_assert_uint_eq(value_size(use->tool_reads), 0);
}
END_TEST

/* --- memory ------------------------------------------------------------------------------- */

START_TEST(memory_is_beneath_its_folder)
{
	name = MEMORY;
	given("{}");
	ck_assert_str_eq(answer("{'command': 'view', 'path': '/memories'}"),
	    "There are no files yet.");
	ck_assert_str_eq(answer("{'command': 'create', 'path': '/memories/a.md', "
				"'file_text': 'x'}"),
	    "File created: /memories/a.md");
	ck_assert_ptr_nonnull(
	    value_get(value_get(update(), "memory_files"), "/memories/a.md"));
	ck_assert_str_eq(refusal("{'command': 'view', 'path': '/memoriesX'}"),
	    "Path must start with one of /memories: /memoriesX");
	ck_assert_has(
	    refusal("{'command': 'delete', 'path': '/memories'}"), "cannot be deleted");
}
END_TEST

/* --- settings ------------------------------------------------------------------------------ */

static const struct {
	const char *name, *settings, *path, *error;
} flaws[] = {
	{ EDITOR, "{'allowed_path_prefixes': ['src']}", "/allowed_path_prefixes/0",
	    "absolute" },
	{ EDITOR, "{'allowed_path_prefixes': ['/ok', '/a/../b']}",
	    "/allowed_path_prefixes/1", "absolute" },
	{ MEMORY, "{'allowed_path_prefixes': []}", "/allowed_path_prefixes", "folder" },
	{ MEMORY, "{'backend': 'nowhere'}", "/backend", "must be state" },
	{ "state_file_search", "{'state_key': 'other'}", "/state_key", "other" },
	{ "claude_bash_tool", "{'workspace_root': 'here'}", "/workspace_root",
	    "absolute" },
	{ "claude_bash_tool", "{'tool_name': 'sh'}", "/tool_name", "tool_name" },
};

START_TEST(what_cannot_be_is_refused_with_its_place)
{
	const char *path = "", *error = "";

	ck_assert_ptr_null(registry_use(
	    arena, flaws[_i].name, literal(arena, flaws[_i].settings), &path, &error));
	ck_assert_str_eq(path, flaws[_i].path);
	ck_assert_has(error, flaws[_i].error);
}
END_TEST

TCase *
tcase_claude_files(void)
{
	TCase *tcase = tcase_create("claude_files");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_file_is_shown_with_its_lines_numbered);
	tcase_add_test(tcase, a_part_of_it_is_shown_when_that_is_wanted);
	tcase_add_test(tcase, what_is_too_long_to_be_shown_is_said);
	tcase_add_test(tcase, of_a_first_line_that_is_too_long_the_begin_is_shown);
	tcase_add_test(tcase, a_folder_is_a_list);
	tcase_add_test(tcase, a_file_is_created_and_replaced);
	tcase_add_test(tcase, a_text_is_replaced_where_it_stands_alone);
	tcase_add_loop_test(
	    tcase, lines_are_put_behind_a_line, 0, sizeof inserts / sizeof *inserts);
	tcase_add_test(tcase, there_must_be_such_a_line);
	tcase_add_test(tcase, files_go_and_get_other_names);
	tcase_add_loop_test(tcase, no_path_leads_out, 0, sizeof strays / sizeof *strays);
	tcase_add_test(tcase, only_what_is_beneath_the_prefixes_is_touched);
	tcase_add_test(tcase, files_are_in_a_folder);
	tcase_add_test(tcase, the_field_is_theirs_alone_and_goes_with_the_backend);
	tcase_add_test(tcase, memory_is_beneath_its_folder);
	tcase_add_loop_test(tcase, what_cannot_be_is_refused_with_its_place, 0,
	    sizeof flaws / sizeof *flaws);
	return tcase;
}
