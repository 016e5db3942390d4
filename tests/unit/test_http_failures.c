/* What goes wrong, and what is not to be done. */
#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"
#include "fiber.h"
#include "http_pool.h"
#include "http_trial.h"
#include "tiny_http.h"

/* Interface under test */
#include "http.h"

TCase *tcase_http_failures(void);

#define OK_HEAD HTTP_TRIAL_OK_HEAD
#define HELLO OK_HEAD "Content-Length: 5\r\n\r\nhello"

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

	http_trial_answer(HELLO, TINY_KEEP);
	http_trial_answer("", once[_i].end);
	http_trial_answer(HELLO, TINY_KEEP);
	http_trial_ask(&request);
	ck_assert_str_eq(http_trial.response.body, "hello");
	http_trial_ask(&request);
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 2);
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 1);
	http_trial_check_failure(HTTP_CONNECTION, "");
	http_trial_ask(&request);
	ck_assert_str_eq(http_trial.response.body, "hello");
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 3);
}
END_TEST

/* Not even over another connection that is kept. */
START_TEST(never_sends_a_request_twice_with_connections_to_spare)
{
	struct http_request request = { .method = "GET", .url = http_trial.url };
	int i;

	http_trial_answer(HELLO, TINY_KEEP);
	http_trial_answer(HELLO, TINY_KEEP);
	http_trial_answer("", TINY_CLOSE);
	http_trial_answer(HELLO, TINY_KEEP);
	for (i = 0; i < 2; i++)
		fiber_start(http_trial.loop, "request", http_trial_send, &request);
	http_trial_run();
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 2);
	http_trial_ask(&request);
	http_trial_check_failure(HTTP_CONNECTION, "closed before an answer");
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 3);
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
	{ OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: 1\r\n",
	    TINY_CLOSE },
	{ OK_HEAD "Content-Length: -1\r\n\r\n", TINY_CLOSE },
	{ "SSH-2.0-x\r\n", TINY_CLOSE },
	{ "HTTP/9.9 200 OK\r\n\r\n", TINY_CLOSE },
};

START_TEST(a_broken_answer_is_no_answer)
{
	http_trial_answer(broken[_i].bytes, broken[_i].end);
	http_trial_ask(&(struct http_request){ 0 });
	http_trial_check_failure(HTTP_CONNECTION, "");
}
END_TEST

/* The line goes on with a header that is not there. With SAN=1 this finds a curl that takes the one of
 * the answer before, which is freed. */
START_TEST(an_answer_that_begins_in_the_middle_of_a_header_is_none)
{
	http_trial_answer(HELLO, TINY_KEEP);
	http_trial_answer("HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", TINY_CLOSE);
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_str_eq(http_trial.response.body, "hello");
	http_trial_ask(&(struct http_request){ 0 });
	http_trial_check_failure(HTTP_CONNECTION, "");
}
END_TEST

START_TEST(nobody_listens)
{
	tiny_http_destroy(&http_trial.server);
	http_trial_ask(&(struct http_request){ 0 });
	http_trial_check_failure(HTTP_CONNECTION, "onnect");
	http_trial.server = tiny_http_new();
}
END_TEST

START_TEST(nobody_speaks_tls)
{
	/* Whatever it is sent without a line's end, the server waits for more. */
	snprintf(http_trial.url, sizeof http_trial.url, "https://127.0.0.1:%u/",
	    tiny_http_port(http_trial.server));
	http_trial_ask(&(struct http_request){ .connect_timeout_ms = 50 });
	http_trial_check_failure(HTTP_TIMEOUT, "");
}
END_TEST

static const struct {
	const char *bytes, *reason;
	uint64_t first_byte_ms, idle_ms, total_ms;
} late[] = {
	{ "", "no answer in time", 30, 0, 0 },
	{ "", "took too long", 0, 0, 500 },
	{ "", "took too long", 0, 10, 500 },
	{ OK_HEAD "Content-Length: 10\r\n\r\n", "no answer in time", 30, 0, 0 },
	{ OK_HEAD "Content-Length: 10\r\n\r\nhello", "stopped in the middle", 5000, 30,
	    0 },
	{ OK_HEAD "Content-Length: 10\r\n\r\nhello", "took too long", 400, 5000, 800 },
	{ OK_HEAD "\r\nhello", "stopped in the middle", 0, 30, 5000 },
};

