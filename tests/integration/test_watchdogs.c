/* Processes under `flotilla up` that are alive and do not move, and what is made of them. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../cli/command.h"
#include "children.h"
#include "fleet_up.h"

TCase *tcase_watchdogs(void);

static struct fleet_up fleet;
static const struct cli *const flotilla = &fleet.flotilla;

/* build/plugins/blocks.so, beside this program. */
static const char *
plugin(void)
{
	static char path[4096];
	char own[4000];
	ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);

	ck_assert_int_gt(size, 0);
	own[size] = '\0';
	*strrchr(own, '/') = '\0';
	snprintf(path, sizeof path, "%s/plugins/blocks.so", own);
	return path;
}

/* Its middleware blocks the loop of the first worker. */
static const char agent_text[] =
    "name: blocked\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "middleware: [{%s: {once: %s/blocked}}]\n"
    "script:\n"
    "  m:\n"
    "    - {content: '', tool_calls: [{id: n, name: note, args: {text: hello}}]}\n"
    "    - {content: It went on.}\n";

/* A loop may stand still for a second, a process be silent for two. */
static void
setup(void)
{
	fleet_up_start_with(&fleet, "1",
	    (const char *const[]){ "--stuck-ms", "1000", "--tool-workers", "2",
		"--plugin", plugin(), NULL });
}

static void
teardown(void)
{
	fleet_up_stop(&fleet);
}

static const struct value *
row_of(const struct value *top, const char *name)
{
	const struct value *rows = value_get(value_get(top, "broker"), "sessions");
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		if (value_text_is(value_get(value_at(rows, i), "name"), name))
			return value_at(rows, i);
	return NULL;
}

static int
was_started_again(const struct value *top, void *name)
{
	return value_get_int(row_of(top, name), "restarts", 0) == 1;
}

static void
wait_for_restart(const char *name)
{
	fleet_up_wait(&fleet, (const char *const[]){ "top", "--once", "--json", NULL },
	    was_started_again, (char *)(uintptr_t)name);
}

/* Fills *name with the tool worker that has a call. */
static int
works(const struct value *top, void *name)
{
	static const char *const names[] = { "worker-tools-1", "worker-tools-2" };
	size_t i;

	for (i = 0; i < 2; i++)
		if (value_get_int(row_of(top, names[i]), "load", 0) > 0)
			*(const char **)name = names[i];
	return *(const char **)name != NULL;
}

START_TEST(a_worker_that_is_stopped_is_replaced_and_its_calls_go_elsewhere)
{
	struct cli_job *job = CLI_START(flotilla, "submit", "unlucky", "Hi", "--wait");
	const char *name = NULL;
	struct said said;

	fleet_up_wait(&fleet, (const char *const[]){ "top", "--once", "--json", NULL },
	    works, &name);
	/* Not before the tool has begun: it must be seen to begin twice. */
	while (access(arena_printf(fleet.arena, "%s/begun", fleet.folder), F_OK) == -1)
		usleep(10000);
	kill(fleet_up_pid_of(&fleet, name), SIGSTOP);
	said = cli_end(&job);
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	ck_assert_str_eq(said.out, "Somebody else did it.\n");
	fleet_up_wait_said(
	    &fleet, arena_printf(fleet.arena,
			"%s does not move: no sign of life for 2.0 s; killing it", name));
	wait_for_restart(name);
}
END_TEST

static int
is_healthy(const struct value *said, void *arg)
{
	(void)arg;
	return value_get_bool(said, "healthy", false);
}

/* Its tools come from a pipe into which nobody writes: it waits before it is ready. */
START_TEST(one_that_is_not_ready_again_in_time_is_replaced)
{
	const char *tools = arena_printf(fleet.arena, "%s/tools.yaml", fleet.folder);
	char *kept = arena_printf(fleet.arena, "%s.kept", tools);

	ck_assert_int_eq(rename(tools, kept), 0);
	ck_assert_int_eq(mkfifo(tools, 0600), 0);
	kill(fleet_up_pid_of(&fleet, "worker-tools-1"), SIGKILL);
	fleet_up_wait_said(&fleet, "worker-tools-1 does not move: no sign of life for "
				   "20.0 s; killing it");
	ck_assert_int_eq(rename(kept, tools), 0);
	fleet_up_wait(&fleet,
	    (const char *const[]){
		"health", "--worker", "worker-tools-1", "--json", NULL },
	    is_healthy, NULL);
}
END_TEST

START_TEST(a_supervisor_that_was_stopped_itself_blames_nobody)
{
	pid_t up = child_pid(fleet.up), before[16], after[16];
	size_t count = fleet_up_children(&fleet, before, 16), i;

	kill(up, SIGSTOP);
	usleep(3000000); /* longer than a child may be silent */
	kill(up, SIGCONT);
	usleep(1000000); /* it has looked at all of them several times */
	ck_assert_uint_eq(fleet_up_children(&fleet, after, 16), count);
	for (i = 0; i < count; i++)
		ck_assert_int_eq(before[i], after[i]);
	ck_assert_ptr_null(strstr(fleet_up_said(&fleet), "does not move"));
}
END_TEST

