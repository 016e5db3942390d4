#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Interface under test */
#include "settings.h"

#define ARGS_MAX 16

struct fixture {
	const char *endpoint;
	int64_t slots;
	bool verbose;
	const char **tools;
	const char *unset;
};

static const struct setting table[] = {
	{ "endpoint", SETTING_TEXT, offsetof(struct fixture, endpoint), "tcp://*:7700", 0,
	    0, NULL, "where to listen", 'e' },
	{ "tool-slots", SETTING_INTEGER, offsetof(struct fixture, slots), "8", -5, 100,
	    "calls", "calls at once", 0 },
	{ "verbose", SETTING_BOOL, offsetof(struct fixture, verbose), NULL, 0, 0, NULL,
	    "say more", 'v' },
	{ "tool", SETTING_LIST, offsetof(struct fixture, tools), "a,b", 0, 0, NULL,
	    "a tool served; may be given again", 0 },
	{ "unset", SETTING_TEXT, offsetof(struct fixture, unset), NULL, 0, 0, NULL,
	    "nothing by default", 0 },
	{ .name = NULL },
};

static const struct settings_help help = {
	.program = "flotilla submit",
	.usage = "AGENT [TEXT]",
	.summary = "Submits a run and prints its id.",
};

static struct fixture settings;
static const char *const *rest;
static char words[ARGS_MAX][64]; /* argp changes the order of argv */
static char *argv[ARGS_MAX + 1];

static void
setup(void)
{
	memset(&settings, 0xff, sizeof settings);
}

/* line is the command line behind the program's name, split at spaces. */
static int
split(const char *line)
{
	char copy[256];
	char *left = copy;
	char *word;
	int argc = 0;

	snprintf(copy, sizeof copy, "program %s", line);
	while ((word = strsep(&left, " ")) != NULL) {
		if (*word == '\0')
			continue;
		snprintf(words[argc], sizeof words[argc], "%s", word);
		argv[argc] = words[argc];
		argc++;
	}
	argv[argc] = NULL;
	return argc;
}

static void
parse(const char *line)
{
	int argc = split(line);

	settings_parse(table, &settings, &help, argc, argv, &rest);
}

static void
check_tools(const char *expected)
{
	char joined[128] = "";
	size_t used = 0;

	for (size_t i = 0; settings.tools[i] != NULL; i++)
		used += (size_t)snprintf(
		    joined + used, sizeof joined - used, "%s;", settings.tools[i]);
	ck_assert_str_eq(joined, expected);
}

START_TEST(defaults_fill_what_nobody_says)
{
	parse("");
	ck_assert_str_eq(settings.endpoint, "tcp://*:7700");
	ck_assert_int_eq(settings.slots, 8);
	ck_assert(!settings.verbose);
	check_tools("a;b;");
	ck_assert_ptr_null(settings.unset);
	ck_assert_ptr_null(rest[0]);
	settings_release(table, &settings);
	ck_assert_ptr_null(settings.tools);
}
END_TEST

START_TEST(a_variable_wins_over_the_default)
{
	setenv("FLOTILLA_ENDPOINT", "ipc:///tmp/x", 1);
	setenv("FLOTILLA_TOOL_SLOTS", "-5", 1);
	setenv("FLOTILLA_VERBOSE", "yes", 1);
	setenv("FLOTILLA_TOOL", "search, shell,,", 1);
	parse("");
	ck_assert_str_eq(settings.endpoint, "ipc:///tmp/x");
	ck_assert_int_eq(settings.slots, -5);
	ck_assert(settings.verbose);
	check_tools("search;shell;");
	settings_release(table, &settings);
}
END_TEST

START_TEST(an_empty_variable_counts_as_none)
{
	setenv("FLOTILLA_TOOL_SLOTS", "", 1);
	parse("");
	ck_assert_int_eq(settings.slots, 8);
	settings_release(table, &settings);
}
END_TEST

START_TEST(a_flag_wins_over_the_variable)
{
	setenv("FLOTILLA_ENDPOINT", "ipc:///tmp/x", 1);
	setenv("FLOTILLA_TOOL_SLOTS", "not a number", 1);
	setenv("FLOTILLA_VERBOSE", "off", 1);
	setenv("FLOTILLA_TOOL", "search", 1);
	parse("-e tcp://h:1 --tool-slots=100 -v --tool x,y --tool z --unset u");
	ck_assert_str_eq(settings.endpoint, "tcp://h:1");
	ck_assert_int_eq(settings.slots, 100);
	ck_assert(settings.verbose);
	check_tools("x,y;z;");
	ck_assert_str_eq(settings.unset, "u");
	settings_release(table, &settings);
}
END_TEST

START_TEST(the_last_of_two_flags_wins)
{
	parse("--tool-slots 1 --tool-slots 2");
	ck_assert_int_eq(settings.slots, 2);
	settings_release(table, &settings);
}
END_TEST

START_TEST(positional_arguments_are_left_in_order)
{
	parse("support --tool-slots 3 hello -- --not-a-flag");
	ck_assert_int_eq(settings.slots, 3);
	ck_assert_str_eq(rest[0], "support");
	ck_assert_str_eq(rest[1], "hello");
	ck_assert_str_eq(rest[2], "--not-a-flag");
	ck_assert_ptr_null(rest[3]);
	ck_assert_str_eq(argv[0], "program");
	settings_release(table, &settings);
}
END_TEST

