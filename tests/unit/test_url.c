#include <check.h>
#include <string.h>

/* Interface under test */
#include "url.h"

TCase *tcase_url(void);

static const struct {
	const char *text, *scheme, *host;
	bool is_address, is_loopback;
	uint16_t port;
	const char *user, *password, *path;
} urls[] = {
	{ "https://api.example.com/v1?a=b", "https", "api.example.com", false, false, 443,
	    NULL, NULL, "/v1" },
	{ "HTTP://LOCALHOST:8080", "http", "LOCALHOST", false, true, 8080, NULL, NULL,
	    "/" },
	{ "http://127.9.9.9/", "http", "127.9.9.9", true, true, 80, NULL, NULL, "/" },
	{ "http://2130706433/", "http", "127.0.0.1", true, true, 80, NULL, NULL, "/" },
	{ "http://10.0.0.1/", "http", "10.0.0.1", true, false, 80, NULL, NULL, "/" },
	{ "http://[::1]:81/", "http", "::1", true, true, 81, NULL, NULL, "/" },
	{ "redis://:p%40ss@redis/3", "redis", "redis", false, false, 0, "", "p@ss",
	    "/3" },
	{ "redis://u:p@h:6380", "redis", "h", false, false, 6380, "u", "p", "/" },
	{ "redis://", "redis", "", false, false, 0, NULL, NULL, "/" },
};

static void
check_text(const char *text, const char *expected)
{
	if (expected == NULL)
		ck_assert_ptr_null(text);
	else
		ck_assert_str_eq(text, expected);
}

START_TEST(has_these_parts)
{
	struct arena *arena = arena_new();
	const char *error = NULL;
	struct url url;

	ck_assert_int_eq(url_parse(arena, urls[_i].text, &url, &error), 0);
	check_text(url.scheme, urls[_i].scheme);
	check_text(url.host, urls[_i].host);
	ck_assert_int_eq(url.is_address, urls[_i].is_address);
	ck_assert_int_eq(url.is_loopback, urls[_i].is_loopback);
	ck_assert_uint_eq(url.port, urls[_i].port);
	check_text(url.user, urls[_i].user);
	check_text(url.password, urls[_i].password);
	check_text(url.path, urls[_i].path);
	arena_destroy(&arena);
}
END_TEST

static const char *const wrongs[] = { "", "nothing", "http://a b/", "http://h:99999/",
	"http://h\r\n/", "http://user:secret@h:x/" };

START_TEST(is_no_url)
{
	struct arena *arena = arena_new();
	const char *error = NULL;
	struct url url;

	ck_assert_int_eq(url_parse(arena, wrongs[_i], &url, &error), -1);
	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_null(strstr(error, "secret"));
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_url(void)
{
	TCase *tcase = tcase_create("url");

	tcase_add_loop_test(tcase, has_these_parts, 0, sizeof urls / sizeof urls[0]);
	tcase_add_loop_test(tcase, is_no_url, 0, sizeof wrongs / sizeof wrongs[0]);
	return tcase;
}
