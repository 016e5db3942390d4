/* `flotilla serve` on a fleet: runs and their pauses over HTTP, and what is refused. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "literal.h"
#include "serve_bench.h"
#include "store.h"

TCase *tcase_serve_runs(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

static struct fleet_up *const fleet = &serve_bench.fleet;

/* --- runs --------------------------------------------------------------------------------- */

START_TEST(who_waits_gets_the_state)
{
	const char *id = serve_thread();
	struct serve_answer answer = ASK(.path = serve_text("/threads/%s/runs/wait", id),
	    .body = "{'assistant_id': 'quick', " HI "}");
	const char *where = serve_header(&answer, "Content-Location");
	const struct value *run = serve_get(where, 200);

	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(serve_header(&answer, "Content-Type"), "application/json");
	ck_assert_str_eq(serve_header(&answer, "X-Accel-Buffering"), "no");
	ck_assert_uint_eq(value_size(value_get(answer.json, "messages")), 2);
	ck_assert_str_eq(serve_last_text(answer.json), "First.");
	ck_assert_str_eq(value_get_text(run, "status"), "success");
	ck_assert_str_eq(value_get_text(run, "assistant_id"), "quick");
	ck_assert_str_eq(
	    where, serve_text("/threads/%s/runs/%s", id, value_get_text(run, "run_id")));
	ck_assert_str_eq(serve_header(&answer, "Location"), serve_text("%s/join", where));
	ck_assert(
	    value_equal(serve_get(serve_header(&answer, "Location"), 200), answer.json));
}
END_TEST

/* How many events the broker has put on the status channel. */
static int64_t
published(void)
{
	const struct said said = CLI(&fleet->flotilla, "top", "--once", "--json");
	const char *error = NULL;
	const struct value *all =
	    json_parse(fleet->arena, said.out, strlen(said.out), &error);
	int64_t count = value_get_int(
	    value_get(value_get(all, "broker"), "counters"), "published", -1);

	ck_assert_msg(count >= 0, "%s%s", said.out, said.err);
	return count;
}

/* The first who wait are before what they wait for; who waits behind them finds it subscribed to. */
START_TEST(who_waits_costs_one_event_a_run)
{
	static const char body[] = "{'assistant_id': 'quick', " HI "}";
	int64_t before, after = published();
	int i;

	do {
		before = after;
		serve_post("/runs/wait", body, 200);
		after = published();
	} while (after == before);
	for (i = 0; i < 5; i++)
		serve_post("/runs/wait", body, 200);
	ck_assert_int_eq(published(), after + 5);
}
END_TEST

/* Nobody has named its thread, so nobody needs it. */
START_TEST(a_thread_of_one_run_goes_with_it)
{
	int64_t count = serve_thread_count();
	struct serve_answer answer =
	    ASK(.path = "/runs/wait", .body = "{'assistant_id': 'quick', " HI "}");

	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(serve_last_text(answer.json), "First.");
	ck_assert_has(serve_header(&answer, "Content-Location"), "/runs/");
	ck_assert_has_not(serve_header(&answer, "Content-Location"), "/threads/");
	ck_assert_int_eq(serve_thread_count(), count);
	serve_post("/runs/wait",
	    "{'assistant_id': 'quick', 'on_completion': 'keep', " HI "}", 200);
	ck_assert_int_eq(serve_thread_count(), count + 1);
}
END_TEST

START_TEST(a_run_is_listed_with_its_metadata)
{
	const char *id = serve_thread(), *first, *second;
	const char *path = serve_text("/threads/%s/runs", id);
	const struct value *runs;

	ck_assert_uint_eq(value_size(serve_get(path, 200)), 0);
	first = serve_run(id, "quick", "'metadata': {'n': 1, 'l': [2]}");
	ck_assert_str_eq(serve_run_end(id, first), "success");
	second = serve_run(id, "broken", "");
	ck_assert_str_eq(serve_run_end(id, second), "error");
	runs = serve_get(path, 200);
	ck_assert_uint_eq(value_size(runs), 2);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "run_id"), second);
	ck_assert_value(fleet->arena, value_get(value_at(runs, 1), "metadata"),
	    "{'n': 1, 'l': '[2]'}");
	runs = serve_get(serve_text("%s?limit=1&offset=1", path), 200);
	ck_assert_uint_eq(value_size(runs), 1);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "run_id"), first);
	runs = serve_get(serve_text("%s?status=error", path), 200);
	ck_assert_uint_eq(value_size(runs), 1);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "run_id"), second);
}
END_TEST

