/* The command line on a fleet that `flotilla up` has started: what it prints, what its exit
 * status says. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../../cli/command.h"
#include "fleet_up.h"

static struct fleet_up fleet;
static const struct cli *const flotilla = &fleet.flotilla;

static void
start_fleet(void)
{
	fleet_up_start(&fleet, "1");
}

static void
stop_fleet(void)
{
	fleet_up_stop(&fleet);
}

static void
assert_says(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

static const struct value *
state_of(const char *thread)
{
	struct said said = CLI(flotilla, "state", thread, "--json");

	ck_assert_msg(said.status == STATUS_OK, "state %s: %s", thread, said.err);
	return fleet_up_json(&fleet, said.out);
}

static const char *
content_at(const struct value *thread, size_t index)
{
	const char *text =
	    value_get_text(value_at(value_get(thread, "messages"), index), "content");

	ck_assert_ptr_nonnull(text);
	return text;
}

START_TEST(what_could_not_be_printed_is_no_success)
{
	const struct cli shell = { "/bin/sh", NULL, fleet.arena };
	struct said said = CLI(&shell, "-c", "exec \"$0\" keys redis-acl >/dev/full",
	    fleet.flotilla.program);

	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "could be written to the standard output");
	said = CLI(
	    &shell, "-c", "exec \"$0\" submit --help >/dev/full", fleet.flotilla.program);
	ck_assert_int_eq(said.status, STATUS_FAILED);
	said = CLI(flotilla, "submit", "quick", "Hi", "--run", "full", "--wait");
	ck_assert_int_eq(said.status, STATUS_OK);
	said = CLI(&shell, "-c", "cd \"$1\" && exec \"$0\" watch full >/dev/full",
	    fleet.flotilla.program, fleet.folder);
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "the standard output takes no more");
	ck_assert_msg(strstr(said.err, "the run goes on") == NULL, "%s", said.err);
	/* Who has read enough is no failure. */
	said = CLI(&shell, "-c",
	    "{ \"$0\" keys redis-acl; echo status $? >&2; } | exec true",
	    fleet.flotilla.program);
	assert_says(said.err, "status 0\n");
}
END_TEST

/* --- submit ------------------------------------------------------------------------------- */

START_TEST(help_of_a_command_is_its_own)
{
	struct said whole = CLI(flotilla, "help"), one = CLI(flotilla, "help", "store");

	assert_says(whole.out, "COMMAND [OPTION...]");
	ck_assert_str_eq(one.out, CLI(flotilla, "store", "--help").out);
	ck_assert_int_eq(one.status, STATUS_OK);
	one = CLI(flotilla, "help", "strore");
	ck_assert_int_eq(one.status, STATUS_USAGE);
	assert_says(one.err, "store");
}
END_TEST

START_TEST(submit_waits_for_the_answer_and_prints_it)
{
	struct said said = CLI(flotilla, "submit", "quick", "Hi", "--wait");

	ck_assert_int_eq(said.status, STATUS_OK);
	ck_assert_str_eq(said.out, "First.\n");
	ck_assert_str_eq(said.err, "");
}
END_TEST

START_TEST(submit_reads_the_message_from_stdin)
{
	struct said said = cli_run(flotilla, "Hi from stdin\n",
	    (const char *const[]){
		"submit", "quick", "--thread", "piped", "--wait", NULL });

	ck_assert_int_eq(said.status, STATUS_OK);
	ck_assert_str_eq(said.out, "First.\n");
	assert_says(content_at(state_of("piped"), 0), "Hi from stdin");
}
END_TEST

START_TEST(submit_reads_a_whole_input_from_stdin)
{
	struct said said = cli_run(flotilla,
	    "{\"messages\": [{\"type\": \"human\", \"content\": \"one\"}, "
	    "{\"type\": \"human\", \"content\": \"two\"}]}",
	    (const char *const[]){
		"submit", "quick", "-", "--thread", "whole", "--wait", NULL });
	const struct value *thread = state_of("whole");

	ck_assert_int_eq(said.status, STATUS_OK);
	ck_assert_uint_eq(value_size(value_get(thread, "messages")), 3);
	ck_assert_str_eq(content_at(thread, 1), "two");
}
END_TEST

START_TEST(submit_prints_json_for_programs)
{
	struct said said =
	    CLI(flotilla, "submit", "quick", "Hi", "--run", "js", "--wait", "--json");
	const struct value *all = fleet_up_json(&fleet, said.out);

	ck_assert_int_eq(said.status, STATUS_OK);
	ck_assert_str_eq(value_get_text(all, "run"), "js");
	ck_assert_str_eq(value_get_text(all, "thread"), "js");
	ck_assert_str_eq(value_get_text(all, "status"), "success");
	ck_assert_uint_eq(value_size(value_get(all, "messages")), 2);
}
END_TEST

