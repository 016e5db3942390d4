#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "schema.h"

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

/* Returns why instance does not fit schema; "" when it does. */
static const char *
why(const char *schema, const char *instance)
{
	const char *reason = NULL;

	if (schema_check(
		arena, literal(arena, schema), literal(arena, instance), &reason) == 0)
		return "";
	ck_assert_ptr_nonnull(reason);
	return reason;
}

static const char *
unusable(const char *schema)
{
	const char *reason = NULL;

	if (schema_usable(arena, literal(arena, schema), &reason) == 0)
		return "";
	ck_assert_ptr_nonnull(reason);
	return reason;
}

/* --- what the old suite does not know (draft 2020-12) ------------------------------- */

static const struct {
	const char *schema, *fits, *fails;
} modern[] = {
	{ "{'prefixItems': [{'type': 'string'}], 'items': {'type': 'integer'}}",
	    "['a', 1, 2]", "['a', 'b']" },
	{ "{'prefixItems': [{'type': 'string'}], 'items': false}", "['a']", "['a', 1]" },
	{ "{'contains': {'type': 'integer'}, 'minContains': 2}", "[1, 'a', 2]",
	    "[1, 'a']" },
	{ "{'contains': {'type': 'integer'}, 'maxContains': 1}", "[1, 'a']", "[1, 2]" },
	{ "{'contains': {'type': 'integer'}, 'minContains': 0, 'maxContains': 1}",
	    "['a']", "[1, 2]" },
	{ "{'dependentRequired': {'a': ['b']}}", "{'a': 1, 'b': 2}", "{'a': 1}" },
	{ "{'dependentSchemas': {'a': {'required': ['b']}}}", "{'b': 1}", "{'a': 1}" },
	{ "{'$ref': '#/$defs/n', 'maximum': 5, '$defs': {'n': {'type': 'integer'}}}", "5",
	    "6" },
	{ "{'$ref': '#n', '$defs': {'x': {'$anchor': 'n', 'type': 'integer'}}}", "5",
	    "'5'" },
	{ "{'$id': 'http://x/y/z', '$ref': 'w', '$defs': {'a': {'$id': '/y/w', "
	  "'type': 'null'}}}",
	    "null", "1" },
	{ "{'$id': 'urn:example:a', '$ref': '#/$defs/a', '$defs': {'a': {'type': "
	  "'null'}}}",
	    "null", "1" },
	{ "{'if': {'type': 'integer'}, 'then': {'minimum': 3}, 'else': {'type': "
	  "'string'}}",
	    "'x'", "2" },
	{ "{'type': ['string', 'null'], 'maxLength': 2}", "null", "'abc'" },
};

START_TEST(keywords_of_the_new_drafts_are_understood)
{
	ck_assert_str_eq(why(modern[_i].schema, modern[_i].fits), "");
	ck_assert_str_ne(why(modern[_i].schema, modern[_i].fails), "");
	ck_assert_str_eq(unusable(modern[_i].schema), "");
}
END_TEST

START_TEST(beside_ref_other_keywords_count_only_in_new_drafts)
{
	const char *old =
	    "{'$schema': 'http://json-schema.org/draft-07/schema#', '$ref': "
	    "'#/definitions/n', 'maximum': 5, 'definitions': {'n': {'type': "
	    "'integer'}}}";

	ck_assert_str_eq(why(old, "6"), "");
	ck_assert_str_ne(why(old, "'6'"), "");
}
END_TEST

/* --- reasons ------------------------------------------------------------------------ */

