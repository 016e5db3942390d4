/* Holds docs/redis.md to the library: each function has its row, and no row is of one that is not
 * there; and the rights of `flotilla keys redis-acl`. Run from the project's folder. */
#include <check.h>
#include <ctype.h>
#include <string.h>

#include "arena.h"
#include "page.h"

/* Interfaces under test */
#include "../../cli/keys/keys_acl.h"
#include "store.h"

#define PAGE "docs/redis.md"

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

/* The next name behind *at_p that stands behind mark, or NULL; *at_p goes behind it. */
static const char *
next_name(const char **at_p, const char *mark)
{
	const char *at = strstr(*at_p, mark), *end;

	if (at == NULL)
		return NULL;
	at += strlen(mark);
	for (end = at; islower((unsigned char)*end) || *end == '_'; end++)
		;
	*at_p = end;
	return arena_copy(arena, at, (size_t)(end - at));
}

START_TEST(each_function_of_the_library_is_on_the_page)
{
	const char *page = page_read(arena, PAGE), *at = store_library(), *name;
	unsigned count = 0;

	while ((name = next_name(&at, "\nregister('")) != NULL) {
		ck_assert_msg(strstr(page, arena_printf(arena, "`%s`", name)) != NULL,
		    PAGE " does not have %s", name);
		count++;
	}
	ck_assert_uint_gt(count, 20);
}
END_TEST

START_TEST(each_function_of_the_page_is_in_the_library)
{
	const char *at = page_read(arena, PAGE), *library = store_library(), *name;

	while ((name = next_name(&at, "`fl_")) != NULL)
		ck_assert_msg(strstr(library, arena_printf(arena, "\nregister('fl_%s'",
						  name)) != NULL,
		    PAGE " has fl_%s, which the library has not", name);
}
END_TEST

/* At maxmemory: those with a flag, by name or as all but one of the store's. */
START_TEST(the_page_says_which_go_on_at_maxmemory)
{
	const char *page = page_read(arena, PAGE), *at = store_library(), *name, *begin,
		   *end;

	begin = strstr(page, "\n`fl_renew`, `fl_sweep`");
	ck_assert_ptr_nonnull(begin);
	end = strstr(begin, "work at `maxmemory` too");
	ck_assert_ptr_nonnull(end);
	begin = arena_copy(arena, begin, (size_t)(end - begin));
	while ((name = next_name(&at, "\nregister('")) != NULL) {
		size_t line = strcspn(at, "\n");
		bool goes_on = memmem(at, line, ", 'allow-oom')", 14) != NULL ||
			       memmem(at, line, ", 'no-writes')", 14) != NULL;
		bool is_item = strncmp(name, "fl_item_", 8) == 0;
		bool is_named = strstr(begin, arena_printf(arena, "`%s`", name)) != NULL;

		ck_assert_msg(goes_on == (is_item ? !is_named : is_named),
		    PAGE " is wrong of %s at maxmemory", name);
	}
}
END_TEST

/* A function runs with the rights of who calls it. */
START_TEST(each_command_of_the_library_may_be_called)
{
	const char *rights = arena_printf(arena, "%s ", keys_acl_functions());
	const char *at = store_library();
	unsigned count = 0;

	while ((at = strstr(at, "('")) != NULL) {
		size_t size = strspn(at += 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), i;
		char *verb = arena_copy(arena, at, size);

		if (size < 3 || at[size] != '\'')
			continue;
		for (i = 0; i < size; i++)
			verb[i] = (char)tolower((unsigned char)verb[i]);
		ck_assert_msg(
		    strstr(rights, arena_printf(arena, "+%s ", verb)) != NULL ||
			strstr(rights, arena_printf(arena, "+%s|", verb)) != NULL,
		    "keys redis-acl does not give +%s", verb);
		count++;
	}
	ck_assert_uint_gt(count, 100);
}
END_TEST

TCase *tcase_redis_docs(void);
TCase *
tcase_redis_docs(void)
{
	TCase *tcase = tcase_create("redis_docs");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_function_of_the_library_is_on_the_page);
	tcase_add_test(tcase, each_function_of_the_page_is_in_the_library);
	tcase_add_test(tcase, each_command_of_the_library_may_be_called);
	tcase_add_test(tcase, the_page_says_which_go_on_at_maxmemory);
	return tcase;
}