START_TEST(submit_follows_each_step)
{
	struct said said = CLI(flotilla, "submit", "quick", "Hi", "--follow");

	ck_assert_int_eq(said.status, STATUS_OK);
	assert_says(said.out, "started  agent quick");
	assert_says(said.out, "step 1");
	assert_says(said.out, "First.");
	assert_says(said.out, "finished success");
}
END_TEST

START_TEST(submit_alone_prints_the_runs_id_which_watch_shows_to_its_end)
{
	struct said said = CLI(flotilla, "submit", "quick", "Hi", "--run", "alone");

	ck_assert_int_eq(said.status, STATUS_OK);
	ck_assert_str_eq(said.out, "alone\n");
	said = CLI(flotilla, "watch", "alone");
	ck_assert_int_eq(said.status, STATUS_OK);
	assert_says(said.out, "queued");
	assert_says(said.out, "finished success");
}
END_TEST

/* --- threads ------------------------------------------------------------------------------ */

START_TEST(a_thread_goes_on_and_its_history_tells_how)
{
	struct said said = CLI(flotilla, "submit", "quick", "A", "-t", "talk", "--wait");
	const struct value *history, *thread;
	size_t i;

	ck_assert_str_eq(said.out, "First.\n");
	said = CLI(flotilla, "submit", "quick", "B", "-t", "talk", "--wait");
	ck_assert_str_eq(said.out, "Second.\n");
	thread = state_of("talk");
	ck_assert_uint_eq(value_size(value_get(thread, "messages")), 4);
	ck_assert_str_eq(content_at(thread, 2), "B");
	said = CLI(flotilla, "history", "talk", "--json");
	history = fleet_up_json(&fleet, said.out);
	ck_assert_uint_ge(value_size(history), 2);
	for (i = 0; i < value_size(history); i++)
		ck_assert_int_eq(
		    value_get_int(value_at(history, i), "version", 0), (int64_t)i + 1);
	said = CLI(flotilla, "state", "talk");
	assert_says(said.out, "thread talk: success, 4 messages");
	assert_says(said.out, "ai: Second.");
}
END_TEST

START_TEST(a_run_that_was_interrupted_is_resumed)
{
	struct said said =
	    CLI(flotilla, "submit", "careful", "Do", "-t", "asks", "--wait");

	ck_assert_int_eq(said.status, STATUS_INTERRUPTED);
	assert_says(CLI(flotilla, "state", "asks").out, "paused: interrupt_before tools");
	said = CLI(flotilla, "resume", "asks", "--wait");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	ck_assert_str_eq(said.out, "Thank you.\n");
	ck_assert_str_eq(content_at(state_of("asks"), 2), "noted hello");
	said = CLI(flotilla, "resume", "asks", "--wait");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "waits for nothing");
}
END_TEST

START_TEST(runs_lists_the_newest_first_and_by_state)
{
	struct said said;
	const struct value *runs;

	CLI(flotilla, "submit", "quick", "Hi", "--run", "older", "--wait");
	CLI(flotilla, "submit", "broken", "Hi", "--run", "newer", "--wait");
	said = CLI(flotilla, "runs", "--json", "-n", "2");
	runs = fleet_up_json(&fleet, said.out);
	ck_assert_uint_eq(value_size(runs), 2);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "run"), "newer");
	ck_assert_str_eq(value_get_text(value_at(runs, 1), "run"), "older");
	said = CLI(flotilla, "runs", "--state", "error");
	assert_says(said.out, "newer");
	ck_assert_ptr_null(strstr(said.out, "older"));
}
END_TEST

/* --- cancel ------------------------------------------------------------------------------- */

static int
first_runs(const struct value *runs, void *arg)
{
	size_t i;

	for (i = 0; i < value_size(runs); i++)
		if (value_text_is(value_get(value_at(runs, i), "run"), arg))
			return value_text_is(
			    value_get(value_at(runs, i), "status"), "running");
	return 0;
}

static void
wait_running(const char *run)
{
	fleet_up_wait(&fleet, (const char *const[]){ "runs", "--json", NULL }, first_runs,
	    (void *)run);
}

START_TEST(cancel_ends_a_queued_run_and_leaves_the_running_one)
{
	struct said said;

	CLI(flotilla, "submit", "slow", "Hi", "-t", "busy", "--run", "ahead");
	wait_running("ahead");
	CLI(flotilla, "submit", "slow", "Hi", "-t", "busy", "--run", "behind");
	said = CLI(flotilla, "cancel", "behind"); /* in the inbox yet, perhaps */
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	ck_assert_str_eq(said.out, "behind cancelled\n");
	ck_assert_int_eq(CLI(flotilla, "watch", "behind").status, STATUS_CANCELLED);
	wait_running("ahead");
	said = CLI(flotilla, "cancel", "ahead");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	said = CLI(flotilla, "cancel", "ahead");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "ended already (cancelled)");
}
END_TEST

