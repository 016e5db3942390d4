/* `flotilla serve`: what is done to many threads and runs at once; agents as they were. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fleet_client.h"
#include "redis.h"
#include "serve_bench.h"
#include "store.h"

TCase *tcase_serve_many(void);

static int64_t
pruned(const char *strategy, const char *a, const char *b)
{
	return value_get_int(
	    serve_post("/threads/prune",
		serve_text("{'thread_ids': ['%s', '%s', 'nobody'], 'strategy': '%s'}", a,
		    b, strategy),
		200),
	    "pruned_count", -1);
}

START_TEST(threads_that_are_free_are_pruned)
{
	const char *idle = serve_thread(), *busy = serve_thread();
	const char *history = serve_text("/threads/%s/history", idle), *run;
	size_t before;

	serve_run_end(idle, serve_run(idle, "quick", ""));
	run = serve_run(busy, "slow", "");
	serve_run_wait(busy, run, "running");
	before = value_size(serve_get(history, 200));
	ck_assert_int_eq(pruned("keep_latest", idle, busy), 1);
	ck_assert_uint_lt(value_size(serve_get(history, 200)), before);
	ck_assert_int_eq(pruned("delete", idle, busy), 1);
	serve_get(serve_text("/threads/%s", idle), 404);
	serve_get(serve_text("/threads/%s", busy), 200);
	serve_post("/threads/prune", "{'thread_ids': ['a'], 'strategy': 'x'}", 422);
	serve_post("/threads/prune", "{'thread_ids': ['a b']}", 422);
	serve_post("/threads/prune", "{}", 422);
	serve_post("/runs/cancel",
	    serve_text("{'thread_id': '%s', 'run_ids': ['%s']}", busy, run), 204);
	ck_assert_str_eq(serve_run_end(busy, run), "interrupted");
}
END_TEST

/* Nobody takes it out of the inbox meanwhile. */
START_TEST(a_run_that_nobody_has_taken_is_not_cancelled_in_silence)
{
	pid_t hub = fleet_up_pid_of(&serve_bench.fleet, "hub");
	const char *id = serve_thread(), *run, *body;

	ck_assert_int_gt(hub, 0);
	ck_assert_int_eq(kill(hub, SIGSTOP), 0);
	run = serve_run(id, "quick", "");
	body = serve_text("{'thread_id': '%s', 'run_ids': ['nobody', '%s']}", id, run);
	serve_post("/runs/cancel", body, 503);
	ck_assert_int_eq(kill(hub, SIGCONT), 0);
	ck_assert_str_eq(serve_run_end(id, run), "success");
	serve_post("/runs/cancel", body, 204);
}
END_TEST

/* How often Redis was asked for an entry of the inbox since it began. */
static void
count_looks(struct fleet_client *client, void *arg)
{
	struct arena *arena = arena_new();
	const struct value *reply = NULL;
	const char *said;

	ck_assert_int_eq(
	    redis_text(client->redis, arena, 10000, &reply, "INFO", "commandstats", NULL),
	    REDIS_OK);
	said = strstr(redis_reply_text(reply), "cmdstat_xrevrange:calls=");
	*(int *)arg = 0;
	if (said != NULL)
		ck_assert_int_eq(
		    sscanf(said, "cmdstat_xrevrange:calls=%d", (int *)arg), 1);
	arena_destroy(&arena);
}

/* However many are named that nobody knows. */
START_TEST(the_inbox_is_looked_through_once_for_all_that_are_named)
{
	pid_t hub = fleet_up_pid_of(&serve_bench.fleet, "hub");
	const char *id = serve_thread(), *run, *ids = "'nobody'";
	int before, behind, i;

	for (i = 0; i < 40; i++)
		ids = serve_text("%s, 'nobody%d'", ids, i);
	ck_assert_int_eq(kill(hub, SIGSTOP), 0);
	run = serve_run(id, "quick", "");
	client_run(serve_bench.fleet.redis, count_looks, &before);
	serve_post("/runs/cancel",
	    serve_text("{'thread_id': '%s', 'run_ids': [%s]}", id, ids), 204);
	client_run(serve_bench.fleet.redis, count_looks, &behind);
	ck_assert_int_gt(behind, before);
	ck_assert_int_le(behind - before, 4);
	serve_post("/runs/cancel",
	    serve_text("{'thread_id': '%s', 'run_ids': [%s, '%s']}", id, ids, run), 503);
	ck_assert_int_eq(kill(hub, SIGCONT), 0);
	ck_assert_str_eq(serve_run_end(id, run), "success");
}
END_TEST

