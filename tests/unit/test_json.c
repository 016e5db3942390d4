#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"

/* Interface under test */
#include "json.h"

TCase *tcase_json(void);

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

static const struct value *
parse(const char *text, size_t size)
{
	const char *error = NULL;
	const struct value *value = json_parse(arena, text, size, &error);

	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}

static const char *
refusal(const char *text, size_t size)
{
	const char *error = NULL;

	ck_assert_ptr_null(json_parse(arena, text, size, &error));
	ck_assert_ptr_nonnull(error);
	return error;
}

/* What goes in and what comes out again. */
static const struct {
	const char *given, *written;
} texts[] = {
	{ "null", "null" },
	{ " true ", "true" },
	{ "false", "false" },
	{ "0", "0" },
	{ "-0", "0" },
	{ "-0.0", "-0.0" },
	{ "9223372036854775807", "9223372036854775807" },
	{ "-9223372036854775808", "-9223372036854775808" },
	{ "9223372036854775808", "9.223372036854776e+18" },
	{ "1.0", "1.0" },
	{ "1e2", "100.0" },
	{ "0.1", "0.1" },
	{ "0.30000000000000004", "0.30000000000000004" },
	{ "3.141592653589793", "3.141592653589793" },
	{ "1e22", "1e+22" },
	{ "5e-324", "4.94065645841247e-324" },
	{ "1.7976931348623157e308", "1.7976931348623157e+308" },
	{ "\"\"", "\"\"" },
	{ "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"" },
	{ "\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"" },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"",
	    "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"" },
	{ "\"\\u0080\\u009f\\u00a0 \xc2\x9b[2J\"",
	    "\"\\u0080\\u009f\xc2\xa0 \\u009b[2J\"" },
	{ "[]", "[]" },
	{ "{}", "{}" },
	{ "[ 1, [ ], { } ]", "[1,[],{}]" },
	{ "{\"a\":{\"b\":[null]}}", "{\"a\":{\"b\":[null]}}" },
	{ "{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}" },
	{ "{\"\":1}", "{\"\":1}" },
	{ "\"\\ud800\"", "\"\xef\xbf\xbd\"" },
	{ "\"\\udc00\\ud800\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\"\\ud800\\u0041\"", "\"\xef\xbf\xbd\x41\"" },
	{ "\"\\ud800\\ud83d\\ude00\"", "\"\xef\xbf\xbd\xf0\x9f\x98\x80\"" },
	{ "\"\\\\ud800\"", "\"\\\\ud800\"" },
	{ "{\"\\uDFFF\":1}", "{\"\xef\xbf\xbd\":1}" },
};

START_TEST(writes_what_it_read)
{
	const char *given = texts[_i].given;

	ck_assert_str_eq(
	    json_text(arena, parse(given, strlen(given))), texts[_i].written);
}
END_TEST

START_TEST(reads_what_it_wrote)
{
	const struct value *value = parse(texts[_i].given, strlen(texts[_i].given));
	const char *written = json_text(arena, value);

	ck_assert(value_equal(parse(written, strlen(written)), value));
	written = json_pretty(arena, value);
	ck_assert(value_equal(parse(written, strlen(written)), value));
}
END_TEST

static const struct {
	const char *given, *place;
} wrongs[] = {
	{ "", "line 1, column 1: " },
	{ "  ", "line 1, column 3: " },
	{ "nul", "line 1, column 4: " },
	{ "[1,\n2,\n  x]", "line 3, column " },
	{ "[1,]", "line 1, column " },
	{ "[1 2]", "line 1, column " },
	{ "{\"a\" 1}", "line 1, column " },
	{ "{1:2}", "line 1, column " },
	{ "{\"a\":1", "line 1, column 7: " },
	{ "\"abc", "line 1, column 5: " },
	{ "\"\\x\"", "line 1, column " },
	{ "\"\\u12g4\"", "line 1, column " },
	{ "\"\\ud83d\\u", "line 1, column " },
	{ "\"a\nb\"", "line " },
	{ "01", "line 1, column " },
	{ "1.", "line 1, column " },
	{ "+1", "line 1, column " },
	{ "NaN", "line 1, column " },
	{ "1e999", "line 1, column 6: a number is out of range" },
	{ "-1e999", "line 1, column 7: a number is out of range" },
	{ "[] []", "line 1, column " },
	{ "{}\"", "line 1, column 3: trailing garbage" },
	{ "{}\n \"a", "line 2, column 2: trailing garbage" },
	{ "\"a\"\"", "line 1, column 4: trailing garbage" },
	{ "1\"", "line 1, column 2: trailing garbage" },
	{ "null\"b", "line 1, column 5: trailing garbage" },
	{ "// no\n1", "line 1, column " },
	{ "[\"\xc3\xa9\",\n \"\xc3\xa9\xff\"]", "line 2, column 4: not UTF-8" },
	{ "\"\xc0\x80\"", "line 1, column 2: not UTF-8" },
	{ "\"\xed\xa0\x80\"", "line 1, column 2: not UTF-8" },
	{ "\"\xf4\x90\x80\x80\"", "line 1, column 2: not UTF-8" },
	{ "\"\xe2\x82", "line 1, column 2: not UTF-8" },
};

START_TEST(names_the_place_of_what_is_wrong)
{
	const char *given = wrongs[_i].given, *place = wrongs[_i].place;
	const char *error = refusal(given, strlen(given));

	ck_assert_msg(strncmp(error, place, strlen(place)) == 0, "%s: %s", given, error);
}
END_TEST

/* Returns depth arrays in each other. */
static const char *
nested(size_t depth)
{
	char *text = arena_alloc(arena, 2 * depth + 1);

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	return text;
}

START_TEST(bounds_the_depth)
{
	const struct value *value;
	struct packet packet = { 0 };
	const char *error = NULL;

	value = parse(nested(VALUE_DEPTH_MAX), (size_t)2 * VALUE_DEPTH_MAX);
	value_pack(&packet, value);
	ck_assert_int_eq(
	    value_unpack(arena, packet.data, packet.size, &value, &error), 0);
	packet_release(&packet);
	ck_assert_ptr_nonnull(
	    strstr(refusal(nested(VALUE_DEPTH_MAX + 1), (size_t)2 * VALUE_DEPTH_MAX + 2),
		"nested too deep"));
	refusal(nested(1000000), 2000000);
	refusal(nested(1000000), 1000000);
}
END_TEST

/* Returns an array of count nulls. */
static const char *
nulls(size_t count, size_t *size_r)
{
	static const char item[] = "null,";
	const size_t bytes = sizeof item - 1;
	char *text;
	size_t i;

	*size_r = bytes * count + 1;
	text = arena_alloc(arena, *size_r + 1);
	for (i = 0; i < count; i++)
		memcpy(text + 1 + bytes * i, item, bytes);
	text[0] = '[';
	text[*size_r - 1] = ']';
	return text;
}

START_TEST(bounds_the_number_of_values)
{
	const char *text;
	size_t size;

	text = nulls(VALUE_NODES_MAX - 1, &size);
	ck_assert_uint_eq(parse(text, size)->size, VALUE_NODES_MAX - 1);
	text = nulls(VALUE_NODES_MAX, &size);
	ck_assert_ptr_nonnull(strstr(refusal(text, size), "too many values"));
}
END_TEST

START_TEST(keeps_embedded_nuls)
{
	static const char given[] = "{\"a\\u0000b\":\"\\u0000c\"}";
	const struct value *value = parse(given, sizeof given - 1);

	ck_assert_uint_eq(value->size, 1);
	ck_assert_mem_eq(value->pairs[0].key->text, "a\0b", 4);
	ck_assert_uint_eq(value->pairs[0].key->size, 3);
	ck_assert_mem_eq(value->pairs[0].value->text, "\0c", 3);
	ck_assert_uint_eq(value->pairs[0].value->size, 2);
	ck_assert_str_eq(json_text(arena, value), given);
}
END_TEST

START_TEST(refuses_a_raw_nul)
{
	refusal("[1]\0", 4);
	refusal("\"a\0b\"", 5);
}
END_TEST

START_TEST(reads_exactly_size_bytes)
{
	ck_assert_int_eq(parse("123456", 3)->integer, 123);
	ck_assert_str_eq(json_text(arena, parse("[1]garbage", 3)), "[1]");
}
END_TEST

/* Returns a map's text with 2,000 keys, each written three times with rising values. */
static struct packet
repeated_keys(void)
{
	struct packet packet = { 0 };
	char pair[64];
	int i;

	packet_append(&packet, "{", 1);
	for (i = 0; i < 6000; i++) {
		snprintf(pair, sizeof pair, "\"k%d\":%d,", i % 2000, i);
		packet_append(&packet, pair, strlen(pair));
	}
	packet.data[packet.size - 1] = '}';
	return packet;
}

START_TEST(last_of_many_repeated_keys_wins_in_the_first_place)
{
	struct packet packet = repeated_keys();
	const struct value *map = parse(packet.data, packet.size);
	char key[16];
	int i;

	packet_release(&packet);
	ck_assert_uint_eq(map->size, 2000);
	for (i = 0; i < 2000; i++) {
		snprintf(key, sizeof key, "k%d", i);
		ck_assert(value_text_is(map->pairs[i].key, key));
		ck_assert(map->pairs[i].value->integer == 4000 + i);
	}
}
END_TEST

START_TEST(numbers_have_the_type_they_are_written_with)
{
	ck_assert_int_eq(parse("1", 1)->type, VALUE_INT);
	ck_assert_int_eq(parse("1.0", 3)->type, VALUE_FLOAT);
	ck_assert_int_eq(parse("1E0", 3)->type, VALUE_FLOAT);
	ck_assert_int_eq(parse("18446744073709551616", 20)->type, VALUE_FLOAT);
	ck_assert_double_eq(parse("18446744073709551616", 20)->real, 0x1p64);
}
END_TEST

START_TEST(reads_numbers_of_any_length)
{
	char digits[400];
	const struct value *value;

	memset(digits, '3', sizeof digits);
	digits[1] = '.';
	value = parse(digits, sizeof digits);
	ck_assert_double_eq(value->real, 10.0 / 3);
	memset(digits, '1', sizeof digits);
	refusal(digits, sizeof digits);
}
END_TEST

START_TEST(every_double_comes_back_the_same)
{
	uint64_t bits = 0x9e3779b97f4a7c15u;
	const char *text;
	double real;
	int i;

	for (i = 0; i < 20000; i++) {
		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&real, &bits, sizeof real);
		if (!isfinite(real))
			continue;
		text = json_text(arena, value_float(arena, real));
		ck_assert_int_eq(parse(text, strlen(text))->type, VALUE_FLOAT);
		ck_assert_double_eq(parse(text, strlen(text))->real, real);
	}
}
END_TEST

START_TEST(what_json_lacks_becomes_the_nearest)
{
	const struct value *items[] = {
		value_float(arena, NAN),
		value_float(arena, INFINITY),
		value_float(arena, -INFINITY),
		value_bin(arena, "a\xff\"", 3),
	};

	ck_assert_str_eq(json_text(arena, value_array(arena, items, 4)),
	    "[null,null,null,\"a\xef\xbf\xbd\\\"\"]");
	ck_assert_str_eq(json_text(arena, NULL), "null");
}
END_TEST

static const struct {
	const char *given, *written;
} characters[] = {
	{ "\n", "\\n" },
	{ "\x7f", "\\u007f" },
	{ "\xc2\x80", "\\u0080" },
	{ "\xc2\x9f", "\\u009f" },
	{ "\xc2\xa0", "\xc2\xa0" },
	{ "\xc3\x82", "\xc3\x82" },
};

START_TEST(escapes_wherever_the_character_stands)
{
	static const char rest[] = "~~~~~~~~~~~~~~~~~~~";
	char text[64], expected[64];
	int length, at;

	for (length = 0; length < 20; length++) {
		for (at = 0; at <= length; at++) {
			snprintf(text, sizeof text, "%.*s%s%.*s", at, rest,
			    characters[_i].given, length - at, rest);
			snprintf(expected, sizeof expected, "\"%.*s%s%.*s\"", at, rest,
			    characters[_i].written, length - at, rest);
			ck_assert_str_eq(
			    json_text(arena, value_str(arena, text)), expected);
		}
	}
}
END_TEST

START_TEST(pretty_has_a_line_an_item)
{
	static const char given[] = "{\"a\":[1,{\"b\":[]}],\"c\":{}}";

	ck_assert_str_eq(json_pretty(arena, parse(given, sizeof given - 1)),
	    "{\n"
	    "  \"a\": [\n"
	    "    1,\n"
	    "    {\n"
	    "      \"b\": []\n"
	    "    }\n"
	    "  ],\n"
	    "  \"c\": {}\n"
	    "}");
}
END_TEST

START_TEST(a_beginning_is_not_all_of_it)
{
	struct value_list list = { .arena = arena };
	const struct value *pair = value_map(arena, "a", value_int(arena, 1), "b",
			       VALUE_TEXT("two"), NULL),
			   *value;
	const char *whole, *beginning;
	int i;

	for (i = 0; i < 1000; i++)
		value_list_add(&list, pair);
	value = value_map(arena, "list", value_list_end(&list), NULL);
	whole = json_text(arena, value);
	for (i = 0; i < 100; i++) {
		beginning = json_beginning(arena, value, (size_t)i);
		ck_assert_int_eq(strncmp(beginning, whole, (size_t)i), 0);
		ck_assert_uint_lt(strlen(beginning), (size_t)i + 32);
	}
	ck_assert_str_eq(json_beginning(arena, value, strlen(whole)), whole);
}
END_TEST

START_TEST(write_appends)
{
	struct packet packet = { 0 };

	packet_append(&packet, "data: ", 6);
	json_write(&packet, value_int(arena, 7));
	json_write(&packet, NULL);
	ck_assert_uint_eq(packet.size, 11);
	ck_assert_mem_eq(packet.data, "data: 7null", 11);
	packet_release(&packet);
}
END_TEST

TCase *
tcase_json(void)
{
	TCase *tcase = tcase_create("json");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(
	    tcase, writes_what_it_read, 0, sizeof texts / sizeof texts[0]);
	tcase_add_loop_test(
	    tcase, reads_what_it_wrote, 0, sizeof texts / sizeof texts[0]);
	tcase_add_loop_test(
	    tcase, names_the_place_of_what_is_wrong, 0, sizeof wrongs / sizeof wrongs[0]);
	tcase_add_test(tcase, bounds_the_depth);
	tcase_add_test(tcase, bounds_the_number_of_values);
	tcase_add_test(tcase, keeps_embedded_nuls);
	tcase_add_test(tcase, refuses_a_raw_nul);
	tcase_add_test(tcase, reads_exactly_size_bytes);
	tcase_add_test(tcase, last_of_many_repeated_keys_wins_in_the_first_place);
	tcase_add_test(tcase, numbers_have_the_type_they_are_written_with);
	tcase_add_test(tcase, reads_numbers_of_any_length);
	tcase_add_test(tcase, every_double_comes_back_the_same);
	tcase_add_test(tcase, what_json_lacks_becomes_the_nearest);
	tcase_add_loop_test(tcase, escapes_wherever_the_character_stands, 0,
	    sizeof characters / sizeof *characters);
	tcase_add_test(tcase, pretty_has_a_line_an_item);
	tcase_add_test(tcase, a_beginning_is_not_all_of_it);
	tcase_add_test(tcase, write_appends);
	return tcase;
}
