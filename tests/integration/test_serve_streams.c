/* Streams of `flotilla serve`: what they show, and that whoever is cut off is shown the rest, whatever dies meanwhile. */
#include <arpa/inet.h>
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "has.h"
#include "literal.h"
#include "serve_bench.h"

TCase *tcase_serve_streams(void);

#define FRAMES_MAX 512u
#define HI "'input': {'messages': [{'role': 'user', 'content': 'Hi'}]}"
#define MODES "stream_mode=updates&stream_mode=messages-tuple"

static struct fleet_up *const fleet = &serve_bench.fleet;

/* What somebody has been shown, by one stream or several. */
struct story {
	struct serve_frame frames[FRAMES_MAX];
	size_t count;
	size_t pieces;          /* of the model's texts */
	size_t pieces_max;      /* then it hangs up, or act is called; 0: never */
	void (*act)(void *arg); /* NULL: hangs up */
	void *arg;
};

static bool
is_piece(const struct serve_frame *frame)
{
	return strcmp(frame->event, "messages") == 0 &&
	       value_text_is(value_get(value_at(frame->data, 0), "type"), "ai");
}

static bool
on_frame(void *arg, const struct serve_frame *frame)
{
	struct story *story = arg;

	ck_assert_uint_lt(story->count, FRAMES_MAX);
	story->frames[story->count++] = *frame;
	story->pieces += is_piece(frame);
	if (story->pieces_max == 0 || story->pieces < story->pieces_max)
		return true;
	story->pieces_max = 0;
	if (story->act == NULL)
		return false;
	story->act(story->arg);
	return true;
}

static struct serve_answer
stream_at(const char *url, const char *thread, const char *agent, const char *keys,
    struct story *story)
{
	return ASK(.url = url, .path = serve_text("/threads/%s/runs/stream", thread),
	    .body = serve_text("{'assistant_id': '%s', " HI "%s%s}", agent,
		*keys != '\0' ? ", " : "", keys),
	    .on_frame = on_frame, .arg = story);
}

static struct serve_answer
stream(const char *thread, const char *agent, const char *keys, struct story *story)
{
	struct serve_answer answer = stream_at(NULL, thread, agent, keys, story);

	ck_assert_msg(answer.status == 200, "%ld: %.999s", answer.status, answer.body);
	ck_assert_str_eq(serve_header(&answer, "Content-Type"), "text/event-stream");
	return answer;
}

static struct serve_answer
join_at(const char *url, const char *where, const char *last_id, struct story *story)
{
	return ASK(.url = url, .path = where,
	    .headers = { last_id != NULL ? serve_text("Last-Event-ID: %s", last_id)
					 : NULL },
	    .on_frame = on_frame, .arg = story);
}

static void
join(const char *where, const char *last_id, struct story *story)
{
	struct serve_answer answer = join_at(NULL, where, last_id, story);

	ck_assert_msg(answer.is_whole && answer.status == 200, "%ld: %.999s",
	    answer.status, answer.body);
}

static const char *
last_id(const struct story *story)
{
	return story->frames[story->count - 1].id;
}

static size_t
count_of(const struct story *story, const char *event)
{
	size_t count = 0, i;

	for (i = 0; i < story->count; i++)
		count += strcmp(story->frames[i].event, event) == 0;
	return count;
}

static const struct serve_frame *
last_of(const struct story *story, const char *event)
{
	size_t i;

	for (i = story->count; i > 0; i--)
		if (strcmp(story->frames[i - 1].event, event) == 0)
			return &story->frames[i - 1];
	ck_abort_msg("no frame %s", event);
	return NULL;
}

