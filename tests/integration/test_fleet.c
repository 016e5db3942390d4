/* The whole fleet: `up` and its children, the queue as a user's program sees it, and how
 * coordinators share it. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "children.h"
#include "fiber.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "fleet_up.h"
#include "store_fleet.h"

#define WAIT_MS 30000u

static struct fleet_up fleet;

static void
start_fleet(void)
{
	fleet_up_start(&fleet, "2");
}

static void
stop_fleet(void)
{
	fleet_up_stop(&fleet);
}

/* --- up ----------------------------------------------------------------------------------- */

START_TEST(up_ends_all_its_children_and_itself_with_status_0)
{
	struct fleet_up own;
	pid_t pids[16];
	size_t count, i;
	int status;

	fleet_up_start(&own, "3");
	count = fleet_up_children(&own, pids, 16);
	ck_assert_uint_eq(
	    count, 1 + 1 + 1 + 1 + 3); /* redis, broker, workers, coordinators */
	kill(child_pid(own.up), SIGTERM);
	status = child_wait(&own.up);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x",
	    (unsigned)status);
	for (i = 0; i < count; i++)
		ck_assert_int_ne(process_is_gone(pids[i]), 0);
	fleet_up_stop(&own);
}
END_TEST

START_TEST(up_keeps_what_it_had_when_it_comes_again)
{
	struct fleet_up own;
	struct said said;

	fleet_up_start(&own, "1");
	said = CLI(&own.flotilla, "submit", "quick", "Hi", "-t", "kept", "--wait");
	ck_assert_str_eq(said.out, "First.\n");
	child_stop(&own.up);
	said = CLI(&own.flotilla, "runs");
	ck_assert_int_eq(said.status, 4);
	own.up = child_start(
	    (const char *[]){ own.flotilla.program, "up", "--folder", own.folder, NULL },
	    NULL);
	said = CLI(&own.flotilla, "submit", "quick", "Hi", "-t", "kept", "--wait");
	ck_assert_str_eq(said.out, "Second.\n");
	fleet_up_stop(&own);
}
END_TEST

static const char *
redis_file(struct fleet_up *own)
{
	return arena_printf(own->arena,
	    "%s/.flotilla/data/appendonlydir/appendonly.aof.1.incr.aof", own->folder);
}

/* What a SIGKILL leaves in the middle of a write: a transaction without its end. */
static void
tear_redis_file(struct fleet_up *own)
{
	static const char torn[] =
	    "*1\r\n$5\r\nMULTI\r\n"
	    "*3\r\n$3\r\nSET\r\n$14\r\nfl:s:runs:torn\r\n$1\r\n1\r\n"
	    "*3\r\n$3\r\nSET\r\n$5\r\nothe";
	FILE *file = fopen(redis_file(own), "ae");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ne(fputs(torn, file), EOF);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_transaction_that_was_cut_short_is_never_carried_out)
{
	struct fleet_up own;
	struct cli grep = { .program = "grep" };
	struct said said;

	fleet_up_start(&own, "1");
	child_stop(&own.up);
	tear_redis_file(&own);
	own.up = child_start(
	    (const char *[]){ own.flotilla.program, "up", "--folder", own.folder, NULL },
	    NULL);
	said = CLI(&own.flotilla, "submit", "quick", "Hi", "--wait");
	ck_assert_str_eq(said.out, "First.\n");
	/* Left in the file, it would be carried out with the next transaction when Redis reads
	 * the file once more. */
	grep.arena = own.arena;
	said = CLI(&grep, "-a", "-c", "fl:s:runs:torn", redis_file(&own));
	ck_assert_str_eq(said.out, "0\n");
	fleet_up_stop(&own);
}
END_TEST

static const char *
redis_says(struct fleet_up *own, const char *const words[])
{
	const struct cli redis_cli = { .program = "redis-cli", .arena = own->arena };
	const char *argv[16] = { "-s", own->redis + strlen("unix://") };
	size_t n = 2;

	for (; *words != NULL; words++)
		argv[n++] = *words;
	return cli_run(&redis_cli, NULL, argv).out;
}
#define REDIS(own, ...) redis_says(own, (const char *const[]){ __VA_ARGS__, NULL })

/* How often the first pending entry of the inbox was given to a reader. */
static int
deliveries(struct fleet_up *own)
{
	int count = 0;

	sscanf(REDIS(own, "XPENDING", "fl:inbox", "coordinators", "-", "+", "1"),
	    "%*s %*s %*s %d", &count);
	return count;
}

