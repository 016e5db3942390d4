/* worker-tools --check and --call, as a person or a script uses them. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "children.h"

TCase *tcase_workbench(void);

#define TOOL_T "name: t\ndescription: d\nparameters: {properties: {n: {type: integer}}}\n"

static struct arena *arena;
static char *folder;
static int status; /* exit status of the last run */

static void
set_up(void)
{
	arena = arena_new();
	folder = folder_new();
}

static void
tear_down(void)
{
	folder_remove(&folder);
	arena_destroy(&arena);
}

static void
write_file(const char *name, const char *text)
{
	FILE *file = fopen(arena_printf(arena, "%s/%s", folder, name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

/* Runs worker-tools in the folder with those arguments. Returns what it printed, on both
 * streams. */
static const char *
output_of(const char *args)
{
	FILE *pipe = popen(
	    arena_printf(arena, "cd %s && exec 2>&1 worker-tools %s", folder, args), "r");
	char *text = arena_alloc(arena, 8192);
	int end;

	ck_assert_ptr_nonnull(pipe);
	text[fread(text, 1, 8191, pipe)] = '\0';
	end = pclose(pipe);
	ck_assert_msg(WIFEXITED(end), "%s", text);
	status = WEXITSTATUS(end);
	return text;
}

static void
expect(const char *args, int wanted_status, const char *words)
{
	const char *text = output_of(args);

	ck_assert_msg(strstr(text, words) != NULL, "%s: %s", args, text);
	ck_assert_msg(status == wanted_status, "%s: status %d: %s", args, status, text);
}

START_TEST(call_prints_the_answer)
{
	write_file("t.yaml", TOOL_T "command: [cat]\n");
	ck_assert_str_eq(
	    output_of("--tools t.yaml --call t '{\"n\": 1}'"), "{\"n\":1}\n");
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(output_of("--tools . --call t"), "{}\n");
	ck_assert_str_eq(
	    output_of("--tools . --call t - <<'E'\n{\"n\": 2}\nE\n"), "{\"n\":2}\n");
	ck_assert_str_eq(
	    output_of("--call calculate '{\"expression\": \"6*7\"}'"), "42\n");
	write_file("t.yaml", TOOL_T "streams: true\ncommand: echo half >&3; echo done\n");
	ck_assert_str_eq(output_of("--tools . --call t"), "told: \"half\"\ndone\n");
}
END_TEST

START_TEST(call_prints_what_a_command_says)
{
	write_file("t.yaml", TOOL_T "output: command\ncommand: [cat, answer]\n");
	write_file("answer",
	    "{\"content\": \"x\", \"artifact\": [1], \"update\": {\"a\": 2}, "
	    "\"goto\": \"end\"}");
	ck_assert_str_eq(output_of("--tools . --call t 2>/dev/null"), "x\n");
	expect(
	    "--tools . --call t", 0, "artifact: [1]\nupdate: {\"a\":2}\ngoto: \"end\"\n");
	write_file("answer", "{\"content\": \"x\"}");
	ck_assert_str_eq(output_of("--tools . --call t"), "x\n");
	write_file("answer", "{\"content\": \"x\", \"update\": {\"messages\": \"y\"}}");
	expect("--tools . --call t", 0, "\"type\":\"human\",\"content\":\"y\"");
	write_file("answer", "{}");
	expect("--tools . --call t", 1, "ToolException: wrote a command that does not");
}
END_TEST

START_TEST(call_tells_failures_by_status)
{
	write_file("t.yaml", TOOL_T "command: |\n  echo 'OSError: full' >&2; exit 3\n");
	expect("--tools . --call t", 1, "OSError: full\n");
	expect("--tools . --call t '{\"n\": \"x\"}'", 1, "/n");
	expect("--tools . --call u", 2, "there is no tool 'u'");
	expect("--call calculat", 2, "did you mean 'calculate'?");
	expect("--tools . --call t '{'", 2, "no JSON");
	expect("--tools . --call t '[1]'", 2, "must be a JSON object");
	expect("--tools . --call t {\\\"n\\\": 1}", 2, "single quotes");
	expect("--tools nowhere --call t", 2, "nowhere");
	expect("--builtin clok --call t", 2, "there is no such C tool");
}
END_TEST

START_TEST(ctrl_c_ends_the_tool_and_its_children)
{
	const char *argv[] = { "worker-tools", "--tools", folder, "--call", "t", NULL };
	struct child *child;
	char state = 'X';
	FILE *file;
	int pid = 0;

	write_file("t.yaml", TOOL_T "command: |\n"
				    "  sh -c 'trap \"\" TERM; echo $$ > new; mv new pid; "
				    "while :; do sleep 1; done' & wait\n");
	child = child_spawn(argv, NULL);
	while (access(arena_printf(arena, "%s/pid", folder), F_OK) == -1)
		usleep(5000);
	ck_assert_int_eq(kill(child_pid(child), SIGINT), 0);
	status = child_wait(&child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 130);
	file = fopen(arena_printf(arena, "%s/pid", folder), "r");
	ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
	fclose(file);
	file = fopen(arena_printf(arena, "/proc/%d/stat", pid), "r");
	if (file != NULL && fscanf(file, "%*d %*s %c", &state) == 1)
		ck_assert_msg(state == 'Z' || state == 'X', "%d runs", pid);
	if (file != NULL)
		fclose(file);
}
END_TEST

START_TEST(check_lists_the_tools)
{
	write_file("a.yaml",
	    "name: one\ndescription: d\ncommand: [sh, -e, --, x]\nidempotent: false\n"
	    "---\nname: two\ndescription: d\ncommand: echo $X\nenvironment: [NOT_SET]\n");
	expect("--check a.yaml", 0, "/sh -e -- x\n");
	expect("--check .", 0, "never run twice");
	expect("--check --tools .", 0, "/bin/sh: echo $X\n");
	expect("--check .", 0, "NOT_SET is not set here");
}
END_TEST

START_TEST(check_names_every_bad_file)
{
	const char *text;

	write_file("a.yaml", "name: one\n");
	write_file("b.yaml", "name: two\ndescription: d\ncommand: [no-such-program]\n");
	write_file("c.yaml", "name: three\ndescription: d\ncommand: 'true'\n");
	text = output_of("--check .");
	ck_assert_ptr_nonnull(strstr(text, "./a.yaml:1:1: key 'description' is missing"));
	ck_assert_ptr_nonnull(strstr(text, "./b.yaml:3:11: program 'no-such-program'"));
	ck_assert_ptr_nonnull(strstr(text, "three"));
	ck_assert_int_eq(status, 1);
}
END_TEST

START_TEST(check_finds_a_name_that_is_taken)
{
	write_file("a.yaml", "name: one\ndescription: d\ncommand: 'true'\n");
	write_file("b.yaml", "name: one\ndescription: d\ncommand: 'true'\n");
	expect("--check .", 1, "./b.yaml:1:1: a tool named 'one' is in ./a.yaml:1:1");
	write_file("b.yaml", "name: now\ndescription: d\ncommand: 'true'\n");
	expect("--check .", 1, "--builtin");
	expect("--builtin none --check .", 0, "now");
}
END_TEST

START_TEST(check_wants_files)
{
	expect("--check", 2, "name tool files");
	expect("--check nowhere", 2, "nowhere");
	expect("--check .", 2, "no .yaml or .yml file");
}
END_TEST

TCase *
tcase_workbench(void)
{
	TCase *tcase = tcase_create("workbench");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, call_prints_the_answer);
	tcase_add_test(tcase, call_prints_what_a_command_says);
	tcase_add_test(tcase, call_tells_failures_by_status);
	tcase_add_test(tcase, ctrl_c_ends_the_tool_and_its_children);
	tcase_add_test(tcase, check_lists_the_tools);
	tcase_add_test(tcase, check_names_every_bad_file);
	tcase_add_test(tcase, check_finds_a_name_that_is_taken);
	tcase_add_test(tcase, check_wants_files);
	return tcase;
}