START_TEST(does_not_wait_for_ever)
{
	http_trial_answer(late[_i].bytes, TINY_HANG);
	http_trial_ask(&(struct http_request){
	    .first_byte_timeout_ms = late[_i].first_byte_ms,
	    .idle_timeout_ms = late[_i].idle_ms,
	    .timeout_ms = late[_i].total_ms,
	});
	http_trial_check_failure(HTTP_TIMEOUT, late[_i].reason);
	http_trial_answer(HELLO, TINY_KEEP);
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_str_eq(http_trial.response.body, "hello");
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
	http_trial_answer(large[_i / 2], TINY_CLOSE);
	http_trial_ask(&(struct http_request){
	    .body_bytes_max = 4, .on_data = _i % 2 == 0 ? NULL : ignore });
	http_trial_check_failure(HTTP_TOO_LARGE, "larger than 4 bytes");
	http_trial_ask(&(struct http_request){ .body_bytes_max = 5 });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_str_eq(http_trial.response.body, "hello");
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
	http_trial_answer(packet.data, TINY_HANG);
	packet_release(&packet);
	http_trial_ask(&(struct http_request){ 0 });
	http_trial_check_failure(HTTP_TOO_LARGE, "head");
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

	http_trial_ask(&(struct http_request){
	    .method = wrongs[_i].method, .url = wrongs[_i].url, .headers = headers });
	http_trial_check_failure(HTTP_CONNECTION, wrongs[_i].reason);
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 0);
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
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	for (i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
		snprintf(http_trial.url, sizeof http_trial.url, "http://%s:%u/",
		    spellings[i], tiny_http_port(http_trial.server));
		http_trial_ask(&(struct http_request){ .on_address = refuse_loopback });
		http_trial_check_failure(HTTP_CONNECTION, "not allowed");
	}
	ck_assert_uint_ge(addresses_seen, 5);
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 1);
}
END_TEST

START_TEST(each_connection_is_looked_at)
{
	http_trial_ask(&(struct http_request){ .on_address = allow_all });
	http_trial_ask(&(struct http_request){ .on_address = allow_all });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_uint_eq(addresses_seen, 2);
	ck_assert_uint_eq(tiny_http_accepted(http_trial.server), 2);
}
END_TEST

/* --- proxies --------------------------------------------------------------------------- */

START_TEST(a_proxy_of_the_environment_is_used_but_for_ourselves)
{
	http_destroy(&http_trial.http);
	setenv("http_proxy",
	    arena_printf(http_trial.arena, "http://127.0.0.1:%u",
		tiny_http_port(http_trial.server)),
	    1);
	http_trial.http = http_new(http_trial.loop);
	http_trial_ask(&(struct http_request){ .url = "http://far.invalid/x" });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	ck_assert_int_eq(
	    strncmp(http_trial.response.body, "GET http://far.invalid/x HTTP", 29), 0);
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_int_eq(strncmp(http_trial.response.body, "GET /a HTTP", 11), 0);
	unsetenv("http_proxy");
}
END_TEST

START_TEST(an_unknown_host_is_no_connection)
{
	/* Refused by any resolver without a question to the network. */
	http_trial_ask(&(struct http_request){ .url = "http://a..b/" });
	http_trial_check_failure(HTTP_CONNECTION, "cannot find a..b");
}
END_TEST

static int
on_lookup(void *resolver, void *reserved, void *arg)
{
	(void)resolver, (void)reserved;
	++*(unsigned *)arg;
	return 1; /* it is not to be */
}

/* How often curl has to look the trial's host up, for whom names are as old as that. */
static unsigned
lookups(long oldest_s)
{
	CURL *easy = curl_easy_init();
	unsigned count = 0;

	curl_easy_setopt(easy, CURLOPT_URL, http_trial.url);
	curl_easy_setopt(easy, CURLOPT_SHARE, http_trial.http->share);
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, oldest_s);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_lookup);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, &count);
	curl_easy_perform(easy);
	curl_easy_cleanup(easy);
	return count;
}

/* A host of whose addresses curl was told is forgotten in time. The only name that any machine
 * knows is one that our resolver is not asked for: so that is hidden. */