static void
wait_a_little(unsigned *tries, const char *what)
{
	ck_assert_msg(++*tries < 300, "%s", what);
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

/* As when Redis is gone for the first of the two and back for the second: the entry was moved,
 * and deleting it failed. It must stay somebody's, or nobody ever deletes it. */
START_TEST(an_entry_that_could_not_be_deleted_does_not_stay_in_the_inbox)
{
	struct fleet_up own;
	struct said said;
	unsigned tries = 0;

	fleet_up_start(&own, "1");
	ck_assert_str_eq(REDIS(&own, "ACL", "SETUSER", "default", "-xdel"), "OK\n");
	said = CLI(&own.flotilla, "submit", "quick", "Hi", "--wait");
	ck_assert_str_eq(said.out, "First.\n");
	while (deliveries(&own) < 2)
		wait_a_little(&tries, "the entry is nobody's any more");
	ck_assert_str_eq(REDIS(&own, "ACL", "SETUSER", "default", "+xdel"), "OK\n");
	while (strcmp(REDIS(&own, "XLEN", "fl:inbox"), "0\n") != 0)
		wait_a_little(&tries, "the entry is never deleted");
	fleet_up_stop(&own);
}
END_TEST

START_TEST(a_second_up_in_the_same_folder_is_refused)
{
	struct said said = CLI(&fleet.flotilla, "up");

	ck_assert_int_eq(said.status, 1);
	ck_assert_ptr_nonnull(strstr(said.err, "a fleet is up in this folder already"));
	ck_assert_str_eq(
	    CLI(&fleet.flotilla, "submit", "quick", "Hi", "--wait").out, "First.\n");
}
END_TEST

static int
are_so_many(const struct value *top, void *arg)
{
	return value_size(value_get(value_get(top, "broker"), "sessions")) ==
	       *(size_t *)arg;
}

START_TEST(up_starts_again_what_dies)
{
	struct fleet_up own;
	pid_t pids[16];
	size_t count, i, sessions;

	fleet_up_start(&own, "1");
	count = fleet_up_children(&own, pids, 16);
	ck_assert_uint_eq(count, 4); /* redis, hub, workers */
	for (i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	ck_assert_str_eq(
	    CLI(&own.flotilla, "submit", "quick", "Hi", "--wait").out, "First.\n");
	sessions = 5; /* tools, model, coordinator and its store, and the one who asks */
	fleet_up_wait(&own, (const char *const[]){ "top", "--once", "--json", NULL },
	    are_so_many, &sessions);
	fleet_up_stop(&own);
}
END_TEST

/* The variable's text in the environment of the child with that name, or NULL. */
static const char *
variable_of(struct fleet_up *up, const char *child, const char *variable)
{
	const char *path =
	    arena_printf(up->arena, "/proc/%d/environ", (int)fleet_up_pid_of(up, child));
	size_t size = strlen(variable), capacity = 0;
	FILE *file = fopen(path, "re");
	const char *found = NULL;
	char *line = NULL;

	ck_assert_ptr_nonnull(file);
	while (found == NULL && getdelim(&line, &capacity, '\0', file) != -1)
		if (strncmp(line, variable, size) == 0 && line[size] == '=')
			found = arena_strdup(up->arena, line + size + 1);
	free(line);
	fclose(file);
	return found;
}

START_TEST(up_gives_provider_keys_to_model_workers_alone)
{
	static const char *const secrets[] = { "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
		"GROQ_API_KEY", "MINE_KEY", "OTHER_KEY", "AZURE_OPENAI_API_KEY",
		"AZURE_OPENAI_AD_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN" };
	static const char *const others[] = { "hub", "worker-tools-1", "serve" };
	static const char *const flags[] = { "--serve", "127.0.0.1:0", NULL };
	struct fleet_up own;
	size_t count = sizeof secrets / sizeof *secrets, i, k;

	for (i = 0; i < count; i++)
		setenv(secrets[i], "sk-secret", 1);
	setenv("FLOTILLA_PROVIDER",
	    "mine=http://127.0.0.1:9/v1,MINE_KEY,other=http://127.0.0.1:9,OTHER_KEY", 1);
	setenv("FLOTILLA_REDIS", "redis://:secret@127.0.0.1:9", 1);
	fleet_up_start_with(&own, "1", flags);
	for (i = 0; i < count; i++) {
		ck_assert_pstr_eq(
		    variable_of(&own, "worker-model-1", secrets[i]), "sk-secret");
		for (k = 0; k < 3; k++)
			ck_assert_ptr_null(variable_of(&own, others[k], secrets[i]));
	}
	for (k = 0; k < 3; k++)
		ck_assert_ptr_null(variable_of(&own, others[k], "FLOTILLA_REDIS"));
	ck_assert_ptr_nonnull(variable_of(&own, "worker-tools-1", "PATH"));
	unsetenv("FLOTILLA_REDIS");
	fleet_up_stop(&own);
}
END_TEST

START_TEST(up_gives_a_collectors_keys_to_those_that_tell_it)
{
	static const char variable[] = "OTEL_EXPORTER_OTLP_HEADERS";
	static const char *const flags[] = { "--serve", "127.0.0.1:0", "--brokers", "2",
		NULL };
	struct fleet_up own;

	setenv(variable, "api-key=secret", 1);
	fleet_up_start_with(&own, "1", flags);
	ck_assert_ptr_null(variable_of(&own, "broker-1", variable));
	ck_assert_ptr_null(variable_of(&own, "serve", variable));
	/* These have taken it out of there, and left its place. */
	ck_assert_ptr_nonnull(variable_of(&own, "coordinator-1", variable));
	ck_assert_ptr_nonnull(variable_of(&own, "worker-model-1", variable));
	unsetenv(variable);
	fleet_up_stop(&own);
}
END_TEST

/* One of them stands still: the runs that take it go on by the other one. */
START_TEST(up_with_two_brokers_does_without_one)
{
	static const char *const flags[] = { "--brokers", "2", NULL };
	struct fleet_up own;
	pid_t pids[16], broker;
	unsigned i;

	fleet_up_start_with(&own, "1", flags);
	ck_assert_uint_eq(fleet_up_children(&own, pids, 16), 6);
	broker = fleet_up_pid_of(&own, "broker-1");
	ck_assert_int_gt(broker, 0);
	kill(broker, SIGSTOP);
	for (i = 0; i < 8; i++) /* one in 256 that none of them would take it */
		ck_assert_str_eq(
		    CLI(&own.flotilla, "submit", "quick", "Hi", "--wait").out,
		    "First.\n");
	kill(broker, SIGCONT);
	fleet_up_stop(&own);
}
END_TEST

START_TEST(a_fleet_json_of_before_is_read)
{
	const char *path =
	    arena_printf(fleet.arena, "%s/.flotilla/fleet.json", fleet.folder);
	const struct value *now;
	char text[4096] = "";
	FILE *file = fopen(path, "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
	fclose(file);
	now = fleet_up_json(&fleet, text);
	fleet_up_write(&fleet, ".flotilla/fleet.json",
	    arena_printf(fleet.arena,
		"{\"pid\": %ld, \"redis\": \"%s\", \"broker\": \"%s\", \"status\": "
		"\"%s\"}",
		(long)value_get_int(now, "pid", 0), fleet.redis,
		value_text(value_at(value_get(now, "brokers"), 0)),
		value_text(value_at(value_get(now, "statuses"), 0))));
	ck_assert_int_eq(CLI(&fleet.flotilla, "top", "--once").status, 0);
	ck_assert_str_eq(
	    CLI(&fleet.flotilla, "submit", "quick", "Hi", "--wait").out, "First.\n");
	fleet_up_write(&fleet, ".flotilla/fleet.json", text);
}
END_TEST

/* --- the queue ---------------------------------------------------------------------------- */

START_TEST(a_plain_xadd_from_outside_submits_a_run)
{
	struct cli redis = { "redis-cli", NULL, fleet.arena };
	struct said said = CLI(&redis, "-s", fleet.redis + strlen("unix://"), "XADD",
	    "fl:inbox", "*", "agent", "quick", "input", "\"Hi there\"", "run", "outside");

	ck_assert_int_eq(said.status, 0);
	do
		said = CLI(&fleet.flotilla, "watch", "outside");
	while (said.status == 3); /* still in the inbox */
	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_ptr_nonnull(strstr(said.out, "First."));
}
END_TEST

START_TEST(the_same_run_id_twice_runs_once)
{
	const struct value *thread;
	struct said said;

	CLI(&fleet.flotilla, "submit", "steady", "Hi", "--run", "twin");
	said = CLI(&fleet.flotilla, "submit", "steady", "Hi", "--run", "twin", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	said = CLI(&fleet.flotilla, "submit", "steady", "Hi", "--run", "twin", "--wait");
	ck_assert_str_eq(said.out, "1\n");
	said = CLI(&fleet.flotilla, "state", "twin", "--json");
	thread = fleet_up_json(&fleet, said.out);
	ck_assert_uint_eq(value_size(value_get(thread, "messages")), 2);
}
END_TEST

/* A thread's checkpoints are in the order in which they were made: runs that overlapped or
 * changed places would show there. */
static void
assert_one_after_the_other(const struct value *history, const char *const *runs)
{
	size_t i;

	for (i = 0; i < value_size(history); i++) {
		const char *run = value_get_text(value_at(history, i), "run");

		if (strcmp(run, *runs) != 0)
			runs++;
		ck_assert_ptr_nonnull(*runs);
		ck_assert_str_eq(run, *runs);
	}
	ck_assert_ptr_null(runs[1]);
}

START_TEST(runs_on_one_thread_wait_for_each_other_in_order)
{
	static const char *const runs[] = { "one", "two", "three", "four", NULL };
	struct said said;
	size_t i;

	for (i = 0; runs[i] != NULL; i++)
		CLI(&fleet.flotilla, "submit", "steady", runs[i], "-t", "line", "--run",
		    runs[i]);
	do
		said = CLI(&fleet.flotilla, "watch", "four");
	while (said.status == 3); /* still in the inbox */
	ck_assert_msg(said.status == 0, "%s", said.err);
	said = CLI(&fleet.flotilla, "history", "line", "--json");
	assert_one_after_the_other(fleet_up_json(&fleet, said.out), runs);
	said = CLI(&fleet.flotilla, "state", "line", "--json");
	for (i = 0; i < 4; i++) {
		const struct value *messages =
		    value_get(fleet_up_json(&fleet, said.out), "messages");

		ck_assert_uint_eq(value_size(messages), 8);
		ck_assert_str_eq(
		    value_get_text(value_at(messages, 2 * i), "content"), runs[i]);
	}
}
END_TEST

/* --- several coordinators ----------------------------------------------------------------- */

#define SHARED_RUNS 12u

struct sharing {
	struct fleet_client *client;
	struct arena *arena;
};

static bool
all_run(void *arg)
{
	struct sharing *sharing = arg;
	const struct value *runs = NULL;

	store_runs(sharing->client->store, sharing->arena, SHARED_RUNS, "running", &runs);
	return value_size(runs) == SHARED_RUNS;
}

/* No coordinator has room for more than four: all twelve run at once, or never. */
static void
share(struct fleet_client *client, void *arg)
{
	struct sharing sharing = { client, arena_new() };
	struct arena *arena = sharing.arena;
	unsigned i;

	(void)arg;
	for (i = 0; i < SHARED_RUNS; i++)
		client_submit(client, arena,
		    value_map(arena, "agent", value_str(arena, "slow"), "input",
			value_str(arena, "\"Hi\""), NULL));
	ck_assert_msg(client_wait(client, all_run, &sharing, WAIT_MS),
	    "the runs never ran all at once");
	arena_destroy(&arena);
}

START_TEST(several_coordinators_share_the_work)
{
	struct fleet_kit *kit = kit_new();

	kit_flag(kit, KIT_COORDINATOR, "--slots", "4");
	kit_start_all(kit, 0, 1, 3);
	kit_write(kit, "slow.yaml",
	    "name: slow\nmodel: scripted:m\n"
	    "script: {m: [{content: Late., delay_ms: 600000}]}\n");
	kit_flotilla(kit, "agents", "apply", kit_path(kit, "slow.yaml"), NULL);
	client_run(kit_redis(kit), share, NULL);
	kit_kill(kit, KIT_MODEL, 0); /* its drain would wait for the calls */
	kit_destroy(&kit);
}
END_TEST

TCase *tcase_fleet(void);

TCase *
tcase_fleet(void)
{
	TCase *tcase = tcase_create("fleet");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, start_fleet, stop_fleet);
	tcase_add_test(tcase, up_ends_all_its_children_and_itself_with_status_0);
	tcase_add_test(tcase, up_keeps_what_it_had_when_it_comes_again);
	tcase_add_test(tcase, a_transaction_that_was_cut_short_is_never_carried_out);
	tcase_add_test(
	    tcase, an_entry_that_could_not_be_deleted_does_not_stay_in_the_inbox);
	tcase_add_test(tcase, a_second_up_in_the_same_folder_is_refused);
	tcase_add_test(tcase, up_starts_again_what_dies);
	tcase_add_test(tcase, up_gives_provider_keys_to_model_workers_alone);
	tcase_add_test(tcase, up_gives_a_collectors_keys_to_those_that_tell_it);
	tcase_add_test(tcase, up_with_two_brokers_does_without_one);
	tcase_add_test(tcase, a_fleet_json_of_before_is_read);
	tcase_add_test(tcase, a_plain_xadd_from_outside_submits_a_run);
	tcase_add_test(tcase, the_same_run_id_twice_runs_once);
	tcase_add_test(tcase, runs_on_one_thread_wait_for_each_other_in_order);
	tcase_add_test(tcase, several_coordinators_share_the_work);
	return tcase;
}
