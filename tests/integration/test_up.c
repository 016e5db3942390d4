/* `flotilla up`: what it is given, and what it refuses. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../cli/command.h"
#include "children.h"
#include "fleet_up.h"

TCase *tcase_up(void);

#define TOOLS 120u
#define POLL_MS 20

/* Not up yet: only its folder, its arena and its command are used. */
static struct fleet_up fleet;
static const struct cli *const flotilla = &fleet.flotilla;

static void
setup(void)
{
	fleet = (struct fleet_up){ .arena = arena_new(), .folder = folder_new() };
	fleet.flotilla =
	    (struct cli){ fleet_up_program(fleet.arena), fleet.folder, fleet.arena };
}

static void
teardown(void)
{
	folder_remove(&fleet.folder);
	arena_destroy(&fleet.arena);
}

static void
assert_says(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

/* --- keys ------------------------------------------------------------------------------- */

static void
wait_out(const struct cli_job *job, const char *text)
{
	while (strstr(cli_out(job), text) == NULL)
		nanosleep(
		    &(const struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
}

static struct said
up_with_keys(void)
{
	return CLI(flotilla, "up", "--key", "fleet.key", "--allow", "allow.yaml");
}

START_TEST(up_refuses_a_key_that_its_own_list_does_not_have)
{
	struct said said;

	CLI(flotilla, "keys", "new", "fleet.key");
	CLI(flotilla, "keys", "new", "other.key");
	said = CLI(flotilla, "keys", "allow", "other.key", "--allow", "allow.yaml",
	    "--role", "worker,coordinator", "--service", "*");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	said = up_with_keys();
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "allow.yaml does not have the key of fleet.key");
	ck_assert_str_eq(said.out, "");
	said = CLI(flotilla, "keys", "allow", "fleet.key", "--allow", "allow.yaml",
	    "--role", "client");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	said = up_with_keys();
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "has not the roles worker and coordinator for");
	said = CLI(flotilla, "up", "--key", "fleet.key", "--allow", "none.yaml");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "none.yaml");
}
END_TEST

/* --- lists ------------------------------------------------------------------------------ */

static void
write_tools(void)
{
	size_t i;

	ck_assert_int_eq(
	    mkdir(arena_printf(fleet.arena, "%s/tools", fleet.folder), 0700), 0);
	for (i = 0; i < TOOLS; i++)
		fleet_up_write(&fleet, arena_printf(fleet.arena, "tools/t%zu.yaml", i),
		    arena_printf(fleet.arena,
			"name: t%zu\ndescription: one of many\ninput: none\n"
			"command: [\"true\"]\n",
			i));
}

static int
serves_the_last(const struct value *said, void *arg)
{
	const struct value *services = value_get(value_get(said, "broker"), "services");
	size_t i;

	(void)arg;
	for (i = 0; i < value_size(services); i++)
		if (value_text_is(value_get(value_at(services, i), "name"), "tool:t119"))
			return 1;
	return 0;
}

START_TEST(up_hands_on_each_of_many_files)
{
	const struct cli shell = { "/bin/sh", fleet.folder, fleet.arena };
	struct cli_job *job;
	struct said said;

	write_tools();
	job = CLI_START(&shell, "-c",
	    "i=0; while [ $i -lt 120 ]; do set -- \"$@\" --tools tools/t$i.yaml; "
	    "i=$((i + 1)); done; exec \"$0\" up --coordinators 0 --model-workers 0 "
	    "--log-level error \"$@\"",
	    fleet.flotilla.program);
	wait_out(job, "the fleet is up");
	fleet_up_wait(&fleet, (const char *const[]){ "top", "--once", "--json", NULL },
	    serves_the_last, NULL);
	cli_signal(job, SIGTERM);
	said = cli_end(&job);
	ck_assert_msg(said.status == STATUS_OK, "%d %s", said.status, said.err);
}
END_TEST

/* The last one has arrived at the hub. */
START_TEST(up_hands_on_each_of_many_fields)
{
	const struct cli shell = { "/bin/sh", fleet.folder, fleet.arena };
	struct cli_job *job = CLI_START(&shell, "-c",
	    "i=0; while [ $i -lt 120 ]; do set -- \"$@\" --embed-field field_$i; "
	    "i=$((i + 1)); done; exec \"$0\" up --embed scripted:words --model-workers 0 "
	    "--tool-workers 0 \"$@\"",
	    fleet.flotilla.program);
	struct said said;

	wait_out(job, "the fleet is up");
	said = CLI(&shell, "-c",
	    "pid=$(grep -o '\"pid\": *[0-9]*' .flotilla/fleet.json | tr -dc 0-9); "
	    "for child in $(cat /proc/$pid/task/$pid/children); do "
	    "tr '\\0' '\\n' <\"/proc/$child/cmdline\"; done | grep -c '^field_'");
	ck_assert_str_eq(said.out, "120\n");
	cli_signal(job, SIGTERM);
	said = cli_end(&job);
	ck_assert_msg(said.status == STATUS_OK, "%d %s", said.status, said.err);
}
END_TEST

