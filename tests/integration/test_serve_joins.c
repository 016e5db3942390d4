/* A thread's stream of `flotilla serve`: which run is done, and where who comes back goes on. */
#include <check.h>

#include "literal.h"
#include "story_bench.h"

TCase *tcase_serve_joins(void);

static bool
is_done(const struct serve_frame *frame)
{
	return value_text_is(value_get(frame->data, "status"), "run_done");
}

/* As clients do that wait for a run. */
static bool
until_it_is_done(void *arg, const struct serve_frame *frame)
{
	return story_on_frame(arg, frame) && !is_done(frame);
}

static void
watch(const char *thread, const char *last_id, struct story *story)
{
	ASK(.path = serve_text("/threads/%s/stream", thread),
	    .headers = { serve_text("Last-Event-ID: %s", last_id) },
	    .on_frame = until_it_is_done, .arg = story);
}

/* It is told of that run alone, from its beginning on, and that it is done. */
static void
check_done(const struct story *story, const char *run)
{
	const struct serve_frame *last = story_last(story, "metadata");

	ck_assert_uint_eq(story_count(story, "metadata"), 2);
	ck_assert_ptr_eq(last, &story->frames[story->count - 1]);
	ck_assert_str_eq(value_get_text(story->frames[0].data, "run_id"), run);
	ck_assert_value(serve_bench.fleet.arena, last->data,
	    serve_text("{'status': 'run_done', 'run_id': '%s'}", run));
}

/* It ends, pauses, fails. */
static const char *const ends[] = { "quick", "approver", "broken" };

START_TEST(a_run_is_done_behind_all_of_it)
{
	const char *id = serve_thread(), *run = serve_run(id, ends[_i], ""), *next;
	struct story story = { 0 }, behind = { 0 }, rest = { 0 };

	watch(id, "-1", &story);
	check_done(&story, run);
	next = serve_run(id, "quick", "");
	watch(id, story_last_id(&story), &behind);
	check_done(&behind, next);
	/* Who has all but that is told it. */
	watch(id, story.frames[story.count - 2].id, &rest);
	ck_assert_uint_eq(story_count(&rest, "metadata"), 1);
	ck_assert(is_done(&rest.frames[rest.count - 1]));
	ck_assert_str_eq(story_last_id(&rest), story_last_id(&story));
}
END_TEST

START_TEST(a_run_that_is_cancelled_is_done)
{
	const char *id = serve_thread(), *run = serve_run(id, "slow", "");
	struct story story = { 0 };

	serve_run_wait(id, run, "running");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel", id, run), .body = "{}");
	watch(id, "-1", &story);
	check_done(&story, run);
}
END_TEST

TCase *
tcase_serve_joins(void)
{
	TCase *tcase = tcase_create("serve_joins");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_loop_test(
	    tcase, a_run_is_done_behind_all_of_it, 0, sizeof ends / sizeof ends[0]);
	tcase_add_test(tcase, a_run_that_is_cancelled_is_done);
	return tcase;
}
