#include <check.h>
#include <string.h>

/* Interface under test */
#include "redis_address.h"

TCase *tcase_redis_address(void);

static struct arena *arena;
static struct redis_addresses addresses;

static void
set_up(void)
{
	arena = arena_new();
}

static void
tear_down(void)
{
	arena_destroy(&arena);
}

static const struct redis_address *
parsed(const char *urls, size_t count, size_t index)
{
	const char *error = NULL;

	ck_assert_msg(redis_addresses_parse(arena, urls, &addresses, &error) == 0,
	    "%s: %s", urls, error);
	ck_assert_uint_eq(addresses.count, count);
	return &addresses.items[index];
}

START_TEST(no_password_is_shown)
{
	static const char *const urls[][2] = {
		{ "redis://h:7000/2", "redis://h:7000/2" },
		{ "redis://me:pass@h:7000", "redis://***@h:7000" },
		{ "unix://me:pass@/run/redis", "unix://***@/run/redis" },
		{ "redis://me:pa,ss@a,redis://me:pa@ss@b", "redis://***@b" },
		{ "rediss://me:pass@h?ssl_ca_certs=/a",
		    "rediss://***@h?ssl_ca_certs=/a" },
		{ "me:pass@h", "***@h" },
		{ "pa://ss@h", "***@h" },
		/* What is no part of it is a password in the wrong place. */
		{ "redis://:pass", "redis://***" },
		{ "redis://me:pass", "redis://***" },
		{ "redis://h:7000,:pass/2", "redis://***" },
		{ "unix://me:pass/run/redis", "unix://***" },
		{ "redis://h?password=pass", "redis://h?***" },
		{ "rediss://x@h?ssl_ca_certs=/a&password=pass", "rediss://***@h?***" },
		{ "redis://[::1]:7000,b", "redis://[::1]:7000,b" },
	};
	size_t i;

	for (i = 0; i < sizeof urls / sizeof urls[0]; i++)
		ck_assert_str_eq(redis_addresses_shown(arena, urls[i][0]), urls[i][1]);
}
END_TEST

START_TEST(one_is_one)
{
	ck_assert_str_eq(parsed("redis://h:7000", 1, 0)->name, "h:7000");
	ck_assert_str_eq(parsed("unix:///a/b", 1, 0)->path, "/a/b");
	ck_assert_ptr_null(parsed("unix:///a/b@c", 1, 0)->user);
	ck_assert_str_eq(parsed("unix://me:s%40cret@/a/b", 1, 0)->path, "/a/b");
	ck_assert_str_eq(parsed("unix://me:s%40cret@/a/b", 1, 0)->user, "me");
	ck_assert_str_eq(parsed("unix://me:s%40cret@/a/b", 1, 0)->password, "s@cret");
	ck_assert_str_eq(parsed("unix://me:s%40cret@/a/b", 1, 0)->name, "/a/b");
	ck_assert_uint_eq(parsed("redis://h", 1, 0)->port, 6379);
}
END_TEST

START_TEST(several_share_what_is_said_once)
{
	static const char urls[] = "redis://me:se%2Ccret@a:1,b,[::1]:3/2";
	static const char *const names[] = { "a:1", "b:6379", "[::1]:3" };
	size_t i;

	for (i = 0; i < 3; i++) {
		const struct redis_address *address = parsed(urls, 3, i);

		ck_assert_str_eq(address->name, names[i]);
		ck_assert_str_eq(address->user, "me");
		ck_assert_str_eq(address->password, "se,cret");
		ck_assert_str_eq(address->database, "2");
	}
}
END_TEST

