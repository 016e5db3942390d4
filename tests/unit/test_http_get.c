#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "registry.h"
#include "tool_trial.h"

/* Interface under test */
#include "../../worker-tools/tools.h"

TCase *tcase_http_get(void);

static struct tool_trial trial;

/* A server for one test: answers every request with reply. */
static struct {
	pthread_t thread;
	int listener;
	unsigned port;
	const char *reply;
	size_t reply_size;
	char request[8192]; /* the last one */
	_Atomic unsigned connections;
	bool holds; /* the connection, until the client closes it */
} server;

static void
answer_one(int connection)
{
	size_t size = 0;
	ssize_t got;

	server.connections++;
	do {
		got = read(
		    connection, server.request + size, sizeof server.request - 1 - size);
		if (got <= 0)
			break;
		size += (size_t)got;
		server.request[size] = '\0';
	} while (strstr(server.request, "\r\n\r\n") == NULL);
	for (size = 0; size < server.reply_size; size += (size_t)got) {
		got = send(connection, server.reply + size, server.reply_size - size,
		    MSG_NOSIGNAL);
		if (got <= 0)
			break;
	}
	while (server.holds && read(connection, server.request, 1) > 0)
		;
	close(connection);
}

static void *
serve(void *arg)
{
	int connection;

	while ((connection = accept(server.listener, NULL, NULL)) != -1)
		answer_one(connection);
	return arg;
}