/* Parses in a child of its own; returns what that wrote, checks how it ended. */
static const char *
parse_to_exit(const char *line, bool takes_rest, int expected)
{
	static char output[4096];
	size_t used = 0;
	ssize_t got;
	int fds[2], status;
	pid_t child;

	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		settings_parse(table, &settings, &help, split(line), argv,
		    takes_rest ? &rest : NULL);
		_exit(99);
	}
	close(fds[1]);
	while ((got = read(fds[0], output + used, sizeof output - used - 1)) > 0)
		used += (size_t)got;
	output[used] = '\0';
	close(fds[0]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == expected,
	    "status %#x: %s", (unsigned)status, output);
	return output;
}

static void
check_has(const char *output, const char *text)
{
	ck_assert_msg(strstr(output, text) != NULL, "no \"%s\" in: %s", text, output);
}

static const struct {
	const char *line;
	const char *message;
} bad_lines[] = {
	{ "--tool-slots x", "flotilla submit: --tool-slots 'x': must be a whole number "
			    "from -5 to 100 calls\n" },
	{ "--tool-slots 101", "--tool-slots '101': must be a whole number from -5" },
	{ "--tool-slots -6", "--tool-slots '-6': must be" },
	{ "--tool-slots 7x", "--tool-slots '7x': must be" },
	{ "--tool-slots=", "--tool-slots '': must be" },
	{ "--tool-slots 99999999999999999999", "'99999999999999999999': must be" },
	{ "--tool-slots", "requires an argument" },
	{ "--slots 3", "flotilla submit: unrecognized option '--slots'" },
	{ "--tool-slot=3 --tol-slots 3",
	    "unrecognized option '--tol-slots', did you mean "
	    "'--tool-slots'?" },
	{ "-z", "invalid option" },
};

START_TEST(a_bad_flag_is_a_message_and_status_2)
{
	check_has(parse_to_exit(bad_lines[_i].line, true, 2), bad_lines[_i].message);
}
END_TEST

static const struct {
	const char *variable;
	const char *value;
	const char *message;
} bad_variables[] = {
	{ "FLOTILLA_TOOL_SLOTS", "many",
	    "flotilla submit: FLOTILLA_TOOL_SLOTS 'many': must be a whole number" },
	{ "FLOTILLA_TOOL_SLOTS", " 7", "FLOTILLA_TOOL_SLOTS ' 7': must be" },
	{ "FLOTILLA_VERBOSE", "maybe", "FLOTILLA_VERBOSE 'maybe': must be true or" },
};

START_TEST(a_bad_variable_is_a_message_and_status_2)
{
	setenv(bad_variables[_i].variable, bad_variables[_i].value, 1);
	check_has(parse_to_exit("", true, 2), bad_variables[_i].message);
}
END_TEST

START_TEST(an_argument_where_none_is_taken_is_refused)
{
	check_has(parse_to_exit("surplus", false, 2), "unexpected argument 'surplus'");
}
END_TEST

START_TEST(help_shows_every_row_with_default_and_variable)
{
	static const char *const parts[] = {
		"Usage: flotilla submit [OPTION...] AGENT [TEXT]",
		"Submits a run and prints its id.",
		"-e, --endpoint=TEXT",
		"tcp://*:7700",
		"FLOTILLA_ENDPOINT",
		"--tool-slots=N",
		"8 calls",
		"FLOTILLA_TOOL_SLOTS",
		"-v, --verbose",
		"FLOTILLA_VERBOSE",
		"a,b;",
		"FLOTILLA_TOOL)",
		"nothing by default",
		"FLOTILLA_UNSET",
	};
	const char *output;

	setenv("FLOTILLA_TOOL_SLOTS", "bad, but help is help", 1);
	output = parse_to_exit("--help", true, 0);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		check_has(output, parts[i]);
}
END_TEST

START_TEST(version_is_printed)
{
	check_has(parse_to_exit("--version", true, 0),
	    "flotilla submit " FLOTILLA_VERSION "\n");
}
END_TEST

TCase *tcase_settings(void);

TCase *
tcase_settings(void)
{
	TCase *tcase = tcase_create("settings");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, defaults_fill_what_nobody_says);
	tcase_add_test(tcase, a_variable_wins_over_the_default);
	tcase_add_test(tcase, an_empty_variable_counts_as_none);
	tcase_add_test(tcase, a_flag_wins_over_the_variable);
	tcase_add_test(tcase, the_last_of_two_flags_wins);
	tcase_add_test(tcase, positional_arguments_are_left_in_order);
	tcase_add_loop_test(tcase, a_bad_flag_is_a_message_and_status_2, 0,
	    sizeof bad_lines / sizeof bad_lines[0]);
	tcase_add_loop_test(tcase, a_bad_variable_is_a_message_and_status_2, 0,
	    sizeof bad_variables / sizeof bad_variables[0]);
	tcase_add_test(tcase, an_argument_where_none_is_taken_is_refused);
	tcase_add_test(tcase, help_shows_every_row_with_default_and_variable);
	tcase_add_test(tcase, version_is_printed);
	return tcase;
}
