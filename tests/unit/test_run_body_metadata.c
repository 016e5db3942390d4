/* Of which metadata a client of LangGraph's API asks for a run: the body's, its config's, the assistant's. Texts have ' for ". */
#include <check.h>

#include "has.h"
#include "literal.h"

/* Interface under test */
#include "run_body.h"

TCase *tcase_run_body_metadata(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

static struct arena *arena;
static struct run_body read_body;

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

/* Reads a run of that assistant, or of an agent (NULL), with keys in its body. */
static const char *
read_with(const struct assistant *assistant, const char *keys)
{
	const struct run_place place = {
		.thread = "t", .run = "r", .assistant = assistant
	};

	return run_body_read(arena,
	    literal(arena,
		arena_printf(arena, "{'assistant_id': 'a', 'input': {}, %s}", keys)),
	    &place, 0, &read_body);
}

static const struct {
	const char *keys, *expected; /* NULL: it has none */
} taken[] = {
	{ "'config': {'metadata': {'trace': 'x', 'n': 1}}", "{'trace': 'x', 'n': 1}" },
	{ "'config': {'metadata': {'trace': 'x', 'n': 1}}, 'metadata': {'n': 2}",
	    "{'trace': 'x', 'n': 2}" },
	{ "'config': {'metadata': {'trace': 'x'}}, 'metadata': null", "{'trace': 'x'}" },
	{ "'config': {'metadata': {'tags': ['a']}}", "{'tags': '[\\'a\\']'}" },
	{ "'config': {'metadata': {'trace': 'x'}}, 'metadata': {'trace': null}", NULL },
	{ "'config': {'metadata': null}, 'metadata': {'n': 2}", "{'n': 2}" },
	{ "'config': {'metadata': {}}", NULL },
	{ "'config': {'metadata': null}", NULL },
};

START_TEST(that_of_the_config_stands_under_its_own)
{
	const char *wrong = read_with(NULL, taken[_i].keys), *text;

	ck_assert_msg(wrong == NULL, "%s: %s", taken[_i].keys, wrong);
	text = value_get_text(read_body.fields, "metadata");
	ck_assert_msg((text == NULL) == (taken[_i].expected == NULL), "%s: %s",
	    taken[_i].keys, text);
	if (text == NULL)
		return;
	ck_assert_value(arena, literal(arena, text), taken[_i].expected);
	ck_assert_value(arena, read_body.metadata, taken[_i].expected);
}
END_TEST

START_TEST(the_assistants_stand_under_both)
{
	const struct assistant assistant = { .id = "i",
		.agent = "a",
		.metadata = literal(arena, "{'team': 's', 'trace': 'y', 'n': 0}") };

	ck_assert_ptr_null(read_with(&assistant,
	    "'config': {'metadata': {'trace': 'x', 'n': 1}}, 'metadata': {'n': 2}"));
	ck_assert_value(arena, read_body.metadata, "{'team': 's', 'trace': 'x', 'n': 2}");
}
END_TEST

static const char *const refused[][2] = {
	{ "'config': {'metadata': 'x'}", "config.metadata: must be a map" },
	{ "'config': {'metadata': [1]}, 'metadata': {}",
	    "config.metadata: must be a map" },
	{ "'config': {'metadata': {'a\\u0000b': 1}}", "config.metadata.a: holds a NUL" },
	{ "'config': {'metadata': {'a': 'b\\u0000'}}", "config.metadata.a: holds a NUL" },
};

START_TEST(what_is_no_metadata_is_refused)
{
	ck_assert_has(read_with(NULL, refused[_i][0]), refused[_i][1]);
}
END_TEST

TCase *
tcase_run_body_metadata(void)
{
	TCase *tcase = tcase_create("run_body_metadata");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, that_of_the_config_stands_under_its_own, 0, COUNT(taken));
	tcase_add_test(tcase, the_assistants_stand_under_both);
	tcase_add_loop_test(tcase, what_is_no_metadata_is_refused, 0, COUNT(refused));
	return tcase;
}
