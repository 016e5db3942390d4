/* What a model may do to its shell, on purpose or not: what comes out of it is an answer, and the next
 * command runs. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "literal.h"
#include "loop.h"
#include "shell_bench.h"

/* Interface under test */
#include "registry.h"
#include "shell_session.h"

TCase *tcase_shell_attacks(void);

static struct arena *arena;

static void
set_up(void)
{
	shell_set_up();
	arena = shell.arena;
}

#define ENDLESS 6 /* so many of the first */
static const struct {
	const char *command, *status, *text; /* text: a piece of the answer */
} attacks[] = {
	/* What only the time limit ends. */
	{ "kill -STOP $$", "error", "timed out" },
	{ "trap '' TERM INT HUP; sleep 100", "error", "timed out" },
	{ "while :; do :; done", "error", "timed out" },
	{ "yes", "error", "[Output truncated: it has " },
	{ "yes | tr -d '\\n'", "error", "more than the limit]" },
	{ "yes >&2", "error", "[stderr] y" },
	/* How it ends. */
	{ "exit 0", "error", "ended its shell, which ended with status 0" },
	{ "exec true", "error", "ended its shell, which ended with status 0" },
	{ "exec cat", "error", "ended its shell" },
	{ "kill -9 $$", "error", "signal 9" },
	{ "kill -TERM 0; sleep 100", "error", "ended its shell" },
	{ "set -e; false", "error", "ended its shell, which ended with status 1" },
	{ "trap 'echo bye' EXIT; exit 4", "error", "bye" },
	{ "kill -9 $PPID; sleep 100", "error", "ended its shell" }, /* its minder */
	/* What it writes. */
	{ "head -c 3000000 /dev/urandom", "success", NULL },
	{ "printf 'a\\000b\\377c\\n'", "success",
	    "a b\xef\xbf\xbd"
	    "c" },
	{ "head -c 300000 /dev/zero", "success", "more than the limit]" },
	{ "printf '__FLOTILLA_0123456789abcdef0123456789abcdef:0\\n'", "success",
	    "__FLOTILLA_" },
	/* What it reads: nothing. */
	{ "cat; head -1; read x; cat <&0; echo end", "success", "end" },
	{ "bash -i; sh; bash; echo end", "success", "end" },
	{ "python3 -c 'import sys; print(repr(sys.stdin.read()))'", "success", "''" },
	/* What it does to the shell that goes on. */
	{ "exec </dev/null; echo a", "success", "a" },
	{ "printf() { :; }; alias printf=false", "success", "<no output>" },
	{ "set -vxuf; set +o posix; echo $-", "success", NULL },
	{ "trap 'echo dbg' DEBUG; echo a", "success", "a" },
	{ "PATH=; IFS=x; unset HOME; cd /; echo $PATH-", "success", "-" },
	{ "eval() { :; }; command() { builtin command \"$@\"; }; echo a", "success",
	    "a" },
	{ "rm -rf \"$PWD\"; echo a", "success", "a" },
	{ "ulimit -v 200000; echo a", "success", "a" },
	{ "ulimit -n 10; echo a", "success", "a" },
	{ "exec 3>&1 4>&2 5</dev/null; echo a", "success", "a" },
	{ "stty sane 2>/dev/null; tty; reset 2>/dev/null; echo a", "success",
	    "not a tty" },
	{ "echo 'unclosed", "error", NULL },
	{ "}; echo a", "error", NULL },
	{ "cat <<E\nnot ended", "success", "not ended" },
	{ "echo a # comment", "success", "a" },
	{ "echo a \\", "success", "a" },
	{ "for i in $(seq 200); do sleep 1000 & done; echo a", "success", "a" },
	{ "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & sleep 1000' &) ; echo a",
	    "success", "a" },
	{ "coproc cat; echo a", "success", "a" },
	{ "sleep 1000 | cat & disown -a; echo a", "success", "a" },
};

