/* Who goes while `flotilla serve` answers: a client that hangs up, a run that is cancelled, a server, and what dies behind
 * it; nobody is shown a step twice, or misses one. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "has.h"
#include "repeated.h"
#include "story_bench.h"

TCase *tcase_serve_losses(void);

static struct fleet_up *const fleet = &serve_bench.fleet;

/* --- who goes away ------------------------------------------------------------------------ */

static bool
hang_up_at_once(void *arg, const struct serve_frame *frame)
{
	const char **run = arg;

	*run = value_get_text(frame->data, "run_id");
	return false;
}

START_TEST(a_run_whose_client_hangs_up_is_cancelled_or_not)
{
	const char *id = serve_thread(), *run = NULL;
	const char *path = serve_text("/threads/%s/runs/stream", id);

	ASK(.path = path,
	    .body = "{'assistant_id': 'slow', 'on_disconnect': 'cancel', " HI "}",
	    .on_frame = hang_up_at_once, .arg = &run);
	serve_run_wait(id, run, "interrupted");
	ASK(.path = path, .body = "{'assistant_id': 'talker', " HI "}",
	    .on_frame = hang_up_at_once, .arg = &run);
	ck_assert_str_eq(serve_run_end(id, run), "success");
	id = serve_thread();
	run = serve_run(id, "slow", "");
	ASK(.path =
		serve_text("/threads/%s/runs/%s/stream?cancel_on_disconnect=1", id, run),
	    .on_frame = hang_up_at_once, .arg = &(const char *){ NULL });
	serve_run_wait(id, run, "interrupted");
}
END_TEST

START_TEST(a_cancelled_run_ends_its_stream)
{
	const char *id = serve_thread(), *run = serve_run(id, "slow", "");
	struct story story = { 0 };

	serve_run_wait(id, run, "running");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel", id, run), .body = "");
	story_join(serve_text("/threads/%s/runs/%s/stream", id, run), NULL, &story);
	ck_assert_uint_eq(story_count(&story, "error"), 0);
	ck_assert_str_eq(serve_run_end(id, run), "interrupted");
}
END_TEST

/* Reads until text has come; nothing of a stream may come before it but its head. */
static void
await(int fd, const char *text)
{
	char all[4096] = "";
	size_t size = 0;
	ssize_t got;

	while (strstr(all, text) == NULL) {
		got = recv(fd, all + size, sizeof all - 1 - size, 0);
		ck_assert_msg(got > 0, "no %s: %s", text, all);
		size += (size_t)got;
		all[size] = '\0';
		ck_assert_has_not(all, "heartbeat");
	}
}

/* Who waits has nothing to write, and is noticed all the same. */
START_TEST(a_run_that_nobody_waits_for_any_more_is_cancelled)
{
	const char *id = serve_thread(), *run;
	int fd = serve_dial(serve_bench.url, serve_text("POST /threads/%s/runs/wait", id),
	    "{'assistant_id': 'slow', 'on_disconnect': 'cancel', " HI "}");

	await(fd, "\r\n\r\n");
	run = value_get_text(
	    value_at(serve_get(serve_text("/threads/%s/runs", id), 200), 0), "run_id");
	close(fd);
	serve_run_wait(id, run, "interrupted");
}
END_TEST

/* What still comes; closes fd. */
static const char *
hear_out(int fd)
{
	const char *all = "\r\n";
	char rest[4096];
	ssize_t size;

	while ((size = recv(fd, rest, sizeof rest, 0)) > 0)
		all = arena_printf(fleet->arena, "%s%.*s", all, (int)size, rest);
	close(fd);
	return all;
}

