/* Checks whose work only grows with what callers give: what it may be. */
#include <check.h>
#include <string.h>

#include "has.h"
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

static const struct value *
many(size_t count, const char *text)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&list, value_str(arena, text));
	return value_list_end(&list);
}

/* Each by itself takes not quite what one match may. */
START_TEST(a_pattern_that_nearly_explodes_does_so_for_few_texts_alone)
{
	const char *reason = "";
	const struct value *schema =
	    literal(arena, "{'items': {'pattern': '^((a+)+|.*b)$'}}");

	ck_assert_int_eq(
	    schema_check(arena, schema, many(20, "aaaaaaaaaaaaaaaaaab"), &reason), 0);
	ck_assert_int_eq(
	    schema_check(arena, schema, many(20000, "aaaaaaaaaaaaaaaaaab"), &reason), -1);
	ck_assert_has(reason, "takes too long");
	/* Many that take little are fine. */
	ck_assert_int_eq(
	    schema_check(arena,
		literal(arena, "{'items': {'pattern': '^[^@ ]+@[^@ ]+$'}}"),
		many(200000, "someone.with.a.name@somewhere.example.org"), &reason),
	    0);
}
END_TEST

/* count names, each size bytes and no prefix of another: values is what they all are. */
static const struct value *
wide(size_t count, int size, const struct value *value)
{
	struct value_pair *pairs = arena_alloc(arena, count * sizeof *pairs);
	size_t i;

	for (i = 0; i < count; i++)
		pairs[i] =
		    (struct value_pair){ value_printf(arena, "k%0*zu", size - 1, i),
			    value };
	return value_map_of(arena, pairs, count);
}

/* A guess at what was meant is much work, and there is room for few. */
START_TEST(of_very_many_names_that_may_not_be_there_a_few_are_guessed_at)
{
	const struct value *schema =
	    value_map(arena, "properties", wide(64, 110, value_bool(true)),
		"additionalProperties", value_bool(false), NULL);
	const char *reason = "";

	ck_assert_int_eq(
	    schema_check(arena, schema, wide(60000, 120, value_bool(true)), &reason), -1);
	ck_assert_has(reason, "is not a property there may be; did you mean k0");
}
END_TEST

/* Nor are reasons made for which there is no room. */
START_TEST(what_is_wrong_very_often_is_not_written_down_each_time)
{
	const struct value *choices = wide(20, 70, value_bool(true));
	struct value_list names = { .arena = arena }, items = { .arena = arena };
	const struct value *schema, *instance;
	const char *reason = "";
	size_t i, before;

	for (i = 0; i < 20; i++)
		value_list_add(&names, choices->pairs[i].key);
	for (i = 0; i < 20000; i++)
		value_list_add(&items, value_int(arena, (int64_t)i));
	instance = value_list_end(&items);
	schema = value_map(
	    arena, "items", value_map(arena, "enum", value_list_end(&names), NULL), NULL);
	before = arena_bytes(arena);
	ck_assert_int_eq(schema_check(arena, schema, instance, &reason), -1);
	ck_assert_has(reason, "/7: must be one of ");
	ck_assert_uint_lt(arena_bytes(arena) - before, 1000000);
}
END_TEST

/* Names are looked for one by one. */
START_TEST(many_names_in_a_large_map_are_much_work)
{
	const struct value *instance = wide(300000, 8, value_bool(true));
	const struct value *names = wide(20000, 9, value_bool(true));
	struct value_list required = { .arena = arena };
	const struct value *schemas[4];
	const char *reason;
	size_t i;

	for (i = 0; i < 20000; i++)
		value_list_add(&required, names->pairs[i].key);
	schemas[0] = value_map(arena, "properties", names, NULL);
	schemas[1] = value_map(arena, "required", value_list_end(&required), NULL);
	schemas[2] = value_map(arena, "dependentSchemas", names, NULL);
	schemas[3] = value_map(
	    arena, "additionalProperties", value_bool(true), "properties", names, NULL);
	for (i = 0; i < 4; i++) {
		reason = "it fits";
		schema_check(arena, schemas[i], instance, &reason);
		ck_assert_str_eq(reason, "it is too large to be checked");
	}
}
END_TEST