/* Whatever was begun is gone with the shell. */
START_TEST(it_answers_and_goes_on)
{
	const char *said, *mark = arena_printf(arena, "MARK=%s", shell.folder);

	shell_begin(arena_printf(arena,
	    "'command_timeout': %s, 'max_output_lines': 20, 'env': {'MARK': '%s'}",
	    _i < ENDLESS ? "1.5" : "25", shell.folder));
	said = shell_run(attacks[_i].command, attacks[_i].status);
	if (attacks[_i].text != NULL)
		ck_assert_has(said, attacks[_i].text);
	ck_assert_msg(strlen(said) < 1200000, "%zu bytes", strlen(said));
	ck_assert_has(shell_run("builtin echo on", "success"), "on");
	shell_call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_uint_eq(shell_session_count(), 0);
	/* What was killed may be there until it is scheduled once more. */
	ck_assert_int_eq(system(arena_printf(arena,
			     "i=0; while grep -qsaz '^%s' /proc/[0-9]*/environ; do "
			     "[ $i -lt 400 ] || exit 1; i=$((i + 1)); sleep 0.05; done",
			     mark)),
	    0);
}
END_TEST

/* Four megabytes of one command, and a line of it. */
START_TEST(a_huge_command_is_run)
{
	size_t size = (size_t)4 << 20;
	char *text = malloc(size + 32);

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', size);
	text[0] = 'X';
	text[1] = '=';
	text[2] = '\'';
	memcpy(text + size, "'; echo ${#X}", 14);
	/* A shell reads what it is given by a byte a time. */
	shell_begin("'command_timeout': 100");
	ck_assert_str_eq(
	    shell_run(text, "success"), arena_printf(arena, "%zu", size - 3));
	free(text);
}
END_TEST

/* A command does not end in its middle. */
START_TEST(a_command_with_a_nul_is_not_run_in_part)
{
	shell_begin("");
	shell_call(value_at(shell.use->tools, 0), NULL,
	    "{\"command\": \"echo begun\\u0000 && echo on\"}");
	ck_assert_has(tool_trial_answer(&shell.trial, "error"), "NUL");
	ck_assert_ptr_null(strstr(tool_trial_answer(&shell.trial, "error"), "begun\n"));
}
END_TEST

/* What is hidden is found before the output is cut: half of it would not be found. */
START_TEST(what_is_cut_is_hidden_first)
{
	const char *said;

	shell_begin("'max_output_lines': 3, 'max_output_bytes': 60, 'redaction_rules': ["
		    "{'pii_type': 'email'}, {'pii_type': 'pem', 'detector': "
		    "'-----BEGIN[^-]*-----[^-]*-----END[^-]*-----'}]");
	said = shell_run("echo 'it is -----BEGIN KEY-----'; seq 1 50; echo '-----END "
			 "KEY-----'; echo b; echo c; echo d",
	    "success");
	ck_assert_str_eq(said, "it is [REDACTED_PEM]\nb\nc\n[Output truncated: it has 55 "
			       "lines, the limit is 3]");
	ck_assert(shell_artifact("truncated_by_lines")->boolean);
	said = shell_run("printf '%050d someone@example.com' 0", "success");
	ck_assert_ptr_null(strstr(said, "someone"));
	ck_assert_has(said, "[Output truncated: it has 71 bytes");
	/* Behind the longest line that is kept there is half of one. */
	said = shell_run("printf '%065520d someone@exa' 0; echo mple.com", "success");
	ck_assert_ptr_null(strstr(said, "someone"));
}
END_TEST

TCase *
tcase_shell_attacks(void)
{
	TCase *tcase = tcase_create("shell_attacks");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, shell_tear_down);
	tcase_add_loop_test(
	    tcase, it_answers_and_goes_on, 0, (int)(sizeof attacks / sizeof *attacks));
	tcase_add_test(tcase, a_huge_command_is_run);
	tcase_add_test(tcase, a_command_with_a_nul_is_not_run_in_part);
	tcase_add_test(tcase, what_is_cut_is_hidden_first);
	return tcase;
}
