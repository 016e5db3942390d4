#include <check.h>
#include <math.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

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

static const char *
refused(const void *data, size_t size)
{
	const struct value *value = value_nil();
	const char *error = NULL;

	ck_assert_int_eq(value_unpack(arena, data, size, &value, &error), -1);
	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_eq(value, value_nil());
	return error;
}
#define ck_assert_refused(literal, reason)                                               \
	ck_assert_str_eq(refused(literal, sizeof(literal) - 1), reason)

/* Returns a list of all that can be packed, at the edges of each of its forms. */
static const struct value *
everything(void)
{
	static const int64_t edges[] = { 0, 1, -1, 127, 128, -32, -33, 255, 256, 65535,
		65536, -128, -129, -32768, -32769, INT32_MAX, INT32_MIN, UINT32_MAX,
		INT64_MAX, INT64_MIN };
	static const size_t sizes[] = { 0, 31, 32, 255, 256, 65535, 65536 };
	struct value_list list = { .arena = arena };
	char *long_text = malloc(70000);
	size_t i, j;

	memset(long_text, 'x', 70000);
	for (i = 0; i < sizeof edges / sizeof edges[0]; i++)
		value_list_add(&list, number(edges[i]));
	for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct value_list inner = { .arena = arena };

		value_list_add(&list, value_strn(arena, long_text, sizes[i]));
		value_list_add(&list, value_bin(arena, long_text, sizes[i]));
		for (j = 0; j < sizes[i]; j++)
			value_list_add(&inner, number((int64_t)j));
		value_list_add(&list, value_list_end(&inner));
	}
	value_list_add(&list, value_float(arena, -0.1));
	value_list_add(&list, value_float(arena, INFINITY));
	value_list_add(&list, sample());
	value_list_add(&list, value_strn(arena, "a\0b", 3));
	free(long_text);
	return value_list_end(&list);
}

START_TEST(everything_survives_msgpack)
{
	const struct value *list = everything();

	ck_assert(value_equal(through_msgpack(list), list));
	ck_assert(value_is(through_msgpack(NULL), VALUE_NIL));
}
END_TEST

static void
pack_by_msgpack_c(msgpack_packer *packer, const struct value *value)
{
	size_t i;

	switch (value->type) {
	case VALUE_NIL:
		msgpack_pack_nil(packer);
		break;
	case VALUE_BOOL:
		if (value->boolean)
			msgpack_pack_true(packer);
		else
			msgpack_pack_false(packer);
		break;
	case VALUE_INT:
		msgpack_pack_int64(packer, value->integer);
		break;
	case VALUE_FLOAT:
		msgpack_pack_double(packer, value->real);
		break;
	case VALUE_STR:
		msgpack_pack_str_with_body(packer, value->text, value->size);
		break;
	case VALUE_BIN:
		msgpack_pack_bin_with_body(packer, value->text, value->size);
		break;
	case VALUE_ARRAY:
		msgpack_pack_array(packer, value->size);
		for (i = 0; i < value->size; i++)
			pack_by_msgpack_c(packer, value->items[i]);
		break;
	case VALUE_MAP:
		msgpack_pack_map(packer, value->size);
		for (i = 0; i < value->size; i++) {
			pack_by_msgpack_c(packer, value->pairs[i].key);
			pack_by_msgpack_c(packer, value->pairs[i].value);
		}
		break;
	}
}

START_TEST(our_bytes_are_those_of_msgpack_c)
{
	const struct value *list = everything();
	struct packet packet = { 0 };
	msgpack_sbuffer theirs;
	msgpack_packer packer;

	msgpack_sbuffer_init(&theirs);
	msgpack_packer_init(&packer, &theirs, msgpack_sbuffer_write);
	pack_by_msgpack_c(&packer, list);
	value_pack(&packet, list);
	ck_assert_mem_eq(packet.data, theirs.data,
	    packet.size < theirs.size ? packet.size : theirs.size);
	ck_assert_uint_eq(packet.size, theirs.size);
	packet_release(&packet);
	msgpack_sbuffer_destroy(&theirs);
}
END_TEST