static void
start_server(void)
{
	/* Both families, so that only the tool's own judgement keeps it away. */
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_ANY_INIT };
	socklen_t size = sizeof address;
	int off = 0;

	server.listener = socket(AF_INET6, SOCK_STREAM, 0);
	setsockopt(server.listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	ck_assert_int_eq(
	    bind(server.listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(server.listener, 8), 0);
	getsockname(server.listener, (struct sockaddr *)&address, &size);
	server.port = ntohs(address.sin6_port);
	ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void
stop_server(void)
{
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.listener);
}

static struct tool_result *
run_tool(void *arg, struct tool_request *request)
{
	(void)arg;
	return tool_http_get.run(request);
}

static void
set_up(void)
{
	start_server();
	tool_trial_open(&trial);
	trial.run = run_tool;
}

static void
tear_down(void)
{
	tools_close();
	tool_trial_close(&trial);
	stop_server();
}

/* Fetches url, in which %u is the server's port, with more arguments behind it. */
static void
fetch(const char *url, const char *more, bool allow_private)
{
	char at[256], args[512];
	const char *port = strstr(url, "%u");

	if (port == NULL)
		snprintf(at, sizeof at, "%s", url);
	else
		snprintf(at, sizeof at, "%.*s%u%s", (int)(port - url), url, server.port,
		    port + 2);
	snprintf(args, sizeof args, "{\"url\": \"%s\"%s}", at, more);
	tools_open(trial.loop, allow_private);
	tool_trial_call(&trial, tool_to_value(trial.arena, &tool_http_get), args);
}

static void
reply_with(const char *reply)
{
	server.reply = reply;
	server.reply_size = strlen(reply);
}

static const char *
page(const char *reply, const char *more)
{
	reply_with(reply);
	fetch("http://127.0.0.1:%u/page", more, true);
	return tool_trial_answer(&trial, "success");
}

#define PAGE "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"

static const char *const private[] = { "http://127.0.0.1:%u/", "http://127.1:%u/",
	"http://0x7f.1:%u/", "http://0x7f000001:%u/", "http://2130706433:%u/",
	"http://0177.0.0.1:%u/", "http://0:%u/", "http://0.0.0.0:%u/",
	"http://localhost:%u/", "http://LOCALHOST:%u/", "http://a@127.0.0.1:%u/",
	"http://1.1.1.1@127.0.0.1:%u/", "http://[::1]:%u/", "http://[::]:%u/",
	"http://[::ffff:127.0.0.1]:%u/", "http://[::ffff:7f00:1]:%u/",
	"http://[0:0:0:0:0:0:0:1]:%u/", "http://[64:ff9b::7f00:1]:%u/",
	"http://[2002:7f00:1::]:%u/", "http://[fe80::1]:%u/", "http://[fd00::1]:%u/",
	"http://169.254.169.254/latest/meta-data", "http://10.0.0.1:%u/",
	"http://192.168.1.1:%u/", "http://172.16.0.1:%u/", "http://100.64.0.1:%u/",
	"https://127.0.0.1:%u/" };

START_TEST(does_not_open_what_is_not_public_however_it_is_spelt)
{
	const char *text;

	reply_with(PAGE "secret");
	fetch(private[_i], "", false);
	text = tool_trial_answer(&trial, "error");
	ck_assert_msg(
	    strstr(text, "private or reserved") != NULL, "%s: %s", private[_i], text);
	ck_assert_uint_eq(server.connections, 0);
}
END_TEST

START_TEST(opens_it_when_allowed)
{
	ck_assert_str_eq(page(PAGE "hello", ""), "HTTP 200 text/plain\n\nhello");
	ck_assert_ptr_nonnull(strstr(server.request, "GET /page HTTP/1.1\r\n"));
}
END_TEST

START_TEST(no_proxy_is_asked_in_its_place)
{
	char proxy[64];

	snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", server.port);
	setenv("http_proxy", proxy, 1);
	setenv("ALL_PROXY", proxy, 1);
	reply_with(PAGE "through the proxy");
	fetch("http://10.255.255.1/", "", false);
	tool_trial_answer(&trial, "error");
	ck_assert_uint_eq(server.connections, 0);
}
END_TEST

START_TEST(tells_where_a_redirect_points_and_does_not_follow_it)
{
	const char *text = page("HTTP/1.1 302 Found\r\nLocation: /else?a=b\r\n"
				"Content-Length: 0\r\n\r\n",
	    "");

	ck_assert_ptr_nonnull(strstr(text, "HTTP 302"));
	ck_assert_ptr_nonnull(strstr(text, "Location (not followed): http://127.0.0.1:"));
	ck_assert_ptr_nonnull(strstr(text, "/else?a=b"));
	ck_assert_uint_eq(server.connections, 1);
}
END_TEST

START_TEST(shows_the_page_of_an_error)
{
	ck_assert_str_eq(
	    page("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope", ""),
	    "HTTP 404\n\nnope");
}
END_TEST

START_TEST(cuts_a_long_page_between_characters)
{
	ck_assert_str_eq(page(PAGE "abc\xc3\xa9xyz", ", \"max_bytes\": 4"),
	    "HTTP 200 text/plain\n\nabc\n[cut after 4 bytes]");
	ck_assert_uint_eq(server.connections, 1);
}
END_TEST

START_TEST(does_not_cut_what_just_fits)
{
	ck_assert_str_eq(
	    page(PAGE "abcd", ", \"max_bytes\": 4"), "HTTP 200 text/plain\n\nabcd");
}
END_TEST

START_TEST(cuts_the_page_of_an_error_too)
{
	ck_assert_str_eq(page("HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\nabcdef",
			     ", \"max_bytes\": 4"),
	    "HTTP 500\n\nabcd\n[cut after 4 bytes]");
}
END_TEST

START_TEST(shows_the_start_of_a_page_without_end)
{
	size_t size = 3000000;
	char *reply = arena_alloc(trial.arena, size + 1);

	memset(reply, 'x', size);
	memcpy(reply, PAGE, strlen(PAGE));
	ck_assert_uint_lt(strlen(page(reply, "")), 101000);
}
END_TEST

START_TEST(repairs_what_is_not_utf8)
{
	ck_assert_str_eq(
	    page("HTTP/1.1 200 OK\r\nContent-Type: a\xff\r\nContent-Length: 2\r\n\r\n"
		 "b\xfe",
		""),
	    "HTTP 200 a\xef\xbf\xbd\n\nb\xef\xbf\xbd");
}
END_TEST

START_TEST(does_not_show_what_is_no_text)
{
	static const char reply[] =
	    "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\na\0b";

	server.reply = reply;
	server.reply_size = sizeof reply - 1;
	fetch("http://127.0.0.1:%u/", "", true);
	ck_assert_str_eq(tool_trial_answer(&trial, "success"),
	    "HTTP 200 image/png\n\n[the body is not text]");
}
END_TEST

START_TEST(sends_headers)
{
	page(PAGE "x", ", \"headers\": {\"X-One\": \"1\", \"Accept\": \"text/html\"}");
	ck_assert_ptr_nonnull(strstr(server.request, "X-One: 1\r\n"));
	ck_assert_ptr_nonnull(strstr(server.request, "Accept: text/html\r\n"));
}
END_TEST

static const char *const bad_headers[] = { "{\"Host\": \"internal\"}",
	"{\"host\": \"internal\"}", "{\"Content-Length\": \"5\"}",
	"{\"Transfer-Encoding\": \"chunked\"}", "{\"Proxy-Connection\": \"x\"}",
	"{\"X\": \"a\\r\\nHost: internal\"}", "{\"X\": \"a\\nb\"}",
	"{\"X\": \"a\\u0000\"}", "{\"X Y\": \"a\"}", "{\"X:\": \"a\"}",
	"{\"X\\r\\nHost\": \"a\"}", "{\"\": \"a\"}", "{\"X\": 5}" };

START_TEST(refuses_headers_that_would_change_the_request)
{
	char more[128];

	snprintf(more, sizeof more, ", \"headers\": %s", bad_headers[_i]);
	reply_with(PAGE "x");
	fetch("http://127.0.0.1:%u/", more, true);
	tool_trial_answer(&trial, "error");
	ck_assert_uint_eq(server.connections, 0);
}
END_TEST

static const char *const bad_urls[] = { "file:///etc/passwd", "ftp://127.0.0.1/",
	"gopher://127.0.0.1:%u/", "127.0.0.1:%u", "//127.0.0.1:%u/", "",
	"http://127.0.0.1:%u/a b", "http://127.0.0.1:%u/\\r\\nHost: x", "javascript:1",
	"httpx://127.0.0.1:%u/" };

START_TEST(refuses_what_is_no_web_address)
{
	reply_with(PAGE "x");
	fetch(bad_urls[_i], "", true);
	ck_assert_ptr_nonnull(
	    strstr(tool_trial_answer(&trial, "error"), "http:// or https://"));
	ck_assert_uint_eq(server.connections, 0);
}
END_TEST

START_TEST(fails_as_a_connection_does)
{
	reply_with("");
	fetch("http://127.0.0.1:%u/", "", true);
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "ConnectionError");
	tools_close();
	fetch("http://127.0.0.1:1/", "", true);
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "ConnectionError");
	ck_assert(tool_trial_fault(&trial)->retryable);
}
END_TEST

