/* The whole fleet: `up` and its children, the queue as a user's program sees it, and how
 * coordinators share it. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "children.h"
#include "fiber.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "fleet_up.h"

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
	ck_assert_uint_eq(count, 5);
	for (i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	ck_assert_str_eq(
	    CLI(&own.flotilla, "submit", "quick", "Hi", "--wait").out, "First.\n");
	sessions = 4; /* tools, model, coordinator, and the one who asks */
	fleet_up_wait(&own, (const char *const[]){ "top", "--once", "--json", NULL },
	    are_so_many, &sessions);
	fleet_up_stop(&own);
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
	tcase_add_test(tcase, a_second_up_in_the_same_folder_is_refused);
	tcase_add_test(tcase, up_starts_again_what_dies);
	tcase_add_test(tcase, a_plain_xadd_from_outside_submits_a_run);
	tcase_add_test(tcase, the_same_run_id_twice_runs_once);
	tcase_add_test(tcase, runs_on_one_thread_wait_for_each_other_in_order);
	tcase_add_test(tcase, several_coordinators_share_the_work);
	return tcase;
}
