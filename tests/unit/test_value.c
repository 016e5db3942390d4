#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "value.h"

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

static const struct value *
text(const char *string)
{
	return value_str(arena, string);
}

static const struct value *
number(int64_t integer)
{
	return value_int(arena, integer);
}

/* A map with one of everything. */
static const struct value *
sample(void)
{
	const struct value *items[] = { number(-1), number(300), text("z\xc3\xa9ro"),
		NULL };

	return value_map(arena, "type", text("ai"), "n", number(INT64_MIN), "f",
	    value_float(arena, 0.5), "yes", value_bool(true), "no", value_bool(false),
	    "nil", value_nil(), "bin", value_bin(arena, "\0\xff", 2), "items",
	    value_array(arena, items, 4), "empty", value_empty_map(), "absent", NULL,
	    NULL);
}

/* Returns value as it comes out of the bytes the packer makes, without remembered ones.
 */
static const struct value *
through_msgpack(const struct value *value)
{
	const struct value *back = NULL;
	struct packet packet = { 0 };
	const char *error = NULL;
	int failed;

	value_pack(&packet, value);
	failed = value_unpack(arena, packet.data, packet.size, &back, &error);
	packet_release(&packet);
	ck_assert_msg(failed == 0, "%s", error);
	return back;
}

START_TEST(absent_is_the_answer_to_null_and_wrong_types)
{
	const struct value *map = sample();

	ck_assert_ptr_null(value_get(NULL, "type"));
	ck_assert_ptr_null(value_get(text("type"), "type"));
	ck_assert_ptr_null(value_get(map, "absent"));
	ck_assert(!value_has(map, "absent"));
	ck_assert(value_has(map, "nil"));
	ck_assert_ptr_null(value_at(NULL, 0));
	ck_assert_ptr_null(value_at(map, 0));
	ck_assert_ptr_null(value_at(value_get(map, "items"), 4));
	ck_assert_ptr_null(value_text(NULL));
	ck_assert_ptr_null(value_text(number(1)));
	ck_assert_ptr_null(value_get_text(map, "n"));
	ck_assert_int_eq(value_get_int(map, "type", 7), 7);
	ck_assert_int_eq(value_get_int(NULL, "type", 7), 7);
	ck_assert_double_eq(value_get_number(map, "type", 7.5), 7.5);
	ck_assert_double_eq(value_number(NULL, 7.5), 7.5);
	ck_assert(value_get_bool(map, "type", true));
	ck_assert(!value_get_bool(map, "no", true));
	ck_assert_uint_eq(value_size(NULL), 0);
	ck_assert_uint_eq(value_size(number(9)), 0);
	ck_assert(value_is_nil(NULL) && value_is_nil(value_nil()));
	ck_assert(!value_is(NULL, VALUE_NIL));
	ck_assert(!value_contains(NULL, "x") && !value_contains(map, "x"));
	ck_assert(!value_text_is(NULL, "x") && !value_text_is(number(1), "x"));
}
END_TEST

START_TEST(what_was_put_in_is_found)
{
	const struct value *map = sample();

	ck_assert_uint_eq(value_size(map), 9);
	ck_assert_str_eq(value_get_text(map, "type"), "ai");
	ck_assert_int_eq(value_get_int(map, "n", 0), INT64_MIN);
	ck_assert_double_eq(value_get_number(map, "f", 0), 0.5);
	ck_assert_double_eq(value_number(number(3), 0), 3);
	ck_assert_int_eq(value_whole(NULL, 7), 7);
	ck_assert_int_eq(value_whole(value_float(arena, -2.5), 7), -2);
	ck_assert_int_eq(value_whole(value_float(arena, NAN), 7), 7);
	ck_assert_int_eq(value_whole(value_float(arena, 1e300), 7), (int64_t)1 << 53);
	ck_assert_int_eq(value_whole(number(INT64_MIN), 7), -((int64_t)1 << 53));
	ck_assert(value_get_bool(map, "yes", false));
	ck_assert_uint_eq(value_size(value_get(map, "items")), 4);
	ck_assert(value_contains(value_get(map, "items"), "z\xc3\xa9ro"));
	ck_assert(!value_contains(value_get(map, "items"), "z"));
	ck_assert(value_is(value_at(value_get(map, "items"), 3), VALUE_NIL));
	ck_assert(value_text_is(value_get(map, "type"), "ai"));
	ck_assert(!value_text_is(value_get(map, "type"), "a"));
	ck_assert_str_eq(value_text(value_printf(arena, "%d:%s", 4, "x")), "4:x");
	ck_assert_str_eq(value_type_name(VALUE_MAP), "object");
	ck_assert_str_eq(value_type_name(VALUE_INT), "integer");
}
END_TEST

