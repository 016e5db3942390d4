#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "file_glob.h"

TCase *tcase_file_glob(void);

static struct arena *arena;

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

static const struct file_glob *
parse(const char *text)
{
	const char *error = NULL;
	const struct file_glob *glob = file_glob_parse(arena, text, &error);

	ck_assert_msg(glob != NULL, "%s: %s", text, error);
	return glob;
}

static const struct {
	const char *pattern, *path;
	bool matches;
} matches[] = {
	{ "*.py", "a.py", true },
	{ "*.py", "a/b.py", false },
	{ "*.py", ".py", true },
	{ "*.py", "a.pyc", false },
	{ "/*.py", "a.py", true },
	{ "./a//b", "a/b", true },
	{ "**/*.py", "a.py", true },
	{ "**/*.py", "x/y/z/a.py", true },
	{ "**", "x/y", true },
	{ "src/**", "src", true },
	{ "src/**", "srcs/a", false },
	{ "src/**/t/*.c", "src/a/t/b/t/x.c", true },
	{ "src/**/t/*.c", "src/t/x.c", true },
	{ "src/**/t/*.c", "src/t/u/x.c", false },
	{ "**/a/**/b", "a/b", true },
	{ "**/a/**/b", "b/a", false },
	{ "**/a/*/b", "a/a/c/b", true },
	{ "a**b", "axxb", true },
	{ "a**b", "a/b", false },
	{ "*.{js,ts}", "a.ts", true },
	{ "*.{js,ts}", "a.tsx", false },
	{ "{a,b/{c,d}}/x", "b/d/x", true },
	{ "{a,b/{c,d}}/x", "b/x", false },
	{ "a{,b}", "a", true },
	{ "a{,b}", "ab", true },
	{ "a{b}", "ab", true },
	{ "a{}{{b}}", "ab", true },
	{ "{a{b},{{c},{d,{}}}}e", "abe", true },
	{ "{a{b},{{c},{d,{}}}}e", "de", true },
	{ "{a{b},{{c},{d,{}}}}e", "e", true },
	{ "{[}]}", "}", true },
	{ "a}", "a}", true },
	{ "[a-c]x", "bx", true },
	{ "[!a-c]x", "bx", false },
	{ "[^a-c]x", "dx", true },
	{ "[]]x", "]x", true },
	{ "[a-]x", "-x", true },
	{ "[{,]x", "{x", true },
	{ "?", "ü", true },
	{ "?", "üb", false },
	{ "[ä-ü]x", "öx", true },
	{ "*é*", "café.txt", true },
	{ "*a*b", "aab", true },
	{ "*a*b", "aba", false },
	{ "*", ".hidden", true },
};

START_TEST(names_match_as_in_a_shell)
{
	ck_assert_msg(file_glob_matches(parse(matches[_i].pattern), matches[_i].path) ==
			  matches[_i].matches,
	    "%s %s", matches[_i].pattern, matches[_i].path);
}
END_TEST

static const struct {
	const char *pattern, *error;
} bad[] = {
	{ "", "it is empty" },
	{ "a{b", "a { is not closed" },
	{ "a{b,{c}", "a { is not closed" },
	{ "a{{b}", "a { is not closed" },
	{ "[a", "a [ is not closed" },
	{ "[a/b]", "a [ is not closed" },
	{ "../x", "a component is \"..\"" },
	{ "a/{b,..}/c", "a component is \"..\"" },
	{ "a\nb", "it has a control character" },
	{ "{,,,}{,,,}{,,,}{,,,}{,}", "its braces make more than 256 patterns" },
};

START_TEST(what_is_no_pattern_is_refused_with_the_reason)
{
	const char *error = NULL;

	ck_assert_ptr_null(file_glob_parse(arena, bad[_i].pattern, &error));
	ck_assert_str_eq(error, bad[_i].error);
}
END_TEST

START_TEST(a_pattern_may_not_be_too_long)
{
	char text[FILE_GLOB_BYTES_MAX + 2];
	const char *error = NULL;

	memset(text, '{', sizeof text);
	text[sizeof text - 1] = '\0';
	ck_assert_ptr_null(file_glob_parse(arena, text, &error));
	ck_assert_str_eq(error, "it has more than 1024 bytes");
	text[FILE_GLOB_BYTES_MAX] = '\0';
	ck_assert_ptr_null(file_glob_parse(arena, text, &error));
	ck_assert_str_eq(error, "a { is not closed");
}
END_TEST

/* Each name is held against all that braces make. */
START_TEST(what_braces_make_may_not_be_too_long)
{
	static const char braces[] = "{a,b}{a,b}{a,b}{a,b}{a,b}";
	const size_t most = FILE_GLOB_EXPANDED_BYTES_MAX / 32 - 5;
	char text[FILE_GLOB_BYTES_MAX];
	const char *error = NULL;

	memset(text, 'x', most);
	strcpy(text + most, braces);
	parse(text);
	memset(text, 'x', most + 1);
	strcpy(text + most + 1, braces);
	ck_assert_ptr_null(file_glob_parse(arena, text, &error));
	ck_assert_str_eq(error, "its braces make patterns of more than 16384 bytes");
}
END_TEST

/* Where each of them takes a copy of all the others for each pattern it is many times as much. */
START_TEST(braces_around_nothing_take_no_memory)
{
	static const char pairs[] = "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";
	char text[FILE_GLOB_BYTES_MAX + 1];
	size_t i;

	strcpy(text, pairs);
	for (i = strlen(pairs); i + 2 < sizeof text; i += 2)
		strcpy(text + i, "{}");
	ck_assert(file_glob_matches(parse(text), "abababab"));
	ck_assert_uint_lt(arena_bytes(arena), 2u << 20);
}
END_TEST

START_TEST(depth_bounds_the_walk)
{
	ck_assert_uint_eq(file_glob_depth(parse("*.c")), 1);
	ck_assert_uint_eq(file_glob_depth(parse("/a/./{b,c/d}")), 3);
	ck_assert_uint_eq(file_glob_depth(parse("{a,**}/b")), 0);
	ck_assert(!file_glob_has_folders(parse("*.{c,h}")));
	ck_assert(file_glob_has_folders(parse("{a,b/c}")));
}
END_TEST

/* Patterns that take a naive matcher the age of the world. */
START_TEST(many_stars_end)
{
	char path[4000];

	memset(path, 'a', sizeof path);
	path[sizeof path - 1] = '\0';
	ck_assert(!file_glob_matches(parse("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), path));
	for (size_t i = 1; i < sizeof path - 1; i += 2)
		path[i] = '/';
	ck_assert(!file_glob_matches(
	    parse("**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b"), path));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *
tcase_file_glob(void)
{
	TCase *tcase = tcase_create("file_glob");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, names_match_as_in_a_shell, 0, COUNT(matches));
	tcase_add_loop_test(
	    tcase, what_is_no_pattern_is_refused_with_the_reason, 0, COUNT(bad));
	tcase_add_test(tcase, a_pattern_may_not_be_too_long);
	tcase_add_test(tcase, what_braces_make_may_not_be_too_long);
	tcase_add_test(tcase, braces_around_nothing_take_no_memory);
	tcase_add_test(tcase, depth_bounds_the_walk);
	tcase_add_test(tcase, many_stars_end);
	return tcase;
}
