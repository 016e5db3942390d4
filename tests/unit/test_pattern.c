/* Patterns of users: what a search may cost, whatever an item of the pattern runs over. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "has.h"
#include "pattern.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* text, again and again, in size bytes or some more. */
static const char *
again(const char *text, size_t size)
{
	size_t each = strlen(text), count = size / each + 1, i;
	char *all = arena_alloc(arena, count * each + 1);

	for (i = 0; i < count; i++)
		memcpy(all + i * each, text, each);
	all[count * each] = '\0';
	return all;
}

/* A class of count ranges, with first in front of and last behind them. */
static const char *
class_of(const char *first, unsigned count, const char *last)
{
	size_t room = strlen(first) + strlen(last) + count * 16 + 1, size;
	char *text = arena_alloc(arena, room);
	unsigned i;

	size = (size_t)snprintf(text, room, "%s", first);
	for (i = 0; i < count; i++)
		size += (size_t)snprintf(text + size, room - size, "\\u%04x-\\u%04x",
		    0x4000 + 4 * i, 0x4001 + 4 * i);
	snprintf(text + size, room - size, "%s", last);
	return text;
}

static int
look(const char *regex, const char *text)
{
	const char *error = "";
	struct pattern *pattern = pattern_new(arena, regex, strlen(regex), &error);
	int found;

	ck_assert_msg(pattern != NULL, "%.40s: %s", regex, error);
	found = pattern_find(pattern, text, strlen(text), 0, NULL, NULL);
	pattern_destroy(&pattern);
	return found;
}

static const char *
why_refused(const char *regex)
{
	const char *error = "";

	ck_assert_ptr_null(pattern_new(arena, regex, strlen(regex), &error));
	return error;
}

#define joined(...) arena_printf(arena, __VA_ARGS__)

START_TEST(an_item_that_runs_over_much_and_fails_is_much_work)
{
	const char *letters = again("a", 29998), *wide = again("\xef\x80\x80", 2996);
	const char *capital = again("\xc3\x89", 57998);

	ck_assert_int_eq(look("[a-z]{30000}", again(joined("%s-", letters), 100000)), -1);
	ck_assert_int_eq(look("(?i)é{30000}", again(joined("%s-", capital), 100000)), -1);
	ck_assert_int_eq(look(class_of("[", 3000, "\\uf000-\\uf100]{1000}"),
			     again(joined("%s-", wide), 100000)),
	    -1);
	/* Ignoring case makes hundreds of ranges of the one. */
	ck_assert_int_eq(look("(?i)[\\u{100}-\\u{1ffff}]{30000}",
			     again(joined("%s-", again("\xe4\x80\x80", 86998)), 174000)),
	    -1);
}
END_TEST

START_TEST(a_large_class_is_work_for_each_character)
{
	ck_assert_int_eq(
	    look(class_of("[", 3000, "]"), again("\xe6\x80\x83", 100000)), -1);
}
END_TEST

START_TEST(a_back_reference_that_is_compared_is_much_work)
{
	const char *text = joined("%sb%sc", again("a", 51200), again("a", 51100));

	ck_assert_int_eq(look("(?i)^(a+)b.*?\\1c", text), -1);
	ck_assert_int_eq(look("(?i)^(?<x>a+)b.*?\\k<x>c", text), -1);
}
END_TEST

START_TEST(many_groups_are_work_at_each_item)
{
	const char *regex =
	    joined("(?=%s)(?:(?:a|b)(?:c|d)|(?:b|a)(?:c|d)|.(?:c|d))", again("()", 2800));

	ck_assert_int_eq(look(regex, again("ab", 200)), -1);
}
END_TEST

START_TEST(what_no_search_can_bear_is_refused)
{
	ck_assert_str_eq(why_refused("(?<=.{60000})c"),
	    "a lookbehind goes back 60000 characters: 255 are the most");
	ck_assert_has(why_refused(joined("[%s]", again("a", 70000))), "longer than");
	ck_assert_has(why_refused("(((([a-z]{60}){60}){60}){60}){60}"), "too large");
	ck_assert_int_eq(look("(?<=.{255})c", again("c", 256)), 1);
}
END_TEST

START_TEST(a_pattern_that_costs_little_is_not_mistaken_for_one)
{
	const char *words = again("hello there ", 1000000);
	const char *name = class_of("^[a-z", 600, "\\u3000-\\u3fff]+$");

	ck_assert_int_eq(look("[A-Za-z0-9+/]{64}", words), 0);
	ck_assert_int_eq(look("\\b(\\w+)\\s+\\1\\b", words), 0);
	ck_assert_int_eq(look("(?i)\\b([a-z]+)\\s+\\1\\b", words), 0);
	ck_assert_int_eq(look("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", words), 0);
	ck_assert_int_eq(look("^[\\s\\S]{1000,}$", words), 1);
	ck_assert_int_eq(look(name, again("a", 1000000)), 1);
	ck_assert_int_eq(look(name, again("\xe4\x80\x80", 100000)), 1);
	ck_assert_int_eq(look("(.+)\\1x", joined("%sx", again("abcdefghij", 1000))), 1);
}
END_TEST

TCase *tcase_pattern(void);
TCase *
tcase_pattern(void)
{
	TCase *tcase = tcase_create("pattern");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_item_that_runs_over_much_and_fails_is_much_work);
	tcase_add_test(tcase, a_large_class_is_work_for_each_character);
	tcase_add_test(tcase, a_back_reference_that_is_compared_is_much_work);
	tcase_add_test(tcase, many_groups_are_work_at_each_item);
	tcase_add_test(tcase, what_no_search_can_bear_is_refused);
	tcase_add_test(tcase, a_pattern_that_costs_little_is_not_mistaken_for_one);
	return tcase;
}