START_TEST(whole_floats_are_read_as_integers_and_others_are_not)
{
	const struct value *map = value_map(arena, "whole", value_float(arena, 3.0),
	    "part", value_float(arena, 3.5), "huge", value_float(arena, 1e30), "nan",
	    value_float(arena, NAN), "edge", value_float(arena, 0x1p63), NULL);

	ck_assert_int_eq(value_get_int(map, "whole", -1), 3);
	ck_assert_int_eq(value_get_int(map, "part", -1), -1);
	ck_assert_int_eq(value_get_int(map, "huge", -1), -1);
	ck_assert_int_eq(value_get_int(map, "nan", -1), -1);
	ck_assert_int_eq(value_get_int(map, "edge", -1), -1);
}
END_TEST

START_TEST(truth_is_pythons)
{
	ck_assert(!value_truthy(NULL));
	ck_assert(!value_truthy(value_nil()));
	ck_assert(!value_truthy(value_bool(false)));
	ck_assert(!value_truthy(number(0)));
	ck_assert(!value_truthy(value_float(arena, 0.0)));
	ck_assert(!value_truthy(text("")));
	ck_assert(!value_truthy(value_empty_map()));
	ck_assert(!value_truthy(value_empty_array()));
	ck_assert(value_truthy(value_bool(true)));
	ck_assert(value_truthy(number(-1)));
	ck_assert(value_truthy(value_float(arena, 0.1)));
	ck_assert(value_truthy(text("0")));
	ck_assert(value_truthy(value_map(arena, "a", value_nil(), NULL)));
	ck_assert(value_truthy(value_array_add(arena, NULL, value_nil())));
}
END_TEST

START_TEST(equality_is_deep_and_by_value)
{
	const struct value *ab = value_map(arena, "a", number(1), "b", text("x"), NULL);
	const struct value *ba =
	    value_map(arena, "b", text("x"), "a", value_float(arena, 1.0), NULL);
	int64_t not_a_double = (INT64_C(1) << 53) + 1;

	ck_assert(value_equal(ab, ba));
	ck_assert(!value_equal(ab, value_map_with(arena, ba, "a", number(2))));
	ck_assert(!value_equal(ab, value_map_with(arena, ba, "c", number(2))));
	ck_assert(
	    !value_equal(ab, value_map(arena, "a", number(1), "c", text("x"), NULL)));
	ck_assert(value_equal(sample(), sample()));
	ck_assert(value_equal(NULL, value_nil()));
	ck_assert(!value_equal(NULL, number(0)));
	ck_assert(!value_equal(number(1), value_bool(true)));
	ck_assert(!value_equal(text("x"), value_bin(arena, "x", 1)));
	ck_assert(
	    !value_equal(number(not_a_double), value_float(arena, (double)not_a_double)));
	ck_assert(!value_equal(number(INT64_MAX), value_float(arena, 0x1p63)));
	ck_assert(value_equal(value_float(arena, NAN), value_float(arena, NAN)));
	ck_assert(!value_equal(number(0), value_float(arena, NAN)));
	ck_assert(
	    !value_equal(value_strn(arena, "a\0b", 3), value_strn(arena, "a\0c", 3)));
	ck_assert(!value_equal(value_empty_array(), value_empty_map()));
}
END_TEST

/* A map of so many keys, beginning with from. */
static const struct value *
large_map(int64_t from)
{
	const int64_t keys = 200000;
	struct value_fields fields = { .arena = arena };
	int64_t i, key;

	for (i = 0; i < keys; i++) {
		key = (from + i) % keys;
		value_fields_put(
		    &fields, value_printf(arena, "key-%06d", (int)key), number(key));
	}
	return value_fields_end(&fields);
}

/* Whoever writes a map chooses the order of its keys. */
START_TEST(large_maps_in_another_order_are_compared_in_time)
{
	const struct value *map = large_map(0), *other = large_map(100000);
	const struct value *more = value_map_with(arena, other, "key-000007", number(0));

	ck_assert(value_equal(map, other));
	ck_assert(!value_equal(map, more));
	more = value_map_with(arena, other, "key-000007", NULL);
	ck_assert(!value_equal(map, more));
	ck_assert(!value_equal(map, value_map_with(arena, more, "new", number(7))));
}
END_TEST