/* The first from frames, then those of more, as text: each message's pieces put together, and each node's update. */
static const char *
told(const struct story *story, size_t first, const struct story *more)
{
	struct arena *arena = fleet->arena;
	const struct value *texts = value_empty_map();
	const char *nodes = "", *id, *content;
	size_t count = first + (more != NULL ? more->count : 0), i;

	for (i = 0; i < count; i++) {
		const struct serve_frame *frame =
		    i < first ? &story->frames[i] : &more->frames[i - first];
		const struct value *message = value_at(frame->data, 0);

		if (strcmp(frame->event, "updates") == 0)
			nodes = arena_printf(
			    arena, "%s%s ", nodes, value_text(frame->data->pairs[0].key));
		if (strcmp(frame->event, "messages") != 0)
			continue;
		id = value_get_text(message, "id");
		content = value_get_text(message, "content");
		texts = value_map_with(arena, texts, id,
		    value_printf(arena, "%s%s",
			value_has(texts, id) ? value_get_text(texts, id) : "", content));
	}
	for (i = 0; i < value_size(texts); i++)
		nodes = arena_printf(arena, "%s| %s: %s ", nodes,
		    value_text(texts->pairs[i].key), value_text(texts->pairs[i].value));
	return nodes;
}

/* What talker's run of that id tells. */
static const char *
talk_of(const char *run)
{
	const struct value *messages = value_get(
	    value_get(serve_get(serve_text("/threads/%s/state", run), 200), "values"),
	    "messages");

	ck_assert_str_eq(value_get_text(value_at(messages, 3), "content"), SERVE_TALK);
	return arena_printf(fleet->arena, "model tools model | %s: %s | %s: %s | %s: %s ",
	    value_get_text(value_at(messages, 1), "id"), "I note it.",
	    value_get_text(value_at(messages, 2), "id"),
	    value_get_text(value_at(messages, 2), "content"),
	    value_get_text(value_at(messages, 3), "id"), SERVE_TALK);
}

/* --- what is shown ------------------------------------------------------------------------ */

START_TEST(a_stream_shows_a_run_as_it_goes)
{
	const char *id = serve_thread();
	struct story story = { 0 };
	struct serve_answer answer = stream(id, "talker",
	    "'stream_mode': ['values', 'updates', 'messages-tuple']", &story);
	const char *where = serve_header(&answer, "Content-Location");

	ck_assert(answer.is_whole);
	ck_assert_str_eq(serve_header(&answer, "Location"),
	    serve_text("%s/stream?stream_mode=values,updates,messages-tuple", where));
	ck_assert_str_eq(serve_header(&answer, "Cache-Control"), "no-cache");
	ck_assert_str_eq(story.frames[0].event, "metadata");
	ck_assert_has(where, value_get_text(story.frames[0].data, "run_id"));
	ck_assert_uint_eq(count_of(&story, "metadata"), 1);
	ck_assert_uint_ge(story.pieces, 8); /* word by word */
	ck_assert_str_eq(told(&story, story.count, NULL), talk_of(id));
	ck_assert_uint_ge(count_of(&story, "values"), 2);
	ck_assert(value_equal(last_of(&story, "values")->data,
	    value_get(serve_get(serve_text("/threads/%s/state", id), 200), "values")));
	ck_assert_uint_eq(count_of(&story, "error"), 0);
}
END_TEST

START_TEST(without_a_mode_the_state_is_shown)
{
	struct story story = { 0 };

	stream(serve_thread(), "quick", "", &story);
	ck_assert_uint_eq(count_of(&story, "values") + 1, story.count);
	ck_assert_str_eq(serve_last_text(last_of(&story, "values")->data), "First.");
}
END_TEST

START_TEST(messages_grow)
{
	struct story story = { 0 };
	const struct value *last;
	size_t size = 0, i;

	stream(serve_thread(), "talker", "'stream_mode': 'messages'", &story);
	ck_assert_uint_eq(count_of(&story, "messages/metadata"), 2);
	ck_assert_uint_eq(count_of(&story, "messages/complete"), 4);
	for (i = 0; i < story.count; i++) {
		const char *text =
		    value_get_text(value_at(story.frames[i].data, 0), "content");

		if (strcmp(story.frames[i].event, "messages/partial") == 0 &&
		    strncmp(text, SERVE_TALK, 4) == 0) {
			ck_assert_uint_gt(strlen(text), size);
			size = strlen(text);
			ck_assert_int_eq(strncmp(text, SERVE_TALK, size), 0);
		}
	}
	last = value_at(last_of(&story, "messages/complete")->data, 0);
	ck_assert_str_eq(value_get_text(last, "content"), SERVE_TALK);
}
END_TEST