/* Its terminal was closed. Started by nohup it goes on. */
START_TEST(up_ends_in_order_when_its_terminal_goes)
{
	const struct cli shell = { "/bin/sh", fleet.folder, fleet.arena };
	const char *line = _i == 0 ? "exec \"$0\" up" : "trap '' HUP; exec \"$0\" up";
	struct cli_job *job = CLI_START(&shell, "-c", line, fleet.flotilla.program);
	struct said said;

	wait_out(job, "Ctrl-C ends it");
	cli_signal(job, SIGHUP);
	if (_i == 1) {
		/* A worker that had no processor for a second is away, and comes back. */
		do
			said = CLI(flotilla, "health");
		while (said.status != STATUS_OK);
		cli_signal(job, SIGTERM);
	}
	said = cli_end(&job);
	ck_assert_int_eq(said.status, STATUS_OK);
	assert_says(said.out, "ending the fleet");
	ck_assert_int_eq(
	    access(
		arena_printf(fleet.arena, "%s/.flotilla/fleet.json", fleet.folder), F_OK),
	    -1);
}
END_TEST

/* --- the end ------------------------------------------------------------------------------ */

static int
file_is_there(const char *name)
{
	const char *path = arena_printf(fleet.arena, "%s/%s", fleet.folder, name);

	return access(path, F_OK) == 0;
}

/* Starts a fleet with a run that is in the middle of a tool's call of so many seconds. */
static struct cli_job *
up_with_a_call(const char *seconds)
{
	struct cli_job *job;
	struct said said;

	fleet_up_write(&fleet, "tools.yaml",
	    arena_printf(fleet.arena,
		"name: long\ndescription: takes its time\ninput: none\n"
		"command: touch %s/begun && sleep %s && touch %s/ended\n",
		fleet.folder, seconds, fleet.folder));
	fleet_up_write(&fleet, "agents.yaml",
	    "name: a\nmodel: scripted:m\ntools: [long]\nscript:\n"
	    "  m: [{content: '', tool_calls: [{id: h, name: long, args: {}}]}, "
	    "{content: Done.}]\n");
	job =
	    CLI_START(flotilla, "up", "--tools", "tools.yaml", "--agents", "agents.yaml");
	wait_out(job, "Ctrl-C ends it");
	said = CLI(flotilla, "submit", "a", "hello");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	while (!file_is_there("begun"))
		nanosleep(
		    &(const struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
	return job;
}

/* Longer than one that says nothing is given. */
START_TEST(up_gives_a_worker_the_time_of_its_drain)
{
	struct cli_job *job = up_with_a_call("17");
	struct said said;

	cli_signal(job, SIGINT);
	said = cli_end(&job);
	ck_assert_msg(said.status == STATUS_OK, "%d %s", said.status, said.err);
	ck_assert_msg(file_is_there("ended"), "%s\n%s", said.out, said.err);
	assert_says(said.out, "Ctrl-C again ends it at once");
	assert_says(said.out, "waiting for worker-tools-1: ");
	assert_says(said.out, "what runs may end, for at most 30 s");
	ck_assert_ptr_null(strstr(said.err, "killing it"));
}
END_TEST

START_TEST(up_ends_at_once_at_the_second_signal)
{
	struct cli_job *job = up_with_a_call("600");
	struct said said;

	cli_signal(job, SIGINT);
	wait_out(job, "ending the fleet");
	cli_signal(job, SIGINT);
	said = cli_end(&job);
	ck_assert_msg(said.status == STATUS_OK, "%d %s", said.status, said.err);
	assert_says(said.out, "ending it at once");
	ck_assert_ptr_null(strstr(said.err, "killing it")); /* nobody's time was over */
	ck_assert(!file_is_there("ended"));
	ck_assert(!file_is_there(".flotilla/fleet.json"));
	/* Its Redis ended in order: the next one finds its data whole. */
	job = CLI_START(flotilla, "up", "--tool-workers", "0");
	wait_out(job, "Ctrl-C ends it");
	said = CLI(flotilla, "runs");
	assert_says(said.out, "a ");
	cli_signal(job, SIGTERM);
	said = cli_end(&job);
	ck_assert_msg(said.status == STATUS_OK, "%d %s", said.status, said.err);
}
END_TEST

START_TEST(up_wants_its_folder)
{
	struct said said = CLI(flotilla, "up", "--folder", "none");

	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_str_eq(
	    said.err, "flotilla: --folder none: No such file or directory\n");
}
END_TEST

START_TEST(up_refuses_a_folder_that_others_can_write)
{
	const char *path = arena_printf(fleet.arena, "%s/.flotilla", fleet.folder);
	struct said said;

	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(chmod(path, 0770), 0);
	said = CLI(flotilla, "up");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	assert_says(said.err, "nobody else's to write");
}
END_TEST

/* Its Redis and its brokers are its own: others are not taken without a word. */
START_TEST(up_is_given_no_fleet)
{
	static const char *const options[] = { "--redis", "--broker", "--status",
		"--broker-key" };
	struct said said = CLI(flotilla, "up", options[_i], "tcp://127.0.0.1:1");

	ck_assert_int_eq(said.status, STATUS_USAGE);
	assert_says(said.err, options[_i]);
}
END_TEST

TCase *
tcase_up(void)
{
	TCase *tcase = tcase_create("up");

	tcase_set_timeout(tcase, 90);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, up_refuses_a_key_that_its_own_list_does_not_have);
	tcase_add_test(tcase, up_hands_on_each_of_many_files);
	tcase_add_test(tcase, up_hands_on_each_of_many_fields);
	tcase_add_test(tcase, up_wants_its_folder);
	tcase_add_loop_test(tcase, up_ends_in_order_when_its_terminal_goes, 0, 2);
	tcase_add_test(tcase, up_gives_a_worker_the_time_of_its_drain);
	tcase_add_test(tcase, up_ends_at_once_at_the_second_signal);
	tcase_add_test(tcase, up_refuses_a_folder_that_others_can_write);
	tcase_add_loop_test(tcase, up_is_given_no_fleet, 0, 4);
	return tcase;
}