START_TEST(a_map_is_looked_up_whatever_its_size)
{
	static const unsigned sizes[] = { 0, 1, 32, 33, 1000 };
	struct value_fields fields = { .arena = arena };
	struct value_lookup lookup = { .arena = arena };
	const struct value *found;
	unsigned i;

	for (i = 0; i < sizes[_i]; i++)
		value_fields_set(
		    &fields, arena_printf(arena, "k%u", i), value_int(arena, i));
	lookup.map = value_fields_end(&fields);
	for (i = 0; i < sizes[_i]; i++) {
		found = value_look(&lookup, value_printf(arena, "k%u", i));
		ck_assert_int_eq(found->integer, i);
		/* What is not there is not noted. */
		ck_assert_ptr_null(value_look(&lookup, value_printf(arena, "x%u", i)));
	}
	lookup = (struct value_lookup){ .map = NULL, .arena = arena };
	ck_assert_ptr_null(value_look(&lookup, value_str(arena, "k0")));
}
END_TEST

START_TEST(strings_that_are_not_utf8_are_repaired)
{
	ck_assert_str_eq(
	    value_text(value_strn(arena, "a\xff\xc3", 3)), "a\xef\xbf\xbd\xef\xbf\xbd");
	ck_assert_str_eq(value_text(value_printf(arena, "%c!", 0xed)), "\xef\xbf\xbd!");
	ck_assert_uint_eq(value_size(value_strn(arena, "\xff", 1)), 3);
	ck_assert_str_eq(value_text(text("\xe2\x82\xac \xf0\x9f\x9a\xa2")),
	    "\xe2\x82\xac \xf0\x9f\x9a\xa2");
	through_msgpack(value_map(arena, "k\xff", text("\xed\xa0\x80"), NULL));
}
END_TEST

START_TEST(a_key_set_again_replaces_in_place)
{
	struct value_fields fields = { .arena = arena };
	const struct value *map;

	value_fields_set(&fields, "a", number(1));
	value_fields_set(&fields, "b", number(2));
	value_fields_set(&fields, "a", number(3));
	value_fields_set(&fields, "b", NULL);
	map = value_fields_end(&fields);
	ck_assert_uint_eq(map->size, 2);
	ck_assert_str_eq(map->pairs[0].key->text, "a");
	ck_assert_int_eq(value_get_int(map, "a", 0), 3);
	ck_assert_int_eq(value_get_int(map, "b", 0), 2);
}
END_TEST

START_TEST(large_maps_keep_order_and_replace_too)
{
	struct value_fields fields = { .arena = arena };
	const struct value *map, *back;
	char key[16];
	int i;

	for (i = 0; i < 20000; i++) {
		snprintf(key, sizeof key, "k%d", i % 10000);
		value_fields_set(&fields, key, number(i));
	}
	map = value_fields_end(&fields);
	ck_assert_uint_eq(map->size, 10000);
	for (i = 0; i < 10000; i++) {
		snprintf(key, sizeof key, "k%d", i);
		ck_assert_str_eq(map->pairs[i].key->text, key);
		ck_assert_int_eq(map->pairs[i].value->integer, i + 10000);
	}
	back = through_msgpack(map);
	ck_assert(value_equal(map, back));
	ck_assert(value_equal(map, value_map_merge(arena, back, map)));
}
END_TEST

START_TEST(changing_shares_and_leaves_the_old_alone)
{
	const struct value *old = value_map(arena, "a", text("1"), "b", text("2"), NULL);
	const struct value *changed = value_map_with(arena, old, "a", text("9"));
	const struct value *without = value_map_with(arena, old, "a", NULL);

	ck_assert_str_eq(value_get_text(old, "a"), "1");
	ck_assert_str_eq(value_get_text(changed, "a"), "9");
	ck_assert_ptr_eq(value_get(changed, "b"), value_get(old, "b"));
	ck_assert_uint_eq(value_size(without), 1);
	ck_assert_str_eq(value_get_text(without, "b"), "2");
	ck_assert_ptr_eq(value_map_with(arena, old, "z", NULL), old);
	ck_assert_int_eq(
	    value_get_int(value_map_with(arena, NULL, "n", number(5)), "n", 0), 5);
	ck_assert_uint_eq(value_size(value_map_with(arena, without, "b", NULL)), 0);
}
END_TEST

START_TEST(what_changed_forgets_its_packed_bytes)
{
	const struct value *old = through_msgpack(sample());
	const struct value *changed = value_map_with(arena, old, "type", text("tool"));

	ck_assert_ptr_nonnull(old->packed);
	ck_assert_str_eq(value_get_text(through_msgpack(changed), "type"), "tool");
	ck_assert_str_eq(value_get_text(through_msgpack(old), "type"), "ai");
}
END_TEST