START_TEST(a_pause_is_shown_and_its_answer_goes_on)
{
	const char *id = serve_thread();
	struct story story = { 0 }, more = { 0 };
	const struct value *asks;
	struct serve_answer answer;

	stream(id, "approver", "'stream_mode': ['values', 'updates']", &story);
	asks = value_get(last_of(&story, "values")->data, "__interrupt__");
	ck_assert_uint_eq(value_size(asks), 1);
	ck_assert(value_equal(
	    value_get(last_of(&story, "updates")->data, "__interrupt__"), asks));
	/* The state comes before it. */
	ck_assert_str_eq(serve_last_text(story.frames[story.count - 3].data), "May I?");
	answer = ASK(.path = serve_text("/threads/%s/runs/stream", id),
	    .body = "{'assistant_id': 'approver', 'command': {'resume': {'decisions': "
		    "[{'type': 'approve'}]}}, 'stream_mode': 'values'}",
	    .on_frame = on_frame, .arg = &more);
	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(serve_last_text(last_of(&more, "values")->data), "It is done.");
}
END_TEST

START_TEST(an_error_ends_a_stream)
{
	struct story story = { 0 };
	struct serve_answer answer = stream(serve_thread(), "broken", "", &story);

	ck_assert(answer.is_whole);
	ck_assert_str_eq(story.frames[story.count - 1].event, "error");
	ck_assert_has(
	    value_get_text(story.frames[story.count - 1].data, "message"), "no such key");
}
END_TEST

START_TEST(a_stream_of_a_thread_of_its_own_is_a_stream)
{
	struct story story = { 0 };
	struct serve_answer answer =
	    ASK(.path = "/runs/stream", .body = "{'assistant_id': 'quick', " HI "}",
		.on_frame = on_frame, .arg = &story);

	ck_assert_int_eq(answer.status, 200);
	ck_assert_ptr_null(serve_header(&answer, "Location"));
	ck_assert_str_eq(serve_last_text(last_of(&story, "values")->data), "First.");
}
END_TEST

/* --- who comes back ----------------------------------------------------------------------- */

/* A tool's message before its step's update has the id of what was before both. */
static bool
is_half_of_a_step(const struct story *story, size_t i)
{
	return strcmp(story->frames[i].event, "messages") == 0 &&
	       !is_piece(&story->frames[i]) && i + 1 < story->count &&
	       strcmp(story->frames[i + 1].event, "updates") == 0;
}

START_TEST(from_each_id_the_rest_is_shown)
{
	const char *id = serve_thread(), *where, *whole;
	struct story story = { 0 };
	struct serve_answer answer =
	    stream(id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &story);
	size_t i, has;

	where = serve_header(&answer, "Location");
	whole = talk_of(id);
	for (i = 0; i < story.count; i++) {
		struct story rest = { 0 };

		has = is_half_of_a_step(&story, i) ? i : i + 1;
		join(where, story.frames[i].id, &rest);
		ck_assert_str_eq(told(&story, has, &rest), whole);
		ck_assert_uint_eq(
		    count_of(&rest, "metadata"), strcmp(story.frames[i].id, "0") == 0);
	}
}
END_TEST

static const char *const beginnings[] = { NULL, "-1", "0", "nonsense" };

