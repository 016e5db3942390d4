/* The file of keys of `flotilla serve`: what is read, and what is refused without showing a key. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"
#include "has.h"
#include "literal.h"
#include "repeated.h"

/* Interface under test */
#include "serve_keys.h"

TCase *tcase_serve_keys(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])
#define A "0123456789abcdef"
#define B "fedcba9876543210-and-more"

static struct arena *arena;
static char *folder;
static const char *path, *error;

static void
setup(void)
{
	arena = arena_new();
	folder = folder_new();
	path = arena_printf(arena, "%s/keys", folder);
	error = "none";
}

static void
teardown(void)
{
	folder_remove(&folder);
	arena_destroy(&arena);
}

static const struct value *
read_text(const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, 0600), 0);
	return serve_keys_read(arena, path, &error);
}

static const char *const good[][2] = {
	{ A "\n", "[{'key': '" A "'}]" },
	{ A, "[{'key': '" A "'}]" },
	{ "\t " A " \r\n", "[{'key': '" A "'}]" },
	{ A " acme\n" B "\tother\n",
	    "[{'key': '" A "', 'tenant': 'acme'}, {'key': '" B "', 'tenant': 'other'}]" },
	{ "# who may ask\n\n  \n#" B "\n  # " B "\n" A "\n", "[{'key': '" A "'}]" },
	{ A " acme-1.x_Y\n", "[{'key': '" A "', 'tenant': 'acme-1.x_Y'}]" },
};

START_TEST(a_key_a_line_with_its_tenant)
{
	const struct value *keys = read_text(good[_i][0]);

	ck_assert_msg(keys != NULL, "%s", error);
	ck_assert_value(arena, keys, good[_i][1]);
}
END_TEST

static const char *const bad[][2] = {
	{ "", "no key is in it" },
	{ "\n# " A "\n \n", "no key is in it" },
	{ "0123456789abcde\n", "keys:1: a key must have 16 characters" },
	{ A "\n\nshort acme\n", "keys:3: a key must have 16 characters" },
	{ A " acme\n" A " other\n", "keys:2: the key stands there twice" },
	{ A " acme more\n", "keys:1: more than a key and a tenant" },
	{ A " acm\xc3\xa9\n", "keys:1: a tenant has 1 to 32" },
	{ A " #acme\n", "keys:1: a tenant has 1 to 32" },
	{ A " acme~x\n", "keys:1: a tenant has 1 to 32" },
};

START_TEST(what_is_wrong_is_named_with_its_line)
{
	ck_assert_ptr_null(read_text(bad[_i][0]));
	ck_assert_has(error, bad[_i][1]);
	ck_assert_has_not(error, "0123456789");
}
END_TEST

/* What stands behind it would be read as a key of its own. */
START_TEST(a_line_that_is_too_long_is_refused)
{
	ck_assert_ptr_null(read_text(
	    arena_printf(arena, A "\n%s\n" B "\n", repeated(arena, "x", 1100))));
	ck_assert_has(error, "keys:2: longer than any key");
	ck_assert_ptr_nonnull(
	    read_text(arena_printf(arena, "%s\n", repeated(arena, "x", 1000))));
}
END_TEST

START_TEST(a_tenant_that_is_too_long_is_refused)
{
	ck_assert_ptr_null(
	    read_text(arena_printf(arena, A " %s\n", repeated(arena, "x", 33))));
	ck_assert_has(error, "keys:1: a tenant has 1 to 32");
}
END_TEST

static const mode_t modes[] = { 0644, 0640, 0620, 0604, 0601, 0666 };

START_TEST(a_file_that_others_may_read_or_write_is_refused)
{
	ck_assert_ptr_nonnull(read_text(A "\n"));
	ck_assert_int_eq(chmod(path, modes[_i]), 0);
	ck_assert_ptr_null(serve_keys_read(arena, path, &error));
	ck_assert_has(error, "chmod 600");
	ck_assert_int_eq(chmod(path, 0400), 0);
	ck_assert_ptr_nonnull(serve_keys_read(arena, path, &error));
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
	ck_assert_ptr_null(serve_keys_read(arena, path, &error));
	ck_assert_has(error, "No such file");
	ck_assert_ptr_null(serve_keys_read(arena, folder, &error));
	ck_assert_has(error, "is not a file");
}
END_TEST

TCase *
tcase_serve_keys(void)
{
	TCase *tcase = tcase_create("serve_keys");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_key_a_line_with_its_tenant, 0, COUNT(good));
	tcase_add_loop_test(tcase, what_is_wrong_is_named_with_its_line, 0, COUNT(bad));
	tcase_add_test(tcase, a_line_that_is_too_long_is_refused);
	tcase_add_test(tcase, a_tenant_that_is_too_long_is_refused);
	tcase_add_loop_test(
	    tcase, a_file_that_others_may_read_or_write_is_refused, 0, COUNT(modes));
	tcase_add_test(tcase, what_is_no_file_is_refused);
	return tcase;
}
