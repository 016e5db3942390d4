#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "tool_trial.h"

/* Interface under test */
#include "filesystem.h"
#include "registry.h"

TCase *tcase_filesystem(void);

static struct tool_trial trial;
static struct arena *arena;

static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	stub_log_clear();
}

static void
tear_down(void)
{
	tool_trial_close(&trial);
}

/* The state that the next call sees. */
static void
given(const char *files)
{
	trial.state = literal(arena, arena_printf(arena, "{'files': %s}", files));
}

static const struct value *
tool_of(const struct middleware_use *use, const char *name)
{
	size_t i;

	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), name))
			return value_at(use->tools, i);
	return NULL;
}

static void
call_with(const char *settings, const char *tool, const char *args)
{
	const struct middleware_use *use = literal_use(arena, "filesystem", settings);

	trial.chain = stub_chain(arena, use, NULL);
	ck_assert_ptr_nonnull(tool_of(use, tool));
	tool_trial_call(
	    &trial, tool_of(use, tool), json_text(arena, literal(arena, args)));
}

static const struct value *
update(void)
{
	return value_get(value_at(value_get(trial.body, "commands"), 0), "update");
}

static const char *
answer(const char *tool, const char *args)
{
	call_with("{}", tool, args);
	return tool_trial_answer(&trial, "success");
}

static const char *
refusal(const char *tool, const char *args)
{
	call_with("{}", tool, args);
	return tool_trial_answer(&trial, "error");
}

/* --- what it is ----------------------------------------------------------------------- */

static const char *
names_of(const struct middleware_use *use)
{
	const char *names = "";
	size_t i;

	for (i = 0; i < value_size(use->tools); i++)
		names = arena_printf(arena, "%s%s%s", names, i == 0 ? "" : " ",
		    value_get_text(value_at(use->tools, i), "name"));
	return names;
}

START_TEST(files_are_a_field_that_tools_read)
{
	const struct middleware_use *use = literal_use(arena, "filesystem", "{}");

	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "files");
	ck_assert_int_eq(use->fields[0].reducer, REDUCE_MERGE);
	ck_assert(!use->fields[0].omit_from_input && !use->fields[0].omit_from_output);
	ck_assert_value(arena, use->tool_reads, "['files']");
	ck_assert_uint_eq(value_size(use->reads), 0);
	ck_assert_str_eq(
	    names_of(use), "ls read_file write_file edit_file delete glob grep");
	use = literal_use(arena, "filesystem", "{'backend': 'store'}");
	ck_assert_uint_eq(use->field_count, 0);
	ck_assert_uint_eq(value_size(use->tool_reads), 0);
}
END_TEST

START_TEST(tools_are_those_that_are_wanted_and_that_the_backend_can)
{
	const char *shell = "'backend': {'local_shell': {'root_dir': '/srv'}}";

	ck_assert_str_eq(names_of(literal_use(arena, "filesystem",
			     "{'tools': ['read_file', 'execute', 'grep']}")),
	    "read_file grep");
	ck_assert_str_eq(
	    names_of(literal_use(arena, "filesystem",
		arena_printf(arena, "{%s, 'tools': ['read_file', 'execute']}", shell))),
	    "read_file execute");
	ck_assert_str_eq(names_of(literal_use(
			     arena, "filesystem", arena_printf(arena, "{%s}", shell))),
	    "ls read_file write_file edit_file delete glob grep execute");
}
END_TEST

static const struct {
	const char *shell, *more;
	int64_t timeout_ms;
} limits[] = {
	{ "", "", 3630000 },
	{ "", ", 'max_execute_timeout': 9", 150000 },
	{ ", 'timeout': 7200.5", "", 7231000 },
	{ ", 'timeout': 60", ", 'max_execute_timeout': 600", 630000 },
};

START_TEST(a_call_lasts_as_long_as_its_command_may)
{
	const struct middleware_use *use = literal_use(arena, "filesystem",
	    arena_printf(arena,
		"{'tools': ['read_file', 'execute'], 'backend': "
		"{'local_shell': {'root_dir': '/srv'%s}}%s}",
		limits[_i].shell, limits[_i].more));

	ck_assert_int_eq(value_get_int(value_at(use->tools, 1), "timeout_ms", 0),
	    limits[_i].timeout_ms);
}
END_TEST