START_TEST(several_runs_are_begun_at_once)
{
	const struct value *runs = serve_post("/runs/batch",
	    "[{'assistant_id': 'quick', 'on_completion': 'keep', " HI "}, "
	    "{'assistant_id': 'broken', 'on_completion': 'keep', " HI "}]",
	    200);

	ck_assert_uint_eq(value_size(runs), 2);
	ck_assert_str_eq(serve_run_end(value_get_text(value_at(runs, 0), "thread_id"),
			     value_get_text(value_at(runs, 0), "run_id")),
	    "success");
	ck_assert_str_eq(serve_run_end(value_get_text(value_at(runs, 1), "thread_id"),
			     value_get_text(value_at(runs, 1), "run_id")),
	    "error");
	serve_post("/runs/batch", "[]", 422);
	serve_post("/runs/batch", "{}", 422);
}
END_TEST

START_TEST(a_run_that_fails_says_why)
{
	const struct value *error =
	    value_get(serve_post("/runs/wait", "{'assistant_id': 'broken', " HI "}", 200),
		"__error__");

	ck_assert_ptr_nonnull(value_get_text(error, "error"));
	ck_assert_has(value_get_text(error, "message"), "no such key");
}
END_TEST

START_TEST(a_run_is_cancelled)
{
	const char *id = serve_thread(), *run = serve_run(id, "slow", "");
	const char *path = serve_text("/threads/%s/runs/%s", id, run);

	serve_run_wait(id, run, "running");
	ck_assert_int_eq(
	    ASK(.path = serve_text("%s/cancel?action=back", path), .body = "").status,
	    422);
	ck_assert_int_eq(
	    ASK(.path = serve_text("%s/cancel?wait=1&action=interrupt", path), .body = "")
		.status,
	    204);
	ck_assert_str_eq(value_get_text(serve_get(path, 200), "status"), "interrupted");
	ck_assert_str_eq(
	    value_get_text(serve_get(serve_text("/threads/%s", id), 200), "status"),
	    "idle");
	/* One that has ended stays as it is. */
	ck_assert_int_eq(
	    ASK(.path = serve_text("%s/cancel?wait=1", path), .body = "").status, 204);
	run = serve_run(id, "slow", "");
	ck_assert_int_eq(
	    ASK(.path = serve_text("/threads/%s/runs/%s/cancel", id, run), .body = "")
		.status,
	    202);
	ck_assert_str_eq(serve_run_end(id, run), "interrupted");
}
END_TEST

static size_t
messages_of(const char *id)
{
	return value_size(value_get(
	    value_get(serve_get(serve_text("/threads/%s/state", id), 200), "values"),
	    "messages"));
}

static const char *
next_of(const char *id)
{
	return value_text(value_at(
	    value_get(serve_get(serve_text("/threads/%s/state", id), 200), "next"), 0));
}

/* A run pauses where its submission says so, and goes on with no input. */
START_TEST(a_run_may_say_itself_where_it_pauses)
{
	const char *id = serve_thread();
	const struct value *values;

	values = serve_post(serve_text("/threads/%s/runs/wait", id),
	    "{'assistant_id': 'quick', 'interrupt_before': ['model'], " HI "}", 200);
	ck_assert_value(fleet->arena, value_get(values, "__interrupt__"), "[]");
	ck_assert_str_eq(next_of(id), "model");
	ck_assert_uint_eq(messages_of(id), 1);
	values = serve_post(serve_text("/threads/%s/runs/wait", id),
	    "{'assistant_id': 'quick', 'input': null}", 200);
	ck_assert_ptr_null(value_get(values, "__interrupt__"));
	ck_assert_uint_eq(messages_of(id), 2);
	ck_assert_ptr_null(next_of(id));
	/* Its agent pauses in front of the tools: behind the model it is the same place. */
	id = serve_thread();
	ck_assert_str_eq(
	    serve_run_end(id, serve_run(id, "careful", "'interrupt_after': '*'")),
	    "interrupted");
	ck_assert_str_eq(next_of(id), "tools");
	values = serve_post("/runs/wait",
	    "{'assistant_id': 'quick', 'interrupt_before': ['modl'], " HI "}", 200);
	ck_assert_has(value_get_text(value_get(values, "__error__"), "message"),
	    "did you mean 'model'?");
}
END_TEST