static const struct {
	const char *schema, *instance, *reason;
} reasons[] = {
	{ "{'type': 'integer'}", "'x'", "must be an integer, not a string" },
	{ "{'type': ['string', 'null']}", "[]",
	    "must be a string or null, not an array" },
	{ "{'properties': {'todos': {'items': {'properties': {'status': {'enum': "
	  "['a', 'b']}}}}}}",
	    "{'todos': [{'status': 'c'}]}",
	    "/todos/0/status: must be one of \"a\", \"b\", not \"c\"" },
	{ "{'required': ['a', 'b']}", "{'b': 1}", "needs the property a" },
	{ "{'properties': {'path': {}}, 'additionalProperties': false}", "{'pth': 1}",
	    "/pth: is not a property there may be; did you mean path?" },
	{ "{'anyOf': [{'type': 'string'}, {'type': 'null'}]}", "1",
	    "fits none of 2 alternatives (must be a string, not an integer; or must be "
	    "null, not an integer)" },
	{ "{'properties': {'a/b~': {'minimum': 2}}}", "{'a/b~': 1}",
	    "/a~1b~0: must be at least 2, not 1" },
	{ "{'properties': {'a': {'type': 'null'}, 'b': {'type': 'null'}}}",
	    "{'a': 1, 'b': 2}",
	    "/a: must be null, not an integer; /b: must be null, not an integer" },
	{ "{'uniqueItems': true}", "[1, 2, 1.0]",
	    "items 0 and 2 are equal, none may be there twice" },
	{ "{'properties': {'a': false}}", "{'a': 1}", "/a: is not allowed" },
};

START_TEST(a_reason_names_place_and_fact)
{
	ck_assert_str_eq(
	    why(reasons[_i].schema, reasons[_i].instance), reasons[_i].reason);
}
END_TEST

START_TEST(no_more_than_eight_reasons_are_given)
{
	const char *text = why("{'items': {'type': 'null'}}", "[1,2,3,4,5,6,7,8,9,10]");

	ck_assert_has(text, "/7: must be null");
	ck_assert_ptr_null(strstr(text, "/8:"));
}
END_TEST

START_TEST(a_failed_alternative_leaves_no_reason_when_another_fits)
{
	ck_assert_str_eq(why("{'allOf': [{'anyOf': [{'type': 'null'}, {'type': "
			     "'integer'}]}, {'maximum': 3}]}",
			     "5"),
	    "must be at most 3, not 5");
}
END_TEST

/* --- numbers ------------------------------------------------------------------------ */

static const struct {
	const char *number, *factor;
	bool multiple;
} multiples[] = {
	{ "0.0075", "0.0001", true },
	{ "0.00751", "0.0001", false },
	{ "4.5", "1.5", true },
	{ "19.99", "0.01", true },
	{ "19.995", "0.01", false },
	{ "-7", "3.5", true },
	{ "1e308", "0.5", true },
	{ "1e308", "0.123456789", false },
	{ "9223372036854775807", "7", true },
	{ "9223372036854775807", "2", false },
	{ "-9223372036854775808", "2", true },
	{ "0", "0.1", true },
	{ "0.1", "1", false },
	{ "1e-300", "1", false },
	{ "3", "1e-20", true },
};

START_TEST(multiples_are_those_of_the_written_decimals)
{
	char schema[64];

	snprintf(schema, sizeof schema, "{'multipleOf': %s}", multiples[_i].factor);
	ck_assert_msg(
	    (why(schema, multiples[_i].number)[0] == '\0') == multiples[_i].multiple,
	    "%s of %s", multiples[_i].number, multiples[_i].factor);
}
END_TEST

START_TEST(limits_are_exact_beyond_what_a_double_holds)
{
	ck_assert_str_ne(why("{'maximum': 9007199254740992}", "9007199254740993"), "");
	ck_assert_str_eq(why("{'maximum': 9007199254740993}", "9007199254740993"), "");
	ck_assert_str_ne(
	    why("{'exclusiveMinimum': 9007199254740993}", "9007199254740993"), "");
	ck_assert_str_eq(why("{'maximum': 1e19}", "9223372036854775807"), "");
}
END_TEST

START_TEST(an_empty_enum_is_named)
{
	ck_assert_ptr_nonnull(strstr(why("{'enum': []}", "1"), "enum is empty"));
}
END_TEST

