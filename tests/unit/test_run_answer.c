/* What a resume answers of very much that is asked: no key of an answer, which may be large, is held against each
 * question, or the process stands still. What an answer does is played by conformance and tests/fuzz/fuzz_answer.c. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../coordinator/run_round.h"

TCase *tcase_run_answer(void);

#define QUESTIONS 1024u
#define KEYS 200000u

static struct arena *arena;
static struct run run;

static void
setup(void)
{
	arena = arena_new();
	run = (struct run){
		.arena = arena, .batch = arena, .thread = (char[]){ "t" }, .id = "r1"
	};
	run.events.arena = arena;
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* A round of calls of which each asks. */
static const struct value *
asking(void)
{
	struct value_fields round = { .arena = arena };
	const struct value *ask;
	unsigned i;

	for (i = 0; i < QUESTIONS; i++) {
		ask = value_map(arena, "id", value_printf(arena, "r1.2.%u:1", i), "value",
		    value_str(arena, "sure?"), NULL);
		value_fields_set(&round, arena_printf(arena, "%u", i),
		    value_map(arena, "id", value_printf(arena, "c%u", i), "key",
			value_printf(arena, "r1.2.%u", i), "ask", ask, "interrupt",
			value_bool(true), NULL));
	}
	return value_fields_end(&round);
}

/* With as many keys that are none, of that form; and one that is, or NULL. */
static const struct value *
answering(const char *form, const char *key)
{
	struct value_fields answer = { .arena = arena };
	unsigned i;

	for (i = 0; i < KEYS; i++)
		value_fields_set(
		    &answer, arena_printf(arena, "%s%u", form, i), value_bool(true));
	if (key != NULL)
		value_fields_set(&answer, key, value_bool(true));
	return value_fields_end(&answer);
}

static void
assert_refused(const struct value *answer, const char *reason)
{
	ck_assert_int_eq(run_answer(&run, asking(), answer), GO_FAIL);
	ck_assert_ptr_nonnull(strstr(run.fault->message, reason));
	/* Nobody reads a thousand ids. */
	ck_assert_ptr_nonnull(strstr(run.fault->message, "'r1.2.0:1', 'r1.2.1:1'"));
	ck_assert_ptr_nonnull(strstr(run.fault->message, "'r1.2.19:1' and 1004 more"));
	ck_assert_ptr_null(strstr(run.fault->message, "r1.2.20:1"));
}

START_TEST(a_large_answer_to_many_questions_is_refused)
{
	assert_refused(answering("k", NULL), "1024 interrupts wait for an answer");
	assert_refused(answering("k", "r1.2.3:1"), "no interrupt 'k0' waits");
	assert_refused(value_nil(), "null is none");
}
END_TEST

START_TEST(many_questions_are_answered_at_once)
{
	struct value_fields answer = { .arena = arena };
	unsigned i;

	for (i = 0; i < QUESTIONS; i++)
		value_fields_set(
		    &answer, arena_printf(arena, "r1.2.%u:1", i), value_int(arena, i));
	ck_assert_int_eq(run_answer(&run, asking(), value_fields_end(&answer)), GO_ON);
	ck_assert(!run_answer_wanted(run.round));
	ck_assert_int_eq(
	    value_at(value_get(value_get(run.round, "7"), "answers"), 0)->integer, 7);
}
END_TEST

TCase *
tcase_run_answer(void)
{
	TCase *tcase = tcase_create("run_answer");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_large_answer_to_many_questions_is_refused);
	tcase_add_test(tcase, many_questions_are_answered_at_once);
	return tcase;
}