/* A leak that LSan finds then is a status. */
START_TEST(a_server_ends_while_it_streams)
{
	const char *id = serve_thread(), *run = serve_run(id, "slow", ""), *url;
	struct cli_job *server;
	const char *rest;
	int fds[6];
	size_t i;

	url = serve_start(&server, NULL);
	fds[0] =
	    serve_dial(url, serve_text("GET /threads/%s/runs/%s/stream", id, run), "");
	await(fds[0], "event: metadata");
	fds[1] = serve_dial(url, serve_text("GET /threads/%s/runs/%s/join", id, run), "");
	await(fds[1], "\r\n\r\n");
	fds[2] = serve_dial(url, "POST /runs/stream",
	    "{'assistant_id': 'slow', 'after_seconds': 600, " HI "}");
	await(fds[2], "event: metadata");
	fds[3] = serve_dial(url, "POST /runs/wait",
	    "{'assistant_id': 'slow', 'after_seconds': 600, " HI "}");
	await(fds[3], "\r\n\r\n");
	fds[4] = serve_dial(url, "GET /ok", "");
	await(fds[4], "true"); /* and asks nothing more */
	fds[5] = serve_dial(
	    url, serve_text("POST /threads/%s/runs/%s/cancel?wait=1", id, "none"), "");
	serve_stop(&server);
	/* Who takes an answer for whole does not come back for the rest. */
	for (i = 0; i < 6; i++) {
		rest = hear_out(fds[i]);
		ck_assert_msg(
		    i > 3 || strstr(rest, "\r\n0\r\n\r\n") == NULL, "%zu: %s", i, rest);
	}
	/* The run goes on. */
	ck_assert_str_eq(
	    value_get_text(
		serve_get(serve_text("/threads/%s/runs/%s", id, run), 200), "status"),
	    "running");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel", id, run), .body = "");
}
END_TEST

/* What is in the inbox is begun, whether or not somebody has taken it before the server ends. */
START_TEST(what_was_submitted_is_told_when_the_server_ends)
{
	const char *id = serve_thread(), *where = serve_text("/threads/%s/runs", id);
	struct cli_job *server;
	const char *url = serve_start(&server, NULL), *told, *run;
	int fd = serve_dial(url, serve_text("POST %s", where),
	    "{'assistant_id': 'slow', 'after_seconds': 600, " HI "}");

	while (
	    (run = value_get_text(value_at(serve_get(where, 200), 0), "run_id")) == NULL)
		serve_pause();
	serve_stop(&server);
	told = hear_out(fd);
	ck_assert_has(told, "200 OK");
	ck_assert_has(told, run);
	ASK(.path = serve_text("%s/%s/cancel", where, run), .body = "");
}
END_TEST

/* --- who takes nothing -------------------------------------------------------------------- */

#define LARGE_BYTES (6u << 20)
#define IDLE_S 50        /* in a minute they would be cut off anyway */
#define IDLE_READERS 26u /* what they are shown is more than may be held */
/* Half of it again is more than eight states, which are read at once, in memory that grows by doubling: 8 MiB each. */
#define HELD_BYTES "140000000"

static bool
is_cut(int fd)
{
	struct pollfd look = { .fd = fd, .events = POLLRDHUP };

	return poll(&look, 1, 0) == 1;
}

static size_t
count_cut(const int *fds, size_t count)
{
	size_t cut = 0, i;

	for (i = 0; i < count; i++)
		cut += is_cut(fds[i]);
	return cut;
}

START_TEST(who_reads_nothing_makes_room_for_who_reads)
{
	const char *id = serve_thread(), *url, *where;
	struct cli_job *server;
	int fds[IDLE_READERS];
	size_t cut = 0, i;
	time_t begun;

	ASK(.path = serve_text("/threads/%s/runs/wait", id),
	    .body = serve_text("{'assistant_id': 'quick', 'input': {'messages': "
			       "[{'role': 'user', 'content': '%s'}]}}",
		repeated(fleet->arena, "y", LARGE_BYTES)));
	where = serve_text("GET /threads/%s/runs/%s/stream?stream_mode=values", id,
	    value_get_text(
		value_at(serve_get(serve_text("/threads/%s/runs", id), 200), 0),
		"run_id"));
	url = serve_start(
	    &server, (const char *const[]){ "--answers-bytes-max", HELD_BYTES, NULL });
	begun = time(NULL);
	for (i = 0; i < IDLE_READERS; i++)
		fds[i] = serve_dial(url, where, "");
	while (cut == 0 && time(NULL) < begun + IDLE_S) {
		serve_pause();
		cut = count_cut(fds, IDLE_READERS);
	}
	ck_assert_uint_gt(cut, 0);
	ck_assert_uint_lt(cut, IDLE_READERS); /* as many as are in the way */
	ck_assert_int_eq(
	    ASK(.url = url, .path = serve_text("/threads/%s/state", id)).status, 200);
	for (i = 0; i < IDLE_READERS; i++)
		close(fds[i]);
	serve_stop(&server);
}
END_TEST