START_TEST(a_whole_float_is_an_integer)
{
	ck_assert_str_eq(why("{'type': 'integer'}", "1.0"), "");
	ck_assert_str_eq(why("{'type': 'integer'}", "1e300"), "");
	ck_assert_str_ne(why("{'type': 'integer'}", "1.5"), "");
	ck_assert_str_eq(why("{'enum': [1]}", "1.0"), "");
	ck_assert_str_ne(why("{'const': 1}", "true"), "");
}
END_TEST

START_TEST(lengths_count_characters)
{
	ck_assert_str_eq(why("{'maxLength': 2}", "'文件'"), "");
	ck_assert_str_ne(why("{'maxLength': 1}", "'文件'"), "");
	ck_assert_str_eq(why("{'minLength': 1, 'maxLength': 1}", "'😀'"), "");
}
END_TEST

/* --- patterns ----------------------------------------------------------------------- */

START_TEST(patterns_are_read_as_in_javascript)
{
	ck_assert_str_eq(why("{'pattern': '^\\\\u6587.$'}", "'文件'"), "");
	/* $ is the very end, \d is ASCII. */
	ck_assert_str_ne(why("{'pattern': '^a$'}", "'a\\n'"), "");
	ck_assert_str_ne(why("{'pattern': '^\\\\d$'}", "'٣'"), "");
	ck_assert_str_eq(why("{'pattern': 'b'}", "'abc'"), "");
}
END_TEST

