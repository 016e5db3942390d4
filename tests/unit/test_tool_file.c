#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"
#include "json.h"
#include "bounds.h"

/* Interface under test */
#include "../../worker-tools/tool_file.h"

TCase *tcase_tool_file(void);

/* Lines 1 and 2 of a tool; what a test adds begins on line 3. */
#define HEAD "name: t\ndescription: d\n"
#define ONE_ARGUMENT "parameters: {properties: {path: {type: string}}}\n"

static struct arena *arena;
static char *folder;

static void
set_up(void)
{
	arena = arena_new();
	folder = folder_new();
	unsetenv("NOT_SET");
	setenv("IS_SET", "1", 1);
}

static void
tear_down(void)
{
	folder_remove(&folder);
	arena_destroy(&arena);
}

static const char *
path_of(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static void
write_file(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(path_of(name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
	ck_assert_int_eq(chmod(path_of(name), mode), 0);
}

static const struct command_tool *const *
tools_of(const char *text)
{
	const char *error = NULL;
	const struct tool_file *file =
	    tool_file_parse(arena, path_of("tools.yaml"), text, strlen(text), &error);

	ck_assert_msg(file != NULL, "%s: %s", text, error);
	return file->tools;
}

static const struct command_tool *
tool_of(const char *text)
{
	const struct command_tool *const *tools = tools_of(text);

	ck_assert_ptr_nonnull(tools[0]);
	ck_assert_ptr_null(tools[1]);
	return tools[0];
}

static const char *
refusal_of(const char *text)
{
	const char *error = NULL;

	ck_assert_msg(tool_file_parse(arena, path_of("tools.yaml"), text, strlen(text),
			  &error) == NULL,
	    "taken: %s", text);
	ck_assert_ptr_nonnull(error);
	return error;
}

START_TEST(reads_every_key)
{
	const struct command_tool *tool = tool_of("name: find-file_2\n"
						  "description: Finds.\n"
						  "parameters:\n"
						  "  type: object\n"
						  "  properties: {path: {type: string}}\n"
						  "  required: [path]\n"
						  "command: [sh, -e, --, \"x{path}\"]\n"
						  "directory: /\n"
						  "environment: [LANG, A=b=c, E=]\n"
						  "input: \"{path}\"\n"
						  "output: json\n"
						  "timeout_ms: 250\n"
						  "output_bytes_max: 10\n"
						  "max_parallel: 2\n"
						  "limits: {memory_bytes: 1048576, "
						  "cpu_seconds: none, processes: 3, "
						  "gain_privileges: true}\n"
						  "return_direct: true\n"
						  "idempotent: false\n"
						  "uncertain: interrupt\n"
						  "interrupts: true\n");

	ck_assert_str_eq(tool->name, "find-file_2");
	ck_assert_str_eq(tool->place, arena_printf(arena, "%s/tools.yaml:1:1", folder));
	ck_assert_uint_eq(tool->item_count, 4);
	ck_assert_ptr_null(tool->shell);
	ck_assert_str_eq(tool->directory, "/");
	ck_assert_str_eq(tool->environment[0], "LANG");
	ck_assert_str_eq(tool->environment[1], "A=b=c");
	ck_assert_str_eq(tool->environment[2], "E=");
	ck_assert_ptr_null(tool->environment[3]);
	ck_assert_int_eq(tool->input, TOOL_INPUT_ARGUMENT);
	ck_assert_str_eq(tool->input_argument, "path");
	ck_assert_int_eq(tool->output, TOOL_OUTPUT_JSON);
	ck_assert_uint_eq(tool->timeout_ms, 250);
	ck_assert_uint_eq(tool->output_bytes_max, 10);
	ck_assert_uint_eq(tool->max_parallel, 2);
	ck_assert_uint_eq(tool->limits.memory_bytes, 1048576);
	ck_assert_uint_eq(tool->limits.cpu_seconds, 0);
	ck_assert_uint_eq(tool->limits.processes, 3);
	ck_assert_uint_eq(tool->limits.file_bytes, TOOL_FILE_BYTES);
	ck_assert(tool->limits.may_gain_privileges);
	ck_assert(tool->interrupts);
	ck_assert_str_eq(json_text(arena, tool->definition),
	    "{\"name\":\"find-file_2\",\"description\":\"Finds.\",\"parameters\":{"
	    "\"type\":"
	    "\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},\"required\":["
	    "\"path\"]},\"return_direct\":true,\"idempotent\":false,\"uncertain\":"
	    "\"interrupt\",\"timeout_ms\":250}");
}
END_TEST

START_TEST(fills_in_what_is_left_out)
{
	const struct command_tool *tool = tool_of(HEAD "command: 'true'\n");

	ck_assert_str_eq(tool->shell, "true");
	ck_assert_ptr_null(tool->items);
	ck_assert_str_eq(tool->directory, folder);
	ck_assert_ptr_null(tool->environment[0]);
	ck_assert_int_eq(tool->input, TOOL_INPUT_JSON);
	ck_assert_int_eq(tool->output, TOOL_OUTPUT_TEXT);
	ck_assert_int_eq(
	    tool_of(HEAD "command: a\noutput: command\n")->output, TOOL_OUTPUT_COMMAND);
	ck_assert_uint_eq(tool->timeout_ms, TOOL_TIMEOUT_MS);
	ck_assert_uint_eq(tool->output_bytes_max, TOOL_OUTPUT_BYTES_MAX);
	ck_assert_uint_eq(tool->max_parallel, 0);
	ck_assert_uint_eq(tool->limits.memory_bytes, TOOL_MEMORY_BYTES);
	ck_assert_uint_eq(tool->limits.cpu_seconds, 240);
	ck_assert(!tool->limits.may_gain_privileges);
	ck_assert_str_eq(json_text(arena, value_get(tool->definition, "parameters")),
	    "{\"type\":\"object\",\"properties\":{}}");
	ck_assert(value_get_bool(tool->definition, "idempotent", false));
	ck_assert(!value_get_bool(tool->definition, "return_direct", true));
}
END_TEST

START_TEST(reads_a_tool_a_document)
{
	const struct command_tool *const *tools =
	    tools_of(HEAD "command: a\n---\nname: u\ndescription: d\ncommand: b\n");

	ck_assert_str_eq(tools[0]->name, "t");
	ck_assert_str_eq(tools[1]->name, "u");
	ck_assert_str_eq(tools[1]->shell, "b");
	ck_assert_ptr_null(tools[2]);
}
END_TEST

START_TEST(finds_programs_beside_the_file_and_in_path)
{
	const struct command_tool *tool;

	write_file("run.sh", "#!/bin/sh\n", 0755);
	tool = tool_of(HEAD "command: [./run.sh]\n");
	ck_assert_str_eq(tool->items[0].parts[0].text, path_of("run.sh"));
	setenv("PATH", folder, 1);
	tool = tool_of(HEAD "command: [run.sh]\n");
	ck_assert_str_eq(tool->items[0].parts[0].text, path_of("run.sh"));
	setenv("PATH", "/nowhere", 1);
	tool = tool_of(arena_printf(arena,
	    HEAD "environment: ['PATH=/nowhere:%s']\ncommand: [run.sh]\n", folder));
	ck_assert_str_eq(tool->items[0].parts[0].text, path_of("run.sh"));
}
END_TEST

START_TEST(ignores_relative_entries_of_path)
{
	write_file("run.sh", "#!/bin/sh\n", 0755);
	ck_assert_int_eq(chdir(folder), 0);
	setenv("PATH", ".::/nowhere", 1);
	ck_assert_ptr_nonnull(
	    strstr(refusal_of(HEAD "command: [run.sh]\n"), "is not in PATH"));
}
END_TEST

START_TEST(says_why_a_program_cannot_run)
{
	write_file("plain.sh", "#!/bin/sh\n", 0644);
	ck_assert_ptr_nonnull(
	    strstr(refusal_of(HEAD "command: [./plain.sh]\n"), "chmod +x"));
	ck_assert_ptr_nonnull(
	    strstr(refusal_of(HEAD "command: [./missing.sh]\n"), "does not exist"));
	ck_assert_ptr_nonnull(
	    strstr(refusal_of(HEAD "command: [/usr]\n"), "is not a file"));
}
END_TEST

START_TEST(names_a_variable_that_is_not_set)
{
	ck_assert_str_eq(tool_file_unset(tool_of(
			     HEAD "environment: [IS_SET, X=1, NOT_SET]\ncommand: a\n")),
	    "NOT_SET");
	ck_assert_ptr_null(
	    tool_file_unset(tool_of(HEAD "environment: [IS_SET]\ncommand: a\n")));
}
END_TEST

START_TEST(names_the_variables_of_shell_commands)
{
	ck_assert_str_eq(tool_file_variable(arena, "file-name.x"), "ARG_FILE_NAME_X");
	tool_of(HEAD ONE_ARGUMENT "command: cat \"$ARG_PATH\" ${ARG_PATH:-x}\n");
}
END_TEST

START_TEST(leaves_other_braces_to_the_shell)
{
	ck_assert_ptr_nonnull(tool_of(
	    HEAD ONE_ARGUMENT "command: \"{ awk '{print}'; } <&0 | sed ${x}\"\n"));
}
END_TEST

START_TEST(loads_a_file)
{
	const char *error = NULL;
	const struct tool_file *file;

	write_file("one.yaml", HEAD "command: a\n", 0644);
	file = tool_file_load(arena, path_of("one.yaml"), &error);
	ck_assert_ptr_nonnull(file);
	ck_assert_str_eq(file->tools[0]->directory, folder);
	ck_assert_ptr_null(tool_file_load(arena, path_of("two.yaml"), &error));
	ck_assert_ptr_nonnull(strstr(error, "two.yaml"));
}
END_TEST

static const struct {
	const char *text, *place, *reason;
} refused[] = {
	{ "", "1:1", "tool" },
	{ "- a\n", "1:1", "a tool is a map" },
	{ "name: [\n", "", "" },
	{ HEAD "command: a\nnmae: b\n",
	    "4:", "unknown key 'nmae'; did you mean 'name'?" },
	{ HEAD "command: a\nxyzzy: 1\n", "4:1:", "unknown key 'xyzzy'" },
	{ "description: d\ncommand: a\n", "1:1", "'name' is missing" },
	{ "name: t\ncommand: a\n", "1:1", "'description' is missing" },
	{ HEAD, "1:1", "'command' is missing" },
	{ "name: 7\ndescription: d\ncommand: a\n", "1:", "name must be text, not" },
	{ "name: a b\ndescription: d\ncommand: a\n", "1:", "'a b' has not" },
	{ "name: t\ndescription: ''\ncommand: a\n", "2:", "must not be empty" },
	{ HEAD "command: {a: b}\n", "3:", "command must be a list" },
	{ HEAD "command: []\n", "3:", "a command has a program" },
	{ HEAD "command: ''\n", "3:", "the command is empty" },
	{ HEAD "command: [no-such-program-here]\n", "3:11", "is not in PATH" },
	{ HEAD "command: [sh, 1.5]\n", "3:15", "put it in quotes" },
	{ HEAD "command: [sh, true]\n", "3:15", "put it in quotes" },
	{ HEAD "command: [sh, {path}]\n", "3:15", "write \"{path}\" with its quotes" },
	{ HEAD "command: [sh, \"{path}\"]\n", "3:15", "names no argument" },
	{ HEAD ONE_ARGUMENT "command: [\"{path}\"]\n", "4:11", "cannot come from" },
	{ HEAD ONE_ARGUMENT "command: cat {path}\n", "4:", "\"$ARG_PATH\"" },
	{ HEAD ONE_ARGUMENT "command: cat ${path}\n", "4:", "\"$ARG_PATH\"" },
	{ HEAD ONE_ARGUMENT "command: cat $ARG_PAHT\n", "4:", "$ARG_PAHT" },
	{ HEAD ONE_ARGUMENT "command: cat ${ARG_PATHS}\n", "4:", "$ARG_PATHS" },
	{ HEAD "parameters: {properties: {a-b: {}, a_b: {}}}\ncommand: a\n",
	    "3:", "both be the variable ARG_A_B" },
	{ HEAD "parameters: []\ncommand: a\n", "3:", "a JSON Schema" },
	{ HEAD "parameters: {type: string}\ncommand: a\n", "3:20", "type: object" },
	{ HEAD "parameters:\n  properties:\n    a: {type: strin}\ncommand: a\n",
	    "5:", "no usable JSON Schema" },
	{ HEAD "parameters: {properties: {a: {pattern: '('}}}\ncommand: a\n",
	    "3:", "no usable JSON Schema" },
	{ HEAD "command: a\ndirectory: nowhere\n", "4:", "there is no directory" },
	{ HEAD "command: a\nenvironment: A=b\n", "4:", "must be a list" },
	{ HEAD "command: a\nenvironment: [1]\n", "4:15", "put it in quotes" },
	{ HEAD "command: a\nenvironment: [A-B=1]\n", "4:15", "is neither" },
	{ HEAD "command: a\nenvironment: [=1]\n", "4:15", "is neither" },
	{ HEAD "command: a\nenvironment: [1A]\n", "4:15", "is neither" },
	{ HEAD "command: a\nenvironment: [A, A=1]\n", "4:18", "listed twice" },
	{ HEAD "command: a\nenvironment: [FLOTILLA_RUN=1]\n", "4:15",
	    "set by the worker" },
	{ HEAD "command: a\nenvironment: [ARG_X=1]\n", "4:15", "set by the worker" },
	{ HEAD "command: a\ninput: xml\n", "4:", "input must be json, none" },
	{ HEAD "command: a\ninput: \"{b}\"\n", "4:", "names no argument" },
	{ HEAD "command: a\ninput: {b}\n", "4:", "\"{b}\" with its quotes" },
	{ HEAD ONE_ARGUMENT "command: a\ninput: \"{path}!\"\n", "5:", "one argument" },
	{ HEAD "command: a\noutput: [text]\n",
	    "4:", "output must be text, json or command" },
	{ HEAD "command: a\noutput: xml\n",
	    "4:", "output must be text, json or command" },
	{ HEAD "command: a\ntimeout_ms: 0\n", "4:", "from 1 to 86400000" },
	{ HEAD "command: a\ntimeout_ms: 10s\n", "4:", "a whole number" },
	{ HEAD "command: a\ntimeout_ms: 1.5\n", "4:", "a whole number" },
	{ HEAD "command: a\noutput_bytes_max: 9000000000\n", "4:", "from 1 to 1048576" },
	{ HEAD "command: a\ngrace_ms: 5000\n", "4:", "from 1 to 4000" },
	{ HEAD "command: a\nmax_parallel: -1\n", "4:", "from 0 to" },
	{ HEAD "command: a\nlimits: 5\n", "4:9", "limits is a map" },
	{ HEAD "command: a\nlimits: {memory_byte: 5}\n",
	    "4:", "did you mean 'memory_bytes'" },
	{ HEAD "command: a\nlimits: {memory_bytes: 5}\n", "4:24", "from 1048576 to" },
	{ HEAD "command: a\nlimits: {cpu_seconds: many}\n", "4:23", "must be none, or" },
	{ HEAD "command: a\nlimits: {gain_privileges: 1}\n", "4:27", "true or false" },
	{ HEAD "command: a\nreturn_direct: 1\n", "4:", "true or false" },
	{ HEAD "command: a\nidempotent: 'no'\n", "4:", "true or false" },
	{ HEAD "command: a\nreads: messages\n", "4:", "reads must be a list" },
	{ HEAD "command: a\nreads: [a, 1]\n", "4:12", "put it in quotes" },
	{ HEAD "command: a\ncontext: 1\n", "4:", "true or false" },
	{ HEAD "command: a\nstreams: 1\n", "4:", "true or false" },
	{ HEAD "command: a\nidempotent: false\nuncertain: maybe\n",
	    "5:", "tell_model, interrupt or repeat" },
	{ HEAD "command: a\nuncertain: repeat\n", "4:", "add idempotent: false" },
	{ HEAD "command: a\n---\nname: u\n", "5:1", "'description' is missing" },
};

START_TEST(refuses_with_place_and_remedy)
{
	const char *error = refusal_of(refused[_i].text);
	const char *place =
	    arena_printf(arena, "%s/tools.yaml:%s", folder, refused[_i].place);

	ck_assert_msg(
	    strncmp(error, place, strlen(place)) == 0, "%s is not at %s", error, place);
	ck_assert_msg(strstr(error, refused[_i].reason) != NULL, "%s", error);
}
END_TEST

TCase *
tcase_tool_file(void)
{
	TCase *tcase = tcase_create("tool_file");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, reads_every_key);
	tcase_add_test(tcase, fills_in_what_is_left_out);
	tcase_add_test(tcase, reads_a_tool_a_document);
	tcase_add_test(tcase, finds_programs_beside_the_file_and_in_path);
	tcase_add_test(tcase, ignores_relative_entries_of_path);
	tcase_add_test(tcase, says_why_a_program_cannot_run);
	tcase_add_test(tcase, names_a_variable_that_is_not_set);
	tcase_add_test(tcase, names_the_variables_of_shell_commands);
	tcase_add_test(tcase, leaves_other_braces_to_the_shell);
	tcase_add_test(tcase, loads_a_file);
	tcase_add_loop_test(
	    tcase, refuses_with_place_and_remedy, 0, sizeof refused / sizeof refused[0]);
	return tcase;
}
