#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "bounds.h"

/* Interface under test */
#include "yaml_file.h"

TCase *tcase_yaml(void);

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

static struct yaml *
parse(const char *text)
{
	const char *error = NULL;
	struct yaml *yaml = yaml_parse(arena, "spec.yaml", text, strlen(text), &error);

	ck_assert_msg(yaml != NULL, "%s: %s", text, error);
	return yaml;
}

/* Returns what the only document of text is as JSON. */
static const char *
as_json(const char *text)
{
	struct yaml *yaml = parse(text);
	const char *json;

	ck_assert_uint_eq(yaml_count(yaml), 1);
	json = json_text(arena, yaml_root(yaml, 0));
	yaml_destroy(&yaml);
	ck_assert_ptr_null(yaml);
	return json;
}

static const char *
refusal(const char *text, size_t size)
{
	const char *error = NULL;

	ck_assert_ptr_null(yaml_parse(arena, "spec.yaml", text, size, &error));
	ck_assert_ptr_nonnull(error);
	return error;
}

static const struct {
	const char *yaml, *json;
} texts[] = {
	{ "[null, Null, NULL, ~, ]", "[null,null,null,null]" },
	{ "[true, True, TRUE, false, False, FALSE]",
	    "[true,true,true,false,false,false]" },
	{ "[yes, no, on, off, y, nULL, tRUE]",
	    "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"nULL\",\"tRUE\"]" },
	{ "[0, -1, +2, 007, 0o17, 0x1F]", "[0,-1,2,7,15,31]" },
	{ "[1.5, .5, 5., -1e3, 1E-2, +.5]", "[1.5,0.5,5.0,-1000.0,0.01,0.5]" },
	{ "[9223372036854775807, 9223372036854775808, 0xFFFFFFFFFFFFFFFF]",
	    "[9223372036854775807,9.223372036854776e+18,1.8446744073709552e+19]" },
	{ "[0o8, 0x, 0xg, 1_000, 1e, ., +, .e1, 0b1, 1.2.3, 12:30, 2024-01-01]",
	    "[\"0o8\",\"0x\",\"0xg\",\"1_000\",\"1e\",\".\",\"+\",\".e1\",\"0b1\","
	    "\"1.2.3\",\"12:30\",\"2024-01-01\"]" },
	{ "[.inf, -.INF, .nan]", "[null,null,null]" },
	{ "['1', \"true\", \"\", 'it''s', \"a\\tb\\u00e9\\0\"]",
	    "[\"1\",\"true\",\"\",\"it's\",\"a\\tb\xc3\xa9\\u0000\"]" },
	{ "a: 1\nb:\n  - x\n  - y: 2\n    z:\nc: {d: [e, {}], f: []}\n",
	    "{\"a\":1,\"b\":[\"x\",{\"y\":2,\"z\":null}],\"c\":{\"d\":[\"e\",{}],\"f\":[]"
	    "}}" },
	{ "a: |\n  one\n  two\nb: >-\n  three\n  four\n",
	    "{\"a\":\"one\\ntwo\\n\",\"b\":\"three four\"}" },
	{ "1: one\ntrue: two\nnull: three\n\"q\": four\n",
	    "{\"1\":\"one\",\"true\":\"two\",\"null\":\"three\",\"q\":\"four\"}" },
	{ "- !!str 1\n- !!int \"2\"\n- !!float 3\n- ! 4\n- !!null ''\n- !!map {}\n- "
	  "!!seq []\n",
	    "[\"1\",2,3.0,\"4\",null,{},[]]" },
	{ "- &a {x: 1}\n- *a\n- [*a]\n", "[{\"x\":1},{\"x\":1},[{\"x\":1}]]" },
	{ "- &a 1\n- &a 2\n- *a\n", "[1,2,2]" },
	{ "base: &b {x: 1, y: 2}\nmore:\n  y: 3\n  <<: *b\n",
	    "{\"base\":{\"x\":1,\"y\":2},\"more\":{\"y\":3,\"x\":1}}" },
	{ "- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b]\n  z: 3\n",
	    "[{\"x\":1},{\"x\":2,\"y\":2},{\"z\":3,\"x\":1,\"y\":2}]" },
	{ "<<: {a: 1}\nb: 2\n", "{\"b\":2,\"a\":1}" },
	{ "\"<<\": 1\n", "{\"<<\":1}" },
	{ "&k key: 1\nother: *k\n", "{\"key\":1,\"other\":\"key\"}" },
	{ "{\n\t\"a\": [1, 2.5, \"x\\ny\", null, true],\n\t\"b\": {\"\": {}}\n}\n",
	    "{\"a\":[1,2.5,\"x\\ny\",null,true],\"b\":{\"\":{}}}" },
	{ "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"" },
	/* Only in double quotes is it a character. */
	{ "# \\ud83d\\ude00\n- \\ud83d\\ude00\n- '\\ud83d\\ude01' # \\ud83d\\ude02\n"
	  "- | # \\ud83d\\ude03\n  \xc3\xa9 \\uD83D\\uDE04 and \\ud83d\\ude05\n"
	  "- \"\xf0\x9f\x98\x80 \\uD83D\\uDE06\\\\\\ud83d\\ude07 \\\\ud83d\"\n- "
	  "\\ud83d\\ude08\n",
	    "[\"\\\\ud83d\\\\ude00\",\"\\\\ud83d\\\\ude01\","
	    "\"\xc3\xa9 \\\\uD83D\\\\uDE04 and \\\\ud83d\\\\ude05\\n\","
	    "\"\xf0\x9f\x98\x80 \xf0\x9f\x98\x86\\\\\xf0\x9f\x98\x87 \\\\ud83d\","
	    "\"\\\\ud83d\\\\ude08\"]" },
	{ "\xef\xbb\xbf{\"\\ud83d\\ude00\": \"\\udbff\\udfff\"}",
	    "{\"\xf0\x9f\x98\x80\":\"\xf4\x8f\xbf\xbf\"}" },
	{ "\"\\ufffe\\ufffe\"", "\"\xef\xbf\xbe\xef\xbf\xbe\"" },
	{ "a: \xc3\xa9 # a comment\r\nb: 2\r\n", "{\"a\":\"\xc3\xa9\",\"b\":2}" },
	{ "\xef\xbb\xbf"
	  "a: 1\n",
	    "{\"a\":1}" },
	/* No line breaks: a block goes on, blanks stay, and JSON's texts are JSON's. */
	{ "a: |\n  one\xe2\x80\xa8two\nb: x\xe2\x80\xa9y:z\n",
	    "{\"a\":\"one\xe2\x80\xa8two\\n\",\"b\":\"x\xe2\x80\xa9y:z\"}" },
	{ "{\"a\": \"1 \xc2\x85 2 \xe2\x80\xa8 3 \xe2\x80\xa9 4 \\ud83d\\ude00\"}",
	    "{\"a\":\"1 \\u0085 2 \xe2\x80\xa8 3 \xe2\x80\xa9 4 \xf0\x9f\x98\x80\"}" },
	/* What would stand in for them is there already, or named. */
	{ "\"\xee\x80\x80 \\ue001 \\U0000E002 \\u0100 \xe2\x80\xa8 \xe2\x80\xa9 "
	  "\xc2\x85\"",
	    "\"\xee\x80\x80 \xee\x80\x81 \xee\x80\x82 \xc4\x80 \xe2\x80\xa8 \xe2\x80\xa9 "
	    "\\u0085\"" },
	{ "--- scalar\n", "\"scalar\"" },
	{ "---\n", "null" },
};

START_TEST(means_the_same_as_this_json)
{
	ck_assert_str_eq(as_json(texts[_i].yaml), texts[_i].json);
}
END_TEST

START_TEST(has_all_documents)
{
	struct yaml *yaml = parse("a: 1\n---\n- b\n...\n---\nc\n");

	ck_assert_uint_eq(yaml_count(yaml), 3);
	ck_assert_int_eq(value_get_int(yaml_root(yaml, 0), "a", 0), 1);
	ck_assert_str_eq(value_text(value_at(yaml_root(yaml, 1), 0)), "b");
	ck_assert_str_eq(value_text(yaml_root(yaml, 2)), "c");
	ck_assert_ptr_null(yaml_root(yaml, 3));
	yaml_destroy(&yaml);
}
END_TEST

START_TEST(nothing_is_no_document)
{
	struct yaml *yaml = parse("# nothing\n");

	ck_assert_uint_eq(yaml_count(yaml), 0);
	ck_assert_ptr_null(yaml_root(yaml, 0));
	ck_assert_str_eq(yaml_place(yaml, arena, 0, "/a"), "spec.yaml:1:1");
	yaml_destroy(&yaml);
}
END_TEST

static const struct {
	const char *path, *place, *key_place;
} places[] = {
	{ "", "spec.yaml:1:1", "spec.yaml:1:1" },
	{ "/name", "spec.yaml:1:7", "spec.yaml:1:1" },
	{ "/middleware", "spec.yaml:3:3", "spec.yaml:2:1" },
	{ "/middleware/0", "spec.yaml:3:5", "spec.yaml:3:5" },
	{ "/middleware/0/model_retry/max", "spec.yaml:4:12", "spec.yaml:4:7" },
	{ "/middleware/1", "spec.yaml:5:5", "spec.yaml:5:5" },
	{ "/middleware/1/a~1b~0c", "spec.yaml:5:15", "spec.yaml:5:6" },
	{ "/copy/max", "spec.yaml:4:12", "spec.yaml:4:7" },
	{ "/copy", "spec.yaml:6:7", "spec.yaml:6:1" },
	{ "/none", "spec.yaml:7:7", "spec.yaml:7:1" },
	/* What is not there is looked for where it would be. */
	{ "/name/deeper", "spec.yaml:1:7", "spec.yaml:1:7" },
	{ "/middleware/7", "spec.yaml:3:3", "spec.yaml:3:3" },
	{ "/middleware/0x", "spec.yaml:3:3", "spec.yaml:3:3" },
	{ "/middleware/0/model_retry/nothing", "spec.yaml:3:18", "spec.yaml:3:18" },
	{ "/unknown", "spec.yaml:1:1", "spec.yaml:1:1" },
};

START_TEST(knows_where_a_value_is_written)
{
	struct yaml *yaml = parse("name: x\n"
				  "middleware:\n"
				  "  - model_retry: &r\n"
				  "      max: 3\n"
				  "  - {\"a/b~c\": 1}\n"
				  "copy: *r\n"
				  "none: ''\n");

	ck_assert_str_eq(yaml_place(yaml, arena, 0, places[_i].path), places[_i].place);
	ck_assert_str_eq(
	    yaml_key_place(yaml, arena, 0, places[_i].path), places[_i].key_place);
	yaml_destroy(&yaml);
}
END_TEST

/* Returns depth lists in each other. */
static const char *
nested(size_t depth)
{
	char *text = arena_alloc(arena, 2 * depth + 1);

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	return text;
}

/* Returns depth maps in each other, a line each. */
static const char *
indented(size_t depth)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i, j;

	for (i = 0; i < depth; i++) {
		for (j = 0; j < i; j++)
			packet_append(&packet, " ", 1);
		packet_append(&packet, "a:\n", 3);
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

START_TEST(bounds_the_depth)
{
	const char *deep = nested(VALUE_DEPTH_MAX + 1);

	as_json(nested(VALUE_DEPTH_MAX));
	as_json(indented(VALUE_DEPTH_MAX));
	refusal(deep, strlen(deep));
	deep = nested(100000);
	refusal(deep, strlen(deep));
	deep = indented(VALUE_DEPTH_MAX + 1);
	ck_assert_ptr_nonnull(strstr(refusal(deep, strlen(deep)), "nested too deep"));
}
END_TEST

static const char bomb[] = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
			   "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
			   "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
			   "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
			   "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
			   "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
			   "g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";

START_TEST(refuses_an_alias_bomb)
{
	ck_assert_ptr_nonnull(strstr(refusal(bomb, strlen(bomb)), "spec.yaml:6:"));
	ck_assert_ptr_nonnull(strstr(refusal(bomb, strlen(bomb)), "too many values"));
}
END_TEST

/* What is named is as deep as it would be here. */
START_TEST(refuses_a_depth_made_of_aliases)
{
	const char *most =
	    "a: &a [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"
	    "b: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n";
	const char *more =
	    "a: &a [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"
	    "b: {<<: &b {c: [*a]}}\n"
	    "d: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[*b]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n";

	ck_assert_ptr_nonnull(strstr(as_json(most), "[[]]"));
	ck_assert_ptr_nonnull(strstr(refusal(more, strlen(more)), "spec.yaml:3:"));
	ck_assert_ptr_nonnull(strstr(refusal(more, strlen(more)), "nested too deep"));
}
END_TEST

/* Few values, of which each is long. */
START_TEST(refuses_a_bomb_of_text)
{
	const char *text = arena_printf(arena, "a: &a %04000d\nb: &b [", 1);
	int i;

	for (i = 0; i < 100; i++)
		text = arena_printf(arena, "%s*a,", text);
	text = arena_printf(arena, "%s]\nc: [", text);
	for (i = 0; i < 1000; i++)
		text = arena_printf(arena, "%s*b,", text);
	text = arena_printf(arena, "%s]\n", text);
	ck_assert_ptr_nonnull(strstr(refusal(text, strlen(text)), "spec.yaml:3:"));
	ck_assert_ptr_nonnull(strstr(refusal(text, strlen(text)), "too much text"));
}
END_TEST

/* Each line merges a map of as many keys as there are lines. */
START_TEST(refuses_a_merge_bomb)
{
	struct packet packet = { 0 };
	char line[32];
	int i;

	packet_append(&packet, "a: &a\n", 6);
	for (i = 0; i < 5000; i++) {
		snprintf(line, sizeof line, " k%d: 1\n", i);
		packet_append(&packet, line, strlen(line));
	}
	packet_append(&packet, "b:\n", 3);
	for (i = 0; i < 5000; i++)
		packet_append(&packet, "- <<: *a\n", 9);
	ck_assert_ptr_nonnull(
	    strstr(refusal(packet.data, packet.size), "too many values"));
	packet_release(&packet);
}
END_TEST

START_TEST(refuses_too_many_tags)
{
	const char *text = "", *error;
	size_t i;

	for (i = 0; i <= YAML_TAGS_MAX; i++)
		text = arena_printf(arena, "%s%%TAG !%zu! tag:a\r\n", text, i);
	text = arena_printf(arena, "%s---\r\na\r\n", text);
	error = refusal(text, strlen(text));
	ck_assert_str_eq(error, "spec.yaml:65:1: too many %TAG lines");
	/* One less is all right. */
	ck_assert_str_eq(as_json(strchr(text, '\n') + 1), "\"a\"");
}
END_TEST

START_TEST(refuses_too_many_anchors)
{
	struct packet packet = { 0 };
	char line[32];
	size_t i;

	for (i = 0; i <= YAML_ANCHORS_MAX; i++) {
		snprintf(line, sizeof line, "- &a%zu x\n", i);
		packet_append(&packet, line, strlen(line));
	}
	ck_assert_ptr_nonnull(
	    strstr(refusal(packet.data, packet.size), "spec.yaml:257:"));
	packet_release(&packet);
}
END_TEST

START_TEST(finds_a_repeated_key_among_many)
{
	struct packet packet = { 0 };
	char line[32];
	int i;

	for (i = 0; i < 20000; i++) {
		snprintf(line, sizeof line, "k%d: 1\n", i);
		packet_append(&packet, line, strlen(line));
	}
	packet_append(&packet, "k77: 2\n", 7);
	ck_assert_str_eq(refusal(packet.data, packet.size),
	    "spec.yaml:20001:1: key \"k77\" is there twice");
	packet_release(&packet);
}
END_TEST

START_TEST(bounds_the_size)
{
	char *text = arena_alloc(arena, SPEC_BYTES_MAX + 2);
	struct yaml *yaml;

	memset(text, '#', SPEC_BYTES_MAX + 1);
	ck_assert_ptr_nonnull(
	    strstr(refusal(text, SPEC_BYTES_MAX + 1), "spec.yaml:1:1: larger than"));
	text[SPEC_BYTES_MAX] = '\0';
	yaml = parse(text);
	ck_assert_uint_eq(yaml_count(yaml), 0);
	yaml_destroy(&yaml);
}
END_TEST

START_TEST(loads_a_file)
{
	char path[] = "/tmp/test_yaml_XXXXXX";
	int fd = mkstemp(path);
	const char *error = NULL;
	struct yaml *yaml;

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, "a:\n  b: c\n", 10), 10);
	close(fd);
	yaml = yaml_load(arena, path, &error);
	unlink(path);
	ck_assert_ptr_nonnull(yaml);
	ck_assert_str_eq(
	    yaml_place(yaml, arena, 0, "/a/b"), arena_printf(arena, "%s:2:6", path));
	yaml_destroy(&yaml);
}
END_TEST