START_TEST(a_pattern_that_explodes_is_given_up)
{
	const char *text = why("{'not': {'pattern': '^(a+)+$'}}",
	    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'");

	ck_assert_has(text, "takes too long");
}
END_TEST

START_TEST(a_pattern_on_a_long_text_is_not_mistaken_for_one_that_explodes)
{
	char *text = arena_alloc(arena, 60001);
	const char *reason = "";
	size_t i;

	for (i = 0; i < 60000; i++)
		text[i] = i % 6 == 5 ? ' ' : 'w';
	ck_assert_int_eq(
	    schema_check(arena, literal(arena, "{'pattern': '^(\\\\w+ ?)*$'}"),
		value_str(arena, text), &reason),
	    0);
	text[59999] = '!';
	ck_assert_int_eq(schema_check(arena, literal(arena, "{'pattern': '[a-v]+!$'}"),
			     value_str(arena, text), &reason),
	    -1);
	ck_assert_has(reason, "must match the pattern");
}
END_TEST

/* --- bounds ------------------------------------------------------------------------- */

START_TEST(a_ref_to_itself_ends)
{
	ck_assert_has(why("{'$ref': '#'}", "1"), "nested too deep");
	ck_assert_has(unusable("{'$ref': '#'}"), "in circles");
	ck_assert_has(unusable("{'$defs': {'a': {'$ref': '#/$defs/b'}, 'b': {'$ref': "
			       "'#/$defs/a'}}}"),
	    "/$defs/a/$ref: the $ref leads round in circles");
	/* Through other keywords only checking can tell. */
	ck_assert_has(why("{'allOf': [{'$ref': '#'}]}", "1"), "nested too deep");
	ck_assert_has(why("{'not': {'$ref': '#'}}", "1"), "nested too deep");
}
END_TEST

START_TEST(a_recursive_schema_follows_its_instance)
{
	const char *tree = "{'properties': {'kids': {'items': {'$ref': '#'}}}, "
			   "'required': ['name']}";

	ck_assert_str_eq(unusable(tree), "");
	ck_assert_str_eq(why(tree, "{'name': 1, 'kids': [{'name': 2, 'kids': []}]}"), "");
	ck_assert_str_eq(why(tree, "{'name': 1, 'kids': [{'name': 2, 'kids': [{}]}]}"),
	    "/kids/0/kids/0: needs the property name");
}
END_TEST

START_TEST(work_that_multiplies_is_given_up)
{
	const char *schema = "{'$defs': {'a0': {'type': 'null'}";
	int i;

	/* Each level asks the one below twice: 2^40 looks. */
	for (i = 1; i <= 40; i++)
		schema = arena_printf(arena,
		    "%s, 'a%d': {'not': {'anyOf': [{'$ref': '#/$defs/a%d'}, {'$ref': "
		    "'#/$defs/a%d'}]}}",
		    schema, i, i - 1, i - 1);
	schema = arena_printf(arena, "%s}, '$ref': '#/$defs/a40'}", schema);
	ck_assert_has(why(schema, "1"), "too large to be checked");
}
END_TEST

START_TEST(long_lists_are_compared_quickly)
{
	struct value_list list = { .arena = arena };
	const struct value *schema = literal(arena, "{'uniqueItems': true}");
	const char *reason;
	int64_t i;

	for (i = 0; i < 200000; i++)
		value_list_add(&list, value_int(arena, i));
	ck_assert_int_eq(schema_check(arena, schema, value_list_end(&list), &reason), 0);
	value_list_add(&list, value_float(arena, 77));
	ck_assert_int_eq(schema_check(arena, schema, value_list_end(&list), &reason), -1);
	ck_assert_has(reason, "items 77 and 200000 are equal");
}
END_TEST

START_TEST(equal_maps_are_found_whatever_their_order)
{
	ck_assert_str_ne(
	    why("{'uniqueItems': true}", "[{'a': 1, 'b': [2]}, {'b': [2.0], 'a': 1}]"),
	    "");
	ck_assert_str_eq(
	    why("{'uniqueItems': true}", "[1, true, '1', null, [1], 0]"), "");
}
END_TEST

/* The worst case must not leave a fiber's stack; its guard page would end the test. */
static struct loop *loop;
static bool checked;

static void
check_deep(void *arg)
{
	const char *deep = "1", *reason;
	const struct value *schema = literal(
	    arena, "{'type': 'object', 'anyOf': [{'properties': {'a': {'$ref': '#'}}}]}");
	int i;

	(void)arg;
	for (i = 0; i < 45; i++)
		deep = arena_printf(arena, "{'a': %s}", deep);
	ck_assert_int_eq(schema_check(arena, schema, literal(arena, deep), &reason), -1);
	ck_assert_has(reason, "/a/a/a/a: must be an object");
	schema = literal(arena, "{'anyOf': [{'$ref': '#'}]}");
	ck_assert_int_eq(schema_check(arena, schema, literal(arena, "1"), &reason), -1);
	ck_assert_has(reason, "nested too deep");
	checked = true;
}

static bool
is_checked(void *arg)
{
	(void)arg;
	return checked && fiber_count(loop) == 0;
}

START_TEST(the_deepest_check_fits_a_fibers_stack)
{
	loop = loop_new();
	ck_assert_ptr_nonnull(fiber_start(loop, "check", check_deep, NULL));
	loop_run_until(loop, is_checked, NULL);
	loop_destroy(&loop);
	ck_assert(checked);
}
END_TEST

/* --- schemas themselves ------------------------------------------------------------- */

static const struct {
	const char *schema, *reason;
} broken[] = {
	{ "{'type': 'strng'}", "/type: there is no type \"strng\"; did you mean" },
	{ "{'properties': {'a': {'pattern': '('}}}", "/properties/a/pattern: " },
	{ "{'items': [{'minLength': -1}]}", "/items/0/minLength: must be an integer" },
	{ "{'anyOf': []}", "/anyOf: must be a list of schemas" },
	{ "{'anyOf': [1]}", "/anyOf/0: must be a schema" },
	{ "{'properties': {'a': []}}", "/properties/a: must be a schema" },
	{ "{'$ref': '#/nowhere'}", "/$ref: the $ref \"#/nowhere\" leads to nothing" },
	{ "{'$ref': 'http://elsewhere/x'}", "leads out of the schema" },
	{ "{'multipleOf': 0}", "/multipleOf: must be a number above 0" },
	{ "{'exclusiveMinimum': true}", "/exclusiveMinimum: must be a number" },
	{ "{'required': 'a'}", "/required: must be a list of names" },
	{ "{'dependentRequired': {'a': 'b'}}", "/dependentRequired: must be a map" },
	{ "{'patternProperties': {'[': {}}}", "/patternProperties: [: " },
	{ "{'uniqueItems': 'yes'}", "/uniqueItems: must be true or false" },
	{ "'object'", "must be a schema" },
};

START_TEST(a_schema_that_cannot_be_used_is_refused_with_its_place)
{
	ck_assert_has(unusable(broken[_i].schema), broken[_i].reason);
	/* And does no harm when it is used all the same. */
	why(broken[_i].schema, "{'a': [1, 'x']}");
}
END_TEST

START_TEST(annotations_and_unknown_keywords_are_fine)
{
	ck_assert_str_eq(
	    unusable("{'title': 1, 'format': 'date', 'x-ours': [], 'default': {}}"), "");
	ck_assert_str_eq(unusable("true"), "");
	ck_assert_str_eq(why("{'format': 'date'}", "'never'"), "");
}
END_TEST

START_TEST(no_schema_fits_all)
{
	const char *reason;

	ck_assert_int_eq(schema_check(arena, NULL, literal(arena, "[1]"), &reason), 0);
	ck_assert_int_eq(schema_usable(arena, NULL, &reason), 0);
}
END_TEST

START_TEST(the_keywords_are_listed_in_order)
{
	const char *const *names = schema_keywords();
	size_t i;

	for (i = 1; names[i] != NULL; i++)
		ck_assert_int_lt(strcmp(names[i - 1], names[i]), 0);
	ck_assert_uint_gt(i, 40);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_schema(void);
TCase *
tcase_schema(void)
{
	TCase *tcase = tcase_create("schema");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_loop_test(
	    tcase, keywords_of_the_new_drafts_are_understood, 0, COUNT(modern));
	tcase_add_test(tcase, beside_ref_other_keywords_count_only_in_new_drafts);
	tcase_add_loop_test(tcase, a_reason_names_place_and_fact, 0, COUNT(reasons));
	tcase_add_test(tcase, no_more_than_eight_reasons_are_given);
	tcase_add_test(tcase, a_failed_alternative_leaves_no_reason_when_another_fits);
	tcase_add_loop_test(
	    tcase, multiples_are_those_of_the_written_decimals, 0, COUNT(multiples));
	tcase_add_test(tcase, limits_are_exact_beyond_what_a_double_holds);
	tcase_add_test(tcase, an_empty_enum_is_named);
	tcase_add_test(tcase, a_whole_float_is_an_integer);
	tcase_add_test(tcase, lengths_count_characters);
	tcase_add_test(tcase, patterns_are_read_as_in_javascript);
	tcase_add_test(tcase, a_pattern_that_explodes_is_given_up);
	tcase_add_test(
	    tcase, a_pattern_on_a_long_text_is_not_mistaken_for_one_that_explodes);
	tcase_add_test(tcase, a_ref_to_itself_ends);
	tcase_add_test(tcase, a_recursive_schema_follows_its_instance);
	tcase_add_test(tcase, work_that_multiplies_is_given_up);
	tcase_add_test(tcase, long_lists_are_compared_quickly);
	tcase_add_test(tcase, equal_maps_are_found_whatever_their_order);
	tcase_add_test(tcase, the_deepest_check_fits_a_fibers_stack);
	tcase_add_loop_test(tcase, a_schema_that_cannot_be_used_is_refused_with_its_place,
	    0, COUNT(broken));
	tcase_add_test(tcase, annotations_and_unknown_keywords_are_fine);
	tcase_add_test(tcase, no_schema_fits_all);
	tcase_add_test(tcase, the_keywords_are_listed_in_order);
	return tcase;
}