START_TEST(descriptions_can_be_replaced)
{
	const struct middleware_use *use = literal_use(
	    arena, "filesystem", "{'custom_tool_descriptions': {'ls': 'Looks.'}}");

	ck_assert_str_eq(value_get_text(tool_of(use, "ls"), "description"), "Looks.");
	ck_assert_has(value_get_text(tool_of(use, "grep"), "description"), "regular");
}
END_TEST

static const struct {
	const char *settings, *path, *reason;
} refused[] = {
	{ "{'tools': ['ls']}", "/tools", "must have read_file" },
	{ "{'tools': ['read_file', 'sl']}", "/tools/1", "did you mean ls?" },
	{ "{'custom_tool_descriptions': {'cat': 'x'}}", "/custom_tool_descriptions/cat",
	    "is no tool" },
	{ "{'custom_tool_descriptions': {'ls': 7}}", "/custom_tool_descriptions/ls",
	    "a text" },
	{ "{'backend': 'disk'}", "/backend", "must be state" },
	{ "{'permissions': ['/a']}", "/permissions/0", "must be a map" },
	{ "{'permissions': [['/a', '/b']]}", "/permissions/0", "must be a map" },
	{ "{'permissions': [7]}", "/permissions/0", "must be a map" },
	{ "{'permissions': [{'paths': ['/a']}]}", "/permissions/0/operations",
	    "list of read and write" },
	{ "{'permissions': [{'operations': ['run'], 'paths': ['/a']}]}",
	    "/permissions/0/operations/0", "read or write" },
	{ "{'permissions': [{'operations': ['read'], 'paths': ['a']}]}",
	    "/permissions/0/paths/0", "begins with /" },
	{ "{'permissions': [{'operations': ['read'], 'paths': ['/a/../b']}]}",
	    "/permissions/0/paths/0", ".." },
	{ "{'permissions': [{'operations': ['read'], 'paths': ['/~/b']}]}",
	    "/permissions/0/paths/0", "~" },
	{ "{'permissions': [{'operations': ['read'], 'paths': ['/a'], 'mode': 'ask'}]}",
	    "/permissions/0/mode", "allow, deny or interrupt" },
	{ "{'permissions': [{'operations': ['read'], 'paths': ['/a'], 'modes': 'x'}]}",
	    "/permissions/0/modes", "a rule has" },
	{ "{'backend': {'local_shell': {'root_dir': '/srv'}}, 'permissions': "
	  "[{'operations': ['read'], 'paths': ['/a']}]}",
	    "/permissions/0/paths/0", "runs commands" },
};

START_TEST(wrong_settings_are_refused)
{
	literal_refused(arena, "filesystem", refused[_i].settings, refused[_i].path,
	    refused[_i].reason);
}
END_TEST

START_TEST(rules_beside_commands_are_for_routes)
{
	literal_use(arena, "filesystem",
	    "{'backend': {'composite': {'default': {'local_shell': {'root_dir': "
	    "'/srv'}}, "
	    "'routes': {'/memories/': 'store'}}}, 'permissions': [{'operations': "
	    "['write'], 'paths': ['/memories/**'], 'mode': 'deny'}]}");
	literal_use(arena, "filesystem",
	    "{'backend': {'local_shell': {'root_dir': '/srv'}}, 'tools': ['read_file'], "
	    "'permissions': [{'operations': ['write'], 'paths': ['/a']}]}");
}
END_TEST

/* --- the tools ------------------------------------------------------------------------ */

START_TEST(a_file_is_written_into_the_state)
{
	const struct value *file;

	ck_assert_has(answer("write_file", "{'file_path': 'notes.txt', 'content': 'a'}"),
	    "/notes.txt");
	file = value_get(value_get(update(), "files"), "/notes.txt");
	ck_assert_str_eq(value_get_text(file, "content"), "a");
	ck_assert_str_eq(value_get_text(file, "encoding"), "utf-8");
}
END_TEST

