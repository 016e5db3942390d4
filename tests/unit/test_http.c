#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fiber.h"
#include "bounds.h"
#include "tiny_http.h"

/* Interface under test */
#include "http.h"

TCase *tcase_http(void);

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
#define HELLO OK_HEAD "Content-Length: 5\r\n\r\nhello"

static struct loop *loop;
static struct http *http;
static struct tiny_http *server;
static struct arena *arena;
static struct http_response response; /* of the last request */
static char url[64];

static void
set_up(void)
{
	loop = loop_new();
	server = tiny_http_new();
	http = http_new(loop);
	arena = arena_new();
	snprintf(url, sizeof url, "http://127.0.0.1:%u/a", tiny_http_port(server));
}

static void
tear_down(void)
{
	http_destroy(&http);
	ck_assert_uint_eq(fiber_count(loop), 0);
	loop_destroy(&loop);
	tiny_http_destroy(&server);
	arena_destroy(&arena);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static void
run(void)
{
	loop_run_until(loop, all_ended, NULL);
}

static void
send_one(void *arg)
{
	http_send(http, arena, arg, &response);
}

/* Sends request on a fiber of its own and waits for the response. */
static void
ask(struct http_request *request)
{
	if (request->url == NULL)
		request->url = url;
	if (request->method == NULL)
		request->method = "GET";
	ck_assert_ptr_nonnull(fiber_start(loop, "request", send_one, request));
	run();
}

/* The server's next answer is this. */
static void
answer(const char *bytes, enum tiny_end end)
{
	tiny_http_add(server, &(struct tiny_answer){ .bytes = bytes, .end = end });
}

static void
check_failure(enum http_failure failure, const char *reason)
{
	ck_assert_int_eq(response.failure, failure);
	ck_assert_ptr_nonnull(response.reason);
	ck_assert_msg(strstr(response.reason, reason) != NULL, "%s", response.reason);
	ck_assert_str_eq(response.body, "");
}

/* --- what goes well ------------------------------------------------------------------ */

START_TEST(brings_status_body_and_type)
{
	static const char bytes[] =
	    "HTTP/1.1 404 Nope\r\nContent-Type: a/b; charset=c\r\n"
	    "Content-Length: 3\r\n\r\nd\0e";

	tiny_http_add(
	    server, &(struct tiny_answer){ .bytes = bytes, .size = sizeof bytes - 1 });
	ask(&(struct http_request){ 0 });
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_int_eq(response.status, 404);
	ck_assert_uint_eq(response.body_size, 3);
	ck_assert_mem_eq(response.body, "d\0e", 4);
	ck_assert_str_eq(response.content_type, "a/b; charset=c");
	ck_assert_ptr_null(response.location);
	ck_assert_int_eq(response.retry_after_ms, 0);
}
END_TEST

START_TEST(sends_method_headers_and_body_as_they_are)
{
	static const char *const headers[] = { "X-One: 1",
		"Content-Type: application/json", NULL };
	const size_t size = 2u << 20; /* more than curl would send without asking */
	char *body = arena_alloc(arena, size);

	memset(body, 'x', size);
	ask(&(struct http_request){
	    .method = "PATCH", .headers = headers, .body = body, .body_size = size });
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_int_eq(strncmp(response.body, "PATCH /a HTTP/1.1\r\n", 19), 0);
	ck_assert_ptr_nonnull(strstr(response.body, "\r\nX-One: 1\r\n"));
	ck_assert_ptr_nonnull(
	    strstr(response.body, "\r\nContent-Type: application/json\r\n"));
	ck_assert_ptr_nonnull(strstr(response.body, "\r\nContent-Length: 2097152\r\n"));
	ck_assert_ptr_null(strcasestr(response.body, "Expect"));
	ck_assert_uint_gt(response.body_size, size);
	ck_assert_mem_eq(response.body + response.body_size - size, body, size);
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
	ask(&(struct http_request){ .method = bare[_i].method });
	ck_assert_int_eq(response.status, 200);
	ck_assert_int_eq(
	    strncmp(response.body, bare[_i].method, strlen(bare[_i].method)), 0);
	ck_assert_ptr_null(strcasestr(response.body, "Content-Type"));
	if (bare[_i].length == NULL)
		ck_assert_ptr_null(strcasestr(response.body, "Content-Length"));
	else
		ck_assert_ptr_nonnull(strstr(response.body, bare[_i].length));
}
END_TEST

START_TEST(head_has_no_body)
{
	answer(OK_HEAD "Content-Length: 5\r\n\r\n", TINY_KEEP);
	ask(&(struct http_request){ .method = "HEAD" });
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_uint_eq(response.body_size, 0);
}
END_TEST

START_TEST(keeps_the_connection)
{
	int i;

	for (i = 0; i < 3; i++) {
		ask(&(struct http_request){
		    .method = "POST", .body = "b", .body_size = 1 });
		ck_assert_int_eq(response.status, 200);
	}
	ck_assert_uint_eq(tiny_http_requests(server), 3);
	ck_assert_uint_eq(tiny_http_accepted(server), 1);
}
END_TEST

START_TEST(many_requests_at_once)
{
	struct http_request request = { .method = "GET", .url = url };
	int i;

	for (i = 0; i < 300; i++)
		fiber_start(loop, "request", send_one, &request);
	run();
	ck_assert_int_eq(response.status, 200);
	ck_assert_uint_eq(tiny_http_requests(server), 300);
	for (i = 0; i < 300; i++)
		fiber_start(loop, "request", send_one, &request);
	run();
	ck_assert_uint_eq(tiny_http_requests(server), 600);
	/* As many connections as are kept were used again. */
	ck_assert_uint_lt(tiny_http_accepted(server), 400);
}
END_TEST

START_TEST(does_not_follow_a_redirect)
{
	answer("HTTP/1.1 302 Found\r\nLocation: /b?c=d\r\nContent-Length: 0\r\n\r\n",
	    TINY_KEEP);
	ask(&(struct http_request){ 0 });
	ck_assert_int_eq(response.status, 302);
	ck_assert_str_eq(response.location,
	    arena_printf(arena, "http://127.0.0.1:%u/b?c=d", tiny_http_port(server)));
	ck_assert_uint_eq(tiny_http_requests(server), 1);
}
END_TEST

/* --- what goes wrong ------------------------------------------------------------------ */

/* The server reads the second request of a connection and closes it without a word. curl
 * takes that for a connection that had been closed before, and would send again. */
static const struct {
	const char *method, *body;
	enum tiny_end end;
} once[] = {
	{ "POST", "{}", TINY_CLOSE },
	{ "POST", "", TINY_CLOSE },
	{ "GET", "", TINY_CLOSE },
	{ "DELETE", "", TINY_CLOSE },
	{ "POST", "{}", TINY_RESET },
	{ "GET", "", TINY_RESET },
};

START_TEST(never_sends_a_request_twice)
{
	struct http_request request = {
		.method = once[_i].method,
		.body = once[_i].body,
		.body_size = strlen(once[_i].body),
	};

	answer(HELLO, TINY_KEEP);
	answer("", once[_i].end);
	answer(HELLO, TINY_KEEP);
	ask(&request);
	ck_assert_str_eq(response.body, "hello");
	ask(&request);
	ck_assert_uint_eq(tiny_http_requests(server), 2);
	ck_assert_uint_eq(tiny_http_accepted(server), 1);
	check_failure(HTTP_CONNECTION, "");
	ask(&request);
	ck_assert_str_eq(response.body, "hello");
	ck_assert_uint_eq(tiny_http_requests(server), 3);
}
END_TEST

/* Not even over another connection that is kept. */
START_TEST(never_sends_a_request_twice_with_connections_to_spare)
{
	struct http_request request = { .method = "GET", .url = url };
	int i;

	answer(HELLO, TINY_KEEP);
	answer(HELLO, TINY_KEEP);
	answer("", TINY_CLOSE);
	answer(HELLO, TINY_KEEP);
	for (i = 0; i < 2; i++)
		fiber_start(loop, "request", send_one, &request);
	run();
	ck_assert_uint_eq(tiny_http_accepted(server), 2);
	ask(&request);
	check_failure(HTTP_CONNECTION, "closed before an answer");
	ck_assert_uint_eq(tiny_http_requests(server), 3);
}
END_TEST

static const struct {
	const char *bytes;
	enum tiny_end end;
} broken[] = {
	{ "", TINY_CLOSE },
	{ "", TINY_RESET },
	{ "HTTP/1.1 200 OK\r\n", TINY_CLOSE },
	{ "HTTP/1.1 200 OK\r\nConte", TINY_CLOSE },
	{ "HTTP/1.1 100 Continue\r\n\r\n", TINY_CLOSE },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", TINY_CLOSE },
	{ OK_HEAD "Content-Length: 10\r\n\r\nhello", TINY_CLOSE },
	{ OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", TINY_CLOSE },
	{ OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", TINY_CLOSE },
	{ OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n", TINY_CLOSE },
	{ OK_HEAD "Content-Length: -1\r\n\r\n", TINY_CLOSE },
	{ "SSH-2.0-x\r\n", TINY_CLOSE },
	{ "HTTP/9.9 200 OK\r\n\r\n", TINY_CLOSE },
};

START_TEST(a_broken_answer_is_no_answer)
{
	answer(broken[_i].bytes, broken[_i].end);
	ask(&(struct http_request){ 0 });
	check_failure(HTTP_CONNECTION, "");
}
END_TEST

START_TEST(nobody_listens)
{
	tiny_http_destroy(&server);
	ask(&(struct http_request){ 0 });
	check_failure(HTTP_CONNECTION, "onnect");
	server = tiny_http_new();
}
END_TEST

START_TEST(nobody_speaks_tls)
{
	/* Whatever it is sent without a line's end, the server waits for more. */
	snprintf(url, sizeof url, "https://127.0.0.1:%u/", tiny_http_port(server));
	ask(&(struct http_request){ .connect_timeout_ms = 50 });
	check_failure(HTTP_TIMEOUT, "");
}
END_TEST

static const struct {
	const char *bytes, *reason;
	uint64_t first_byte_ms, idle_ms, total_ms;
} late[] = {
	{ "", "no answer in time", 30, 0, 0 },
	{ "", "took too long", 0, 0, 30 },
	{ "", "took too long", 0, 10, 30 },
	{ OK_HEAD "Content-Length: 10\r\n\r\n", "no answer in time", 30, 0, 0 },
	{ OK_HEAD "Content-Length: 10\r\n\r\nhello", "stopped in the middle", 5000, 30,
	    0 },
	{ OK_HEAD "Content-Length: 10\r\n\r\nhello", "took too long", 20, 5000, 30 },
	{ OK_HEAD "\r\nhello", "stopped in the middle", 0, 30, 5000 },
};

START_TEST(does_not_wait_for_ever)
{
	answer(late[_i].bytes, TINY_HANG);
	ask(&(struct http_request){
	    .first_byte_timeout_ms = late[_i].first_byte_ms,
	    .idle_timeout_ms = late[_i].idle_ms,
	    .timeout_ms = late[_i].total_ms,
	});
	check_failure(HTTP_TIMEOUT, late[_i].reason);
	answer(HELLO, TINY_KEEP);
	ask(&(struct http_request){ 0 });
	ck_assert_str_eq(response.body, "hello");
}
END_TEST

static int
ignore(void *arg, const char *data, size_t size)
{
	(void)arg, (void)data, (void)size;
	return 0;
}

static const char *const large[] = {
	OK_HEAD "Content-Length: 5\r\n\r\nhello",
	OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
	OK_HEAD "\r\nhello",
};

START_TEST(bounds_the_body)
{
	answer(large[_i / 2], TINY_CLOSE);
	ask(&(struct http_request){
	    .body_bytes_max = 4, .on_data = _i % 2 == 0 ? NULL : ignore });
	check_failure(HTTP_TOO_LARGE, "larger than 4 bytes");
	ask(&(struct http_request){ .body_bytes_max = 5 });
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_str_eq(response.body, "hello");
}
END_TEST

START_TEST(bounds_the_head)
{
	struct packet packet = { 0 };
	size_t i;

	packet_append(&packet, OK_HEAD, strlen(OK_HEAD));
	for (i = 0; i < HTTP_HEAD_BYTES_MAX; i += strlen("A: b\r\n"))
		packet_append(&packet, "A: b\r\n", strlen("A: b\r\n"));
	packet_append(&packet, "\r\n", 3);
	answer(packet.data, TINY_HANG);
	packet_release(&packet);
	ask(&(struct http_request){ 0 });
	check_failure(HTTP_TOO_LARGE, "head");
}
END_TEST

static const struct {
	const char *method, *url, *header, *reason;
} wrongs[] = {
	{ "GET", "nothing", NULL, "bad URL" },
	{ "GET", "", NULL, "bad URL" },
	{ "GET", "http://a b/", NULL, "bad URL" },
	{ "GET", "file:///etc/passwd", NULL, "not an http" },
	{ "GET", "gopher://127.0.0.1/", NULL, "not an http" },
	{ "GET /x HTTP/1.1\r\nX: y\r\n\r\nGET", NULL, NULL, "bad method" },
	{ "GET", NULL, "A: b\r\nC: d", "control character" },
	{ "GET", NULL, "A: b\nC: d", "control character" },
};

START_TEST(lets_nothing_strange_out)
{
	const char *const headers[] = { wrongs[_i].header, NULL };

	ask(&(struct http_request){
	    .method = wrongs[_i].method, .url = wrongs[_i].url, .headers = headers });
	check_failure(HTTP_CONNECTION, wrongs[_i].reason);
	ck_assert_uint_eq(tiny_http_accepted(server), 0);
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
	return stream.is_slow ? fiber_sleep(1) : 0;
}

static void
ask_stream(uint64_t idle_ms)
{
	memset(&stream.calls, 0, sizeof stream.calls);
	ask(&(struct http_request){
	    .on_data = collect, .arg = &stream, .idle_timeout_ms = idle_ms });
	ck_assert(!stream.was_elsewhere);
}

/* Makes the server answer with size bytes in order. */
static char *
answer_large(size_t size)
{
	char *bytes = arena_alloc(arena, size + 128);
	int head = snprintf(bytes, 128, OK_HEAD "Content-Length: %zu\r\n\r\n", size);
	size_t i;

	for (i = 0; i < size; i++)
		bytes[(size_t)head + i] = (char)(i * 2654435761u >> 24);
	tiny_http_add(
	    server, &(struct tiny_answer){ .bytes = bytes, .size = (size_t)head + size });
	return bytes + head;
}

START_TEST(hands_on_pieces_in_order)
{
	const size_t size = 3u << 20;
	const char *body = answer_large(size);

	ask_stream(0);
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_uint_eq(response.body_size, 0);
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
	/* The reader's time is not the server's: it takes longer than this in all. */
	ask_stream(20);
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_uint_eq(stream.body.size, size);
	ck_assert_mem_eq(stream.body.data, body, size);
	ck_assert_uint_le(stream.largest, 256u << 10);
	packet_release(&stream.body);
}
END_TEST

START_TEST(what_came_before_a_cut_is_handed_on)
{
	answer(OK_HEAD "Content-Length: 10\r\n\r\nhello", TINY_CLOSE);
	ask_stream(0);
	check_failure(HTTP_CONNECTION, "");
	ck_assert_int_eq(response.status, 200);
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
	check_failure(HTTP_ABORTED, "aborted");
	ck_assert_uint_eq(stream.calls, 2);
	packet_release(&stream.body);
}
END_TEST

START_TEST(an_error_is_collected_not_streamed)
{
	answer(
	    "HTTP/1.1 429 Slow down\r\nRetry-After: 2\r\nContent-Length: 4\r\n\r\nbusy",
	    TINY_KEEP);
	ask_stream(0);
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_int_eq(response.status, 429);
	ck_assert_str_eq(response.body, "busy");
	ck_assert_int_eq(response.retry_after_ms, 2000);
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
	return arena_printf(arena, "%.*s%s%s", (int)(at - fields), fields, date, at + 1);
}

START_TEST(knows_when_to_come_back)
{
	answer(arena_printf(arena, "HTTP/1.1 503 Busy\r\n%sContent-Length: 0\r\n\r\n",
		   dated(returns[_i].fields)),
	    TINY_KEEP);
	ask(&(struct http_request){ 0 });
	ck_assert_int_eq(response.status, 503);
	ck_assert_int_ge(response.retry_after_ms, returns[_i].least_ms);
	ck_assert_int_le(response.retry_after_ms, returns[_i].most_ms);
}
END_TEST

/* --- cancelling ------------------------------------------------------------------------ */

static bool
server_is_asked(void *arg)
{
	(void)arg;
	return tiny_http_requests(server) > 0;
}

static bool
server_is_left(void *arg)
{
	(void)arg;
	return tiny_http_open(server) == 0;
}

static void
look_again(void *arg)
{
	(void)arg;
}

/* Waits until is_so, which the server's thread brings about. */
static void
run_until(bool (*is_so)(void *arg))
{
	struct timer *timer = timer_start(loop, 1, 1, look_again, NULL);

	loop_run_until(loop, is_so, NULL);
	timer_stop(&timer);
}

START_TEST(a_cancelled_request_leaves)
{
	struct http_request request = { .method = "GET", .url = url };
	struct fiber *fiber;

	answer(OK_HEAD "Content-Length: 10\r\n\r\nhello", TINY_HANG);
	fiber = fiber_start(loop, "request", send_one, &request);
	run_until(server_is_asked);
	fiber_cancel(fiber);
	run();
	check_failure(HTTP_CANCELLED, "cancelled");
	run_until(server_is_left);
}
END_TEST

START_TEST(a_cancelled_fiber_sends_nothing)
{
	struct http_request request = { .method = "GET", .url = url };

	fiber_cancel(fiber_start(loop, "request", send_one, &request));
	run();
	check_failure(HTTP_CANCELLED, "cancelled");
	ck_assert_uint_eq(tiny_http_accepted(server), 0);
}
END_TEST

START_TEST(a_reader_may_be_cancelled)
{
	struct http_request request = {
		.method = "GET", .url = url, .on_data = collect, .arg = &stream
	};
	struct fiber *fiber;

	answer_large(8u << 20);
	stream.is_slow = true;
	fiber = fiber_start(loop, "request", send_one, &request);
	run_until(server_is_asked);
	fiber_cancel(fiber);
	run();
	check_failure(HTTP_CANCELLED, "");
	packet_release(&stream.body);
}
END_TEST

/* --- who may be asked ------------------------------------------------------------------ */

static unsigned addresses_seen;

static int
refuse_loopback(void *arg, const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

	(void)arg;
	addresses_seen++;
	return address->sa_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 != 127
		   ? 0
		   : -1;
}

static int
allow_all(void *arg, const struct sockaddr *address)
{
	(void)arg, (void)address;
	addresses_seen++;
	return 0;
}

START_TEST(an_address_may_be_refused)
{
	const char *const spellings[] = { "127.0.0.1", "localhost", "2130706433",
		"0x7f.1", "[::ffff:127.0.0.1]" };
	size_t i;

	/* A kept connection is no way around. */
	ask(&(struct http_request){ 0 });
	ck_assert_int_eq(response.failure, HTTP_OK);
	for (i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
		snprintf(url, sizeof url, "http://%s:%u/", spellings[i],
		    tiny_http_port(server));
		ask(&(struct http_request){ .on_address = refuse_loopback });
		check_failure(HTTP_CONNECTION, "not allowed");
	}
	ck_assert_uint_ge(addresses_seen, 5);
	ck_assert_uint_eq(tiny_http_accepted(server), 1);
}
END_TEST

START_TEST(each_connection_is_looked_at)
{
	ask(&(struct http_request){ .on_address = allow_all });
	ask(&(struct http_request){ .on_address = allow_all });
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_uint_eq(addresses_seen, 2);
	ck_assert_uint_eq(tiny_http_accepted(server), 2);
}
END_TEST

/* --- proxies --------------------------------------------------------------------------- */

START_TEST(a_proxy_of_the_environment_is_used_but_for_ourselves)
{
	http_destroy(&http);
	setenv("http_proxy",
	    arena_printf(arena, "http://127.0.0.1:%u", tiny_http_port(server)), 1);
	http = http_new(loop);
	ask(&(struct http_request){ .url = "http://far.invalid/x" });
	ck_assert_int_eq(response.failure, HTTP_OK);
	ck_assert_int_eq(strncmp(response.body, "GET http://far.invalid/x HTTP", 29), 0);
	ask(&(struct http_request){ 0 });
	ck_assert_int_eq(strncmp(response.body, "GET /a HTTP", 11), 0);
	unsetenv("http_proxy");
}
END_TEST

START_TEST(an_unknown_host_is_no_connection)
{
	/* Refused by any resolver without a question to the network. */
	ask(&(struct http_request){ .url = "http://a..b/" });
	check_failure(HTTP_CONNECTION, "cannot find a..b");
}
END_TEST

static void
add_failures(TCase *tcase)
{
	tcase_add_loop_test(
	    tcase, never_sends_a_request_twice, 0, sizeof once / sizeof once[0]);
	tcase_add_test(tcase, never_sends_a_request_twice_with_connections_to_spare);
	tcase_add_loop_test(
	    tcase, a_broken_answer_is_no_answer, 0, sizeof broken / sizeof broken[0]);
	tcase_add_test(tcase, nobody_listens);
	tcase_add_test(tcase, nobody_speaks_tls);
	tcase_add_loop_test(
	    tcase, does_not_wait_for_ever, 0, sizeof late / sizeof late[0]);
	tcase_add_loop_test(
	    tcase, bounds_the_body, 0, 2 * sizeof large / sizeof large[0]);
	tcase_add_test(tcase, bounds_the_head);
	tcase_add_loop_test(
	    tcase, lets_nothing_strange_out, 0, sizeof wrongs / sizeof wrongs[0]);
	tcase_add_test(tcase, an_unknown_host_is_no_connection);
}

TCase *
tcase_http(void)
{
	TCase *tcase = tcase_create("http");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, brings_status_body_and_type);
	tcase_add_test(tcase, sends_method_headers_and_body_as_they_are);
	tcase_add_loop_test(tcase, says_nothing_of_a_body_that_is_not_there, 0,
	    sizeof bare / sizeof bare[0]);
	tcase_add_test(tcase, head_has_no_body);
	tcase_add_test(tcase, keeps_the_connection);
	tcase_add_test(tcase, many_requests_at_once);
	tcase_add_test(tcase, does_not_follow_a_redirect);
	add_failures(tcase);
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
	tcase_add_test(tcase, an_address_may_be_refused);
	tcase_add_test(tcase, each_connection_is_looked_at);
	tcase_add_test(tcase, a_proxy_of_the_environment_is_used_but_for_ourselves);
	return tcase;
}
