/* Streams of `flotilla serve`: what they show, and that whoever comes back is shown the rest. */
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "has.h"
#include "literal.h"
#include "story_bench.h"

TCase *tcase_serve_streams(void);

#define MODES "stream_mode=updates&stream_mode=messages-tuple"

/* --- what is shown ------------------------------------------------------------------------ */

START_TEST(a_stream_shows_a_run_as_it_goes)
{
	const char *id = serve_thread();
	struct story story = { 0 };
	struct serve_answer answer = story_stream(id, "talker",
	    "'stream_mode': ['values', 'updates', 'messages-tuple']", &story);
	const char *where = serve_header(&answer, "Content-Location");

	ck_assert(answer.is_whole);
	ck_assert_str_eq(serve_header(&answer, "Location"),
	    serve_text("%s/stream?stream_mode=values,updates,messages-tuple", where));
	ck_assert_str_eq(serve_header(&answer, "Cache-Control"), "no-store");
	ck_assert_str_eq(story.frames[0].event, "metadata");
	ck_assert_has(where, value_get_text(story.frames[0].data, "run_id"));
	ck_assert_uint_eq(story_count(&story, "metadata"), 1);
	ck_assert_uint_ge(story.pieces, 8); /* word by word */
	ck_assert_str_eq(story_told(&story, story.count, NULL), story_talk_of(id));
	ck_assert_uint_ge(story_count(&story, "values"), 2);
	ck_assert(value_equal(story_last(&story, "values")->data,
	    value_get(serve_get(serve_text("/threads/%s/state", id), 200), "values")));
	ck_assert_uint_eq(story_count(&story, "error"), 0);
}
END_TEST

START_TEST(without_a_mode_the_state_is_shown)
{
	struct story story = { 0 };

	story_stream(serve_thread(), "quick", "", &story);
	ck_assert_uint_eq(story_count(&story, "values") + 1, story.count);
	ck_assert_str_eq(serve_last_text(story_last(&story, "values")->data), "First.");
}
END_TEST

static bool
until_the_tool_has_answered(void *arg, const struct serve_frame *frame)
{
	story_on_frame(arg, frame);
	return value_size(value_get(frame->data, "messages")) < 3;
}

/* What comes next comes in ten minutes. */
START_TEST(a_state_is_shown_though_nothing_follows)
{
	struct fleet_up *fleet = &serve_bench.fleet;
	const char *id = serve_thread();
	struct story story = { 0 };

	fleet_up_write(fleet, "stuck.yaml",
	    "name: stuck\nmodel: scripted:s\ntools: [note]\nscript:\n  s:\n"
	    "    - {content: A., tool_calls: [{id: n, name: note, args: {text: a}}]}\n"
	    "    - {content: B., delay_ms: 600000}\n");
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "apply",
			     arena_printf(fleet->arena, "%s/stuck.yaml", fleet->folder))
			     .status,
	    0);
	ASK(.path = serve_text("/threads/%s/runs/stream", id),
	    .body = "{'assistant_id': 'stuck', 'on_disconnect': 'cancel', " HI "}",
	    .on_frame = until_the_tool_has_answered, .arg = &story);
	ck_assert_uint_eq(
	    value_size(value_get(story_last(&story, "values")->data, "messages")), 3);
}
END_TEST

/* The tool ends when it was heard. */
static bool
until_it_is_told(void *arg, const struct serve_frame *frame)
{
	if (strcmp(frame->event, "custom") == 0 && frame->text[0] == '{')
		fleet_up_write(&serve_bench.fleet, "end", "");
	return story_on_frame(arg, frame);
}

START_TEST(what_a_tool_tells_is_shown_while_it_works)
{
	const char *id = serve_thread(), *told = "";
	size_t i;
	struct story story = { 0 };
	struct serve_answer answer = ASK(.path =
					     serve_text("/threads/%s/runs/stream", id),
	    .body = "{'assistant_id': 'teller', 'stream_mode': ['updates', 'custom'], " HI
		    "}",
	    .on_frame = until_it_is_told, .arg = &story);

	ck_assert(answer.is_whole);
	for (i = 0; i < story.count; i++)
		if (strcmp(story.frames[i].event, "custom") == 0)
			told = arena_printf(
			    serve_bench.fleet.arena, "%s %s", told, story.frames[i].text);
	/* What came before may have had no listener yet. */
	ck_assert_has(told, " {\"done\":0.5} \"tool\" \"before\" \"model\"");
	ck_assert_has(story.frames[story.count - 1].text, "It is told.");
}
END_TEST

