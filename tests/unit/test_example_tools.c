#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"
#include "tool_trial.h"

/* Under test: examples/tools, found from the repository's root */
#include "../../worker-tools/command_tool.h"
#include "yaml_paths.h"

TCase *tcase_example_tools(void);

#define TOOLS "examples/tools"

static struct tool_trial trial;
static char *workspace;

static void
set_up(void)
{
	tool_trial_open(&trial);
	workspace = folder_new();
	setenv("WORKSPACE", workspace, 1);
}

static void
tear_down(void)
{
	folder_remove(&workspace);
	tool_trial_close(&trial);
}

static const char *
path_of(const char *name)
{
	return arena_printf(trial.arena, "%s/%s", workspace, name);
}

static void
write_file(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static const char *
text_of(const char *name)
{
	char *text = arena_alloc(trial.arena, 4096);
	FILE *file = fopen(path_of(name), "r");

	ck_assert_msg(file != NULL, "no file %s", name);
	text[fread(text, 1, 4095, file)] = '\0';
	fclose(file);
	return text;
}

static const struct command_tool *
load(const char *path)
{
	const char *error = NULL;
	const struct tool_file *file = tool_file_load(trial.arena, path, &error);

	ck_assert_msg(file != NULL, "%s", error);
	return file->tools[0];
}

static struct tool_result *
run_command(void *arg, struct tool_request *request)
{
	return command_tool_run(trial.loop, arg, request);
}

static void
call(const char *name, const char *args)
{
	const struct command_tool *tool =
	    load(arena_printf(trial.arena, TOOLS "/%s.yaml", name));

	trial.run = run_command;
	trial.arg = (void *)tool;
	tool_trial_call(&trial, tool->definition, args);
}

static const char *
answer_of(const char *name, const char *args)
{
	call(name, args);
	return tool_trial_answer(&trial, "success");
}

static const struct fault *
fault_of(const char *name, const char *args)
{
	call(name, args);
	return tool_trial_fault(&trial);
}

START_TEST(each_is_a_good_tool_file_named_as_its_tool)
{
	static const char *const folder[] = { TOOLS, NULL };
	const char *error = NULL;
	const char *const *path =
	    yaml_paths_expand(trial.arena, folder, yaml_endings, &error);
	size_t count;

	ck_assert_msg(path != NULL, "%s", error);
	for (count = 0; *path != NULL; path++, count++)
		ck_assert_str_eq(*path,
		    arena_printf(trial.arena, TOOLS "/%s.yaml", load(*path)->name));
	ck_assert_uint_ge(count, 5);
}
END_TEST

START_TEST(create_file_writes_the_very_bytes_with_the_folders_above)
{
	ck_assert_str_eq(
	    answer_of("create_file",
		"{\"path\": \"src/a/b.txt\", \"content\": \"$x\\n\\n'\\\"\"}"),
	    "Wrote 6 bytes to src/a/b.txt.");
	ck_assert_str_eq(text_of("src/a/b.txt"), "$x\n\n'\"");
}
END_TEST

START_TEST(create_file_replaces_and_takes_any_name)
{
	answer_of("create_file", "{\"path\": \"-n $(id)\", \"content\": \"one\"}");
	answer_of("create_file", "{\"path\": \"-n $(id)\", \"content\": \"\"}");
	ck_assert_str_eq(text_of("-n $(id)"), "");
}
END_TEST

static const char *const outside[] = { "../x", "a/../../x", "/tmp/x", "link/x", "..", ".",
	"link/../../x" };

START_TEST(no_path_leads_out_of_the_workspace)
{
	char args[128];

	ck_assert_int_eq(symlink("/tmp", path_of("link")), 0);
	snprintf(
	    args, sizeof args, "{\"path\": \"%s\", \"content\": \"x\"}", outside[_i]);
	ck_assert_str_eq(fault_of("create_file", args)->type, "PermissionError");
	snprintf(args, sizeof args, "{\"path\": \"%s\"}", outside[_i]);
	ck_assert_str_eq(fault_of("read_file", args)->type, "PermissionError");
}
END_TEST

START_TEST(create_file_does_not_write_through_a_link)
{
	write_file("target", "kept");
	ck_assert_int_eq(mkdir(path_of("in"), 0755), 0);
	ck_assert_int_eq(symlink("/etc/hostname", path_of("in/link")), 0);
	ck_assert_str_eq(
	    fault_of("create_file", "{\"path\": \"in/link\", \"content\": \"x\"}")->type,
	    "PermissionError");
}
END_TEST

START_TEST(a_planted_full_disk_fails_one_call)
{
	const struct fault *fault;

	write_file(".disk-full", "");
	fault = fault_of("create_file", "{\"path\": \"a\", \"content\": \"x\"}");
	ck_assert_str_eq(fault->type, "OSError");
	ck_assert_str_eq(fault->message, "[Errno 28] No space left on device: disk full");
	ck_assert_int_eq(access(path_of("a"), F_OK), -1);
	answer_of("create_file", "{\"path\": \"a\", \"content\": \"x\"}");
	ck_assert_str_eq(text_of("a"), "x");
}
END_TEST

START_TEST(without_a_workspace_they_say_what_to_set)
{
	unsetenv("WORKSPACE");
	ck_assert_ptr_nonnull(strstr(fault_of("list_files", "{}")->message, "WORKSPACE"));
	setenv("WORKSPACE", "/no/such/folder", 1);
	ck_assert_str_eq(fault_of("list_files", "{}")->type, "FileNotFoundError");
	setenv("WORKSPACE", "/", 1);
	ck_assert_str_eq(fault_of("list_files", "{}")->type, "PermissionError");
}
END_TEST

START_TEST(read_file_shows_the_lines_asked_for)
{
	write_file("a", "1\n2\n3\n4\n");
	ck_assert_str_eq(answer_of("read_file", "{\"path\": \"a\"}"), "1\n2\n3\n4");
	ck_assert_str_eq(answer_of("read_file",
			     "{\"path\": \"a\", \"first_line\": 2, \"line_count\": 2}"),
	    "2\n3");
	ck_assert_str_eq(
	    fault_of("read_file", "{\"path\": \"b\"}")->type, "FileNotFoundError");
}
END_TEST

START_TEST(list_files_lists_what_was_written)
{
	answer_of("create_file", "{\"path\": \"b/c\", \"content\": \"x\"}");
	write_file("a", "");
	write_file(".hidden", "");
	ck_assert_str_eq(answer_of("list_files", "{}"), "a\nb/c");
}
END_TEST

START_TEST(word_count_counts)
{
	ck_assert_str_eq(answer_of("word_count", "{\"text\": \"one two\\nthree\"}"), "3");
}
END_TEST

START_TEST(weather_answers_in_json)
{
	ck_assert_str_eq(answer_of("weather", "{\"city\": \"san francisco\"}"),
	    "{\"city\":\"San Francisco\",\"degrees\":14,\"sky\":\"fog\"}");
	ck_assert_str_eq(
	    answer_of("weather", "{\"city\": \"Oslo\", \"unit\": \"fahrenheit\"}"),
	    "{\"city\":\"Oslo\",\"degrees\":28,\"sky\":\"snow\"}");
	ck_assert_str_eq(fault_of("weather", "{\"city\": \"\\\" || 1 || \\\"\"}")->type,
	    "LookupError");
}
END_TEST

TCase *
tcase_example_tools(void)
{
	TCase *tcase = tcase_create("example_tools");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, each_is_a_good_tool_file_named_as_its_tool);
	tcase_add_test(tcase, create_file_writes_the_very_bytes_with_the_folders_above);
	tcase_add_test(tcase, create_file_replaces_and_takes_any_name);
	tcase_add_loop_test(tcase, no_path_leads_out_of_the_workspace, 0,
	    sizeof outside / sizeof outside[0]);
	tcase_add_test(tcase, create_file_does_not_write_through_a_link);
	tcase_add_test(tcase, a_planted_full_disk_fails_one_call);
	tcase_add_test(tcase, without_a_workspace_they_say_what_to_set);
	tcase_add_test(tcase, read_file_shows_the_lines_asked_for);
	tcase_add_test(tcase, list_files_lists_what_was_written);
	tcase_add_test(tcase, word_count_counts);
	tcase_add_test(tcase, weather_answers_in_json);
	return tcase;
}
