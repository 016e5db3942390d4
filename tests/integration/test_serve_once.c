/* `flotilla serve` asked once more with the same Idempotency-Key: what was begun is not begun again. */
#include <check.h>
#include <czmq.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "has.h"
#include "serve_bench.h"
#include "story_bench.h"

TCase *tcase_serve_once(void);

#define QUICK "{'assistant_id': 'quick', " HI "}"

static struct fleet_up *const fleet = &serve_bench.fleet;

static struct serve_answer
ask(const char *key, const char *path, const char *body)
{
	return ASK(.path = path, .body = body,
	    .headers = { serve_text("Idempotency-Key: %s", key) });
}

/* Asks, and returns the run's id. */
static const char *
run_of(const char *key, const char *path, const char *body)
{
	struct serve_answer answer = ask(key, path, body);
	const char *where = serve_header(&answer, "Content-Location");

	ck_assert_msg(
	    answer.status == 200 && where != NULL, "%ld %s", answer.status, answer.body);
	return strrchr(where, '/') + 1;
}

static size_t
run_count(const char *thread)
{
	return value_size(serve_get(serve_text("/threads/%s/runs", thread), 200));
}

START_TEST(a_run_is_begun_once)
{
	const char *thread = serve_thread(), *other = serve_thread();
	const char *path = serve_text("/threads/%s/runs", thread);
	const char *run = run_of("order 17", path, QUICK);

	ck_assert_str_eq(serve_run_end(thread, run), "success");
	ck_assert_str_eq(run_of("order 17", path, QUICK), run);
	ck_assert_str_eq(run_of("order 17", serve_text("%s/wait", path), QUICK), run);
	ck_assert_uint_eq(run_count(thread), 1);
	ck_assert_str_ne(run_of("order 18", path, QUICK), run);
	ck_assert_uint_eq(run_count(thread), 2);
	ck_assert_str_ne(
	    run_of("order 17", serve_text("/threads/%s/runs", other), QUICK), run);
}
END_TEST

/* The first who asks begins it, the second looks on, and a third comes when it has ended. */
START_TEST(who_asks_again_gets_what_the_first_one_got)
{
	const char *thread = serve_thread();
	const char *path = serve_text("/threads/%s/runs", thread);
	const char *body = "{'assistant_id': 'talker', 'stream_mode': ['values', "
			   "'messages-tuple', 'updates'], " HI "}";
	const char *run = run_of("again", path, body), *told = NULL;
	struct serve_answer answer;
	int i;

	for (i = 0; i < 2; i++) {
		struct story story = { 0 };

		answer = ASK(.path = serve_text("%s/stream", path), .body = body,
		    .headers = { "Idempotency-Key: again" }, .on_frame = story_on_frame,
		    .arg = &story);
		ck_assert_int_eq(answer.status, 200);
		ck_assert_str_eq(value_get_text(story.frames[0].data, "run_id"), run);
		ck_assert_str_eq(
		    serve_last_text(story_last(&story, "values")->data), SERVE_TALK);
		ck_assert(told == NULL ||
			  strcmp(told, story_told(&story, story.count, NULL)) == 0);
		told = story_told(&story, story.count, NULL);
	}
	answer = ask("again", serve_text("%s/wait", path), body);
	ck_assert_str_eq(serve_last_text(answer.json), SERVE_TALK);
	ck_assert_uint_eq(run_count(thread), 1);
}
END_TEST

/* Its thread is still there for who asks again. */
START_TEST(a_run_without_thread_is_begun_once)
{
	struct serve_answer first = ask("alone", "/runs/wait", QUICK), again;

	ck_assert_str_eq(serve_last_text(first.json), "First.");
	again = ask("alone", "/runs/wait", QUICK);
	ck_assert(value_equal(again.json, first.json));
	ck_assert_str_eq(serve_header(&again, "Content-Location"),
	    serve_header(&first, "Content-Location"));
}
END_TEST

START_TEST(each_of_several_is_begun_once)
{
	const char *body = "[" QUICK ", " QUICK "]";
	struct serve_answer first = ask("both", "/runs/batch", body),
			    again = ask("both", "/runs/batch", body);
	int i;

	ck_assert_int_eq(first.status, 200);
	for (i = 0; i < 2; i++)
		ck_assert_str_eq(value_get_text(value_at(first.json, i), "run_id"),
		    value_get_text(value_at(again.json, i), "run_id"));
	ck_assert_str_ne(value_get_text(value_at(first.json, 0), "run_id"),
	    value_get_text(value_at(first.json, 1), "run_id"));
}
END_TEST

START_TEST(a_key_is_for_one_request)
{
	const char *path = serve_text("/threads/%s/runs", serve_thread());
	struct serve_answer answer;

	run_of("used", path, QUICK);
	answer = ask("used", path, "{'assistant_id': 'broken', " HI "}");
	ck_assert_int_eq(answer.status, 422);
	ck_assert_has(answer.body, "Idempotency-Key");
	answer = ask("used", path,
	    "{'assistant_id': 'quick', 'multitask_strategy': 'rollback', " HI "}");
	ck_assert_int_eq(answer.status, 422);
	answer = ask(serve_text("%0200d", 7), path, QUICK);
	ck_assert_int_eq(answer.status, 400);
}
END_TEST