START_TEST(cancel_ends_a_tools_process_with_its_children)
{
	struct cli_job *job =
	    CLI_START(flotilla, "submit", "hanger", "Hi", "--run", "hung", "--wait");
	pid_t parent = fleet_up_pid_in(&fleet, "parent");
	pid_t child = fleet_up_pid_in(&fleet, "child");
	struct said said;

	ck_assert_int_eq(process_is_gone(parent), 0);
	ck_assert_int_eq(process_is_gone(child), 0);
	said = CLI(flotilla, "cancel", "hung");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	ck_assert_int_ne(process_is_gone(parent), 0);
	ck_assert_int_ne(process_is_gone(child), 0);
	said = cli_end(&job);
	ck_assert_int_eq(said.status, STATUS_CANCELLED);
	assert_says(said.err, "run hung cancelled");
	/* No call is left open: the thread can go on. */
	said = CLI(flotilla, "submit", "quick", "Hi", "-t", "hung", "--wait");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
}
END_TEST

START_TEST(ctrl_c_leaves_the_run_alone)
{
	struct cli_job *job =
	    CLI_START(flotilla, "submit", "slow", "Hi", "--run", "watched", "--wait");
	struct said said;

	wait_running("watched");
	cli_signal(job, SIGINT);
	said = cli_end(&job);
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "the run goes on");
	wait_running("watched");
	ck_assert_int_eq(CLI(flotilla, "cancel", "watched").status, STATUS_OK);
}
END_TEST

/* --- agents, graph, top ------------------------------------------------------------------- */

START_TEST(agents_are_listed_and_applied)
{
	struct said said = CLI(flotilla, "agents", "list", "--json");
	const struct value *agents = fleet_up_json(&fleet, said.out);

	ck_assert_int_eq(said.status, STATUS_OK);
	ck_assert_uint_eq(value_size(agents), 8);
	said = CLI(flotilla, "agents", "list");
	assert_says(said.out, "answers at once");
	said = CLI(flotilla, "agents", "apply", "agents.yaml");
	ck_assert_int_eq(said.status, STATUS_OK);
	assert_says(said.out, "applied careful (version ");
	ck_assert_int_eq(
	    mkdir(arena_printf(fleet.arena, "%s/some", fleet.folder), 0700), 0);
	ck_assert_int_eq(symlink("../agents.yaml",
			     arena_printf(fleet.arena, "%s/some/a.yaml", fleet.folder)),
	    0);
	fleet_up_write(&fleet, "some/jay.json",
	    "{\"name\": \"jay\", \"model\": \"scripted:m\", "
	    "\"script\": {\"m\": [{\"content\": \"Hi.\"}]}}");
	fleet_up_write(&fleet, "some/.hidden.yaml", "not: an agent\n");
	fleet_up_write(&fleet, "some/notes.txt", "not an agent\n");
	said = CLI(flotilla, "agents", "apply", "some");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	assert_says(said.out, "applied careful (version ");
	assert_says(said.out, "applied jay (version ");
	said = CLI(flotilla, "agents", "apply", "/proc/self/fdinfo");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(
	    said.err, "/proc/self/fdinfo: this folder has no .yaml, .yml or .json file");
	said = CLI(flotilla, "agents", "apply", "missing.yaml");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "missing.yaml");
}
END_TEST

START_TEST(graph_draws_mermaid)
{
	struct said said = CLI(flotilla, "graph", "careful");

	ck_assert_int_eq(said.status, STATUS_OK);
	assert_says(said.out, "graph TD;");
	assert_says(said.out, "model -.-> tools;");
	ck_assert_int_eq(CLI(flotilla, "graph", "caerful").status, STATUS_NOT_FOUND);
}
END_TEST

static bool
serves(const struct value *sessions, const char *service)
{
	size_t i;

	for (i = 0; i < value_size(sessions); i++)
		if (value_contains(value_get(value_at(sessions, i), "services"), service))
			return true;
	return false;
}

START_TEST(top_shows_the_processes_once)
{
	struct said said = CLI(flotilla, "top", "--once", "--json");
	const struct value *all, *sessions;

	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	all = fleet_up_json(&fleet, said.out);
	sessions = value_get(value_get(all, "broker"), "sessions");
	ck_assert(serves(sessions, "model:scripted"));
	ck_assert(serves(sessions, "tool:note"));
	ck_assert(value_has(value_get(all, "redis"), "inbox"));
	said = CLI(flotilla, "top", "--once");
	assert_says(said.out, "hub-coordinator");
	assert_says(said.out, "tool:hang");
}
END_TEST

/* --- exit statuses ------------------------------------------------------------------------ */

