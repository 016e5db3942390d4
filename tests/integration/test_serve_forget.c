/* `flotilla serve`: a run that is deleted alone, and what is left of it. */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "has.h"
#include "story_bench.h"

TCase *tcase_serve_forget(void);

static struct serve_answer
forget(const char *thread, const char *run)
{
	return ASK(.method = "DELETE",
	    .path = serve_text("/threads/%s/runs/%s", thread, run));
}

static const struct value *
state_of(const char *thread)
{
	return serve_get(serve_text("/threads/%s/state", thread), 200);
}

static const struct value *
history_of(const char *thread)
{
	return serve_get(serve_text("/threads/%s/history?limit=100", thread), 200);
}

/* The runs that are there, the newest first, with blanks. */
static const char *
runs_of(const char *thread, const char *query)
{
	const struct value *runs =
	    serve_get(serve_text("/threads/%s/runs%s", thread, query), 200);
	const char *names = "";
	size_t i;

	for (i = 0; i < value_size(runs); i++)
		names = arena_printf(serve_bench.fleet.arena, "%s%s ", names,
		    value_get_text(value_at(runs, i), "run_id"));
	return names;
}

static const char *
quick(const char *thread)
{
	const char *run = serve_run(thread, "quick", "");

	ck_assert_str_eq(serve_run_end(thread, run), "success");
	return run;
}

START_TEST(it_goes_and_leaves_the_thread)
{
	const char *id = serve_thread(), *first = quick(id), *second = quick(id), *third;
	const struct value *state = state_of(id), *values;
	size_t states = value_size(history_of(id));
	const char *path = serve_text("/threads/%s/runs/%s", id, first);

	ck_assert_int_eq(forget(id, first).status, 204);
	ck_assert_int_eq(forget(id, first).status, 404);
	serve_get(path, 404);
	serve_get(serve_text("%s/join", path), 404);
	serve_get(serve_text("%s/stream", path), 404);
	ck_assert(value_equal(state_of(id), state));
	ck_assert_uint_eq(value_size(history_of(id)), states);
	ck_assert_str_eq(runs_of(id, ""), serve_text("%s ", second));
	third = quick(id);
	ck_assert_str_eq(runs_of(id, ""), serve_text("%s %s ", third, second));
	ck_assert_str_eq(runs_of(id, "?limit=1&offset=1"), serve_text("%s ", second));
	/* The last one, whose state the thread is in. */
	values = value_get(state_of(id), "values");
	ck_assert_int_eq(forget(id, third).status, 204);
	ck_assert(value_equal(value_get(state_of(id), "values"), values));
	ck_assert_str_eq(
	    value_get_text(serve_get(serve_text("/threads/%s", id), 200), "status"),
	    "idle");
	quick(id);
	ck_assert_uint_eq(
	    value_size(value_get(value_get(state_of(id), "values"), "messages")), 8);
}
END_TEST

START_TEST(what_goes_on_or_waits_is_not_deleted)
{
	const char *id = serve_thread(), *slow = serve_run(id, "slow", "");
	const char *waiting = serve_run(id, "quick", "");
	struct serve_answer answer;

	serve_run_wait(id, slow, "running");
	answer = forget(id, slow);
	ck_assert_int_eq(answer.status, 409);
	ck_assert_has(answer.body, "cancel it first");
	ck_assert_int_eq(forget(id, waiting).status, 409);
	ck_assert_int_eq(forget(id, "nobody").status, 404);
	ck_assert_int_eq(forget(serve_thread(), slow).status, 404);
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel?wait=1", id, slow),
	    .body = "{}");
	ck_assert_int_eq(forget(id, slow).status, 204);
	ck_assert_str_eq(serve_run_end(id, waiting), "success");
}
END_TEST