/* One that takes the place of others does not take its own. */
START_TEST(a_run_does_not_take_its_own_place)
{
	static const char *const strategies[] = { "reject", "interrupt", "rollback" };
	const char *thread = serve_thread(), *run, *body;
	const char *path = serve_text("/threads/%s/runs", thread);

	body =
	    serve_text("{'assistant_id': 'talker', 'multitask_strategy': '%s', " HI "}",
		strategies[_i]);
	run = run_of("mine", path, body);
	ck_assert_str_eq(run_of("mine", path, body), run);
	ck_assert_str_eq(serve_run_end(thread, run), "success");
	ck_assert_uint_eq(run_count(thread), 1);
}
END_TEST

START_TEST(what_was_refused_stays_so)
{
	const char *thread = serve_thread(), *running;
	const char *path = serve_text("/threads/%s/runs", thread);
	const char *body =
	    "{'assistant_id': 'quick', 'multitask_strategy': 'reject', " HI "}";

	running = serve_run(thread, "talker", "");
	ck_assert_int_eq(ask("late", path, body).status, 409);
	serve_run_end(thread, running);
	ck_assert_int_eq(ask("late", path, body).status, 409);
	ck_assert_str_eq(serve_run_end(thread, run_of("later", path, body)), "success");
}
END_TEST

/* A key of one tenant says nothing of another's. */
START_TEST(a_key_is_its_tenants)
{
	const char *path = arena_printf(fleet->arena, "%s/serve.keys", fleet->folder);
	const char *urls, *runs[2];
	struct cli_job *server;
	int i;

	fleet_up_write(fleet, "serve.keys",
	    "0123456789abcdef-acme acme\n0123456789abcdef-other other\n");
	ck_assert_int_eq(chmod(path, 0600), 0);
	urls = serve_start(&server, (const char *const[]){ "--api-keys", path, NULL });
	for (i = 0; i < 2; i++) {
		struct serve_answer answer =
		    ASK(.url = urls, .path = "/runs/wait", .body = QUICK,
			.headers = { "Idempotency-Key: same",
			    i == 0 ? "X-Api-Key: 0123456789abcdef-acme"
				   : "X-Api-Key: 0123456789abcdef-other" });

		ck_assert_str_eq(serve_last_text(answer.json), "First.");
		runs[i] = serve_header(&answer, "Content-Location");
	}
	ck_assert_has(runs[0], "acme");
	ck_assert_has(runs[1], "other");
	serve_stop(&server);
}
END_TEST

/* --- what is heard late ------------------------------------------------------------------ */

/* A broker's status channel that tells who listens, as soon as he does, of the end of a run, long ago. */
struct late_news {
	zsock_t *channel;
	const char *run;
};

static void
tell_late(zsock_t *pipe, void *arg)
{
	struct late_news *news = arg;
	struct arena *arena = arena_new();
	struct packet body = { 0 };
	zpoller_t *poller = zpoller_new(pipe, news->channel, NULL);

	value_pack(&body, value_map(arena, "kind", VALUE_TEXT("finished"), "run",
			      value_str(arena, news->run), "status",
			      VALUE_TEXT("success"), "at", value_int(arena, 1), NULL));
	zsock_signal(pipe, 0);
	while (zpoller_wait(poller, -1) == news->channel) {
		zmsg_t *heard = zmsg_recv(news->channel), *told = zmsg_new();

		zmsg_destroy(&heard);
		zmsg_addstrf(told, "ended.%s", news->run);
		zmsg_addmem(told, body.data, body.size);
		zmsg_send(&told, news->channel);
	}
	zpoller_destroy(&poller);
	packet_release(&body);
	arena_destroy(&arena);
}

/* A run's end comes when it was deleted and its name is another one's, which is begun under the same key. */
START_TEST(an_end_that_comes_late_is_not_that_of_the_next_one)
{
	const char *thread = serve_thread(), *url;
	const char *path = serve_text("/threads/%s/runs", thread);
	const char *body =
	    "{'assistant_id': 'talker', 'if_not_exists': 'create', " HI "}";
	struct late_news news = { zsock_new(ZMQ_XPUB), run_of("late", path, body) };
	struct serve_answer answer;
	struct cli_job *server;
	zactor_t *teller;

	serve_run_end(thread, news.run);
	ck_assert_int_eq(
	    ASK(.method = "DELETE", .path = serve_text("/threads/%s", thread)).status,
	    204);
	ck_assert_int_gt(zsock_bind(news.channel, "tcp://127.0.0.1:*"), 0);
	teller = zactor_new(tell_late, &news);
	url = serve_start(&server,
	    (const char *const[]){ "--status", zsock_endpoint(news.channel), NULL });
	answer = ASK(.url = url, .path = serve_text("%s/wait", path), .body = body,
	    .headers = { "Idempotency-Key: late" });
	ck_assert_has(serve_header(&answer, "Content-Location"), news.run);
	ck_assert_str_eq(serve_last_text(answer.json), SERVE_TALK);
	ck_assert_str_eq(serve_run_end(thread, news.run), "success");
	serve_stop(&server);
	zactor_destroy(&teller);
	zsock_destroy(&news.channel);
}
END_TEST

TCase *
tcase_serve_once(void)
{
	TCase *tcase = tcase_create("serve_once");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, a_run_is_begun_once);
	tcase_add_test(tcase, who_asks_again_gets_what_the_first_one_got);
	tcase_add_test(tcase, a_run_without_thread_is_begun_once);
	tcase_add_test(tcase, each_of_several_is_begun_once);
	tcase_add_test(tcase, a_key_is_for_one_request);
	tcase_add_loop_test(tcase, a_run_does_not_take_its_own_place, 0, 3);
	tcase_add_test(tcase, what_was_refused_stays_so);
	tcase_add_test(tcase, a_key_is_its_tenants);
	tcase_add_test(tcase, an_end_that_comes_late_is_not_that_of_the_next_one);
	return tcase;
}