START_TEST(messages_grow)
{
	struct story story = { 0 };
	const struct value *last;
	size_t size = 0, i;

	story_stream(serve_thread(), "talker", "'stream_mode': 'messages'", &story);
	/* The model's, the tool's, the model's: not what was asked. */
	ck_assert_uint_eq(story_count(&story, "messages/metadata"), 3);
	ck_assert_uint_eq(story_count(&story, "messages/complete"), 3);
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
	last = value_at(story_last(&story, "messages/complete")->data, 0);
	ck_assert_str_eq(value_get_text(last, "content"), SERVE_TALK);
}
END_TEST

/* What a stream's run on that thread has left, with what it asks, as who waits for it is told. */
static const struct value *
left_by(const char *thread, const struct story *story)
{
	const char *run = value_get_text(story->frames[0].data, "run_id");

	return serve_get(serve_text("/threads/%s/runs/%s/join", thread, run), 200);
}

START_TEST(a_pause_is_shown_and_its_answer_goes_on)
{
	const char *id = serve_thread();
	struct story story = { 0 }, more = { 0 };
	const struct value *values, *asks, *state;
	struct serve_answer answer;

	story_stream(id, "approver", "'stream_mode': ['values', 'updates']", &story);
	values = story_last(&story, "values")->data;
	asks = value_get(values, "__interrupt__");
	ck_assert_uint_eq(value_size(asks), 1);
	ck_assert_uint_eq(value_size(story_last(&story, "updates")->data), 1);
	ck_assert(value_equal(
	    value_get(story_last(&story, "updates")->data, "__interrupt__"), asks));
	ck_assert_str_eq(serve_last_text(values), "May I?");
	ck_assert(value_equal(values, left_by(id, &story)));
	/* The state comes before it, too: pages take the question alone of what has one. */
	state = story.frames[story.count - 3].data;
	ck_assert(value_equal(
	    value_map_with(serve_bench.fleet.arena, values, "__interrupt__", NULL),
	    state));
	answer = ASK(.path = serve_text("/threads/%s/runs/stream", id),
	    .body = "{'assistant_id': 'approver', 'command': {'resume': {'decisions': "
		    "[{'type': 'approve'}]}}, 'stream_mode': 'values'}",
	    .on_frame = story_on_frame, .arg = &more);
	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(
	    serve_last_text(story_last(&more, "values")->data), "It is done.");
}
END_TEST

/* The last state that is shown is a state. */
START_TEST(a_pause_that_asks_nothing_has_the_state)
{
	const char *id = serve_thread();
	struct story story = { 0 };
	const struct value *values;

	story_stream(id, "quick",
	    "'interrupt_before': ['model'], 'stream_mode': ['values', 'updates']",
	    &story);
	values = story_last(&story, "values")->data;
	ck_assert_value(
	    serve_bench.fleet.arena, value_get(values, "__interrupt__"), "[]");
	ck_assert_str_eq(serve_last_text(values), "Hi");
	ck_assert(value_equal(values, left_by(id, &story)));
	ck_assert_value(serve_bench.fleet.arena, story_last(&story, "updates")->data,
	    "{'__interrupt__': []}");
}
END_TEST

/* As useStream asks whose page reads no values: without them it has no state, either. */
START_TEST(a_question_is_shown_beside_messages_alone)
{
	struct story story = { 0 };

	story_stream(
	    serve_thread(), "approver", "'stream_mode': ['messages-tuple']", &story);
	ck_assert_uint_eq(story_count(&story, "values"), 1);
	ck_assert_uint_eq(value_size(story_last(&story, "values")->data), 1);
	ck_assert_uint_eq(
	    value_size(value_get(story_last(&story, "values")->data, "__interrupt__")),
	    1);
}
END_TEST

START_TEST(an_error_ends_a_stream)
{
	struct story story = { 0 };
	struct serve_answer answer = story_stream(serve_thread(), "broken", "", &story);

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
		.on_frame = story_on_frame, .arg = &story);

	ck_assert_int_eq(answer.status, 200);
	ck_assert_has(serve_header(&answer, "Location"), "/threads/");
	ck_assert_str_eq(serve_last_text(story_last(&story, "values")->data), "First.");
}
END_TEST