static bool
has_asked(void *arg)
{
	(void)arg;
	return server.connections > 0;
}

START_TEST(ends_at_once_when_cancelled)
{
	trial.cancels = has_asked;
	server.holds = true;
	reply_with("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
	fetch("http://127.0.0.1:%u/", "", true);
	ck_assert(tool_trial_fault(&trial)->control);
}
END_TEST

TCase *
tcase_http_get(void)
{
	TCase *tcase = tcase_create("http_get");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, does_not_open_what_is_not_public_however_it_is_spelt,
	    0, sizeof private / sizeof private[0]);
	tcase_add_test(tcase, opens_it_when_allowed);
	tcase_add_test(tcase, no_proxy_is_asked_in_its_place);
	tcase_add_test(tcase, tells_where_a_redirect_points_and_does_not_follow_it);
	tcase_add_test(tcase, shows_the_page_of_an_error);
	tcase_add_test(tcase, cuts_a_long_page_between_characters);
	tcase_add_test(tcase, does_not_cut_what_just_fits);
	tcase_add_test(tcase, cuts_the_page_of_an_error_too);
	tcase_add_test(tcase, shows_the_start_of_a_page_without_end);
	tcase_add_test(tcase, repairs_what_is_not_utf8);
	tcase_add_test(tcase, does_not_show_what_is_no_text);
	tcase_add_test(tcase, sends_headers);
	tcase_add_loop_test(tcase, refuses_headers_that_would_change_the_request, 0,
	    sizeof bad_headers / sizeof bad_headers[0]);
	tcase_add_loop_test(tcase, refuses_what_is_no_web_address, 0,
	    sizeof bad_urls / sizeof bad_urls[0]);
	tcase_add_test(tcase, fails_as_a_connection_does);
	tcase_add_test(tcase, ends_at_once_when_cancelled);
	return tcase;
}