START_TEST(runs_of_a_status_are_cancelled)
{
	const char *id = serve_thread(), *first = serve_run(id, "slow", "");
	const char *second;

	serve_run_wait(id, first, "running");
	second = serve_run(id, "slow", "");
	serve_run_wait(id, second, "pending");
	serve_post("/runs/cancel",
	    serve_text("{'thread_id': '%s', 'status': 'pending'}", id), 204);
	ck_assert_str_eq(serve_run_end(id, second), "interrupted");
	ck_assert_str_eq(
	    value_get_text(
		serve_get(serve_text("/threads/%s/runs/%s", id, first), 200), "status"),
	    "running");
	serve_post(
	    "/runs/cancel", serve_text("{'thread_id': '%s', 'status': 'all'}", id), 204);
	ck_assert_str_eq(serve_run_end(id, first), "interrupted");
	serve_post(
	    "/runs/cancel", serve_text("{'thread_id': '%s', 'status': 'x'}", id), 422);
	serve_post("/runs/cancel", serve_text("{'thread_id': '%s'}", id), 422);
	serve_post("/runs/cancel", "{'run_ids': []}", 422);
	serve_post("/runs/cancel", "{'thread_id': 'nobody', 'status': 'all'}", 404);
	serve_post("/runs/cancel?action=back",
	    serve_text("{'thread_id': '%s', 'status': 'all'}", id), 422);
}
END_TEST

/* On all threads, also one that is not due yet. */
START_TEST(runs_of_a_status_are_cancelled_everywhere)
{
	const char *ids[] = { serve_thread(), serve_thread() };
	const char *slow = serve_run(ids[0], "slow", "");
	const char *later = serve_run(ids[1], "quick", "'after_seconds': 600");

	serve_run_wait(ids[0], slow, "running");
	serve_post("/runs/cancel", "{'status': 'pending'}", 204);
	ck_assert_str_eq(serve_run_end(ids[1], later), "interrupted");
	ck_assert_str_eq(
	    value_get_text(
		serve_get(serve_text("/threads/%s/runs/%s", ids[0], slow), 200),
		"status"),
	    "running");
	serve_post("/runs/cancel", "{'status': 'all'}", 204);
	ck_assert_str_eq(serve_run_end(ids[0], slow), "interrupted");
}
END_TEST

/* More of them than are looked at at once, behind one that goes on. */
START_TEST(all_runs_of_a_status_are_cancelled)
{
	enum { MANY = 220 };
	const char *id = serve_thread(), *first = serve_run(id, "slow", "");
	const char *body = serve_text("{'thread_id': '%s', 'status': 'pending'}", id);
	const struct value *runs;
	unsigned i;

	serve_run_wait(id, first, "running");
	for (i = 0; i < MANY; i++)
		serve_run(id, "slow", "");
	serve_post("/runs/cancel", body, 204);
	runs =
	    serve_get(serve_text("/threads/%s/runs?status=pending&limit=1000", id), 200);
	ck_assert_uint_eq(value_size(runs), 0);
	serve_post("/runs/cancel",
	    serve_text("{'thread_id': '%s', 'status': 'running'}", id), 204);
	ck_assert_str_eq(serve_run_end(id, first), "interrupted");
	serve_post("/runs/cancel",
	    serve_text("{'thread_id': '%s', 'status': 'all', 'run_ids': []}", id), 422);
}
END_TEST

/* The most memory that the server has had, in KiB: it is our youngest child. */
static unsigned long
peak(void)
{
	char path[64], line[256];
	unsigned long pid = 0, kib = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", getpid(), getpid());
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fscanf(file, "%lu", &pid) == 1)
		continue;
	fclose(file);
	snprintf(path, sizeof path, "/proc/%lu/status", pid);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file) != NULL)
		sscanf(line, "VmHWM: %lu kB", &kib);
	fclose(file);
	ck_assert_uint_gt(kib, 0);
	return kib;
}