/* --- what dies ---------------------------------------------------------------------------- */

static void
kill_server(void *arg)
{
	cli_signal(arg, SIGKILL);
}

START_TEST(another_server_goes_on_where_one_died)
{
	const char *id = serve_thread();
	struct cli_job *server, *other;
	const char *url = serve_start(&server, NULL);
	struct story story = { .pieces_max = 6, .act = kill_server, .arg = server };
	struct story rest = { 0 };
	struct serve_answer answer = story_stream_at(
	    url, id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &story);

	ck_assert(!answer.is_whole);
	ck_assert_int_eq(cli_end(&server).status, -1);
	url = serve_start(&other, NULL);
	answer = story_join_at(
	    url, serve_header(&answer, "Location"), story_last_id(&story), &rest);
	ck_assert(answer.is_whole);
	ck_assert_str_eq(story_told(&story, story.count, &rest), story_talk_of(id));
	serve_stop(&other);
}
END_TEST

/* Kills the child of `up` that runs this program. */
static void
kill_child(void *arg)
{
	const char *program = arg;
	pid_t pids[32];
	size_t count = fleet_up_children(fleet, pids, 32), i;
	char name[64];

	for (i = 0; i < count; i++) {
		FILE *file = fopen(
		    arena_printf(fleet->arena, "/proc/%d/comm", (int)pids[i]), "re");
		bool is_it = file != NULL && fgets(name, sizeof name, file) != NULL &&
			     strncmp(name, program, strlen(program)) == 0;

		if (file != NULL)
			fclose(file);
		if (is_it) {
			kill(pids[i], SIGKILL);
			return;
		}
	}
	ck_abort_msg("no %s", program);
}

static const char *const mortals[] = { "redis-server", "hub", "worker-model" };

/* Nobody sees each step twice, or misses one; a text that nobody ended is begun anew, under another id or the same. */
START_TEST(what_dies_meanwhile_takes_nothing_away)
{
	const char *id = serve_thread(), *where;
	struct story story = { .pieces_max = 6, .act = kill_child };
	struct serve_answer answer;
	int looks;

	story.arg = (void *)(uintptr_t)mortals[_i];
	answer = story_stream(id, "talker",
	    "'stream_mode': ['values', 'updates', 'messages-tuple']", &story);
	where = serve_header(&answer, "Location");
	for (looks = 0; looks < SERVE_LOOKS; looks++) {
		if (answer.status == 200 && answer.is_whole &&
		    strcmp(story.frames[story.count - 1].event, "error") != 0)
			break;
		serve_pause();
		answer = story_join_at(NULL, where, story_last_id(&story), &story);
	}
	serve_run_wait(id, value_get_text(story.frames[0].data, "run_id"), "success");
	ck_assert_uint_eq(story_count(&story, "metadata"), 1);
	ck_assert_uint_eq(story_count(&story, "updates"), 3);
	ck_assert_str_eq(serve_last_text(story_last(&story, "values")->data), SERVE_TALK);
	ck_assert_has(story_told(&story, story.count, NULL), "model tools model | ");
}
END_TEST

#define AWAY_S 8 /* longer than commands wait for Redis */

/* Has somebody let `up` start its Redis again in a while; also when the test has failed meanwhile, and is killed with
 * all its group. */
static void
go_on_later(pid_t up)
{
	if (fork() != 0)
		return;
	setsid();
	sleep(AWAY_S);
	kill(up, SIGCONT);
	_exit(0);
}