START_TEST(merge_lays_b_over_a)
{
	const struct value *a = value_map(arena, "x", number(1), "y", number(2), NULL);
	const struct value *b = value_map(arena, "y", number(3), "z", number(4), NULL);
	const struct value *merged = value_map_merge(arena, a, b);

	ck_assert(value_equal(merged,
	    value_map(arena, "x", number(1), "y", number(3), "z", number(4), NULL)));
	ck_assert_ptr_eq(value_map_merge(arena, a, NULL), a);
	ck_assert_ptr_eq(value_map_merge(arena, NULL, b), b);
	ck_assert_ptr_eq(value_map_merge(arena, NULL, NULL), value_empty_map());
}
END_TEST

START_TEST(arrays_are_joined_cut_and_extended)
{
	const struct value *abc, *joined;
	struct value_list list = { .arena = arena };
	int i;

	for (i = 0; i < 3; i++)
		value_list_add(&list, number(i));
	abc = value_list_end(&list);
	value_list_add(&list, number(99));
	ck_assert_uint_eq(value_size(abc), 3);
	joined = value_array_concat(arena, abc, value_list_end(&list));
	ck_assert_uint_eq(value_size(joined), 7);
	ck_assert_int_eq(value_at(joined, 6)->integer, 99);
	ck_assert_ptr_eq(value_array_concat(arena, NULL, abc), abc);
	ck_assert_ptr_eq(value_array_concat(arena, abc, NULL), abc);
	ck_assert_ptr_eq(value_array_concat(arena, NULL, NULL), value_empty_array());
	ck_assert_uint_eq(value_size(value_array_slice(arena, joined, 2, 4)), 2);
	ck_assert_int_eq(value_at(value_array_slice(arena, joined, 2, 4), 1)->integer, 0);
	ck_assert_uint_eq(value_size(value_array_slice(arena, joined, 5, 100)), 2);
	ck_assert_uint_eq(value_size(value_array_slice(arena, joined, 4, 2)), 0);
	ck_assert_uint_eq(value_size(value_array_slice(arena, NULL, 0, 2)), 0);
	ck_assert_int_eq(value_at(value_array_add(arena, abc, number(7)), 3)->integer, 7);
	ck_assert_uint_eq(value_size(abc), 3);
}
END_TEST

START_TEST(a_copy_lives_on_without_its_first_arena)
{
	struct arena *other = arena_new();
	const struct value *frozen = value_freeze(other, sample());
	const struct value *unpacked, *copy, *copy2;
	const char *error;

	ck_assert_int_eq(
	    value_unpack(other, frozen->packed, frozen->packed_size, &unpacked, &error),
	    0);
	copy = value_copy(arena, frozen);
	copy2 = value_copy(arena, value_array_add(other, NULL, unpacked));
	arena_destroy(&other);
	ck_assert(value_equal(copy, sample()));
	ck_assert(value_equal(value_at(copy2, 0), sample()));
	ck_assert(value_equal(through_msgpack(copy), sample()));
	ck_assert(value_equal(through_msgpack(value_get(value_at(copy2, 0), "items")),
	    value_get(sample(), "items")));
	ck_assert_ptr_null(value_copy(arena, NULL));
	/* The bytes of what lies inside are part of those around it. */
	unpacked = value_at(copy2, 0);
	ck_assert(value_get(unpacked, "items")->packed > unpacked->packed);
	ck_assert(value_get(unpacked, "items")->packed <
		  unpacked->packed + unpacked->packed_size);
}
END_TEST

TCase *tcase_value(void);
TCase *
tcase_value(void)
{
	TCase *tcase = tcase_create("value");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, absent_is_the_answer_to_null_and_wrong_types);
	tcase_add_test(tcase, what_was_put_in_is_found);
	tcase_add_test(tcase, whole_floats_are_read_as_integers_and_others_are_not);
	tcase_add_test(tcase, truth_is_pythons);
	tcase_add_test(tcase, equality_is_deep_and_by_value);
	tcase_add_test(tcase, large_maps_in_another_order_are_compared_in_time);
	tcase_add_loop_test(tcase, a_map_is_looked_up_whatever_its_size, 0, 5);
	tcase_add_test(tcase, strings_that_are_not_utf8_are_repaired);
	tcase_add_test(tcase, a_key_set_again_replaces_in_place);
	tcase_add_test(tcase, large_maps_keep_order_and_replace_too);
	tcase_add_test(tcase, changing_shares_and_leaves_the_old_alone);
	tcase_add_test(tcase, what_changed_forgets_its_packed_bytes);
	tcase_add_test(tcase, merge_lays_b_over_a);
	tcase_add_test(tcase, arrays_are_joined_cut_and_extended);
	tcase_add_test(tcase, a_copy_lives_on_without_its_first_arena);
	return tcase;
}