/* 48 runs whose inputs are 192 MiB, written behind everybody's back. */
#define LARGE_RUNS                                                                       \
	"local input = cmsgpack.pack(string.rep('x', 4194304)) "                         \
	"for i = 1, 48 do local run = 'large-' .. i "                                    \
	"redis.call('RPUSH', KEYS[1] .. 't:' .. ARGV[1] .. ':r', run) "                  \
	"redis.call('HSET', KEYS[1] .. 'r:' .. run, 'thread', ARGV[1], 'agent', "        \
	"'quick', 'status', i % 2 == 0 and 'success' or 'error', 'created', i, "         \
	"'metadata', cmsgpack.pack({n = i}), 'input', input) end"

START_TEST(a_list_of_runs_holds_none_of_their_inputs)
{
	struct fleet_up *fleet = &serve_bench.fleet;
	const struct cli redis = { "redis-cli", NULL, fleet->arena };
	const char *id = serve_thread(), *url;
	const struct value *runs;
	struct cli_job *server;
	unsigned long before;
	struct said said;

	said = CLI(&redis, "-s", fleet->redis + strlen("unix://"), "EVAL", LARGE_RUNS,
	    "1", store_prefix(fleet->arena, store_shard(id)), id);
	ck_assert_msg(said.status == 0 && *said.out == '\n', "%s", said.out);
	url = serve_start(&server, NULL);
	ck_assert_int_eq(ASK(.url = url, .path = "/info").status, 200);
	before = peak();
	runs =
	    ASK(.url = url, .path = serve_text("/threads/%s/runs?limit=1000", id)).json;
	ck_assert_uint_eq(value_size(runs), 48);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "run_id"), "large-48");
	ck_assert_int_eq(
	    value_get_int(value_get(value_at(runs, 0), "metadata"), "n", 0), 48);
	runs = ASK(.url = url,
	    .path = serve_text(
		"/threads/%s/runs?limit=10&offset=19&status=success&select=run_id", id))
		   .json;
	ck_assert_uint_eq(value_size(runs), 5);
	ck_assert_uint_eq(value_size(value_at(runs, 0)), 1);
	ck_assert_uint_lt(peak() - before, 32768);
	serve_stop(&server);
	ck_assert_int_eq(
	    ASK(.method = "DELETE", .path = serve_text("/threads/%s", id)).status, 204);
}
END_TEST

START_TEST(an_agents_versions_are_shown_newest_first)
{
	const struct value *all = serve_post("/assistants/talker/versions", "{}", 200);

	ck_assert_uint_eq(value_size(all), 1);
	ck_assert_int_eq(value_get_int(value_at(all, 0), "version", 0), 1);
	ck_assert_str_eq(value_get_text(value_at(all, 0), "assistant_id"), "talker");
	all = serve_post("/assistants/talker/versions", "{'offset': 1}", 200);
	ck_assert_uint_eq(value_size(all), 0);
	serve_post("/assistants/nobody/versions", "{}", 404);
	ck_assert_uint_eq(
	    value_size(serve_get("/assistants/talker/subgraphs?recurse=true", 200)), 0);
	serve_get("/assistants/nobody/subgraphs", 404);
}
END_TEST

START_TEST(a_state_has_its_threads_metadata)
{
	const char *id = serve_thread();
	struct serve_answer answer =
	    ASK(.method = "PATCH", .path = serve_text("/threads/%s/state", id),
		.body = "{'metadata': {'who': 'me'}}");

	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(
	    value_get_text(
		value_get(serve_get(serve_text("/threads/%s", id), 200), "metadata"),
		"who"),
	    "me");
}
END_TEST

TCase *
tcase_serve_many(void)
{
	TCase *tcase = tcase_create("serve_many");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, threads_that_are_free_are_pruned);
	tcase_add_test(tcase, all_runs_of_a_status_are_cancelled);
	tcase_add_test(tcase, runs_of_a_status_are_cancelled_everywhere);
	tcase_add_test(tcase, a_run_that_nobody_has_taken_is_not_cancelled_in_silence);
	tcase_add_test(tcase, the_inbox_is_looked_through_once_for_all_that_are_named);
	tcase_add_test(tcase, runs_of_a_status_are_cancelled);
	tcase_add_test(tcase, a_list_of_runs_holds_none_of_their_inputs);
	tcase_add_test(tcase, an_agents_versions_are_shown_newest_first);
	tcase_add_test(tcase, a_state_has_its_threads_metadata);
	return tcase;
}