/* Each is compiled, and looked for among those that are. */
START_TEST(very_many_patterns_are_much_work)
{
	const struct value *patterns = wide(12000, 8, value_bool(true));
	const struct value *schema = value_map(arena, "patternProperties", patterns,
	    "additionalProperties", value_bool(true), NULL);
	const char *reason = "it fits";

	schema_check(arena, schema,
	    literal(arena, "{'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'g': 1}"),
	    &reason);
	ck_assert_str_eq(reason, "it is too large to be checked");
	/* Some hundreds are fine. */
	schema = value_map(arena, "patternProperties", wide(300, 8, value_bool(true)),
	    "additionalProperties", value_bool(true), NULL);
	ck_assert_int_eq(
	    schema_check(arena, schema, wide(500, 8, value_bool(true)), &reason), 0);
}
END_TEST

/* Each is a walk through all of the text. */
START_TEST(a_long_text_is_much_work_wherever_it_is_walked_through)
{
	char *text = arena_alloc(arena, 1000001);
	const struct value *instance, *schemas[3];
	struct value_list list = { .arena = arena };
	const char *reason;
	size_t i;

	memset(text, 'x', 1000000);
	instance = value_str(arena, text);
	text[999999] = 'y';
	schemas[0] = literal(arena, "{'minLength': 1}");
	schemas[1] = literal(arena, "{'maxLength': 1000000}");
	schemas[2] = value_map(
	    arena, "not", value_map(arena, "const", value_str(arena, text), NULL), NULL);
	for (i = 0; i < 300; i++)
		value_list_add(&list, instance);
	instance = value_list_end(&list);
	for (i = 0; i < 3; i++) {
		reason = "it fits";
		schema_check(arena, value_map(arena, "items", schemas[i], NULL), instance,
		    &reason);
		ck_assert_str_eq(reason, "it is too large to be checked");
	}
	reason = "it fits";
	schema_check(arena, literal(arena, "{'uniqueItems': true}"), instance, &reason);
	ck_assert_str_eq(reason, "it is too large to be checked");
}
END_TEST

/* Where a schema is is written down for a flaw alone. */
START_TEST(a_long_name_is_not_copied_for_all_that_is_below_it)
{
	const struct value *inner =
	    value_map(arena, "properties", wide(2000, 8, value_bool(true)), NULL);
	const struct value *schema =
	    value_map(arena, "properties", wide(1, 100000, inner), NULL);
	const char *reason;
	size_t before = arena_bytes(arena);

	ck_assert_int_eq(schema_usable(arena, schema, &reason), 0);
	ck_assert_uint_lt(arena_bytes(arena) - before, 1000000);
	schema = literal(arena, "{'properties': {'a/b': {'items': [true, 3]}}}");
	ck_assert_int_eq(schema_usable(arena, schema, &reason), -1);
	ck_assert_has(reason, "/properties/a~1b/items/1: must be a schema");
}
END_TEST

TCase *tcase_schema_work(void);
TCase *
tcase_schema_work(void)
{
	TCase *tcase = tcase_create("schema_work");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_pattern_that_nearly_explodes_does_so_for_few_texts_alone);
	tcase_add_test(
	    tcase, of_very_many_names_that_may_not_be_there_a_few_are_guessed_at);
	tcase_add_test(tcase, what_is_wrong_very_often_is_not_written_down_each_time);
	tcase_add_test(tcase, many_names_in_a_large_map_are_much_work);
	tcase_add_test(tcase, very_many_patterns_are_much_work);
	tcase_add_test(tcase, a_long_text_is_much_work_wherever_it_is_walked_through);
	tcase_add_test(tcase, a_long_name_is_not_copied_for_all_that_is_below_it);
	return tcase;
}