START_TEST(an_address_is_not_kept_for_ever)
{
	const struct http_target *target;
	const char *error;

	snprintf(http_trial.url, sizeof http_trial.url, "http://localhost:%u/",
	    tiny_http_port(http_trial.server));
	target = http_target_hold(
	    http_trial.http->targets, http_trial.arena, http_trial.url, &error);
	((struct http_target *)(uintptr_t)target)->url.is_loopback = false;
	http_trial_ask(&(struct http_request){ 0 });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	http_target_release(http_trial.http->targets, &target);
	ck_assert_uint_eq(lookups(-1), 0);
	ck_assert_uint_eq(lookups(0), 1);
}
END_TEST

/* The two ports of one number: nobody is taken in at 127.0.0.1, where connections are refused or stay
 * under way; who comes to ::1 is answered. */
static struct two_faced {
	int deaf, waiting[8], answers;
	uint16_t port;
} two_faced;

static void *
answer_one(void *arg)
{
	static const char hello[] = HELLO;
	char request[1024];
	int fd = accept(two_faced.answers, NULL, NULL);

	(void)arg;
	if (read(fd, request, sizeof request) > 0 &&
	    write(fd, hello, sizeof hello - 1) == sizeof hello - 1)
		while (read(fd, request, sizeof request) > 0)
			;
	close(fd);
	return NULL;
}

/* Returns -1 on a machine without ::1. */
static int
listen_two_faced(bool refuses)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t size = sizeof v4;
	size_t i;

	two_faced.deaf = socket(AF_INET, SOCK_STREAM, 0);
	two_faced.answers = socket(AF_INET6, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(two_faced.deaf, (void *)&v4, sizeof v4), 0);
	ck_assert_int_eq(getsockname(two_faced.deaf, (void *)&v4, &size), 0);
	two_faced.port = ntohs(v4.sin_port);
	v6.sin6_port = v4.sin_port;
	if (bind(two_faced.answers, (void *)&v6, sizeof v6) == -1)
		return -1;
	ck_assert_int_eq(listen(two_faced.answers, 1), 0);
	if (refuses)
		return 0;
	ck_assert_int_eq(listen(two_faced.deaf, 0), 0);
	for (i = 0; i < 8; i++) {
		two_faced.waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		ck_assert_int_eq(
		    connect(two_faced.waiting[i], (void *)&v4, sizeof v4), -1);
	}
	return 0;
}

/* curl tries both of a host's addresses at once, and closes the socket that came second without
 * a word, when the request is under way already. */
START_TEST(an_address_that_does_not_answer_leaves_nothing_behind)
{
	pthread_t thread;
	size_t i;

	if (listen_two_faced(_i == 1) == -1)
		return;
	pthread_create(&thread, NULL, answer_one, NULL);
	http_trial_ask(
	    &(struct http_request){ .url = arena_printf(http_trial.arena,
					"http://localhost:%u/a", two_faced.port) });
	ck_assert_int_eq(http_trial.response.failure, HTTP_OK);
	http_destroy(&http_trial.http);
	pthread_join(thread, NULL);
	for (i = 0; i < 8 && _i == 0; i++)
		close(two_faced.waiting[i]);
	close(two_faced.deaf);
	close(two_faced.answers);
}
END_TEST

TCase *
tcase_http_failures(void)
{
	TCase *tcase = tcase_create("http_failures");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, http_trial_open, http_trial_close);
	tcase_add_loop_test(
	    tcase, never_sends_a_request_twice, 0, sizeof once / sizeof once[0]);
	tcase_add_test(tcase, never_sends_a_request_twice_with_connections_to_spare);
	tcase_add_loop_test(
	    tcase, a_broken_answer_is_no_answer, 0, sizeof broken / sizeof broken[0]);
	tcase_add_test(tcase, an_answer_that_begins_in_the_middle_of_a_header_is_none);
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
	tcase_add_test(tcase, an_address_is_not_kept_for_ever);
	tcase_add_test(tcase, an_address_may_be_refused);
	tcase_add_test(tcase, each_connection_is_looked_at);
	tcase_add_loop_test(
	    tcase, an_address_that_does_not_answer_leaves_nothing_behind, 0, 2);
	tcase_add_test(tcase, a_proxy_of_the_environment_is_used_but_for_ourselves);
	return tcase;
}
