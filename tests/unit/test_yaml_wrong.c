/* What is wrong in YAML is said with its place, in words that help. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "yaml_file.h"

TCase *tcase_yaml_wrong(void);

static const struct {
	const char *yaml, *error;
} wrongs[] = {
	{ "a: [1,", "spec.yaml:2:1: the file ends before the closing bracket of line 1, "
		    "column 4" },
	{ "\xef\xbb\xbf"
	  "\xc3\xa9: {\xc3\xa9: [{ a: b }, c: ",
	    "spec.yaml:2:1: the file ends before the closing bracket of line 1, column "
	    "8" },
	{ "a: [1\nb: 2\n", "spec.yaml:2:2: did not find expected ',' or ']' while "
			   "parsing a flow sequence from line 1, column 4" },
	{ "a: b: c", "spec.yaml:1:5: no key can be here: put a text with ': ' in it in "
		     "quotes" },
	{ "a: @b", "spec.yaml:1:4: no text can begin with this character" },
	{ "a: - b", "spec.yaml:1:4: no list can begin here" },
	{ "a: *", "spec.yaml:1:4: '*' is for an alias" },
	{ "a: }", "spec.yaml:1:4: no value can begin like this" },
	/* Where it began, not where that is noticed. */
	{ "a: 1\nb\n\n", "spec.yaml:2:1: a key without ': ' behind it" },
	{ "a: 1\nb:[1]\nc: 1\n", "spec.yaml:2:1: a key without ': ' behind it" },
	{ "{}\n{}", "spec.yaml:2:1: a document begins here without a line '---'" },
	{ "a: \"C:\\Users\"",
	    "spec.yaml:1:9: too few hexadecimal digits: in double quotes" },
	{ "a: \"\\q\"", "spec.yaml:1:5: no such escape: in double quotes" },
	{ "a: 1\nb: \"c\" d\n",
	    "spec.yaml:2:8: a key is wanted here, indented as the others "
	    "of the map of line 1, column 1" },
	{ "a:\n  - 1\n  b: 2\n", "spec.yaml:3:3: a '- ' is wanted here, indented as the "
				 "others of the list of line 2, column 3" },
	{ "a: [\"b, c]\n",
	    "spec.yaml:2:1: the file ends before the closing quote of line 1, "
	    "column 5" },
	/* Lines are those that an editor counts. */
	{ "a: b\xe2\x80\xa8 c\xc2\x85 d\xe2\x80\xa9 e\nf: *g\n",
	    "spec.yaml:2:4: no anchor of this name" },
	{ "a:\n\t- b", "spec.yaml:2:1: a tab here" },
	{ "a: 'x", "spec.yaml:1:6: the file ends before the closing quote of line 1, "
		   "column 4" },
	{ "a: \t\"x\"\n\tb", "spec.yaml:2:" },
	{ "a: 1\nb: 2\na: 3\n", "spec.yaml:3:1: key \"a\" is there twice" },
	{ "x: {a: 1, 'a': 2}", "spec.yaml:1:11: key \"a\" is there twice" },
	{ "? [a]\n: 1", "spec.yaml:1:3: a key must be a string" },
	{ "- &a 1\n- *a : 2", "spec.yaml:2:" },
	{ "a: *b", "spec.yaml:1:4: no anchor of this name before" },
	{ "a: *b\nb: &b 1", "spec.yaml:1:4: no anchor of this name before" },
	{ "--- &a 1\n--- *a", "spec.yaml:2:5: no anchor of this name before" },
	{ "&a [1, *a]", "spec.yaml:1:8: an alias inside of what it names" },
	{ "<<: 1", "spec.yaml:1:5: << takes a map" },
	{ "<<: [{}, 1]", "spec.yaml:1:5: << takes a map" },
	{ "a: !foo 1", "spec.yaml:1:4: unknown tag !foo" },
	{ "a: !!binary aGk=", "spec.yaml:1:4: unknown tag !!binary" },
	{ "a: !!int x", "spec.yaml:1:4: this is no !!int" },
	{ "a: !!map [1]", "spec.yaml:1:4: unknown tag tag:yaml.org,2002:map" },
	{ "a: !!seq {}", "spec.yaml:1:4: unknown tag" },
	{ "a: 1e999", "spec.yaml:1:4: a number is out of range" },
	{ "a: 0o7777777777777777777777777", "spec.yaml:1:4: a number is out of range" },
	{ "a: b\nc: \x01", "spec.yaml:2:4: neither UTF-8 nor printable" },
	{ "a: \xff", "spec.yaml:1:4: neither UTF-8 nor printable" },
	{ "a: \"\xed\xa0\x80\"", "spec.yaml:1:5: neither UTF-8 nor printable" },
	{ "a: \"\\ud800\"", "spec.yaml:1:" },
	{ "a: 1\n b: 2", "spec.yaml:" },
	{ "%YAML 3.0\n---\na", "spec.yaml:" },
	/* Halves that make no pair, and a pair beside what stands in for one. */
	{ "a: \"\\ude00\\ud83d\"", "spec.yaml:1:" },
	{ "a: \"\\\\ud83d\\ude00\"", "spec.yaml:1:" },
	{ "\"\\ufffe \\ud83d\\ude00\"", "spec.yaml:1:" },
	/* The parser that we had before was killed by it. */
	{ "? key\t: \t: value\n", "spec.yaml:1:" },
	{ "a: \xef\xbf\xbe", "spec.yaml:1:4: " },
};

START_TEST(names_the_place_of_what_is_wrong)
{
	const char *text = wrongs[_i].yaml, *wanted = wrongs[_i].error;
	struct arena *arena = arena_new();
	const char *error = NULL;

	ck_assert_ptr_null(yaml_parse(arena, "spec.yaml", text, strlen(text), &error));
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strncmp(error, wanted, strlen(wanted)) == 0, "%s\n%s", text, error);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_yaml_wrong(void)
{
	TCase *tcase = tcase_create("yaml_wrong");

	tcase_add_loop_test(
	    tcase, names_the_place_of_what_is_wrong, 0, sizeof wrongs / sizeof wrongs[0]);
	return tcase;
}
