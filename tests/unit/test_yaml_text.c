/* A value as YAML: read back it is the same, and people can read and compare it. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "yaml_file.h"

/* Interface under test */
#include "../../cli/agents/yaml_text.h"

TCase *tcase_yaml_text(void);

static struct arena *arena;

static void
open_arena(void)
{
	arena = arena_new();
}

static void
close_arena(void)
{
	arena_destroy(&arena);
}

static void
check_same(const struct value *value)
{
	const char *text = yaml_text(arena, value), *error = NULL;
	struct yaml *yaml = yaml_parse(arena, "text", text, strlen(text), &error);

	ck_assert_msg(yaml != NULL, "%s\n%s", error, text);
	ck_assert_uint_eq(yaml_count(yaml), 1);
	ck_assert_msg(
	    strcmp(json_text(arena, yaml_root(yaml, 0)), json_text(arena, value)) == 0,
	    "%s is\n%s, not\n%s", text, json_text(arena, yaml_root(yaml, 0)),
	    json_text(arena, value));
	yaml_destroy(&yaml);
}

static const char *const texts[] = { "", "a", "a b", " a", "a ", "true", "False", "NULL",
	"yes", "no", "12", "1.5", "0x1f", "1e3", "-", "- a", "a: b", "a:", "a:b", ":a",
	"# a", "a # b", "{a}", "[a]", "&a", "*a", "!a", "|", ">", "'a'", "\"a\"", "%a",
	"@a", "`a`", "~", "---", "...", "openai:gpt-4o", "a\nb", "a\nb\n", "a\nb\n\n",
	"a\n\nb", "\na", " a\nb", "a\n b\n  c", "a\n\tb", "\ta\nb", "a\r\nb", "a\n#b",
	"a\n---\nb", "a\n...\n", "\n", "\n\n", "a \nb", "é", "a\né\n", "a\\b", "\x01",
	"a\n\x7f", "\xc2\x80", "\xc2\xa0", "\xef\xbb\xbf", "\xef\xbf\xbe",
	"\xef\xbf\xbd" };

START_TEST(a_text_is_read_back_as_the_same)
{
	const struct value *text = value_str(arena, texts[_i]);
	const struct value *list = value_array_add(arena, value_empty_array(), text);

	check_same(text);
	check_same(value_map(arena, "key", text, "after", value_int(arena, 1), NULL));
	check_same(value_map(arena, texts[_i], value_int(arena, 1), NULL));
	check_same(value_array_add(arena, list, value_array_add(arena, list, text)));
	check_same(value_map(
	    arena, "in", value_map(arena, "deep", list, "x", text, NULL), NULL));
}
END_TEST

static const char *const documents[] = { "null", "1", "-2.5", "true", "[]", "{}",
	"[[], {}, [[]], [{}]]", "{\"a\": [], \"b\": {}, \"c\": null}",
	"[[1, [2, 3]], [{\"a\": 1, \"b\": [4]}]]",
	"{\"a\": {\"b\": {\"c\": [{\"d\": \"e\\nf\"}, \"g\"]}}}",
	"{\"1\": 1, \"true\": 2, \"a b\": 3, \"a:b\": 4, \"\": 5}" };

START_TEST(a_document_is_read_back_as_the_same)
{
	const char *error = NULL;

	check_same(json_parse(arena, documents[_i], strlen(documents[_i]), &error));
}
END_TEST

START_TEST(it_is_what_a_person_would_write)
{
	const char *error = NULL;
	const char source[] =
	    "{\"name\": \"clerk\", \"model\": \"openai:gpt-4o\", \"system_prompt\": "
	    "\"You are a clerk.\\nBe kind.\", \"tools\": [\"note\", \"now\"], "
	    "\"middleware\": [{\"model_retry\": {\"max_retries\": 3}}, \"todo_list\"]}";

	ck_assert_str_eq(
	    yaml_text(arena, json_parse(arena, source, sizeof source - 1, &error)),
	    "name: clerk\n"
	    "model: openai:gpt-4o\n"
	    "system_prompt: |-\n"
	    "  You are a clerk.\n"
	    "  Be kind.\n"
	    "tools:\n"
	    "  - note\n"
	    "  - now\n"
	    "middleware:\n"
	    "  - model_retry:\n"
	    "      max_retries: 3\n"
	    "  - todo_list\n");
}
END_TEST

TCase *
tcase_yaml_text(void)
{
	TCase *tcase = tcase_create("yaml_text");

	tcase_add_checked_fixture(tcase, open_arena, close_arena);
	tcase_add_loop_test(tcase, a_text_is_read_back_as_the_same, 0,
	    (int)(sizeof texts / sizeof *texts));
	tcase_add_loop_test(tcase, a_document_is_read_back_as_the_same, 0,
	    (int)(sizeof documents / sizeof *documents));
	tcase_add_test(tcase, it_is_what_a_person_would_write);
	return tcase;
}
