#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "arena.h"

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
	ck_assert_ptr_null(arena);
	arena_destroy(&arena);
}

START_TEST(memory_is_zeroed_and_aligned_for_any_type_of_its_size)
{
	/* Odd sizes and sizes over a chunk: the alignment must not depend on luck. */
	static const unsigned char zeroes[100000];
	static const size_t sizes[] = { 1, 3, 17, 4000, 5000, 1, 100000, 0, 31, 48 };
	size_t round, i;
	unsigned char *piece;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
			arena_copy(arena, "x", round % 2);
			piece = arena_alloc(arena, sizes[i]);
			ck_assert_uint_eq(
			    (uintptr_t)piece % (sizes[i] % 16 == 0 ? 16 : 8), 0);
			ck_assert_mem_eq(piece, zeroes, sizes[i]);
			memset(piece, 0xff, sizes[i]);
		}
	}
}
END_TEST

START_TEST(copies_end_with_a_nul_and_keep_inner_ones)
{
	char *copy = arena_copy(arena, "a\0b", 3);

	ck_assert_mem_eq(copy, "a\0b\0", 4);
	ck_assert_str_eq(arena_copy(arena, NULL, 0), "");
	ck_assert_str_eq(arena_strdup(arena, "text"), "text");
}
END_TEST

START_TEST(formatted_text_has_any_length)
{
	char *text = arena_printf(arena, "%s=%05000d", "n", 7);

	ck_assert_uint_eq(strlen(text), 5002);
	ck_assert_int_eq(text[5001], '7');
}
END_TEST

START_TEST(plain_text_is_formatted_as_stdio_does)
{
	char expected[128];
	int size;

	/* At all places of a chunk, its end too. */
	for (size = 0; size < 3000; size++) {
		snprintf(expected, sizeof expected, "%s:%u.%zu.%" PRIu64 "%s", "run", 0u,
		    (size_t)size, UINT64_MAX, "");
		ck_assert_str_eq(arena_printf(arena, "%s:%u.%zu.%" PRIu64 "%s", "run", 0u,
				     (size_t)size, UINT64_MAX, ""),
		    expected);
	}
	ck_assert_str_eq(arena_printf(arena, "%s", ""), "");
	ck_assert_str_eq(arena_printf(arena, "%u%%, %d", 7u, -1), "7%, -1");
	ck_assert_str_eq(arena_printf(arena, "%llu %lld", 1ull, -2ll), "1 -2");
}
END_TEST

/* What an arena leaves is used again, but not while it is in use. */
START_TEST(arenas_do_not_share_memory)
{
	enum { MANY = 300 };
	struct arena *arenas[MANY];
	char *pieces[MANY], expected[2000];
	size_t round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < MANY; i++) {
			arenas[i] = arena_new();
			arena_alloc(arenas[i], 900);
			pieces[i] = arena_alloc(arenas[i], sizeof expected);
			memset(pieces[i], (int)(i + round), sizeof expected);
		}
		for (i = 0; i < MANY; i++) {
			memset(expected, (int)(i + round), sizeof expected);
			ck_assert_mem_eq(pieces[i], expected, sizeof expected);
			arena_destroy(&arenas[i]);
		}
	}
}
END_TEST

START_TEST(bytes_counts_what_was_handed_out)
{
	ck_assert_uint_eq(arena_bytes(arena), 0);
	arena_alloc(arena, 1000);
	ck_assert_uint_ge(arena_bytes(arena), 1000);
	arena_copy(arena, "x", 1);
	ck_assert_uint_ge(arena_bytes(arena), 1002);
	ck_assert_uint_lt(arena_bytes(arena), 1100);
}
END_TEST

static char order[8];

static void
note(void *data)
{
	order[strlen(order)] = *(const char *)data;
}

START_TEST(finalizers_run_last_added_first)
{
	struct arena *other = arena_new();

	arena_on_destroy(other, note, arena_strdup(arena, "a"));
	arena_on_destroy(other, note, arena_strdup(arena, "b"));
	arena_on_destroy(other, note, arena_strdup(other, "c"));
	ck_assert_str_eq(order, "");
	arena_destroy(&other);
	ck_assert_str_eq(order, "cba");
}
END_TEST

TCase *tcase_arena(void);
TCase *
tcase_arena(void)
{
	TCase *tcase = tcase_create("arena");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, memory_is_zeroed_and_aligned_for_any_type_of_its_size);
	tcase_add_test(tcase, copies_end_with_a_nul_and_keep_inner_ones);
	tcase_add_test(tcase, formatted_text_has_any_length);
	tcase_add_test(tcase, plain_text_is_formatted_as_stdio_does);
	tcase_add_test(tcase, arenas_do_not_share_memory);
	tcase_add_test(tcase, bytes_counts_what_was_handed_out);
	tcase_add_test(tcase, finalizers_run_last_added_first);
	return tcase;
}