START_TEST(files_are_listed_edited_and_deleted)
{
	given("{'/a.md': {'content': 'v v'}, '/d/b.md': {'content': ''}}");
	ck_assert_str_eq(answer("ls", "{}"), "/a.md\n/d/");
	ck_assert_str_eq(answer("ls", "{'path': '/nothing'}"), "No files found");
	ck_assert_has(refusal("edit_file",
			  "{'file_path': '/a.md', 'old_string': 'v', 'new_string': 'w'}"),
	    "Error: String 'v' appears 2 times");
	ck_assert_ptr_null(value_get(update(), "files"));
	ck_assert_has(answer("edit_file", "{'file_path': '/a.md', 'old_string': 'v', "
					  "'new_string': 'w', 'replace_all': true}"),
	    "2 occurrences");
	ck_assert_has(answer("delete", "{'file_path': '/d'}"), "Deleted /d");
	ck_assert_value(arena, value_get(update(), "files"), "{'/d/b.md': null}");
	ck_assert_has(refusal("delete", "{'file_path': '/e'}"), "'/e' not found");
}
END_TEST

START_TEST(files_and_lines_are_found)
{
	given(
	    "{'/a.c': {'content': 'int x;\\nint y;'}, '/s/b.c': {'content': 'int z;'}}");
	ck_assert_str_eq(answer("glob", "{'pattern': '**/*.c'}"), "/a.c\n/s/b.c");
	ck_assert_str_eq(answer("glob", "{'pattern': '*.c', 'path': '/s'}"), "/s/b.c");
	ck_assert_str_eq(answer("glob", "{'pattern': '*.h'}"), "No files found");
	ck_assert_has(refusal("glob", "{'pattern': '{a'}"), "not closed");
	ck_assert_str_eq(answer("grep", "{'pattern': 'int'}"), "/a.c\n/s/b.c");
	ck_assert_str_eq(answer("grep", "{'pattern': 'int', 'output_mode': 'content'}"),
	    "/a.c:\n  1: int x;\n  2: int y;\n/s/b.c:\n  1: int z;");
	ck_assert_str_eq(answer("grep", "{'pattern': 'int', 'output_mode': 'count'}"),
	    "/a.c: 2\n/s/b.c: 1");
	ck_assert_str_eq(answer("grep", "{'pattern': 'char'}"), "No matches found");
	ck_assert_has(answer("grep", "{'pattern': 'int .;'}"), "No matches found");
	ck_assert_has(answer("grep", "{'pattern': 'x|y'}"), "no regular expression");
	ck_assert_has(answer("grep", "{'pattern': 'int', 'output_mode': 'content', "
				     "'max_count': 2}"),
	    "  2: int y;\n\nNote: the search was stopped");
}
END_TEST

START_TEST(long_answers_of_searches_are_cut)
{
	char *text = arena_alloc(arena, 300001);
	const char *lines;
	size_t i;

	memset(text, 'x', 300000);
	for (i = 99; i < 300000; i += 100)
		text[i] = '\n';
	trial.state = value_map(arena, "files",
	    value_map(arena, "/a",
		value_map(arena, "content", value_str(arena, text), NULL), NULL),
	    NULL);
	lines = answer(
	    "grep", "{'pattern': 'x', 'output_mode': 'content', 'max_count': 5000}");
	ck_assert_uint_le(strlen(lines), FILESYSTEM_ANSWER_CHARACTERS + 500);
	ck_assert_has(lines, "results truncated");
}
END_TEST

START_TEST(paths_that_lead_elsewhere_are_errors)
{
	static const char *const tools[] = { "read_file", "delete" };
	size_t i;

	for (i = 0; i < sizeof tools / sizeof *tools; i++)
		ck_assert_has(refusal(tools[i], "{'file_path': '/../etc/passwd'}"),
		    "Error: the path");
	ck_assert_has(refusal("ls", "{'path': '~'}"), "Error: the path");
	ck_assert_has(
	    refusal("write_file", "{'file_path': '/a/../../b', 'content': ''}"), "..");
}
END_TEST

/* --- reading -------------------------------------------------------------------------- */

