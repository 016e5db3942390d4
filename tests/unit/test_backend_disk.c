#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain.h"
#include "children.h"
#include "has.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "process.h"
#include "tool_trial.h"

/* Interface under test */
#include "backend.h"
#include "registry.h"

TCase *tcase_backend_disk(void);

static struct tool_trial trial;
static struct arena *arena;
static char *folder;

static const char *
path_of(const char *name)
{
	return arena_printf(arena, "%s/root/%s", folder, name);
}

static void
put(const char *path, const char *text)
{
	char *slash;
	FILE *file;

	for (slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
		mkdir(arena_copy(arena, path, (size_t)(slash - path)), 0755);
	file = fopen(path, "we");
	ck_assert_msg(file != NULL, "%s", path);
	fputs(text, file);
	fclose(file);
}

/* What is in a file of the machine; "none". */
static const char *
text_at(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = arena_alloc(arena, 4096);

	if (file == NULL)
		return "none";
	ck_assert_uint_lt(fread(text, 1, 4095, file), 4095);
	fclose(file);
	return text;
}

/* secret is beside the root; everything that could lead to it is in the root. */
static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	folder = folder_new();
	put(arena_printf(arena, "%s/secret/key.txt", folder), "needle outside\n");
	put(path_of("a.txt"), "one\nneedle two\n");
	put(path_of("src/b.c"), "int needle;\n");
	put(path_of("src/deep/c.h"), "int x;\n");
	ck_assert_int_eq(symlink("../secret", path_of("link")), 0);
	ck_assert_int_eq(symlink("../secret/key.txt", path_of("key.txt")), 0);
	ck_assert_int_eq(symlink("/", path_of("src/all")), 0);
	ck_assert_int_eq(symlink("a.txt", path_of("inner.txt")), 0);
	ck_assert_int_eq(mkfifo(path_of("pipe.txt"), 0644), 0);
}

static void
tear_down(void)
{
	folder_remove(&folder);
	tool_trial_close(&trial);
}

/* A use with that kind of backend on the root, whose settings go on so, as those of filesystem do. */
static const struct middleware_use *
use_of(const char *kind, const char *more, const char *settings)
{
	return literal_use(arena, "filesystem",
	    arena_printf(arena, "{'backend': {'%s': {'root_dir': '%s/root'%s}}%s}", kind,
		folder, more, settings));
}

static void
call(const struct middleware_use *use, const char *tool, const char *args)
{
	size_t i;

	trial.chain = stub_chain(arena, use, NULL);
	trial.body = NULL;
	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), tool))
			tool_trial_call(&trial, value_at(use->tools, i),
			    json_text(arena, literal(arena, args)));
	ck_assert_ptr_nonnull(trial.body);
}

static const char *
answer(const char *tool, const char *args)
{
	call(use_of("filesystem", "", ""), tool, args);
	return tool_trial_answer(&trial, "success");
}

static const char *
refusal(const char *tool, const char *args)
{
	call(use_of("filesystem", "", ""), tool, args);
	return tool_trial_answer(&trial, "error");
}

/* The tool message of the last call. */
static const struct value *
message(void)
{
	const struct value *command = value_at(value_get(trial.body, "commands"), 0);

	return value_at(value_get(value_get(command, "update"), "messages"), 0);
}

/* --- what is there -------------------------------------------------------------------- */

START_TEST(files_are_listed_and_read)
{
	ck_assert_str_eq(answer("ls", "{}"), "/a.txt\n/src/");
	ck_assert_str_eq(answer("ls", "{'path': '/src'}"), "/src/b.c\n/src/deep/");
	ck_assert_str_eq(answer("ls", "{'path': '/nothing'}"), "No files found");
	ck_assert_str_eq(answer("ls", "{'path': '/a.txt'}"), "No files found");
	ck_assert_str_eq(
	    answer("read_file", "{'file_path': '/src/b.c'}"), "1  int needle;");
	ck_assert_str_eq(refusal("read_file", "{'file_path': '/nope'}"),
	    "Error: File '/nope' not found");
	ck_assert_str_eq(refusal("read_file", "{'file_path': '/no/pe'}"),
	    "Error: File '/no/pe' not found");
	ck_assert_has(refusal("read_file", "{'file_path': '/src'}"), "is a folder");
	ck_assert_has(refusal("read_file", "{'file_path': '/'}"), "is a folder");
	ck_assert_ptr_null(
	    value_get(value_get(value_at(value_get(trial.body, "commands"), 0), "update"),
		"files"));
}
END_TEST