START_TEST(from_the_beginning_all_is_shown)
{
	const char *id = serve_thread(), *run = serve_run(id, "talker", "");
	const char *where = serve_text("/threads/%s/runs/%s/stream", id, run);
	struct story while_it_runs = { 0 }, story = { 0 };

	join(serve_text("%s?" MODES, where), beginnings[_i], &while_it_runs);
	ck_assert_str_eq(told(&while_it_runs, while_it_runs.count, NULL), talk_of(id));
	join(serve_text("%s?stream_mode=updates,messages-tuple", where), beginnings[_i],
	    &story);
	ck_assert_str_eq(told(&story, story.count, NULL), talk_of(id));
	ck_assert_uint_eq(count_of(&story, "values"), 0);
	story.count = 0;
	join(where, beginnings[_i], &story); /* in all modes */
	ck_assert_uint_ge(count_of(&story, "values"), 1);
	ck_assert_uint_eq(count_of(&story, "updates"), 3);
}
END_TEST

START_TEST(behind_the_end_there_is_nothing)
{
	const char *id = serve_thread(), *run = serve_run(id, "quick", "");
	const char *where =
	    serve_text("/threads/%s/runs/%s/stream?stream_mode=updates", id, run);
	struct story story = { 0 };

	serve_run_end(id, run);
	join(where, "1000", &story);
	join(where, "18446744073709551615", &story);
	join(where, "9223372036854775807:1:1", &story);
	join(where, "99999999999999999999999999", &story);
	ck_assert_uint_eq(story.count, 0);
	ck_assert_int_eq(
	    ASK(.path = serve_text("/threads/%s/runs/%s/stream?stream_mode=x", id, run))
		.status,
	    422);
}
END_TEST

static const size_t cuts[] = { 1, 2, 5, 11 };

START_TEST(who_is_cut_off_within_a_text_goes_on_there)
{
	const char *id = serve_thread();
	struct story story = { .pieces_max = cuts[_i] }, rest = { 0 };
	struct serve_answer answer =
	    stream(id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &story);

	ck_assert(!answer.is_whole);
	join(serve_header(&answer, "Location"), last_id(&story), &rest);
	ck_assert_str_eq(told(&story, story.count, &rest), talk_of(id));
}
END_TEST

START_TEST(many_follow_one_run)
{
	const char *id = serve_thread(), *where;
	struct story one = { .pieces_max = 4 }, other = { .pieces_max = 6 }, rest = { 0 };
	struct serve_answer answer =
	    stream(id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &one);

	where = serve_header(&answer, "Location");
	ck_assert(!join_at(NULL, where, NULL, &other).is_whole);
	join(where, last_id(&one), &rest);
	ck_assert_str_eq(told(&one, one.count, &rest), talk_of(id));
	rest.count = 0;
	join(where, last_id(&other), &rest);
	ck_assert_str_eq(told(&other, other.count, &rest), talk_of(id));
}
END_TEST

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
	join(serve_text("/threads/%s/runs/%s/stream", id, run), NULL, &story);
	ck_assert_uint_eq(count_of(&story, "error"), 0);
	ck_assert_str_eq(serve_run_end(id, run), "interrupted");
}
END_TEST

static int
dial(const char *url, const char *head, const char *body)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *text = serve_text("%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
				      "%zu\r\n\r\n%s",
	    head, strlen(body), body);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(
	    send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	return fd;
}

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
	int fd = dial(serve_bench.url, serve_text("POST /threads/%s/runs/wait", id),
	    "{'assistant_id': 'slow', 'on_disconnect': 'cancel', " HI "}");

	await(fd, "\r\n\r\n");
	run = value_get_text(
	    value_at(serve_get(serve_text("/threads/%s/runs", id), 200), 0), "run_id");
	close(fd);
	serve_run_wait(id, run, "interrupted");
}
END_TEST