static void
run_blocked(const char *middleware)
{
	struct said said;

	fleet_up_write(&fleet, "blocked.yaml",
	    arena_printf(fleet.arena, agent_text, middleware, fleet.folder));
	said = CLI(flotilla, "agents", "apply", "--plugin", plugin(), "blocked.yaml");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	said = CLI(flotilla, "submit", "blocked", "Hi", "--wait");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	ck_assert_str_eq(said.out, "It went on.\n");
}

START_TEST(a_middleware_that_blocks_the_loop_is_named_and_the_run_goes_on)
{
	run_blocked("blocks");
	fleet_up_wait_said(&fleet, "ends at once: the loop has not turned for 1000 ms, "
				   "busy with fiber call tool:note ");
	fleet_up_wait_said(&fleet, "ended itself: it did not move (status 70)");
}
END_TEST

/* It is broker and coordinator that end. */
START_TEST(a_hook_that_blocks_the_hub_is_named_and_the_run_goes_on)
{
	run_blocked("blocks_hook");
	fleet_up_wait_said(&fleet, "ends at once: the loop has not turned for 1000 ms, "
				   "busy with fiber run");
	fleet_up_wait_said(&fleet, "hub ended itself: it did not move (status 70)");
}
END_TEST

START_TEST(what_dies_again_and_again_is_tried_only_now_and_then)
{
	pid_t pid, last = 0;
	int deaths;

	for (deaths = 0; deaths < 5; deaths++) {
		do
			usleep(10000);
		while ((pid = fleet_up_pid_of(&fleet, "worker-model-1")) == 0 ||
		       pid == last);
		kill(pid, SIGKILL);
		last = pid;
	}
	fleet_up_wait_said(&fleet, "worker-model-1 has ended 5 times in a row soon after "
				   "its start, see what it said above; next try in 30 s");
}
END_TEST

/* It says why in a file of its own. */
START_TEST(a_redis_that_cannot_start_again_names_its_log)
{
	const char *data = arena_printf(fleet.arena, "%s/.flotilla/data", fleet.folder);
	const char *away = arena_printf(fleet.arena, "%s.away", data);
	pid_t pids[16];

	ck_assert_uint_gt(fleet_up_children(&fleet, pids, 16), 0);
	ck_assert_int_eq(rename(data, away), 0);
	kill(pids[0], SIGKILL); /* Redis is started first */
	fleet_up_wait_said(&fleet, "redis has ended 5 times in a row soon after its "
				   "start, see ");
	fleet_up_wait_said(&fleet, "/.flotilla/data/redis.log; next try in 30 s");
	ck_assert_int_eq(rename(away, data), 0);
}
END_TEST

START_TEST(a_coordinator_whose_redis_is_frozen_says_so)
{
	struct said said;
	pid_t pids[16];

	ck_assert_uint_gt(fleet_up_children(&fleet, pids, 16), 0);
	kill(pids[0], SIGSTOP); /* Redis is started first */
	do
		said = CLI(flotilla, "health", "--coordinator", "hub-coordinator");
	while (said.status == STATUS_OK);
	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_ptr_nonnull(
	    strstr(said.err, "coordinator hub-coordinator: Redis has done "
			     "nothing in shard "));
	said = CLI(flotilla, "top", "--once");
	ck_assert_int_eq(said.status, STATUS_UNREACHABLE);
	ck_assert_ptr_nonnull(strstr(said.out, "! Redis: "));
	ck_assert_ptr_nonnull(
	    strstr(said.out, "! hub-coordinator: Redis has done nothing"));
	ck_assert_ptr_nonnull(strstr(said.out, "worker-tools-1       ok"));
	kill(pids[0], SIGCONT);
	do
		said = CLI(flotilla, "health", "--coordinator", "hub-coordinator");
	while (said.status != STATUS_OK);
}
END_TEST

/* --- health --------------------------------------------------------------------------- */

START_TEST(a_healthy_fleet_says_so)
{
	static const char *const ways[][5] = {
		{ "health" },
		{ "health", "--probe" },
		{ "health", "broker" },
		{ "health", "redis" },
		{ "health", "--worker", "worker-tools-2", "--probe" },
		{ "health", "--coordinator", "hub-coordinator" },
	};
	struct said said;

	/* A worker that had no processor for a second is away, and comes back. */
	do
		said = cli_run(flotilla, NULL, ways[_i]);
	while (said.status != STATUS_OK);
	ck_assert_str_eq(said.out, "healthy\n");
	ck_assert_str_eq(said.err, "");
}
END_TEST