static const struct {
	int status;
	const char *part; /* of what stands on stderr */
	const char *argv[8];
} failures[] = {
	{ STATUS_FAILED, "no such key", { "submit", "broken", "Hi", "--wait" } },
	{ STATUS_USAGE, "", { "submit" } },
	{ STATUS_USAGE, "did you mean 'submit'", { "sumbit", "quick" } },
	{ STATUS_USAGE, "", { "submit", "--wiat", "quick", "Hi" } },
	{ STATUS_NOT_FOUND, "did you mean 'quick'", { "submit", "qiuck", "Hi" } },
	{ STATUS_NOT_FOUND, "'no [31m body'",
	    { "watch", "no\x1b[31m\x7f"
		       "body" } },
	{ STATUS_NOT_FOUND,
	    "'no\xef\xbf\xbd\xef\xbf\xbd"
	    "31m body'",
	    { "watch", "no\xff\x9b"
		       "31m body" } },
	{ STATUS_NOT_FOUND, "'nobody'", { "watch", "nobody" } },
	{ STATUS_NOT_FOUND, "'nobody'", { "state", "nobody" } },
	{ STATUS_NOT_FOUND, "'nobody'", { "history", "nobody" } },
	{ STATUS_NOT_FOUND, "'nobody'", { "cancel", "nobody" } },
	{ STATUS_NOT_FOUND, "'nobody'", { "resume", "nobody" } },
	{ STATUS_USAGE, "the filter is --state error", { "runs", "--status", "error" } },
	{ STATUS_USAGE, "exclude each other", { "runs", "--dead", "--state", "error" } },
	{ STATUS_USAGE, "which RUN", { "retry" } },
	{ STATUS_USAGE, "name no RUN", { "retry", "--all-dead", "nobody" } },
	{ STATUS_USAGE, "names one run", { "retry", "--run-id", "a", "b", "c" } },
	{ STATUS_NOT_FOUND, "'nobody'", { "retry", "nobody" } },
	{ STATUS_NOT_FOUND, "'nobody'", { "discard", "nobody" } },
	{ STATUS_USAGE, "must be a whole number from 1", { "replay", "t", "--at", "0" } },
	{ STATUS_USAGE, "--after and --at exclude each other",
	    { "submit", "quick", "Hi", "--after", "1s", "--at", "1" } },
	{ STATUS_UNREACHABLE, "no Redis at unix:///nowhere",
	    { "runs", "--redis", "unix:///nowhere" } },
	{ STATUS_UNREACHABLE, "at ipc:///nowhere",
	    { "top", "--once", "--broker", "ipc:///nowhere" } },
	{ STATUS_REFUSED, "parent: run 'nobody' is not known",
	    { "submit", "quick", "Hi", "--parent", "nobody", "--wait" } },
};

START_TEST(the_exit_status_says_what_went_wrong)
{
	struct said said = cli_run(flotilla, NULL, failures[_i].argv);

	ck_assert_msg(said.status == failures[_i].status, "%s: status %d: %s",
	    failures[_i].argv[0], said.status, said.err);
	ck_assert_str_ne(said.err, "");
	assert_says(said.err, failures[_i].part);
}
END_TEST

TCase *tcase_cli(void);

TCase *
tcase_cli(void)
{
	TCase *tcase = tcase_create("cli");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, start_fleet, stop_fleet);
	tcase_add_test(tcase, what_could_not_be_printed_is_no_success);
	tcase_add_test(tcase, help_of_a_command_is_its_own);
	tcase_add_test(tcase, submit_waits_for_the_answer_and_prints_it);
	tcase_add_test(tcase, submit_reads_the_message_from_stdin);
	tcase_add_test(tcase, submit_reads_a_whole_input_from_stdin);
	tcase_add_test(tcase, submit_prints_json_for_programs);
	tcase_add_test(tcase, submit_follows_each_step);
	tcase_add_test(
	    tcase, submit_alone_prints_the_runs_id_which_watch_shows_to_its_end);
	tcase_add_test(tcase, a_thread_goes_on_and_its_history_tells_how);
	tcase_add_test(tcase, a_run_that_was_interrupted_is_resumed);
	tcase_add_test(tcase, runs_lists_the_newest_first_and_by_state);
	tcase_add_test(tcase, cancel_ends_a_queued_run_and_leaves_the_running_one);
	tcase_add_test(tcase, cancel_ends_a_tools_process_with_its_children);
	tcase_add_test(tcase, ctrl_c_leaves_the_run_alone);
	tcase_add_test(tcase, agents_are_listed_and_applied);
	tcase_add_test(tcase, graph_draws_mermaid);
	tcase_add_test(tcase, top_shows_the_processes_once);
	tcase_add_loop_test(tcase, the_exit_status_says_what_went_wrong, 0,
	    sizeof failures / sizeof *failures);
	return tcase;
}