/* As LangGraph's server leaves it: the thread is what it was, and nothing tells of the run but its checkpoints. */
START_TEST(what_was_rolled_back_is_deleted)
{
	static const char *const asked[] = { "", "/join", "/stream" };
	const char *id = serve_thread(), *first = quick(id), *slow;
	const struct value *before = state_of(id);
	size_t i;

	slow = serve_run(id, "slow", "");
	serve_run_wait(id, slow, "running");
	ASK(.path =
		serve_text("/threads/%s/runs/%s/cancel?wait=1&action=rollback", id, slow),
	    .body = "{}");
	for (i = 0; i < sizeof asked / sizeof *asked; i++)
		serve_get(serve_text("/threads/%s/runs/%s%s", id, slow, asked[i]), 404);
	ck_assert_str_eq(runs_of(id, ""), serve_text("%s ", first));
	/* What is left of it goes, too. */
	ck_assert_int_eq(forget(id, slow).status, 204);
	ck_assert(value_equal(state_of(id), before));
	ck_assert_str_eq(runs_of(id, ""), serve_text("%s ", first));
	quick(id);
	ck_assert_uint_eq(
	    value_size(value_get(value_get(state_of(id), "values"), "messages")), 4);
}
END_TEST

static size_t
messages_of(const char *thread)
{
	return value_size(value_get(value_get(state_of(thread), "values"), "messages"));
}

/* It stands where it stood: there is nothing to go on with, and a copy has no more. */
START_TEST(what_was_rolled_back_is_not_gone_on_with)
{
	const char *id = serve_thread(), *run, *copy;

	serve_run_end(id, serve_run(id, "quick", ""));
	run = serve_run(id, "slow", "");
	serve_run_wait(id, run, "running");
	while (messages_of(id) == 2)
		continue;
	ASK(.path =
		serve_text("/threads/%s/runs/%s/cancel?wait=1&action=rollback", id, run),
	    .body = "");
	copy = value_get_text(
	    serve_post(serve_text("/threads/%s/copy", id), "{}", 200), "thread_id");
	ck_assert_uint_eq(messages_of(copy), 2);
	run = value_get_text(serve_post(serve_text("/threads/%s/runs", id),
				 "{'assistant_id': 'quick', 'input': null}", 200),
	    "run_id");
	ck_assert_str_eq(serve_run_end(id, run), "success");
	ck_assert_uint_eq(messages_of(id), 2);
}
END_TEST

/* What goes on as well as what waits; it is the same where the next run does not come. */
START_TEST(what_makes_way_by_rollback_is_deleted)
{
	const char *id = serve_thread(), *first = quick(id), *slow, *waiting, *last;

	slow = serve_run(id, "slow", "");
	serve_run_wait(id, slow, "running");
	waiting = serve_run(id, "quick", "");
	last = serve_run(id, "quick", "'multitask_strategy': 'rollback'");
	ck_assert_str_eq(serve_run_end(id, last), "success");
	serve_get(serve_text("/threads/%s/runs/%s", id, slow), 404);
	serve_get(serve_text("/threads/%s/runs/%s", id, waiting), 404);
	ck_assert_str_eq(runs_of(id, ""), serve_text("%s %s ", last, first));
	ck_assert_str_eq(runs_of(id, "?offset=1"), serve_text("%s ", first));
}
END_TEST

START_TEST(what_it_asks_stays_asked)
{
	const char *id = serve_thread(), *run = serve_run(id, "approver", "");

	ck_assert_str_eq(serve_run_end(id, run), "interrupted");
	ck_assert_int_eq(forget(id, run).status, 204);
	ck_assert_str_eq(
	    value_get_text(serve_get(serve_text("/threads/%s", id), 200), "status"),
	    "interrupted");
	serve_post(serve_text("/threads/%s/runs/wait", id),
	    "{'assistant_id': 'approver', 'command': {'resume': {'decisions': [{'type': "
	    "'approve'}]}}}",
	    200);
	ck_assert_str_eq(
	    serve_last_text(value_get(state_of(id), "values")), "It is done.");
}
END_TEST

START_TEST(by_its_key_it_is_begun_again)
{
	const char *id = serve_thread(), *where = NULL, *run = NULL;
	int i;

	for (i = 0; i < 2; i++) {
		struct serve_answer answer =
		    ASK(.path = serve_text("/threads/%s/runs/wait", id),
			.body = "{'assistant_id': 'quick', " HI "}",
			.headers = { "Idempotency-Key: forget me" });

		ck_assert_int_eq(answer.status, 200);
		where = strrchr(serve_header(&answer, "Content-Location"), '/') + 1;
		if (run != NULL)
			ck_assert_str_eq(where, run);
		run = where;
		ck_assert_int_eq(forget(id, run).status, 204);
	}
	ck_assert_uint_eq(
	    value_size(value_get(value_get(state_of(id), "values"), "messages")), 4);
}
END_TEST