START_TEST(each_may_say_it_all)
{
	static const char urls[] = "redis://:x@a/1,redis://:y@b/2,unix:///c";

	ck_assert_str_eq(parsed(urls, 3, 0)->password, "x");
	ck_assert_str_eq(parsed(urls, 3, 0)->database, "1");
	ck_assert_str_eq(parsed(urls, 3, 1)->password, "y");
	ck_assert_str_eq(parsed(urls, 3, 1)->database, "2");
	ck_assert_str_eq(parsed(urls, 3, 2)->path, "/c");
	/* A path is no database of others. */
	ck_assert_ptr_null(parsed("redis://a,unix:///c", 2, 0)->database);
	ck_assert_str_eq(parsed("redis://a,unix:///c", 2, 1)->path, "/c");
}
END_TEST

START_TEST(parameters_are_shared_likewise)
{
	static const char *const urls[] = {
		"rediss://:x@a:1,b?ssl_ca_certs=/a/b%2Cc@d.pem&ssl_cert_reqs=none",
		"rediss://:x@a:1,b/3?ssl_ca_certs=/a/b%2Cc@d.pem&ssl_cert_reqs=none",
	};
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct redis_address *address = parsed(urls[0], 2, i);

		ck_assert_str_eq(address->password, "x");
		ck_assert_ptr_null(address->database);
		ck_assert_str_eq(address->tls->ca, "/a/b,c@d.pem");
		ck_assert(address->tls->any_cert && !address->tls->any_hostname);
		ck_assert_str_eq(parsed(urls[1], 2, i)->database, "3");
		ck_assert_str_eq(parsed(urls[1], 2, i)->tls->ca, "/a/b,c@d.pem");
	}
	ck_assert_ptr_null(parsed("redis://a", 1, 0)->tls);
	ck_assert_ptr_nonnull(parsed("rediss://a", 1, 0)->tls);
}
END_TEST

static const char *const bad[] = { "", ",", "redis://a,,b", "redis://a,http://b",
	"redis://a,b/x", "redis://a,b:99999", "unix:///a,unix://b",
	"redis://1,2,3,4,5,6,7,8,9", "redis://a?ssl_ca_certs=x", "rediss://a?tls=1",
	"rediss://a?ssl_ca_certs", "rediss://a?ssl_keyfile=x",
	"rediss://a/x?ssl_ca_certs=x" };

START_TEST(a_bad_one_spoils_all)
{
	const char *error = NULL;

	ck_assert_int_eq(redis_addresses_parse(arena, bad[_i], &addresses, &error), -1);
	ck_assert_ptr_nonnull(error);
}
END_TEST

/* What is told of a URL may have a piece of its password, where its '?' was not written %3F. */
START_TEST(a_refusal_does_not_repeat_a_password)
{
	static const char *const split[] = { "rediss://me:1?hunter2@host",
		"rediss://me:1?hunter2=x&y@host", "rediss:///?hunter2@a,b@" };
	const char *error = NULL;

	ck_assert_int_eq(redis_addresses_parse(arena, split[_i], &addresses, &error), -1);
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strstr(error, "hunter2") == NULL, "%s", error);
}
END_TEST

START_TEST(one_without_a_scheme_is_told_which_there_are)
{
	const char *error = NULL;

	ck_assert_int_eq(
	    redis_addresses_parse(arena, "localhost", &addresses, &error), -1);
	ck_assert_str_eq(
	    error, "not redis://HOST:PORT, rediss://HOST:PORT or unix:///PATH");
}
END_TEST

TCase *
tcase_redis_address(void)
{
	TCase *tcase = tcase_create("redis_address");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, no_password_is_shown);
	tcase_add_test(tcase, one_is_one);
	tcase_add_test(tcase, several_share_what_is_said_once);
	tcase_add_test(tcase, each_may_say_it_all);
	tcase_add_test(tcase, parameters_are_shared_likewise);
	tcase_add_test(tcase, one_without_a_scheme_is_told_which_there_are);
	tcase_add_loop_test(tcase, a_refusal_does_not_repeat_a_password, 0, 3);
	tcase_add_loop_test(tcase, a_bad_one_spoils_all, 0, sizeof bad / sizeof *bad);
	return tcase;
}