START_TEST(files_are_written_with_the_folders_they_are_in)
{
	struct stat stat_of;

	ck_assert_str_eq(
	    answer("write_file", "{'file_path': '/new/deep/x', 'content': 'X'}"),
	    "Wrote /new/deep/x");
	ck_assert_str_eq(text_at(path_of("new/deep/x")), "X");
	ck_assert_int_eq(chmod(path_of("a.txt"), 0640), 0);
	answer("write_file", "{'file_path': '/a.txt', 'content': 'anew'}");
	ck_assert_str_eq(text_at(path_of("a.txt")), "anew");
	ck_assert_int_eq(stat(path_of("a.txt"), &stat_of), 0);
	ck_assert_int_eq(stat_of.st_mode & 07777, 0640);
	ck_assert_has(
	    refusal("write_file", "{'file_path': '/src', 'content': ''}"), "is a folder");
	ck_assert_has(
	    refusal("write_file", "{'file_path': '/', 'content': ''}"), "is a folder");
	ck_assert_has(refusal("write_file", "{'file_path': '/a.txt/x', 'content': ''}"),
	    "no folder");
	/* Nothing is left beside. */
	ck_assert_str_eq(answer("ls", "{}"), "/a.txt\n/new/\n/src/");
}
END_TEST

START_TEST(files_are_edited)
{
	ck_assert_str_eq(
	    answer("edit_file", "{'file_path': '/a.txt', 'old_string': 'two', "
				"'new_string': 'three'}"),
	    "Replaced 1 occurrence in '/a.txt'");
	ck_assert_str_eq(text_at(path_of("a.txt")), "one\nneedle three\n");
	ck_assert_has(refusal("edit_file", "{'file_path': '/a.txt', 'old_string': 'zzz', "
					   "'new_string': ''}"),
	    "String not found");
	ck_assert_has(refusal("edit_file", "{'file_path': '/none', 'old_string': 'z', "
					   "'new_string': ''}"),
	    "'/none' not found");
	ck_assert_int_eq(access(path_of("none"), F_OK), -1);
}
END_TEST

START_TEST(files_and_folders_are_deleted)
{
	ck_assert_str_eq(answer("delete", "{'file_path': '/a.txt'}"), "Deleted /a.txt");
	ck_assert_str_eq(answer("delete", "{'file_path': '/src'}"), "Deleted /src");
	ck_assert_int_eq(access(path_of("src"), F_OK), -1);
	ck_assert_has(refusal("delete", "{'file_path': '/src'}"), "'/src' not found");
	answer("delete", "{'file_path': '/'}");
	ck_assert_int_eq(access(path_of(""), F_OK), 0);
	ck_assert_int_eq(access(path_of("pipe.txt"), F_OK), -1);
	ck_assert_str_eq(text_at(arena_printf(arena, "%s/secret/key.txt", folder)),
	    "needle outside\n");
}
END_TEST

START_TEST(files_and_lines_are_found)
{
	ck_assert_str_eq(
	    answer("glob", "{'pattern': '**/*'}"), "/a.txt\n/src/b.c\n/src/deep/c.h");
	ck_assert_str_eq(
	    answer("glob", "{'pattern': '*.c', 'path': '/src'}"), "/src/b.c");
	ck_assert_str_eq(
	    answer("grep", "{'pattern': 'needle', 'output_mode': 'content'}"),
	    "/a.txt:\n  2: needle two\n/src/b.c:\n  1: int needle;");
	ck_assert_str_eq(
	    answer("grep", "{'pattern': 'int', 'glob': '*.h'}"), "/src/deep/c.h");
	ck_assert_str_eq(
	    answer("grep", "{'pattern': 'int', 'glob': 'src/*.c'}"), "/src/b.c");
	ck_assert_str_eq(
	    answer("grep", "{'pattern': 'needle', 'path': '/a.txt'}"), "/a.txt");
	ck_assert_str_eq(answer("grep", "{'pattern': 'outside'}"), "No matches found");
}
END_TEST

