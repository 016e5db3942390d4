/* Commands and processes without a fleet: what keeps them from working is said, and nothing is lost. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "../../cli/command.h"
#include "fleet_up.h"

TCase *tcase_cli_alone(void);

static struct arena *arena;
static char *folder;
static struct cli cli;
static const struct cli *flotilla = &cli;

static void
set_up(void)
{
	arena = arena_new();
	folder = folder_new();
	cli = (struct cli){ fleet_up_program(arena), folder, arena };
}

static void
tear_down(void)
{
	folder_remove(&folder);
	arena_destroy(&arena);
}

static void
assert_says(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

/* libuv and ZeroMQ would end the process; a fleet.json that cannot be opened would be one that is
 * not there, and the command would go to another fleet. */
START_TEST(too_few_descriptors_are_said)
{
	const struct cli shell = { "/bin/sh", NULL, arena };
	static const char *const lines[] = {
		"ulimit -n 7; exec \"$0\" runs",
		"ulimit -n 10; exec \"$0\" runs",
		"ulimit -n 14; exec \"$0\" top --once",
		"ulimit -n 9; exec \"${0%/*}/broker\" --bind ipc://none --status-bind "
		"ipc://none",
	};
	struct said said;
	size_t i;

	for (i = 0; i < sizeof lines / sizeof *lines; i++) {
		said = CLI(&shell, "-c", lines[i], cli.program);
		ck_assert_msg(said.status == STATUS_FAILED, "%s: status %d: %s", lines[i],
		    said.status, said.err);
		assert_says(said.err, "raise the limit (ulimit -n)");
	}
}
END_TEST

static const struct {
	const char *line, *says;
} useless[] = {
	{ "broker --broker tcp://127.0.0.1:1", "unrecognized option '--broker'" },
	{ "coordinator --embed-field x", "together with --embed MODEL" },
	{ "flotilla up --embed-field x", "together with --embed MODEL" },
	{ "worker-tools --answer x", "together with --call TOOL" },
};

/* Else it would be noticed late that nobody looks at it. */
START_TEST(a_flag_that_does_nothing_there_is_refused)
{
	const struct cli shell = { "/bin/sh", folder, arena };
	struct said said = CLI(
	    &shell, "-c", arena_printf(arena, "exec timeout 10 %s", useless[_i].line));

	ck_assert_msg(said.status == STATUS_USAGE, "%d %s", said.status, said.err);
	assert_says(said.err, useless[_i].says);
}
END_TEST

static const char list_with_nul[] =
    "keys:\n- key: \"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\"\n"
    "  name: a\n  roles: [client]\n\0# the rest\n";

START_TEST(a_list_that_cannot_be_read_whole_is_left_alone)
{
	const struct cli shell = { "/bin/sh", NULL, arena };
	const char *list = arena_printf(arena, "%s/nul.yaml", folder);
	FILE *file = fopen(list, "w");
	struct said said;

	ck_assert_uint_eq(fwrite(list_with_nul, 1, sizeof list_with_nul - 1, file),
	    sizeof list_with_nul - 1);
	ck_assert_int_eq(fclose(file), 0);
	said = CLI(flotilla, "keys", "revoke", "a", "--allow", list);
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "nul.yaml: it has a NUL in it");
	ck_assert_int_eq(CLI(&shell, "-c", "grep -aq rest \"$0\"", list).status, 0);
	said = CLI(flotilla, "keys", "revoke", "a", "--allow", folder);
	assert_says(said.err, "Is a directory");
	said = CLI(flotilla, "keys", "revoke", "a", "--allow", "none.yaml");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "none.yaml: No such file or directory");
	ck_assert_str_eq(CLI(&shell, "-c", "ls -d \"$0\"/*.new", folder).out, "");
	/* The remedy is an option, not a line of the list. */
	said = CLI(flotilla, "keys", "allow", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
	    "--as", "b", "--role", "worker", "--allow", "none.yaml");
	ck_assert_int_eq(said.status, STATUS_USAGE);
	ck_assert_str_eq(said.err,
	    "flotilla: --role worker goes together with --service, what it "
	    "may serve: 'tool:*', or '*' for all\n");
}
END_TEST