START_TEST(parts_written_one_by_one_make_one_value)
{
	struct packet packet = { 0 };
	const struct value *back;
	const char *error;

	value_pack_array(&packet, 2);
	value_pack_map(&packet, 1);
	value_pack_text(&packet, "key");
	value_pack(&packet, number(1));
	value_pack_text(&packet, "last");
	ck_assert_int_eq(value_unpack(arena, packet.data, packet.size, &back, &error), 0);
	ck_assert_int_eq(value_get_int(value_at(back, 0), "key", 0), 1);
	ck_assert(value_text_is(value_at(back, 1), "last"));
	packet_release(&packet);
	ck_assert_ptr_null(packet.data);
	packet_release(&packet);
}
END_TEST

START_TEST(frozen_and_unpacked_values_are_packed_by_copying)
{
	const struct value *frozen = value_freeze(arena, sample());
	const struct value *back = through_msgpack(frozen);
	struct packet packet = { 0 };

	ck_assert_ptr_nonnull(frozen->packed);
	ck_assert_ptr_eq(value_freeze(arena, frozen), frozen);
	ck_assert_ptr_nonnull(back->packed);
	ck_assert_ptr_nonnull(value_get(back, "items")->packed);
	value_pack(&packet, back);
	ck_assert_uint_eq(packet.size, frozen->packed_size);
	ck_assert_mem_eq(packet.data, frozen->packed, packet.size);
	packet_release(&packet);
	ck_assert(value_equal(
	    through_msgpack(value_get(back, "items")), value_get(back, "items")));
}
END_TEST

START_TEST(integers_beyond_64_bits_signed_become_floats)
{
	const struct value *back;
	const char *error;

	ck_assert_int_eq(
	    value_unpack(arena, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9, &back, &error),
	    0);
	ck_assert(value_is(back, VALUE_FLOAT));
	ck_assert_double_eq(back->real, 0x1p64);
	ck_assert_int_eq(
	    value_unpack(arena, "\xca\x3f\x00\x00\x00", 5, &back, &error), 0);
	ck_assert_double_eq(back->real, 0.5);
}
END_TEST

START_TEST(malformed_bytes_are_refused)
{
	ck_assert_refused("", "cut short");
	ck_assert_refused("\x92\x01", "a count is larger than what follows");
	ck_assert_refused("\x81\xa1"
			  "a",
	    "a count is larger than what follows");
	ck_assert_refused("\xa3"
			  "ab",
	    "cut short");
	ck_assert_refused("\xd9", "cut short");
	ck_assert_refused("\xd9\x05"
			  "ab",
	    "cut short");
	ck_assert_refused("\xcd\x01", "cut short");
	ck_assert_refused("\xcb\x01\x02", "cut short");
	ck_assert_refused("\x01\x02", "bytes behind the end");
	ck_assert_refused("\x90\xc0", "bytes behind the end");
	ck_assert_refused("\xc1", "a msgpack type we do not use");
	ck_assert_refused("\xd4\x01\x00", "a msgpack type we do not use");
	ck_assert_refused("\xc7\x01\x01\x00", "a msgpack type we do not use");
	ck_assert_refused("\x81\x01\x02", "a key is not a string");
	ck_assert_refused("\x82\xa1"
			  "a\x01\xa1"
			  "a\x02",
	    "a key is there twice");
	ck_assert_refused("\xa1\xff", "a string is not UTF-8");
	ck_assert_refused("\xa2\xc0\x80", "a string is not UTF-8");
	ck_assert_refused("\xa3\xed\xa0\x80", "a string is not UTF-8");
	/* One character's bytes in two strings. */
	ck_assert_refused("\x92\xa1\xc3\xa1\xa9", "a string is not UTF-8");
	ck_assert_refused("\xa4\xf4\x90\x80\x80", "a string is not UTF-8");
	ck_assert_refused("\x81\x90\x01", "nested too deep, or a key is not a string");
}
END_TEST

START_TEST(five_bytes_do_not_reserve_gigabytes)
{
	ck_assert_refused("\xdd\x10\x00\x00\x00", "a count is larger than what follows");
	ck_assert_refused("\xdf\x7f\xff\xff\xff", "a count is larger than what follows");
	ck_assert_refused("\xdb\x7f\xff\xff\xff", "cut short");
	ck_assert_refused("\xc6\xff\xff\xff\xff", "cut short");
	/* Each level promises what one byte could still hold, all of them cannot. */
	ck_assert_refused(
	    "\x93\x93\x93\x01\x02\x03", "a count is larger than what follows");
	ck_assert_uint_lt(arena_bytes(arena), 4096);
}
END_TEST