static const struct {
	const char *content, *args, *answer;
} reads[] = {
	{ "alpha\nbeta", "", "1  alpha\n2  beta" },
	{ "alpha\nbeta\n", "", "1  alpha\n2  beta" },
	{ "a\n\nc", "", "1  a\n2  \n3  c" },
	{ "a\nb\nc\nd", ", 'offset': 1, 'limit': 2",
	    "2  b\n3  c\n\n[Read 2 lines (lines 2-3 of 4 total). 1 lines remaining from "
	    "offset 3.]" },
	{ "a\nb", ", 'offset': 1", "2  b" },
	{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n10", ", 'offset': 8", " 9  9\n10  10" },
	{ "", "", "System reminder: File exists but has empty contents" },
	{ " \n\t\n", "", "System reminder: File exists but has empty contents" },
};

static void
given_text(const char *content)
{
	trial.state = value_map(arena, "files",
	    value_map(arena, "/f",
		value_map(arena, "content", value_str(arena, content), NULL), NULL),
	    NULL);
}

START_TEST(lines_have_numbers)
{
	given_text(reads[_i].content);
	ck_assert_str_eq(answer("read_file", arena_printf(arena, "{'file_path': '/f'%s}",
						 reads[_i].args)),
	    reads[_i].answer);
}
END_TEST

START_TEST(offsets_have_bounds)
{
	given_text("a\nb");
	ck_assert_str_eq(refusal("read_file", "{'file_path': '/f', 'offset': 2}"),
	    "Error: Line offset 2 exceeds file length (2 lines)");
	ck_assert_has(answer("read_file", "{'file_path': '/f', 'offset': -3}"),
	    "1  a\n2  b\n\n[The offset -3 is before the begin");
	ck_assert_has(
	    answer("read_file", "{'file_path': '/f', 'limit': 0}"), "limit was 0");
	ck_assert_str_eq(refusal("read_file", "{'file_path': '/nope.txt'}"),
	    "Error: File '/nope.txt' not found");
	given("{'/nul': {'content': 'a\\u0000b\\nc'}}");
	ck_assert_str_eq(answer("read_file", "{'file_path': '/nul'}"), "1  a\xef\xbf\xbd"
								       "b\n2  c");
}
END_TEST

START_TEST(long_lines_are_split)
{
	struct packet text = { 0 };
	const char *shown;
	size_t i;

	packet_append(&text, "x\n", 2);
	for (i = 0; i < 11000; i++)
		packet_append(&text, "ä", strlen("ä"));
	given_text(arena_copy(arena, text.data, text.size));
	packet_release(&text);
	shown = answer("read_file", "{'file_path': '/f'}");
	ck_assert_has(shown, "  1  x\n  2  ä");
	ck_assert_has(shown, "ä\n2.1  ä");
	ck_assert_has(shown, "ä\n2.2  ä");
	ck_assert_uint_eq(strlen(shown), strlen("  1  x\n  2  \n2.1  \n2.2  ") + 22000u);
}
END_TEST

START_TEST(a_page_has_a_bound)
{
	const char *shown;

	given_text("aaaaaaaaaa\nbbbbbbbbbb\ncccccccccc\ndddddddddd");
	call_with(
	    "{'tool_token_limit_before_evict': 8}", "read_file", "{'file_path': '/f'}");
	shown = tool_trial_answer(&trial, "success");
	ck_assert_int_eq(
	    strncmp(shown, "1  aaaaaaaaaa\n2  bbbbbbbbbb\n\n[Output", 35), 0);
	ck_assert_has(shown, "2 lines remaining from offset 2.");
	call_with("{'tool_token_limit_before_evict': 2}", "read_file",
	    "{'file_path': '/f', 'offset': 3}");
	shown = tool_trial_answer(&trial, "success");
	ck_assert_int_eq(strncmp(shown, "4  ddddd\n\n[Output", 16), 0);
	ck_assert_has(shown, "[Line 4 is shown in part");
}
END_TEST

START_TEST(what_is_no_text_is_a_block)
{
	const struct value *message;

	given("{'/a.png': {'content': 'AAAA', 'encoding': 'base64'}, '/b.bin': "
	      "{'content': 'AAAA', 'encoding': 'base64'}, '/c.png': {'content': 'no'}}");
	call_with("{}", "read_file", "{'file_path': '/a.png'}");
	message = value_at(value_get(update(), "messages"), 0);
	ck_assert_value(arena, value_get(message, "content"),
	    "[{'type': 'image', 'base64': 'AAAA', 'mime_type': 'image/png'}]");
	ck_assert_has(refusal("read_file", "{'file_path': '/b.bin'}"), "is no text");
	ck_assert_str_eq(answer("read_file", "{'file_path': '/c.png'}"), "1  no");
}
END_TEST

/* A run's input may bring anything. What is no base64 a provider would refuse, with each call of the thread. */
START_TEST(what_is_no_base64_is_no_block)
{
	const struct value *message;

	given("{'/a.png': {'content': '%%%%', 'encoding': 'base64'}, '/b': {'content': "
	      "'A', 'encoding': 'base64'}, '/c.png': {'content': 'A==='}, '/d.png': "
	      "{'content': 'AAAA\\r\\nAA', 'encoding': 'base64'}}");
	ck_assert_has(refusal("read_file", "{'file_path': '/a.png'}"), "no base64");
	ck_assert_has(refusal("read_file", "{'file_path': '/b'}"), "no base64");
	ck_assert_str_eq(answer("read_file", "{'file_path': '/c.png'}"), "1  A===");
	call_with("{}", "read_file", "{'file_path': '/d.png'}");
	message = value_at(value_get(update(), "messages"), 0);
	ck_assert_value(arena, value_get(message, "content"),
	    "[{'type': 'image', 'base64': 'AAAAAA==', 'mime_type': 'image/png'}]");
}
END_TEST

/* --- the prompt ----------------------------------------------------------------------- */

START_TEST(a_prompt_stands_behind_the_agents_own)
{
	struct play play = { .arena = arena };

	play.profile = literal(arena, "{'model': 'x:y', 'system_prompt': 'Work.'}");
	play.request = literal(arena, "{}");
	play_model(&play,
	    stub_chain(arena,
		literal_use(arena, "filesystem", "{'system_prompt': 'Files are here.'}"),
		NULL));
	ck_assert_str_eq(value_get_text(play.seen, "system"), "Work.\n\nFiles are here.");
	play.count = 0;
	play_model(
	    &play, stub_chain(arena, literal_use(arena, "filesystem", "{}"), NULL));
	ck_assert_str_eq(value_get_text(play.seen, "system"), "Work.");
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

TCase *
tcase_filesystem(void)
{
	TCase *tcase = tcase_create("filesystem");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, files_are_a_field_that_tools_read);
	tcase_add_test(tcase, tools_are_those_that_are_wanted_and_that_the_backend_can);
	tcase_add_loop_test(tcase, a_call_lasts_as_long_as_its_command_may, 0,
	    sizeof limits / sizeof *limits);
	tcase_add_test(tcase, descriptions_can_be_replaced);
	tcase_add_loop_test(tcase, wrong_settings_are_refused, 0, COUNT(refused));
	tcase_add_test(tcase, rules_beside_commands_are_for_routes);
	tcase_add_test(tcase, a_file_is_written_into_the_state);
	tcase_add_test(tcase, files_are_listed_edited_and_deleted);
	tcase_add_test(tcase, files_and_lines_are_found);
	tcase_add_test(tcase, long_answers_of_searches_are_cut);
	tcase_add_test(tcase, paths_that_lead_elsewhere_are_errors);
	tcase_add_loop_test(tcase, lines_have_numbers, 0, COUNT(reads));
	tcase_add_test(tcase, offsets_have_bounds);
	tcase_add_test(tcase, long_lines_are_split);
	tcase_add_test(tcase, a_page_has_a_bound);
	tcase_add_test(tcase, what_is_no_text_is_a_block);
	tcase_add_test(tcase, what_is_no_base64_is_no_block);
	tcase_add_test(tcase, a_prompt_stands_behind_the_agents_own);
	return tcase;
}
