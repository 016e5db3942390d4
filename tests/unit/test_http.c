#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "fiber.h"
#include "http_trial.h"
#include "tiny_http.h"

/* Interface under test */
#include "http.h"

TCase *tcase_http(void);

#define OK_HEAD HTTP_TRIAL_OK_HEAD

/* --- what goes well ------------------------------------------------------------------ */

START_TEST(brings_status_body_and_type)
{
	static const char bytes[] =
	    "HTTP/1.1 404 Nope\r\nContent-Type: a/b; charset=c\r\n"
	    "Content-Length: 3\r\n\r\nd\0e";

	tiny_http_add(http_trial.server,
	    &(struct tiny_answer){ .bytes = bytes, .size = sizeof bytes - 1 });
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_int_eq(http_trial.response.status, 404);
	ck_assert_uint_eq(http_trial.response.body_size, 3);
	ck_assert_mem_eq(http_trial.response.body, "d\0e", 4);
	ck_assert_str_eq(http_trial.response.content_type, "a/b; charset=c");
	ck_assert_ptr_null(http_trial.response.location);
	ck_assert_int_eq(http_trial.response.retry_after_ms, 0);
}
END_TEST

START_TEST(sends_method_headers_and_body_as_they_are)
{
	static const char *const headers[] = { "X-One: 1",
		"Content-Type: application/json", NULL };
	const size_t size = 2u << 20; /* more than curl would send without asking */
	char *body = arena_alloc(http_trial.arena, size);

	memset(body, 'x', size);
	http_trial_ask(&(struct http_request){
	    .method = "PATCH", .headers = headers, .body = body, .body_size = size });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_int_eq(
	    strncmp(http_trial.response.body, "PATCH /a HTTP/1.1\r\n", 19), 0);
	ck_assert_ptr_nonnull(strstr(http_trial.response.body, "\r\nX-One: 1\r\n"));
	ck_assert_ptr_nonnull(
	    strstr(http_trial.response.body, "\r\nContent-Type: application/json\r\n"));
	ck_assert_ptr_nonnull(
	    strstr(http_trial.response.body, "\r\nContent-Length: 2097152\r\n"));
	ck_assert_ptr_null(strcasestr(http_trial.response.body, "Expect"));
	ck_assert_uint_gt(http_trial.response.body_size, size);
	ck_assert_mem_eq(
	    http_trial.response.body + http_trial.response.body_size - size, body, size);
}
END_TEST

static const struct {
	const char *method, *length;
} bare[] = {
	{ "POST", "\r\nContent-Length: 0\r\n" },
	{ "PUT", "\r\nContent-Length: 0\r\n" },
	{ "GET", NULL },
	{ "DELETE", NULL },
};

START_TEST(says_nothing_of_a_body_that_is_not_there)
{
	http_trial_ask(&(struct http_request){ .method = bare[_i].method });
	ck_assert_int_eq(http_trial.response.status, 200);
	ck_assert_int_eq(
	    strncmp(http_trial.response.body, bare[_i].method, strlen(bare[_i].method)),
	    0);
	ck_assert_ptr_null(strcasestr(http_trial.response.body, "Content-Type"));
	if (bare[_i].length == NULL)
		ck_assert_ptr_null(
		    strcasestr(http_trial.response.body, "Content-Length"));
	else
		ck_assert_ptr_nonnull(strstr(http_trial.response.body, bare[_i].length));
}
END_TEST

START_TEST(trailers_are_no_part_of_the_answer)
{
	http_trial_answer(OK_HEAD "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
				  "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
	    TINY_KEEP);
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_str_eq(http_trial.response.body, "hello");
}
END_TEST

START_TEST(head_has_no_body)
{
	http_trial_answer(OK_HEAD "Content-Length: 5\r\n\r\n", TINY_KEEP);
	http_trial_ask(&(struct http_request){ .method = "HEAD" });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_uint_eq(http_trial.response.body_size, 0);
}
END_TEST