/* --- who follows -------------------------------------------------------------------------- */

/* Follows the thread: when a run has ended it is deleted, and the next one begun, until there were three. */
struct follower {
	const char *thread;
	struct story story;
	const char *run;
	size_t ends;
};

static bool
on_end(void *arg, const struct serve_frame *frame)
{
	struct follower *follower = arg;
	const struct value *data = value_get(value_get(frame->data, "params"), "data");

	story_on_frame(&follower->story, frame);
	if (!value_text_is(value_get(data, "event"), "completed"))
		return true;
	ck_assert_int_eq(forget(follower->thread, follower->run).status, 204);
	if (++follower->ends == 3)
		return false;
	follower->run = serve_run(follower->thread, "quick", "");
	return true;
}

START_TEST(who_follows_the_thread_is_shown_each_run_once)
{
	struct follower follower = { .thread = serve_thread() };
	const char *older = quick(follower.thread), *text = "", *seqs = "";
	int64_t seq = 0;
	size_t i;

	follower.run = serve_run(follower.thread, "quick", "");
	ASK(.path = serve_text("/threads/%s/stream/events", follower.thread),
	    .body = "{'channels': ['lifecycle']}", .on_frame = on_end, .arg = &follower);
	ck_assert_uint_eq(follower.ends, 3);
	for (i = 0; i < follower.story.count; i++) {
		const struct value *data = follower.story.frames[i].data;

		text = serve_text("%s%s ", text,
		    value_get_text(
			value_get(value_get(data, "params"), "data"), "event"));
		seqs = serve_text("%s%" PRId64 " ", seqs, value_get_int(data, "seq", 0));
		ck_assert_msg(value_get_int(data, "seq", 0) > seq, "%s", seqs);
		seq = value_get_int(data, "seq", 0);
	}
	ck_assert_str_eq(text, "running completed running completed running completed ");
	ck_assert_str_eq(runs_of(follower.thread, ""), serve_text("%s ", older));
}
END_TEST

static bool
forget_at_end(void *arg, const struct serve_frame *frame)
{
	struct follower *follower = arg;

	story_on_frame(&follower->story, frame);
	if (strcmp(frame->event, "values") == 0 && follower->run != NULL &&
	    forget(follower->thread, follower->run).status == 204)
		follower->run = NULL;
	return true;
}

/* Its stream just ends, as one of a run that is cancelled. */
START_TEST(a_stream_of_it_ends)
{
	struct follower follower = { .thread = serve_thread() };
	struct serve_answer answer;

	follower.run = quick(follower.thread);
	answer = ASK(.path = serve_text(
			 "/threads/%s/runs/%s/stream", follower.thread, follower.run),
	    .on_frame = forget_at_end, .arg = &follower);
	ck_assert_int_eq(answer.status, 200);
	ck_assert(answer.is_whole);
	ck_assert_ptr_null(follower.run);
	ck_assert_uint_eq(story_count(&follower.story, "error"), 0);
}
END_TEST

TCase *
tcase_serve_forget(void)
{
	TCase *tcase = tcase_create("serve_forget");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, it_goes_and_leaves_the_thread);
	tcase_add_test(tcase, what_goes_on_or_waits_is_not_deleted);
	tcase_add_test(tcase, what_was_rolled_back_is_deleted);
	tcase_add_test(tcase, what_was_rolled_back_is_not_gone_on_with);
	tcase_add_test(tcase, what_makes_way_by_rollback_is_deleted);
	tcase_add_test(tcase, what_it_asks_stays_asked);
	tcase_add_test(tcase, by_its_key_it_is_begun_again);
	tcase_add_test(tcase, who_follows_the_thread_is_shown_each_run_once);
	tcase_add_test(tcase, a_stream_of_it_ends);
	return tcase;
}