/* --- nothing outside ------------------------------------------------------------------ */

static const char *const outside[] = { "/link/key.txt", "/key.txt", "/src/all/etc/passwd",
	"/inner.txt", "/link", "/pipe.txt", "/../secret/key.txt",
	"/src/../../secret/key.txt" };

START_TEST(no_path_leads_outside)
{
	const char *secret = arena_printf(arena, "%s/secret/key.txt", folder);
	const char *path = outside[_i];

	ck_assert_has(
	    refusal("read_file", arena_printf(arena, "{'file_path': '%s'}", path)),
	    "Error: ");
	refusal("write_file",
	    arena_printf(arena, "{'file_path': '%s', 'content': 'x'}", path));
	refusal("edit_file", arena_printf(arena,
				 "{'file_path': '%s', 'old_string': "
				 "'needle', 'new_string': 'x'}",
				 path));
	ck_assert_str_eq(text_at(secret), "needle outside\n");
	ck_assert_str_eq(text_at(path_of("a.txt")), "one\nneedle two\n");
}
END_TEST

START_TEST(links_are_deleted_and_not_what_they_lead_to)
{
	const char *secret = arena_printf(arena, "%s/secret/key.txt", folder);

	answer("delete", "{'file_path': '/link'}");
	answer("delete", "{'file_path': '/key.txt'}");
	refusal("delete", "{'file_path': '/src/all/tmp'}");
	answer("delete", "{'file_path': '/src'}");
	ck_assert_str_eq(text_at(secret), "needle outside\n");
	ck_assert_int_eq(access("/tmp", F_OK), 0);
}
END_TEST

START_TEST(a_path_below_a_link_makes_no_folders)
{
	refusal("write_file", "{'file_path': '/link/new/x', 'content': 'x'}");
	ck_assert_int_eq(access(arena_printf(arena, "%s/secret/new", folder), F_OK), -1);
}
END_TEST

START_TEST(paths_of_the_machine_keep_to_the_root_too)
{
	const struct middleware_use *use =
	    use_of("filesystem", ", 'virtual_mode': false", "");

	call(use, "read_file",
	    arena_printf(arena, "{'file_path': '%s/root/src/b.c'}", folder));
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "1  int needle;");
	call(use, "glob",
	    arena_printf(arena, "{'pattern': '*.c', 'path': '%s/root/src'}", folder));
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), path_of("src/b.c"));
	call(use, "read_file",
	    arena_printf(arena, "{'file_path': '%s/secret/key.txt'}", folder));
	ck_assert_has(tool_trial_answer(&trial, "error"), "is outside of");
	call(use, "read_file", "{'file_path': '/src/b.c'}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "is outside of");
	call(use, "read_file", arena_printf(arena, "{'file_path': '%s/rooted'}", folder));
	ck_assert_has(tool_trial_answer(&trial, "error"), "is outside of");
}
END_TEST

/* --- what files hold ------------------------------------------------------------------ */

START_TEST(bytes_come_as_base64)
{

	put(path_of("latin.txt"), "\xe4");
	put(path_of("image.png"), "foo");
	ck_assert_has(refusal("read_file", "{'file_path': '/latin.txt'}"), "is no text");
	call(use_of("filesystem", "", ""), "read_file", "{'file_path': '/image.png'}");
	ck_assert_value(arena, value_get(message(), "content"),
	    "[{'type': 'image', 'base64': 'Zm9v', 'mime_type': 'image/png'}]");
	ck_assert_str_eq(answer("grep", "{'pattern': 'foo'}"), "/image.png");
	ck_assert_has(
	    refusal("edit_file", "{'file_path': '/latin.txt', 'old_string': 'a', "
				 "'new_string': 'b'}"),
	    "is not text");
}
END_TEST