/* depth arrays around a nil. */
static size_t
nested(char *bytes, size_t depth)
{
	memset(bytes, 0x91, depth);
	bytes[depth] = (char)0xc0;
	return depth + 1;
}

START_TEST(depth_is_bounded)
{
	char bytes[PACKED_DEPTH_MAX + 2];
	const struct value *value;
	const char *error;
	size_t size;

	size = nested(bytes, PACKED_DEPTH_MAX);
	ck_assert_int_eq(value_unpack(arena, bytes, size, &value, &error), 0);
	size = nested(bytes, PACKED_DEPTH_MAX + 1);
	ck_assert_str_eq(
	    refused(bytes, size), "nested too deep, or a key is not a string");
}
END_TEST

START_TEST(the_number_of_values_is_bounded)
{
	size_t count = VALUE_NODES_MAX + 1, size = count + 5;
	uint8_t *bytes = calloc(1, size);

	bytes[0] = 0xdd;
	bytes[1] = (uint8_t)(count >> 24);
	bytes[2] = (uint8_t)(count >> 16);
	bytes[3] = (uint8_t)(count >> 8);
	bytes[4] = (uint8_t)count;
	ck_assert_str_eq(refused(bytes, size), "too many values");
	free(bytes);
}
END_TEST

START_TEST(repeated_keys_are_found_in_large_maps_too)
{
	struct packet packet = { 0 };
	char key[16];
	int i;

	value_pack_map(&packet, 1001);
	for (i = 0; i < 1001; i++) {
		snprintf(key, sizeof key, "key%d", i % 1000);
		value_pack_text(&packet, key);
		value_pack(&packet, value_nil());
	}
	ck_assert_str_eq(refused(packet.data, packet.size), "a key is there twice");
	packet_release(&packet);
}
END_TEST

static void
check_same(const struct value *is, const struct value *wanted)
{
	ck_assert(value_equal(is, wanted));
	ck_assert_uint_eq(is->packed_size, wanted->packed_size);
	ck_assert_mem_eq(is->packed, wanted->packed, wanted->packed_size);
}

/* Around the sizes where a map's head gets longer. */
START_TEST(a_map_with_one_more_is_packed_as_if_it_were_made_so)
{
	static const size_t sizes[] = { 0, 1, 14, 15, 16, 65534, 65535, 65536 };
	size_t size = sizes[_i], i;
	struct value_pair *pairs = arena_alloc(arena, (size + 1) * sizeof *pairs);
	const struct value *map, *more = value_int(arena, -70000);
	const struct value *known, *whole;

	for (i = 0; i < size; i++)
		pairs[i] =
		    (struct value_pair){ value_str(arena, arena_printf(arena, "k%zu", i)),
			    value_nil() };
	map = value_map_of(arena, pairs, size);
	known = value_freeze(arena, map);
	whole = value_freeze(arena, value_map_with(arena, map, "seq", more));
	check_same(value_freeze_with(arena, known, "seq", more), whole);
	check_same(value_freeze_with(arena, map, "seq", more), whole);
	/* One that is there already is replaced. */
	check_same(value_freeze_with(arena, whole, "seq", value_nil()),
	    value_freeze(arena, value_map_with(arena, map, "seq", value_nil())));
}
END_TEST

TCase *tcase_value_pack(void);
TCase *
tcase_value_pack(void)
{
	TCase *tcase = tcase_create("value_pack");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, everything_survives_msgpack);
	tcase_add_test(tcase, our_bytes_are_those_of_msgpack_c);
	tcase_add_test(tcase, parts_written_one_by_one_make_one_value);
	tcase_add_test(tcase, frozen_and_unpacked_values_are_packed_by_copying);
	tcase_add_loop_test(
	    tcase, a_map_with_one_more_is_packed_as_if_it_were_made_so, 0, 8);
	tcase_add_test(tcase, integers_beyond_64_bits_signed_become_floats);
	tcase_add_test(tcase, malformed_bytes_are_refused);
	tcase_add_test(tcase, five_bytes_do_not_reserve_gigabytes);
	tcase_add_test(tcase, depth_is_bounded);
	tcase_add_test(tcase, the_number_of_values_is_bounded);
	tcase_add_test(tcase, repeated_keys_are_found_in_large_maps_too);
	return tcase;
}