START_TEST(keeps_the_connection)
{
	int i;

	for (i = 0; i < 3; i++) {
		http_trial_ask(&(struct http_request){
		    .method = "POST", .body = "b", .body_size = 1 });
		ck_assert_int_eq(http_trial.response.status, 200);
	}
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 3);
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 1);
}
END_TEST

START_TEST(many_requests_at_once)
{
	struct http_request request = { .method = "GET", .url = http_trial.url };
	int i;

	for (i = 0; i < 300; i++)
		fiber_start(http_trial.loop, "request", http_trial_send, &request);
	http_trial_run();
	ck_assert_int_eq(http_trial.response.status, 200);
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 300);
	for (i = 0; i < 300; i++)
		fiber_start(http_trial.loop, "request", http_trial_send, &request);
	http_trial_run();
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 600);
	/* As many connections as are kept were used again. */
	ck_assert_uint_lt(tiny_http_accepted(http_trial.server), 400);
}
END_TEST

/* More of them than are kept. */
START_TEST(many_urls_one_after_the_other)
{
	struct http_request request = { .method = "GET" };
	int i;

	for (i = 0; i < 100; i++) {
		request.url =
		    arena_printf(http_trial.arena, "%s/%d", http_trial.url, i / 2 % 40);
		http_trial_ask(&request);
		ck_assert_int_eq(http_trial.response.status, 200);
		ck_assert_ptr_nonnull(strstr(http_trial.response.body,
		    arena_printf(http_trial.arena, "/%d HTTP/1.1\r\n", i / 2 % 40)));
	}
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 1);
}
END_TEST

START_TEST(does_not_follow_a_redirect)
{
	http_trial_answer(
	    "HTTP/1.1 302 Found\r\nLocation: /b?c=d\r\nContent-Length: 0\r\n\r\n",
	    TINY_KEEP);
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_int_eq(http_trial.response.status, 302);
	ck_assert_str_eq(http_trial.response.location,
	    arena_printf(http_trial.arena, "http://127.0.0.1:%u/b?c=d",
		tiny_http_port(http_trial.server)));
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 1);
}
END_TEST

/* --- streams -------------------------------------------------------------------------- */

static struct {
	struct packet body;
	size_t calls, largest;
	size_t abort_at; /* calls; 0 never */
	bool is_slow;
	bool was_elsewhere; /* not on a fiber */
} stream;

static int
collect(void *arg, const char *data, size_t size)
{
	ck_assert_ptr_eq(arg, &stream);
	stream.was_elsewhere = stream.was_elsewhere || fiber_current() == NULL;
	stream.largest = size > stream.largest ? size : stream.largest;
	packet_append(&stream.body, data, size);
	if (++stream.calls == stream.abort_at)
		return -1;
	return stream.is_slow ? fiber_sleep(20) : 0;
}

static void
ask_stream(uint64_t idle_ms)
{
	memset(&stream.calls, 0, sizeof stream.calls);
	http_trial_ask(&(struct http_request){
	    .on_data = collect, .arg = &stream, .idle_timeout_ms = idle_ms });
	ck_assert(!stream.was_elsewhere);
}

/* Makes the server answer with size bytes in order. */
static char *
answer_large(size_t size)
{
	char *bytes = arena_alloc(http_trial.arena, size + 128);
	int head = snprintf(bytes, 128, OK_HEAD "Content-Length: %zu\r\n\r\n", size);
	size_t i;

	for (i = 0; i < size; i++)
		bytes[(size_t)head + i] = (char)(i * 2654435761u >> 24);
	tiny_http_add(http_trial.server,
	    &(struct tiny_answer){ .bytes = bytes, .size = (size_t)head + size });
	return bytes + head;
}