START_TEST(large_files_are_not_read_and_not_searched)
{
	put(path_of("large.txt"), "needle");
	ck_assert_int_eq(truncate(path_of("large.txt"), BACKEND_FILE_BYTES_MAX + 1), 0);
	ck_assert_has(
	    refusal("read_file", "{'file_path': '/large.txt'}"), "has more than");
	ck_assert_has(
	    refusal("edit_file", "{'file_path': '/large.txt', 'old_string': 'n', "
				 "'new_string': 'm'}"),
	    "has more than");
	put(path_of("larger.txt"), "needle\n");
	ck_assert_int_eq(truncate(path_of("larger.txt"), (1 << 20) + 1), 0);
	call(use_of("filesystem", ", 'max_file_size_mb': 1", ""), "grep",
	    "{'pattern': 'needle'}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "/a.txt\n/src/b.c");
}
END_TEST

START_TEST(a_root_that_is_not_there_is_an_error)
{
	call(literal_use(arena, "filesystem",
		 "{'backend': {'filesystem': {'root_dir': '/no/such/folder'}}}"),
	    "ls", "{}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "is no folder");
}
END_TEST

static bool
at_once(void *arg)
{
	(void)arg;
	return true;
}

START_TEST(a_call_that_waits_for_others_is_cancelled)
{
	int other = open(path_of(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_eq(flock(other, LOCK_EX), 0);
	trial.cancels = at_once;
	call(use_of("filesystem", "", ""), "edit_file",
	    "{'file_path': '/a.txt', 'old_string': 'one', 'new_string': 'x'}");
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "CancelledError");
	ck_assert_str_eq(text_at(path_of("a.txt")), "one\nneedle two\n");
	close(other);
}
END_TEST

/* --- by a hook ------------------------------------------------------------------------ */

static const struct value *
internal(const char *args)
{
	const struct middleware_use *use = use_of("filesystem", "", "");

	trial.chain = stub_chain(arena, use, NULL);
	trial.internal = use->name;
	tool_trial_call(&trial,
	    literal(arena, "{'name': 'filesystem_files', 'parameters': {}}"),
	    json_text(arena, literal(arena, args)));
	trial.internal = NULL;
	return value_get(message(), "artifact");
}

START_TEST(hooks_reach_a_folder_by_a_tool)
{
	const struct value *read =
	    internal("{'route': '', 'op': {'op': 'read', 'path': '/a.txt'}}");

	ck_assert_str_eq(
	    value_get_text(value_get(read, "file"), "content"), "one\nneedle two\n");
	ck_assert(value_get_bool(
	    internal("{'route': '', 'op': {'op': 'read', 'path': '/b.txt'}}"), "missing",
	    false));
	internal(
	    "{'route': '', 'op': {'op': 'append', 'path': '/a.txt', 'content': 'x'}}");
	ck_assert_str_eq(text_at(path_of("a.txt")), "one\nneedle two\nx");
	ck_assert_ptr_null(internal(
	    "{'route': '', 'op': {'op': 'read', 'path': '/../secret/key.txt'}}"));
	ck_assert_ptr_null(
	    internal("{'route': '/x/', 'op': {'op': 'read', 'path': '/a'}}"));
	ck_assert_ptr_null(internal(
	    "{'route': '', 'op': {'op': 'execute', 'path': '/', 'command': 'ls'}}"));
	ck_assert_ptr_null(internal("{}"));
}
END_TEST

/* --- commands ------------------------------------------------------------------------- */

static const char *
ran(const char *more, const char *args)
{
	call(use_of("local_shell", more, ""), "execute", args);
	return tool_trial_answer(&trial, "success");
}

START_TEST(commands_run_in_the_root)
{
	ck_assert_str_eq(ran("", "{'command': 'cat a.txt'}"),
	    "one\nneedle two\n\n[Command succeeded with exit code 0]");
	ck_assert_str_eq(ran("", "{'command': 'true'}"),
	    "<no output>\n[Command succeeded with exit code 0]");
	ck_assert_str_eq(ran("", "{'command': 'echo out; echo err >&2; exit 3'}"),
	    "out\n[stderr] err\n\nExit code: 3\n[Command failed with exit code 3]");
	ck_assert_str_eq(ran("", "{'command': 'kill -9 $$'}"),
	    "<no output>\n\nExit code: 137\n[Command failed with exit code 137]");
}
END_TEST

START_TEST(commands_see_their_own_variables)
{
	ck_assert_int_eq(setenv("OF_THE_WORKER", "secret", 1), 0);
	ck_assert_has(
	    ran(", 'env': {'A': 'b c'}", "{'command': 'echo \\\"$A $OF_THE_WORKER\\\"'}"),
	    "b c \n");
	ck_assert_has(ran(", 'env': {'A': 'b'}, 'inherit_env': true",
			  "{'command': 'echo $A $OF_THE_WORKER'}"),
	    "b secret\n");
	ck_assert_has(ran(", 'env': {'OF_THE_WORKER': 'b'}, 'inherit_env': true",
			  "{'command': 'echo $OF_THE_WORKER'}"),
	    "b\n");
}
END_TEST

START_TEST(commands_have_bounds)
{
	const char *text =
	    ran(", 'timeout': 0.05", "{'command': 'echo begun; sleep 600'}");

	ck_assert_has(text, "timed out after 0.1 seconds");
	ck_assert_has(text, "[Command failed with exit code 124]");
	text = ran(", 'max_output_bytes': 5", "{'command': 'echo ääää'}");
	ck_assert_has(text, "ää\n\n... Output truncated at 5 bytes.");
	ck_assert_has(text, "[Output was truncated due to size limits]");
	call(use_of("local_shell", "", ", 'max_execute_timeout': 9"), "execute",
	    "{'command': 'true', 'timeout': 10}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "at most 9 seconds");
	call(use_of("local_shell", "", ""), "execute", "{'command': ''}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "must have a text");
}
END_TEST

START_TEST(bytes_of_a_command_are_text)
{
	ck_assert_has(ran("", "{'command': 'printf \\\"a\\\\\\\\000b\\\"'}"),
	    "a\xef\xbf\xbd"
	    "b\n[Command succeeded");
	ck_assert_has(ran("", "{'command': 'printf \\\"a\\\\\\\\377b\\\"'}"),
	    "a\xef\xbf\xbd"
	    "b");
}
END_TEST

TCase *
tcase_backend_disk(void)
{
	TCase *tcase = tcase_create("backend_disk");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, files_are_listed_and_read);
	tcase_add_test(tcase, files_are_written_with_the_folders_they_are_in);
	tcase_add_test(tcase, files_are_edited);
	tcase_add_test(tcase, files_and_folders_are_deleted);
	tcase_add_test(tcase, files_and_lines_are_found);
	tcase_add_loop_test(
	    tcase, no_path_leads_outside, 0, (int)(sizeof outside / sizeof *outside));
	tcase_add_test(tcase, links_are_deleted_and_not_what_they_lead_to);
	tcase_add_test(tcase, a_path_below_a_link_makes_no_folders);
	tcase_add_test(tcase, paths_of_the_machine_keep_to_the_root_too);
	tcase_add_test(tcase, bytes_come_as_base64);
	tcase_add_test(tcase, large_files_are_not_read_and_not_searched);
	tcase_add_test(tcase, a_root_that_is_not_there_is_an_error);
	tcase_add_test(tcase, a_call_that_waits_for_others_is_cancelled);
	tcase_add_test(tcase, hooks_reach_a_folder_by_a_tool);
	tcase_add_test(tcase, commands_run_in_the_root);
	tcase_add_test(tcase, commands_see_their_own_variables);
	tcase_add_test(tcase, commands_have_bounds);
	tcase_add_test(tcase, bytes_of_a_command_are_text);
	return tcase;
}
