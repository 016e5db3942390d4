/* What is said of an assistant by HTTP, and how it is shown; and what its runs have of it. Texts have ' for ". */
#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"

/* Interfaces under test */
#include "assistant_body.h"
#include "run_body.h"

TCase *tcase_assistant_body(void);

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

static const char *
read_into(struct assistant *assistant, const char *text)
{
	return assistant_body_read(arena, literal(arena, text), assistant);
}

/* A new one. */
static struct assistant
made(const char *text)
{
	struct assistant assistant = { .id = "a", .version = 1 };

	ck_assert_pstr_eq(read_into(&assistant, text), NULL);
	return assistant;
}

static void
check_shape(const struct assistant *assistant, const char *name, const char *text)
{
	ck_assert_value(
	    arena, value_get(assistant_body_shape(arena, assistant), name), text);
}

START_TEST(it_is_shown_as_it_was_said)
{
	struct assistant assistant =
	    made("{'graph_id': 'clerk', 'name': 'Clara', 'description': 'dry', "
		 "'metadata': {'a': null, 'b': [1]}, 'config': {'tags': ['x'], "
		 "'configurable': {'tone': 'dry', 'thread_id': 't', '__a': 1}}}");

	assistant.created_ms = assistant.updated_ms = 1000;
	ck_assert_value(arena, assistant_body_shape(arena, &assistant),
	    "{'assistant_id': 'a', 'graph_id': 'clerk', 'name': 'Clara', 'description': "
	    "'dry', 'version': 1, 'created_at': '1970-01-01T00:00:01.000Z', "
	    "'updated_at': '1970-01-01T00:00:01.000Z', 'config': {'tags': ['x'], "
	    "'configurable': {'tone': 'dry'}}, 'context': {'tone': 'dry'}, 'metadata': "
	    "{'b': [1]}}");
	assistant = made("{'graph_id': 'clerk'}");
	check_shape(&assistant, "name", "'Untitled'");
	check_shape(&assistant, "description", "null");
	check_shape(&assistant, "config", "{}");
	check_shape(&assistant, "context", "{}");
	check_shape(&assistant, "metadata", "{}");
}
END_TEST

START_TEST(what_a_change_does_not_say_stays)
{
	struct assistant assistant =
	    made("{'graph_id': 'clerk', 'name': 'Clara', 'context': {'n': 1}, "
		 "'metadata': {'a': 1, 'b': 2}}");

	ck_assert_pstr_eq(
	    read_into(&assistant, "{'metadata': {'a': null, 'c': 3}, 'name': null}"),
	    NULL);
	check_shape(&assistant, "metadata", "{'b': 2, 'c': 3}");
	check_shape(&assistant, "name", "'Clara'");
	check_shape(&assistant, "graph_id", "'clerk'");
	ck_assert_pstr_eq(read_into(&assistant, "{'config': {'tags': []}}"), NULL);
	check_shape(&assistant, "config", "{'tags': [], 'configurable': {'n': 1}}");
	ck_assert_pstr_eq(
	    read_into(&assistant, "{'config': {'configurable': {'m': 2}}}"), NULL);
	check_shape(&assistant, "context", "{'m': 2}");
	ck_assert_pstr_eq(
	    read_into(&assistant, "{'context': {}, 'graph_id': 'other'}"), NULL);
	check_shape(&assistant, "config", "{}");
	check_shape(&assistant, "graph_id", "'other'");
}
END_TEST

START_TEST(it_is_not_too_large)
{
	struct assistant assistant = made("{'graph_id': 'clerk'}");
	char large[ASSISTANT_BYTES_MAX + 1];

	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	ck_assert_has(
	    read_into(&assistant, arena_printf(arena, "{'context': {'a': '%s'}}", large)),
	    "over the limit of 65536");
	assistant = made("{'graph_id': 'clerk'}");
	ck_assert_pstr_eq(
	    read_into(
		&assistant, arena_printf(arena, "{'context': {'a': '%.65000s'}}", large)),
	    NULL);
	ck_assert_has(read_into(&assistant,
			  arena_printf(arena, "{'metadata': {'a': '%.16400s'}}", large)),
	    "metadata: 16408 bytes, over the limit of 16384");
}
END_TEST

/* --- its runs ----------------------------------------------------------------------------- */

static struct run_body begun;

/* keys: what stands in the body beside the assistant. */
static const struct value *
fields_of(const struct run_place *place, const char *keys)
{
	const char *body = arena_printf(arena, "{'assistant_id': 'a', %s}", keys);

	ck_assert_pstr_eq(
	    run_body_read(arena, literal(arena, body), place, 1000, &begun), NULL);
	return begun.fields;
}

/* Its own counts, name by name. */
START_TEST(a_run_has_what_its_assistant_gives)
{
	const struct assistant clara = { .id = "clara",
		.agent = "clerk",
		.config = literal(arena, "{'recursion_limit': 7, 'max_concurrency': 2}"),
		.context = literal(arena, "{'tone': 'dry', 'n': 1}"),
		.metadata = literal(arena, "{'team': 'sales', 'tags': ['a']}") };
	const struct run_place place = { .thread = "t", .run = "r", .assistant = &clara };

	const struct value *fields = fields_of(&place, "'input': {}");

	ck_assert_str_eq(value_get_text(fields, "agent"), "clerk");
	ck_assert_str_eq(value_get_text(fields, "assistant"), "clara");
	ck_assert_str_eq(value_get_text(fields, "context"), "{\"tone\":\"dry\",\"n\":1}");
	ck_assert_str_eq(value_get_text(fields, "metadata"),
	    "{\"team\":\"sales\",\"tags\":\"[\\\"a\\\"]\"}");
	ck_assert_str_eq(value_get_text(fields, "recursion_limit"), "7");
	ck_assert_str_eq(value_get_text(fields, "max_concurrency"), "2");
	ck_assert_str_eq(
	    value_get_text(
		fields_of(&place, "'input': {}, 'config': {'recursion_limit': 8}"),
		"recursion_limit"),
	    "8");
	ck_assert_str_eq(begun.agent, "clerk");
	ck_assert_str_eq(begun.assistant, "clara");
	ck_assert_str_eq(
	    value_get_text(
		fields_of(&place, "'input': {}, 'context': {'n': 2}"), "context"),
	    "{\"tone\":\"dry\",\"n\":2}");
	ck_assert_str_eq(
	    value_get_text(
		fields_of(
		    &place, "'input': {}, 'config': {'configurable': {'tone': 'warm'}}"),
		"context"),
	    "{\"tone\":\"warm\",\"n\":1}");
	ck_assert_str_eq(
	    value_get_text(
		fields_of(&place, "'input': {}, 'metadata': {'tags': 1}"), "metadata"),
	    "{\"team\":\"sales\",\"tags\":1}");
}
END_TEST

TCase *
tcase_assistant_body(void)
{
	TCase *tcase = tcase_create("assistant_body");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, it_is_shown_as_it_was_said);
	tcase_add_test(tcase, what_a_change_does_not_say_stays);
	tcase_add_test(tcase, it_is_not_too_large);
	tcase_add_test(tcase, a_run_has_what_its_assistant_gives);
	return tcase;
}