/* It is answered when it can be, long before the time for answers is over. */
START_TEST(a_worker_s_health_waits_for_no_other_broker)
{
	static const char *const ways[][3] = { { "--worker", "worker-model-1" },
		{ "--worker", "worker-model-1", "--probe" },
		{ "--coordinator", "hub-coordinator" } };
	const struct value *file = fleet_up_json(
	    &fleet, cli_run(&(struct cli){ "cat", fleet.folder, fleet.arena }, NULL,
			(const char *const[]){ ".flotilla/fleet.json", NULL })
			.out);
	const char *broker = value_text(value_at(value_get(file, "brokers"), 0));
	const char *const *way = ways[_i];
	struct said said;

	ck_assert_ptr_nonnull(broker);
	do
		said = CLI(flotilla, "health", "--broker", "ipc:///nowhere/broker",
		    "--broker", broker, "--wait-ms", "600000", way[0], way[1], way[2]);
	while (said.status != STATUS_OK);
	ck_assert_str_eq(said.out, "healthy\n");
}
END_TEST

START_TEST(a_worker_s_health_needs_no_redis)
{
	struct said said = CLI(flotilla, "health", "--worker", "worker-model-1",
	    "--redis", "unix:///nowhere/redis");

	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	said = CLI(flotilla, "health", "--redis", "unix:///nowhere/redis");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_ptr_nonnull(strstr(said.err, "no Redis at unix:///nowhere/redis"));
}
END_TEST

START_TEST(what_is_not_there_is_not_healthy)
{
	struct said said = CLI(flotilla, "health", "--worker", "nobody", "--json");

	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_str_eq(said.out, "{\"healthy\":false,\"reason\":\"worker nobody is not "
				   "connected to a broker\"}\n");
	kill(fleet_up_pid_of(&fleet, "hub"), SIGSTOP);
	said = CLI(flotilla, "health", "broker", "--wait-ms", "300");
	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_ptr_nonnull(strstr(said.err, "no broker answers at ipc://"));
	kill(fleet_up_pid_of(&fleet, "hub"), SIGCONT);
}
END_TEST

START_TEST(health_of_what_is_asked_clearly)
{
	struct said said = CLI(flotilla, "health", "broker", "--worker", "w");

	ck_assert_int_eq(said.status, STATUS_USAGE);
	said = CLI(flotilla, "health", "moon");
	ck_assert_int_eq(said.status, STATUS_USAGE);
	ck_assert_str_eq(
	    said.err, "flotilla: health of 'moon': must be broker, redis or fleet\n");
}
END_TEST

/* --- what a killed `up` leaves -------------------------------------------------------- */

START_TEST(the_sockets_of_a_killed_up_are_removed_by_the_next)
{
	char *sockets = arena_strdup(fleet.arena, fleet.redis + strlen("unix://"));
	struct stat st;

	*strrchr(sockets, '/') = '\0';
	ck_assert_int_eq(stat(sockets, &st), 0);
	child_kill(&fleet.up);
	/* In the same folder: it waits for the Redis of the one before to end. One of another test may have been faster. */
	fleet.up = child_start((const char *[]){ fleet.flotilla.program, "up", "--folder",
				   fleet.folder, NULL },
	    NULL);
	ck_assert_int_eq(stat(sockets, &st), -1);
	ck_assert_str_eq(CLI(flotilla, "health", "redis").out, "healthy\n");
}
END_TEST

TCase *
tcase_watchdogs(void)
{
	TCase *tcase = tcase_create("watchdogs");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(
	    tcase, a_worker_that_is_stopped_is_replaced_and_its_calls_go_elsewhere);
	tcase_add_test(tcase, one_that_is_not_ready_again_in_time_is_replaced);
	tcase_add_test(tcase, a_supervisor_that_was_stopped_itself_blames_nobody);
	tcase_add_test(
	    tcase, a_middleware_that_blocks_the_loop_is_named_and_the_run_goes_on);
	tcase_add_test(tcase, a_hook_that_blocks_the_hub_is_named_and_the_run_goes_on);
	tcase_add_test(tcase, what_dies_again_and_again_is_tried_only_now_and_then);
	tcase_add_test(tcase, a_redis_that_cannot_start_again_names_its_log);
	tcase_add_test(tcase, a_coordinator_whose_redis_is_frozen_says_so);
	tcase_add_loop_test(tcase, a_healthy_fleet_says_so, 0, 6);
	tcase_add_loop_test(tcase, a_worker_s_health_waits_for_no_other_broker, 0, 3);
	tcase_add_test(tcase, a_worker_s_health_needs_no_redis);
	tcase_add_test(tcase, what_is_not_there_is_not_healthy);
	tcase_add_test(tcase, health_of_what_is_asked_clearly);
	tcase_add_test(tcase, the_sockets_of_a_killed_up_are_removed_by_the_next);
	return tcase;
}
