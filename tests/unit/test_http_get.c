#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"
#include "tiny_http.h"
#include "tool_trial.h"

/* Interface under test */
#include "../../worker-tools/tools.h"

TCase *tcase_http_get(void);

static struct tool_trial trial;

static struct tiny_http *server;

static struct tool_result *
run_tool(void *arg, struct tool_request *request)
{
	(void)arg;
	return tool_http_get.run(request);
}

static void
set_up(void)
{
	server = tiny_http_new();
	tool_trial_open(&trial);
	trial.run = run_tool;
}

static void
tear_down(void)
{
	tools_close();
	tool_trial_close(&trial);
	tiny_http_destroy(&server);
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
		snprintf(at, sizeof at, "%.*s%u%s", (int)(port - url), url,
		    tiny_http_port(server), port + 2);
	snprintf(args, sizeof args, "{\"url\": \"%s\"%s}", at, more);
	tools_open(trial.loop, allow_private);
	tool_trial_call(&trial, tool_to_value(trial.arena, &tool_http_get), args);
}

static void
reply_with(const char *reply)
{
	tiny_http_add(server, &(struct tiny_answer){ reply, 0, TINY_CLOSE });
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
	ck_assert_uint_eq(tiny_http_accepted(server), 0);
}
END_TEST

START_TEST(opens_it_when_allowed)
{
	ck_assert_str_eq(page(PAGE "hello", ""), "HTTP 200 text/plain\n\nhello");
	ck_assert_uint_eq(tiny_http_requests(server), 1);
}
END_TEST

START_TEST(no_proxy_is_asked_in_its_place)
{
	char proxy[64];

	snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", tiny_http_port(server));
	setenv("http_proxy", proxy, 1);
	setenv("ALL_PROXY", proxy, 1);
	reply_with(PAGE "through the proxy");
	fetch("http://10.255.255.1/", "", false);
	tool_trial_answer(&trial, "error");
	ck_assert_uint_eq(tiny_http_accepted(server), 0);
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
	ck_assert_uint_eq(tiny_http_accepted(server), 1);
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
	ck_assert_uint_eq(tiny_http_accepted(server), 1);
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
	char *text = arena_alloc(trial.arena, 3000001);

	memset(text, 'x', 3000000);
	ck_assert_uint_lt(
	    strlen(page(arena_printf(trial.arena, PAGE "%s", text), "")), 101000);
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

	tiny_http_add(
	    server, &(struct tiny_answer){ reply, sizeof reply - 1, TINY_CLOSE });
	fetch("http://127.0.0.1:%u/", "", true);
	ck_assert_str_eq(tool_trial_answer(&trial, "success"),
	    "HTTP 200 image/png\n\n[the body is not text]");
}
END_TEST

START_TEST(sends_headers)
{
	const char *text;

	/* Without another reply the server sends back what it got. */
	fetch("http://127.0.0.1:%u/page",
	    ", \"headers\": {\"X-One\": \"1\", \"Accept\": \"text/html\"}", true);
	text = tool_trial_answer(&trial, "success");
	ck_assert_ptr_nonnull(strstr(text, "GET /page HTTP/1.1\r\n"));
	ck_assert_ptr_nonnull(strstr(text, "X-One: 1\r\n"));
	ck_assert_ptr_nonnull(strstr(text, "Accept: text/html\r\n"));
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
	ck_assert_uint_eq(tiny_http_accepted(server), 0);
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
	ck_assert_uint_eq(tiny_http_accepted(server), 0);
}
END_TEST

START_TEST(fails_as_a_connection_does)
{
	tiny_http_add(server, &(struct tiny_answer){ "", 0, TINY_RESET });
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
	return tiny_http_requests(server) > 0;
}

START_TEST(ends_at_once_when_cancelled)
{
	trial.cancels = has_asked;
	tiny_http_add(server, &(struct tiny_answer){ PAGE "half", 0, TINY_HANG });
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