/* While `up` is stopped nobody starts it again. */
START_TEST(a_request_waits_for_a_redis_that_has_gone)
{
	const char *path = serve_text("/threads/%s/state", serve_thread());
	pid_t up = child_pid(fleet->up);
	struct cli_job *hasty;
	const char *url =
	    serve_start(&hasty, (const char *const[]){ "--redis-wait-ms", "100", NULL });
	struct serve_answer answer;

	kill(up, SIGSTOP);
	kill_child((void *)(uintptr_t) "redis-server");
	answer = ASK(.url = url, .path = path);
	go_on_later(up);
	ck_assert_int_eq(answer.status, 503);
	serve_get(path, 200);
	/* The hasty one finds it when it looks again. */
	while ((answer = ASK(.url = url, .path = path)).status == 503)
		serve_pause();
	ck_assert_int_eq(answer.status, 200);
	serve_stop(&hasty);
}
END_TEST

/* No coordinator is there to take it. */
START_TEST(a_run_that_nobody_has_taken_yet_is_there)
{
	pid_t up = child_pid(fleet->up), hub = fleet_up_pid_of(fleet, "hub");
	const char *thread = serve_thread(), *run, *path;
	struct serve_answer answer;

	kill(up, SIGSTOP);
	kill(hub, SIGSTOP);
	run = serve_run(thread, "quick", "");
	path = serve_text("/threads/%s/runs/%s", thread, run);
	answer = ASK(.path = path);
	ck_assert_str_eq(value_get_text(answer.json, "status"), "pending");
	ck_assert_str_eq(value_get_text(answer.json, "assistant_id"), "quick");
	answer = ASK(.method = "POST", .path = serve_text("%s/cancel", path));
	ck_assert_int_eq(answer.status, 503);
	answer = ASK(.path = serve_text("/threads/%s/runs/%s", serve_thread(), run));
	ck_assert_int_eq(answer.status, 404);
	kill(hub, SIGCONT);
	kill(up, SIGCONT);
	ck_assert_str_eq(
	    serve_last_text(serve_get(serve_text("%s/join", path), 200)), "First.");
}
END_TEST

/* A failover may have forgotten some of what a client was shown, and the run have ended before that number. */
START_TEST(who_was_shown_more_than_there_is_hears_of_the_end)
{
	const char *id = serve_thread(), *run = serve_run(id, "quick", ""), *where;
	struct story story = { 0 }, whole = { 0 }, again = { 0 };

	ck_assert_str_eq(serve_run_end(id, run), "success");
	where = serve_text("/threads/%s/runs/%s/stream?stream_mode=values", id, run);
	story_join(where, "99", &story);
	ck_assert_str_eq(serve_last_text(story_last(&story, "values")->data), "First.");
	/* Who has all of it is not shown it again. */
	story_join(where, NULL, &whole);
	story_join(where, story_last_id(&whole), &again);
	ck_assert_uint_eq(again.count, 0);
}
END_TEST

TCase *
tcase_serve_losses(void)
{
	TCase *tcase = tcase_create("serve_losses");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, a_run_whose_client_hangs_up_is_cancelled_or_not);
	tcase_add_test(tcase, a_cancelled_run_ends_its_stream);
	tcase_add_test(tcase, a_run_that_nobody_waits_for_any_more_is_cancelled);
	tcase_add_test(tcase, a_server_ends_while_it_streams);
	tcase_add_test(tcase, what_was_submitted_is_told_when_the_server_ends);
	tcase_add_test(tcase, who_reads_nothing_makes_room_for_who_reads);
	tcase_add_test(tcase, another_server_goes_on_where_one_died);
	tcase_add_loop_test(tcase, what_dies_meanwhile_takes_nothing_away, 0,
	    sizeof mortals / sizeof mortals[0]);
	tcase_add_test(tcase, a_request_waits_for_a_redis_that_has_gone);
	tcase_add_test(tcase, a_run_that_nobody_has_taken_yet_is_there);
	tcase_add_test(tcase, who_was_shown_more_than_there_is_hears_of_the_end);
	return tcase;
}