#define A_KEY "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

/* What was read before another one's edit would be written back behind it. Who may read the list may go on. */
START_TEST(one_edits_the_list_of_keys_at_a_time)
{
	const struct cli shell = { "/bin/sh", folder, arena };
	const char *list = arena_printf(arena, "%s/keys.yaml", folder);
	const char *text = arena_printf(arena, "'%s'", list);
	struct said said;

	said = CLI(flotilla, "keys", "allow", A_KEY, "--as", "b", "--role", "client",
	    "--allow", list);
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	CLI(&shell, "-c",
	    arena_printf(
		arena, "chmod 640 %s; touch %s.new; echo '[' >>%s", text, text, text));
	said = CLI(flotilla, "keys", "revoke", "b", "--allow", list);
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "keys.yaml.new: File exists; somebody else edits the list");
	CLI(&shell, "-c", arena_printf(arena, "rm %s.new; sed -i '$d' %s", text, text));
	said = CLI(flotilla, "keys", "revoke", "b", "--allow", list);
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	said = CLI(&shell, "-c", arena_printf(arena, "stat -c %%a %s", text));
	ck_assert_str_eq(said.out, "640\n");
}
END_TEST

/* Adds keys of that name as fast as it can: who is told that somebody else edits tries again. */
static struct cli_job *
start_editor(const struct cli *shell, const char *name)
{
	return CLI_START(shell, "-c",
	    "for i in 1 2 3 4 5 6 7 8; do\n"
	    "  \"$0\" keys new $1-$i.key >$1-$i.txt || exit 1\n"
	    "done\n"
	    "for i in 1 2 3 4 5 6 7 8; do\n"
	    "  until said=$(\"$0\" keys allow $1-$i.key --as $1-$i --role client --allow "
	    "race.yaml 2>&1); do\n"
	    "    case $said in *'somebody else edits'*) ;; *) echo \"$said\"; exit 1;; "
	    "esac\n"
	    "  done\n"
	    "done\n",
	    flotilla->program, name);
}

START_TEST(no_edit_of_two_who_race_is_lost)
{
	const struct cli shell = { "/bin/sh", folder, arena };
	struct cli_job *jobs[] = { start_editor(&shell, "a"), start_editor(&shell, "b"),
		start_editor(&shell, "c") };
	struct said said;
	size_t i;

	for (i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		said = cli_end(&jobs[i]);
		ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	}
	said = CLI(&shell, "-c",
	    "\"$0\" keys list --allow race.yaml | grep -c '^[abc]-[1-8] '",
	    flotilla->program);
	ck_assert_str_eq(said.out, "24\n");
}
END_TEST

/* "Ready" alone looks as if all were well. */
START_TEST(who_finds_no_broker_says_so)
{
	const struct cli worker = { "worker-tools", folder, arena };
	struct cli_job *job = CLI_START(&worker, "--broker", "ipc://nobody");
	struct said said;

	while (strstr(cli_err(job),
		   "no broker answers yet, waits for it endpoint=ipc://nobody") == NULL)
		usleep(10000);
	cli_signal(job, SIGTERM);
	said = cli_end(&job);
	ck_assert_int_eq(said.status, 0);
}
END_TEST

TCase *
tcase_cli_alone(void)
{
	TCase *tcase = tcase_create("cli_alone");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, a_flag_that_does_nothing_there_is_refused, 0,
	    sizeof useless / sizeof *useless);
	tcase_add_test(tcase, too_few_descriptors_are_said);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, who_finds_no_broker_says_so);
	tcase_add_test(tcase, a_list_that_cannot_be_read_whole_is_left_alone);
	tcase_add_test(tcase, one_edits_the_list_of_keys_at_a_time);
	tcase_add_test(tcase, no_edit_of_two_who_race_is_lost);
	return tcase;
}