/* --- who comes back ----------------------------------------------------------------------- */

/* A tool's message before its step's update has the id of what was before both. */
static bool
is_half_of_a_step(const struct story *story, size_t i)
{
	return strcmp(story->frames[i].event, "messages") == 0 &&
	       !story_is_piece(&story->frames[i]) && i + 1 < story->count &&
	       strcmp(story->frames[i + 1].event, "updates") == 0;
}

START_TEST(from_each_id_the_rest_is_shown)
{
	const char *id = serve_thread(), *where, *whole;
	struct story story = { 0 };
	struct serve_answer answer = story_stream(
	    id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &story);
	size_t i, has;

	where = serve_header(&answer, "Location");
	whole = story_talk_of(id);
	for (i = 0; i < story.count; i++) {
		struct story rest = { 0 };

		has = is_half_of_a_step(&story, i) ? i : i + 1;
		story_join(where, story.frames[i].id, &rest);
		ck_assert_str_eq(story_told(&story, has, &rest), whole);
		ck_assert_uint_eq(
		    story_count(&rest, "metadata"), strcmp(story.frames[i].id, "0") == 0);
	}
}
END_TEST

static const char *const beginnings[] = { NULL, "-1", "0", "nonsense" };

START_TEST(from_the_beginning_all_is_shown)
{
	const char *id = serve_thread(), *run = serve_run(id, "talker", "");
	const char *where = serve_text("/threads/%s/runs/%s/stream", id, run);
	struct story while_it_runs = { 0 }, story = { 0 };

	story_join(serve_text("%s?" MODES, where), beginnings[_i], &while_it_runs);
	ck_assert_str_eq(
	    story_told(&while_it_runs, while_it_runs.count, NULL), story_talk_of(id));
	story_join(
	    serve_text("%s?stream_mode=%%5B%%22updates%%22,%%22messages-tuple%%22%%5D",
		where), /* as JSON, which LangGraph's older clients send */
	    beginnings[_i], &story);
	ck_assert_str_eq(story_told(&story, story.count, NULL), story_talk_of(id));
	ck_assert_uint_eq(story_count(&story, "values"), 0);
	story.count = 0;
	story_join(where, beginnings[_i], &story); /* in all modes */
	ck_assert_uint_ge(story_count(&story, "values"), 1);
	ck_assert_uint_eq(story_count(&story, "updates"), 3);
}
END_TEST

/* Of which the log is read in parts. */
START_TEST(a_long_run_is_shown_whole_afterwards)
{
	struct fleet_up *fleet = &serve_bench.fleet;
	const char *text =
	    "name: long\nmodel: scripted:s\ntools: [note]\nscript:\n  s:\n";
	struct story story = { 0 }, rest = { 0 };
	struct serve_answer answer;
	unsigned i;

	for (i = 0; i < 12; i++)
		text = serve_text("%s    - {content: A., tool_calls: [{id: n%u, name: "
				  "note, args: {text: a}}]}\n",
		    text, i);
	fleet_up_write(fleet, "long.yaml", serve_text("%s    - {content: B.}\n", text));
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "apply",
			     arena_printf(fleet->arena, "%s/long.yaml", fleet->folder))
			     .status,
	    0);
	answer =
	    story_stream(serve_thread(), "long", "'stream_mode': ['updates']", &story);
	ck_assert_uint_eq(story_count(&story, "updates"), 25);
	story_join(serve_text("%s/stream?stream_mode=updates",
		       serve_header(&answer, "Content-Location")),
	    NULL, &rest);
	ck_assert_uint_eq(story_count(&rest, "updates"), 25);
	ck_assert_str_eq(story_last_id(&rest), story_last_id(&story));
}
END_TEST

START_TEST(behind_the_end_there_is_nothing)
{
	const char *id = serve_thread(), *run = serve_run(id, "quick", "");
	const char *where =
	    serve_text("/threads/%s/runs/%s/stream?stream_mode=updates", id, run);
	struct story story = { 0 };

	serve_run_end(id, run);
	story_join(where, "1000", &story);
	story_join(where, "18446744073709551615", &story);
	story_join(where, "9223372036854775807:1:1", &story);
	story_join(where, "99999999999999999999999999", &story);
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
	struct serve_answer answer = story_stream(
	    id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &story);

	ck_assert(!answer.is_whole);
	story_join(serve_header(&answer, "Location"), story_last_id(&story), &rest);
	ck_assert_str_eq(story_told(&story, story.count, &rest), story_talk_of(id));
}
END_TEST