START_TEST(hands_on_pieces_in_order)
{
	const size_t size = 3u << 20;
	const char *body = answer_large(size);

	ask_stream(0);
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_uint_eq(http_trial.response.body_size, 0);
	ck_assert_uint_eq(stream.body.size, size);
	ck_assert_mem_eq(stream.body.data, body, size);
	ck_assert_uint_gt(stream.calls, 1);
	packet_release(&stream.body);
}
END_TEST

START_TEST(a_slow_reader_slows_the_server_down)
{
	const size_t size = 8u << 20;
	const char *body = answer_large(size);

	stream.is_slow = true;
	/* The reader's time is not the server's: it takes longer than this in all. The server's thread may wait for a
	 * processor, but not for so long. */
	ask_stream(400);
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_uint_eq(stream.body.size, size);
	ck_assert_mem_eq(stream.body.data, body, size);
	ck_assert_uint_le(stream.largest, 256u << 10);
	packet_release(&stream.body);
}
END_TEST

START_TEST(what_came_before_a_cut_is_handed_on)
{
	http_trial_answer(OK_HEAD "Content-Length: 10\r\n\r\nhello", TINY_CLOSE);
	ask_stream(0);
	http_trial_check_failure(HTTP_CONNECTION, "");
	ck_assert_int_eq(http_trial.response.status, 200);
	ck_assert_uint_eq(stream.body.size, 5);
	ck_assert_mem_eq(stream.body.data, "hello", 5);
	packet_release(&stream.body);
}
END_TEST

START_TEST(a_reader_may_abort)
{
	answer_large(3u << 20);
	stream.abort_at = 2;
	ask_stream(0);
	http_trial_check_failure(HTTP_ABORTED, "aborted");
	ck_assert_uint_eq(stream.calls, 2);
	packet_release(&stream.body);
}
END_TEST

START_TEST(an_error_is_collected_not_streamed)
{
	http_trial_answer(
	    "HTTP/1.1 429 Slow down\r\nRetry-After: 2\r\nContent-Length: 4\r\n\r\nbusy",
	    TINY_KEEP);
	ask_stream(0);
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_int_eq(http_trial.response.status, 429);
	ck_assert_str_eq(http_trial.response.body, "busy");
	ck_assert_int_eq(http_trial.response.retry_after_ms, 2000);
	ck_assert_uint_eq(stream.calls, 0);
}
END_TEST

/* --- when to come back ----------------------------------------------------------------- */

static const struct {
	const char *fields;
	int64_t least_ms, most_ms;
} returns[] = {
	{ "", 0, 0 },
	{ "Retry-After: 7\r\n", 7000, 7000 },
	{ "retry-after: 0.5\r\n", 500, 500 },
	{ "Retry-After: -3\r\n", 0, 0 },
	{ "Retry-After: soon\r\n", 0, 0 },
	{ "Retry-After: nan\r\n", 0, 0 },
	{ "Retry-After: 1e99\r\n", CALL_DEADLINE_MS_MAX, CALL_DEADLINE_MS_MAX },
	{ "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", 0, 0 },
	{ "Retry-After: Fri, 31 Dec 2999 23:59:59 GMT\r\n", CALL_DEADLINE_MS_MAX,
	    CALL_DEADLINE_MS_MAX },
	{ "Retry-After: @\r\n", 90000, 100000 }, /* @: 100 s from now */
	{ "retry-after-ms: 250\r\nRetry-After: 7\r\n", 250, 250 },
	{ "retry-after-ms: x\r\nRetry-After: 7\r\n", 7000, 7000 },
};

/* Returns fields, with "@" made a date. */
static const char *
dated(const char *fields)
{
	time_t then = time(NULL) + 100;
	const char *at = strchr(fields, '@');
	char date[64];
	struct tm tm;

	if (at == NULL)
		return fields;
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &tm));
	return arena_printf(
	    http_trial.arena, "%.*s%s%s", (int)(at - fields), fields, date, at + 1);
}