/* The thread is as it was before it, also for the next run. */
START_TEST(a_run_is_rolled_back)
{
	const char *id = value_get_text(
	    serve_post("/threads",
		"{'metadata': {'graph_id': 'slow'}, 'supersteps': [{'updates': "
		"[{'as_node': '__start__', 'values': {'messages': 'hello'}}]}]}",
		200),
	    "thread_id");
	const char *run = serve_run(id, "slow", "");

	serve_run_wait(id, run, "running");
	while (messages_of(id) == 1)
		continue;
	ck_assert_int_eq(
	    ASK(.path = serve_text(
		    "/threads/%s/runs/%s/cancel?wait=1&action=rollback", id, run),
		.body = "")
		.status,
	    204);
	ck_assert_uint_eq(messages_of(id), 1);
	ck_assert(value_equal(serve_get(serve_text("/threads/%s/state", id), 200),
	    value_at(serve_get(serve_text("/threads/%s/history", id), 200), 0)));
	ck_assert_str_eq(
	    value_get_text(serve_get(serve_text("/threads/%s", id), 200), "status"),
	    "idle");
	serve_run_end(id, serve_run(id, "quick", ""));
	ck_assert_uint_eq(messages_of(id), 3);
	/* One that waits leaves nothing. */
	run = serve_run(id, "slow", "'after_seconds': 600");
	serve_post("/runs/cancel?action=rollback",
	    serve_text("{'thread_id': '%s', 'run_ids': ['%s']}", id, run), 204);
	serve_get(serve_text("/threads/%s/runs/%s", id, run), 404);
	ck_assert_uint_eq(messages_of(id), 3);
}
END_TEST

START_TEST(a_thread_that_is_busy_takes_a_run_or_not)
{
	const char *id = serve_thread(), *run = serve_run(id, "slow", ""), *next;
	const char *body =
	    "{'assistant_id': 'quick', 'multitask_strategy': 'reject', " HI "}";
	static const char *const ways[] = { "", "/wait", "/stream" };
	size_t i;

	serve_run_wait(id, run, "running");
	for (i = 0; i < 3; i++)
		ck_assert_has(value_get_text(serve_post(serve_text("/threads/%s/runs%s",
							    id, ways[i]),
						 body, 409),
				  "detail"),
		    "run");
	ck_assert_int_eq(
	    ASK(.method = "DELETE", .path = serve_text("/threads/%s", id)).status, 409);
	ck_assert_str_eq(
	    value_get_text(serve_get(serve_text("/threads/%s", id), 200), "status"),
	    "busy");
	next = serve_run(id, "quick", "'multitask_strategy': 'enqueue'");
	ck_assert_str_eq(
	    value_get_text(
		serve_get(serve_text("/threads/%s/runs/%s", id, next), 200), "status"),
	    "pending");
	run = serve_run(id, "quick", "'multitask_strategy': 'interrupt'");
	ck_assert_str_eq(serve_run_end(id, run), "success");
	ck_assert_str_eq(
	    value_get_text(serve_get(serve_text("/threads/%s/runs/%s", id, run), 200),
		"multitask_strategy"),
	    "interrupt");
}
END_TEST

/* --- pauses ------------------------------------------------------------------------------- */

START_TEST(what_a_run_asks_is_answered)
{
	const char *id = serve_thread();
	const char *wait = serve_text("/threads/%s/runs/wait", id);
	const struct value *asks =
	    value_get(serve_post(wait, "{'assistant_id': 'approver', " HI "}", 200),
		"__interrupt__");
	const struct value *ask = value_at(asks, 0), *thread, *state, *task;

	ck_assert_uint_eq(value_size(asks), 1);
	ck_assert_ptr_nonnull(value_get(value_get(ask, "value"), "action_requests"));
	thread = serve_get(serve_text("/threads/%s", id), 200);
	ck_assert_str_eq(value_get_text(thread, "status"), "interrupted");
	state = serve_get(serve_text("/threads/%s/state", id), 200);
	task = value_at(value_get(state, "tasks"), 0);
	ck_assert(value_equal(value_get(task, "interrupts"), asks));
	ck_assert(value_equal(
	    value_get(value_get(thread, "interrupts"), value_get_text(task, "id")),
	    asks));
	ck_assert_str_eq(value_text(value_at(value_get(state, "next"), 0)),
	    value_get_text(task, "name"));
	/* No answer is none; it is asked still. */
	state = serve_post(wait, "{'assistant_id': 'approver', 'input': null}", 200);
	ck_assert_has(
	    value_get_text(value_get(state, "__error__"), "message"), "null is none");
	thread = serve_get(serve_text("/threads/%s", id), 200);
	ck_assert_str_eq(value_get_text(thread, "status"), "interrupted");
	state = serve_post(wait,
	    serve_text("{'assistant_id': 'approver', 'command': {'resume': {'%s': "
		       "{'decisions': [{'type': 'approve'}]}}}}",
		value_get_text(ask, "id")),
	    200);
	ck_assert_ptr_null(value_get(state, "__interrupt__"));
	ck_assert_str_eq(serve_last_text(state), "It is done.");
	thread = serve_get(serve_text("/threads/%s", id), 200);
	ck_assert_str_eq(value_get_text(thread, "status"), "idle");
	ck_assert_value(fleet->arena, value_get(thread, "interrupts"), "{}");
}
END_TEST