START_TEST(says_why_a_file_is_not_loaded)
{
	const char *error = NULL;

	ck_assert_ptr_null(yaml_load(arena, "/nowhere/x.yaml", &error));
	ck_assert_str_eq(error, "/nowhere/x.yaml: No such file or directory");
	ck_assert_ptr_null(yaml_load(arena, "/tmp", &error));
	ck_assert_str_eq(error, "/tmp: Is a directory");
	ck_assert_ptr_null(yaml_load(arena, "/dev/zero", &error));
	ck_assert_ptr_nonnull(strstr(error, "/dev/zero:1:1: larger than"));
}
END_TEST

/* libyaml would not mind. */
START_TEST(prints_nothing)
{
	char path[] = "/tmp/test_yaml_XXXXXX";
	int fd = mkstemp(path), saved = dup(STDERR_FILENO);

	ck_assert_int_ne(dup2(fd, STDERR_FILENO), -1);
	refusal("a: [", 4);
	refusal("a: b: c", 7);
	refusal("%YAML 3.0\n---\na", 15);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	unlink(path);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 0);
	close(fd);
	close(saved);
}
END_TEST

TCase *
tcase_yaml(void)
{
	TCase *tcase = tcase_create("yaml");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(
	    tcase, means_the_same_as_this_json, 0, sizeof texts / sizeof texts[0]);
	tcase_add_loop_test(
	    tcase, knows_where_a_value_is_written, 0, sizeof places / sizeof places[0]);
	tcase_add_test(tcase, has_all_documents);
	tcase_add_test(tcase, nothing_is_no_document);
	tcase_add_test(tcase, bounds_the_depth);
	tcase_add_test(tcase, refuses_an_alias_bomb);
	tcase_add_test(tcase, refuses_a_depth_made_of_aliases);
	tcase_add_test(tcase, refuses_a_bomb_of_text);
	tcase_add_test(tcase, refuses_a_merge_bomb);
	tcase_add_test(tcase, refuses_too_many_anchors);
	tcase_add_test(tcase, refuses_too_many_tags);
	tcase_add_test(tcase, finds_a_repeated_key_among_many);
	tcase_add_test(tcase, bounds_the_size);
	tcase_add_test(tcase, loads_a_file);
	tcase_add_test(tcase, says_why_a_file_is_not_loaded);
	tcase_add_test(tcase, prints_nothing);
	return tcase;
}
