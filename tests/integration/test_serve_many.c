/* `flotilla serve`: what is done to many threads and runs at once; agents as they were. */
#include <check.h>

#include "serve_bench.h"

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
	serve_post("/runs/cancel", "{'status': 'all'}", 422);
	serve_post("/runs/cancel", "{'thread_id': 'nobody', 'status': 'all'}", 404);
	serve_post("/runs/cancel?action=rollback",
	    serve_text("{'thread_id': '%s', 'status': 'all'}", id), 422);
}
END_TEST

/* More of them than are looked at at once, behind one that goes on. */
START_TEST(all_runs_of_a_status_are_cancelled)
{
	enum { MANY = 120 };
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
	tcase_add_test(tcase, runs_of_a_status_are_cancelled);
	tcase_add_test(tcase, an_agents_versions_are_shown_newest_first);
	tcase_add_test(tcase, a_state_has_its_threads_metadata);
	return tcase;
}