START_TEST(one_answer_may_do_without_the_question)
{
	const char *id = serve_thread();
	const char *wait = serve_text("/threads/%s/runs/wait", id);

	serve_post(wait, "{'assistant_id': 'approver', " HI "}", 200);
	ck_assert_str_eq(
	    serve_last_text(serve_post(wait,
		"{'assistant_id': 'approver', 'command': {'resume': {'decisions': "
		"[{'type': 'reject', 'message': 'no'}]}}}",
		200)),
	    "It is done.");
}
END_TEST

START_TEST(a_pause_that_asks_nothing_goes_on_without_input)
{
	const char *id = serve_thread();
	const char *wait = serve_text("/threads/%s/runs/wait", id);
	const struct value *values =
	    serve_post(wait, "{'assistant_id': 'careful', " HI "}", 200);

	ck_assert_value(fleet->arena, value_get(values, "__interrupt__"), "[]");
	ck_assert_value(fleet->arena,
	    value_get(serve_get(serve_text("/threads/%s/state", id), 200), "next"),
	    "['tools']");
	values = serve_post(wait, "{'assistant_id': 'careful', 'input': null}", 200);
	ck_assert_str_eq(serve_last_text(values), "Thank you.");
}
END_TEST

/* --- what is refused ------------------------------------------------------------------ */

static const struct {
	const char *path, *body;
	long status;
	const char *words;
} refused[] = {
	{ "/threads/none/runs", "{'assistant_id': 'quick', " HI "}", 404, "none" },
	{ "/threads/none/runs/wait", "{'assistant_id': 'quick', " HI "}", 404, "none" },
	{ "/threads/none/runs/stream", "{'assistant_id': 'quick', " HI "}", 404, "none" },
	{ "/runs/wait", "{'assistant_id': 'none', " HI "}", 404, "no agent 'none'" },
	{ "/runs/stream", "{'assistant_id': 'none', " HI "}", 404, "no agent 'none'" },
	{ "/runs", "{'assistant_id': 'none', " HI "}", 404, "no agent 'none'" },
	{ "/runs/wait", "{" HI "}", 422, "assistant_id: is missing" },
	{ "/runs/wait", "{'assistant_id': 3, " HI "}", 422, "assistant_id: must be" },
	{ "/runs/wait", "{'assistant_id': 'quick'}", 422, "input" },
	{ "/runs/wait",
	    "{'assistant_id': 'quick', 'input': {'messages': [{'role': "
	    "'nobody', 'content': ''}]}}",
	    422, "role" },
	{ "/runs/wait", "{'assistant_id': 'quick', 'interrupt_before': true, " HI "}",
	    422, "interrupt_before" },
	{ "/runs/wait", "{'assistant_id': 'quick', 'interrupt_before': [1], " HI "}", 422,
	    "interrupt_before: must be" },
	{ "/runs/stream", "{'assistant_id': 'quick', 'stream_mode': 'all', " HI "}", 422,
	    "stream_mode" },
	{ "/runs/wait", "{'assistant_id': ", 422, "no JSON" },
	{ "/runs/wait", "[]", 422, "must be a map" },
	{ "/runs/wait", "nonsense", 422, "no JSON" },
	{ "/threads", "{'thread_id': 'a b'}", 422, "thread_id" },
	{ "/threads", "{'metadata': []}", 422, "metadata" },
	{ "/threads", "{'ttl': 'x'}", 422, "ttl" },
	{ "/threads/search", "{'limit': 0}", 422, "limit" },
	{ "/threads/search", "{'limit': 'x'}", 422, "limit" },
	{ "/threads/search", "{'offset': -1}", 422, "offset" },
	{ "/threads/none/copy", "", 404, "none" },
	{ "/threads/none/state", "{'values': {}}", 404, "none" },
	{ "/threads/none/history", "{}", 404, "none" },
	{ "/store/items/search", "{'query': 1}", 422, "query" },
	{ "/store/namespaces", "{'suffix': 'x'}", 422, "suffix" },
	{ "/nowhere", "{}", 404, "there is no /nowhere" },
	{ "/assistant", "{}", 404, "there is no /assistant" },
	{ "/ok", "{}", 405, "POST is not for /ok" },
	{ "/store/items", "{}", 405, "POST is not for" },
	{ "/threads/none", "{}", 405, "POST is not for" },
};