START_TEST(knows_when_to_come_back)
{
	http_trial_answer(arena_printf(http_trial.arena,
			      "HTTP/1.1 503 Busy\r\n%sContent-Length: 0\r\n\r\n",
			      dated(returns[_i].fields)),
	    TINY_KEEP);
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_int_eq(http_trial.response.status, 503);
	ck_assert_int_ge(http_trial.response.retry_after_ms, returns[_i].least_ms);
	ck_assert_int_le(http_trial.response.retry_after_ms, returns[_i].most_ms);
}
END_TEST

/* --- cancelling ------------------------------------------------------------------------ */

static bool
server_is_asked(void *arg)
{
	(void)arg;
	return tiny_http_requests(http_trial.server) > 0;
}

static bool
server_is_left(void *arg)
{
	(void)arg;
	return tiny_http_open(http_trial.server) == 0;
}

START_TEST(a_cancelled_request_leaves)
{
	struct http_request request = { .method = "GET", .url = http_trial.url };
	struct fiber *fiber;

	http_trial_answer(OK_HEAD "Content-Length: 10\r\n\r\nhello", TINY_HANG);
	fiber = fiber_start(http_trial.loop, "request", http_trial_send, &request);
	http_trial_run_until(server_is_asked);
	fiber_cancel(fiber);
	http_trial_run();
	http_trial_check_failure(HTTP_CANCELLED, "cancelled");
	http_trial_run_until(server_is_left);
}
END_TEST

START_TEST(a_cancelled_fiber_sends_nothing)
{
	struct http_request request = { .method = "GET", .url = http_trial.url };

	fiber_cancel(fiber_start(http_trial.loop, "request", http_trial_send, &request));
	http_trial_run();
	http_trial_check_failure(HTTP_CANCELLED, "cancelled");
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 0);
}
END_TEST

START_TEST(a_reader_may_be_cancelled)
{
	struct http_request request = {
		.method = "GET", .url = http_trial.url, .on_data = collect, .arg = &stream
	};
	struct fiber *fiber;

	answer_large(8u << 20);
	stream.is_slow = true;
	fiber = fiber_start(http_trial.loop, "request", http_trial_send, &request);
	http_trial_run_until(server_is_asked);
	fiber_cancel(fiber);
	http_trial_run();
	http_trial_check_failure(HTTP_CANCELLED, "");
	packet_release(&stream.body);
}
END_TEST

TCase *
tcase_http(void)
{
	TCase *tcase = tcase_create("http");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, http_trial_open, http_trial_close);
	tcase_add_test(tcase, brings_status_body_and_type);
	tcase_add_test(tcase, sends_method_headers_and_body_as_they_are);
	tcase_add_loop_test(tcase, says_nothing_of_a_body_that_is_not_there, 0,
	    sizeof bare / sizeof bare[0]);
	tcase_add_test(tcase, trailers_are_no_part_of_the_answer);
	tcase_add_test(tcase, head_has_no_body);
	tcase_add_test(tcase, keeps_the_connection);
	tcase_add_test(tcase, many_requests_at_once);
	tcase_add_test(tcase, many_urls_one_after_the_other);
	tcase_add_test(tcase, does_not_follow_a_redirect);
	tcase_add_test(tcase, hands_on_pieces_in_order);
	tcase_add_test(tcase, a_slow_reader_slows_the_server_down);
	tcase_add_test(tcase, what_came_before_a_cut_is_handed_on);
	tcase_add_test(tcase, a_reader_may_abort);
	tcase_add_test(tcase, an_error_is_collected_not_streamed);
	tcase_add_loop_test(
	    tcase, knows_when_to_come_back, 0, sizeof returns / sizeof returns[0]);
	tcase_add_test(tcase, a_cancelled_request_leaves);
	tcase_add_test(tcase, a_cancelled_fiber_sends_nothing);
	tcase_add_test(tcase, a_reader_may_be_cancelled);
	return tcase;
}