START_TEST(many_follow_one_run)
{
	const char *id = serve_thread(), *where;
	struct story one = { .pieces_max = 4 }, other = { .pieces_max = 6 }, rest = { 0 };
	struct serve_answer answer = story_stream(
	    id, "talker", "'stream_mode': ['updates', 'messages-tuple']", &one);

	where = serve_header(&answer, "Location");
	story_join_at(NULL, where, NULL, &other); /* whole, if the run has ended by now */
	story_join(where, story_last_id(&one), &rest);
	ck_assert_str_eq(story_told(&one, one.count, &rest), story_talk_of(id));
	rest.count = 0;
	story_join(where, story_last_id(&other), &rest);
	ck_assert_str_eq(story_told(&other, other.count, &rest), story_talk_of(id));
}
END_TEST

/* --- HEAD --------------------------------------------------------------------------------- */

/* What comes back on one connection for bytes, of which the last request asks for its end. */
static const char *
talk(const char *bytes)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(serve_bench.url, ':') + 1)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char said[8192];
	size_t size = 0;
	ssize_t got;

	ck_assert_int_eq(
	    connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(
	    send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), (ssize_t)strlen(bytes));
	while (size < sizeof said - 1 &&
	       (got = recv(fd, said + size, sizeof said - 1 - size, 0)) > 0)
		size += (size_t)got;
	said[size] = '\0';
	close(fd);
	return arena_strdup(serve_bench.fleet.arena, said);
}

/* The head of a stream, also of one that never ends, and no byte behind it: the next answer begins there. */
START_TEST(the_head_of_a_stream_is_asked_for)
{
	const char *thread = serve_thread(), *run = serve_run(thread, "slow", ""), *said;

	said =
	    talk(serve_text("HEAD /threads/%s/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
			    "HEAD /threads/%s/runs/%s/stream?cancel_on_disconnect=1 "
			    "HTTP/1.1\r\nHost: localhost\r\n\r\n"
			    "GET /ok HTTP/1.1\r\nHost: localhost\r\nConnection: "
			    "close\r\n\r\n",
		thread, thread, run));
	ck_assert_has(said, "text/event-stream");
	ck_assert_msg(strstr(said, "\r\n\r\n0") == NULL, "%s", said);
	said = strstr(said, "\r\n\r\n") + 4;
	ck_assert_msg(strncmp(said, "HTTP/1.1 200 ", 13) == 0, "%s", said);
	said = strstr(said, "\r\n\r\n") + 4;
	ck_assert_msg(strncmp(said, "HTTP/1.1 200 ", 13) == 0, "%s", said);
	ck_assert_has(said, "\"ok\"");
	serve_run_wait(thread, run, "running");
	ASK(.path = serve_text("/threads/%s/runs/%s/cancel?wait=1", thread, run),
	    .body = "{}");
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
	tcase_add_test(tcase, a_state_is_shown_though_nothing_follows);
	tcase_add_test(tcase, what_a_tool_tells_is_shown_while_it_works);
	tcase_add_test(tcase, messages_grow);
	tcase_add_test(tcase, a_pause_is_shown_and_its_answer_goes_on);
	tcase_add_test(tcase, a_pause_that_asks_nothing_has_the_state);
	tcase_add_test(tcase, a_question_is_shown_beside_messages_alone);
	tcase_add_test(tcase, an_error_ends_a_stream);
	tcase_add_test(tcase, a_stream_of_a_thread_of_its_own_is_a_stream);
	tcase_add_test(tcase, from_each_id_the_rest_is_shown);
	tcase_add_loop_test(tcase, from_the_beginning_all_is_shown, 0,
	    sizeof beginnings / sizeof beginnings[0]);
	tcase_add_test(tcase, a_long_run_is_shown_whole_afterwards);
	tcase_add_test(tcase, behind_the_end_there_is_nothing);
	tcase_add_loop_test(tcase, who_is_cut_off_within_a_text_goes_on_there, 0,
	    sizeof cuts / sizeof cuts[0]);
	tcase_add_test(tcase, many_follow_one_run);
	tcase_add_test(tcase, the_head_of_a_stream_is_asked_for);
	return tcase;
}