/* A leak that LSan finds then is a status. */
START_TEST(a_server_ends_while_it_streams)
{
	const char *id = serve_thread(), *run = serve_run(id, "slow", ""), *url;
	struct cli_job *server;
	char rest[4096];
	int fds[6];
	size_t i;

	url = serve_start(&server, NULL);
	fds[0] = dial(url, serve_text("GET /threads/%s/runs/%s/stream", id, run), "");
	await(fds[0], "event: metadata");
	fds[1] = dial(url, serve_text("GET /threads/%s/runs/%s/join", id, run), "");
	await(fds[1], "\r\n\r\n");
	fds[2] = dial(url, "POST /runs/stream",
	    "{'assistant_id': 'slow', 'after_seconds': 600, " HI "}");
	await(fds[2], "event: metadata");
	fds[3] = dial(url, "POST /runs/wait",
	    "{'assistant_id': 'slow', 'after_seconds': 600, " HI "}");
	await(fds[3], "\r\n\r\n");
	fds[4] = dial(url, "GET /ok", "");
	await(fds[4], "true"); /* and asks nothing more */
	fds[5] = dial(
	    url, serve_text("POST /threads/%s/runs/%s/cancel?wait=1", id, "none"), "");
	serve_stop(&server);
	for (i = 0; i < 6; i++) {
		while (recv(fds[i], rest, sizeof rest, 0) > 0)
			continue;
		close(fds[i]);
	}
	/* The run goes on. */
	ck_assert_str_eq(
	    value_get_text(
		serve_get(serve_text("/threads/%s/runs/%s", id, run), 200), "status"),
	    "running");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel", id, run), .body = "");
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
	struct serve_answer answer = stream_at(
	    url, id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &story);

	ck_assert(!answer.is_whole);
	ck_assert_int_eq(cli_end(&server).status, -1);
	url = serve_start(&other, NULL);
	answer = join_at(url, serve_header(&answer, "Location"), last_id(&story), &rest);
	ck_assert(answer.is_whole);
	ck_assert_str_eq(told(&story, story.count, &rest), talk_of(id));
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
	answer = stream(id, "talker",
	    "'stream_mode': ['values', 'updates', 'messages-tuple']", &story);
	where = serve_header(&answer, "Location");
	for (looks = 0; looks < SERVE_LOOKS; looks++) {
		if (answer.status == 200 && answer.is_whole &&
		    strcmp(story.frames[story.count - 1].event, "error") != 0)
			break;
		serve_pause();
		answer = join_at(NULL, where, last_id(&story), &story);
	}
	serve_run_wait(id, value_get_text(story.frames[0].data, "run_id"), "success");
	ck_assert_uint_eq(count_of(&story, "metadata"), 1);
	ck_assert_uint_eq(count_of(&story, "updates"), 3);
	ck_assert_str_eq(serve_last_text(last_of(&story, "values")->data), SERVE_TALK);
	ck_assert_has(told(&story, story.count, NULL), "model tools model | ");
}
END_TEST

TCase *
tcase_serve_streams(void)
{
	TCase *tcase = tcase_create("serve_streams");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, a_stream_shows_a_run_as_it_goes);
	tcase_add_test(tcase, without_a_mode_the_state_is_shown);
	tcase_add_test(tcase, messages_grow);
	tcase_add_test(tcase, a_pause_is_shown_and_its_answer_goes_on);
	tcase_add_test(tcase, an_error_ends_a_stream);
	tcase_add_test(tcase, a_stream_of_a_thread_of_its_own_is_a_stream);
	tcase_add_test(tcase, from_each_id_the_rest_is_shown);
	tcase_add_loop_test(tcase, from_the_beginning_all_is_shown, 0,
	    sizeof beginnings / sizeof beginnings[0]);
	tcase_add_test(tcase, behind_the_end_there_is_nothing);
	tcase_add_loop_test(tcase, who_is_cut_off_within_a_text_goes_on_there, 0,
	    sizeof cuts / sizeof cuts[0]);
	tcase_add_test(tcase, many_follow_one_run);
	tcase_add_test(tcase, a_run_whose_client_hangs_up_is_cancelled_or_not);
	tcase_add_test(tcase, a_cancelled_run_ends_its_stream);
	tcase_add_test(tcase, a_run_that_nobody_waits_for_any_more_is_cancelled);
	tcase_add_test(tcase, a_server_ends_while_it_streams);
	tcase_add_test(tcase, another_server_goes_on_where_one_died);
	tcase_add_loop_test(tcase, what_dies_meanwhile_takes_nothing_away, 0,
	    sizeof mortals / sizeof mortals[0]);
	return tcase;
}