START_TEST(what_cannot_be_done_is_said)
{
	struct serve_answer answer =
	    ASK(.path = refused[_i].path, .body = refused[_i].body);

	ck_assert_msg(answer.status == refused[_i].status, "%s %s: %ld: %s",
	    refused[_i].path, refused[_i].body, answer.status, answer.body);
	ck_assert_has(value_get_text(answer.json, "detail"), refused[_i].words);
	ck_assert_str_eq(serve_header(&answer, "Content-Type"), "application/json");
}
END_TEST

static const char *const nothing[] = { "/threads/none", "/threads/none/state",
	"/threads/none/state/1", "/threads/none/history", "/threads/none/runs",
	"/threads/none/runs/none", "/threads/none/runs/none/join",
	"/threads/none/runs/none/stream", "/assistants/none", "/assistants/none/graph",
	"/assistants/none/schemas", "/runs/none/stream", "/threads/a%20b", "/runs/none",
	"/%2e%2e/ok" };

START_TEST(what_is_not_there_is_not_found)
{
	ck_assert_ptr_nonnull(value_get_text(serve_get(nothing[_i], 404), "detail"));
}
END_TEST

/* Makes a thread whose keys lie where those of thread do. */
static const char *
neighbour(const char *thread)
{
	const char *id;
	unsigned i = 0;

	do
		id = serve_text("neighbour-%u", i++);
	while (store_shard(id) != store_shard(thread));
	serve_post("/threads", serve_text("{'thread_id': '%s'}", id), 200);
	return id;
}

START_TEST(a_run_is_found_on_its_own_thread_alone)
{
	const char *thread = serve_thread(), *other = neighbour(thread);
	const char *run = serve_run(thread, "quick", "");

	serve_run_end(thread, run);
	serve_get(serve_text("/threads/%s/runs/%s", thread, run), 200);
	serve_get(serve_text("/threads/%s/runs/%s", other, run), 404);
	serve_get(serve_text("/threads/%s/runs/%s/join", other, run), 404);
}
END_TEST

START_TEST(methods_are_told_apart)
{
	ck_assert_int_eq(ASK(.method = "DELETE", .path = "/ok").status, 405);
	ck_assert_int_eq(ASK(.method = "PUT", .path = "/threads").status, 405);
	ck_assert_int_eq(ASK(.method = "HEAD", .path = "/ok").status, 200);
	ck_assert_int_eq(ASK(.method = "HEAD", .path = "/nowhere").status, 404);
	ck_assert_value(fleet->arena, serve_get("/ok", 200), "{'ok': true}");
	ck_assert_has(ASK(.path = "/").body, "LangGraph");
	ck_assert_str_eq(value_get_text(serve_get("/info", 200), "server"), "flotilla");
}
END_TEST

TCase *
tcase_serve_runs(void)
{
	TCase *tcase = tcase_create("serve_runs");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, who_waits_gets_the_state);
	tcase_add_test(tcase, who_waits_costs_one_event_a_run);
	tcase_add_test(tcase, a_thread_of_one_run_goes_with_it);
	tcase_add_test(tcase, a_run_is_listed_with_its_metadata);
	tcase_add_test(tcase, several_runs_are_begun_at_once);
	tcase_add_test(tcase, a_run_that_fails_says_why);
	tcase_add_test(tcase, a_run_is_cancelled);
	tcase_add_test(tcase, a_run_is_rolled_back);
	tcase_add_test(tcase, a_run_may_say_itself_where_it_pauses);
	tcase_add_test(tcase, a_thread_that_is_busy_takes_a_run_or_not);
	tcase_add_test(tcase, what_a_run_asks_is_answered);
	tcase_add_test(tcase, one_answer_may_do_without_the_question);
	tcase_add_test(tcase, a_pause_that_asks_nothing_goes_on_without_input);
	tcase_add_loop_test(tcase, what_cannot_be_done_is_said, 0, COUNT(refused));
	tcase_add_loop_test(tcase, what_is_not_there_is_not_found, 0, COUNT(nothing));
	tcase_add_test(tcase, a_run_is_found_on_its_own_thread_alone);
	tcase_add_test(tcase, methods_are_told_apart);
	return tcase;
}
