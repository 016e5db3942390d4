#include <check.h>
#include <string.h>

/* Interface under test */
#include "select.h"

#include "fiber.h"
#include "literal.h"

TCase *tcase_select_match(void);

#define MANY 100000

static struct loop *loop;
static struct arena *arena;

static void
setup(void)
{
	loop = loop_new();
	arena = arena_new();
}

static void
teardown(void)
{
	ck_assert_uint_eq(fiber_count(loop), 0);
	arena_destroy(&arena);
	loop_destroy(&loop);
}

static const struct {
	const char *there, *wanted;
	bool is_matched;
} pairs[] = {
	{ "{'a': 1}", "{}", true },
	{ "{'a': 1}", "{'a': 1}", true },
	{ "{'a': 1}", "{'a': 2}", false },
	{ "{}", "{'a': 1}", false },
	{ "{'a': {'b': 1, 'c': 2}}", "{'a': {'c': 2}}", true },
	{ "{'a': {'b': 1}}", "{'a': {'c': 2}}", false },
	{ "{'a': [1, 2, 3]}", "{'a': [3, 1]}", true },
	{ "{'a': [1, 2, 3]}", "{'a': [3, 4]}", false },
	{ "{'a': [{'b': 1, 'c': 2}]}", "{'a': [{'b': 1}]}", true },
	{ "{'a': 1}", "{'a': [1]}", false },
};

struct question {
	const struct value *there, *wanted;
	bool is_matched, is_answered;
	unsigned turns; /* of somebody else, until it was answered */
};

static void
ask(void *arg)
{
	struct question *question = arg;

	question->is_matched = select_matches(question->there, question->wanted);
	question->is_answered = true;
}

static void
count_turns(void *arg)
{
	struct question *question = arg;

	while (!question->is_answered) {
		question->turns++;
		fiber_yield();
	}
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

START_TEST(an_item_has_what_is_wanted_or_not)
{
	struct question question = { .there = literal(arena, pairs[_i].there),
		.wanted = literal(arena, pairs[_i].wanted) };

	fiber_start(loop, "ask", ask, &question);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_msg(question.is_matched == pairs[_i].is_matched, "%s in %s",
	    pairs[_i].wanted, pairs[_i].there);
}
END_TEST

/* Its last item is wanted, many times. */
static void
make_large(struct question *question)
{
	struct value_list list = { .arena = arena }, wanted = { .arena = arena };
	int64_t i;

	for (i = 0; i < MANY; i++)
		value_list_add(&list, value_int(arena, i));
	for (i = 0; i < 20; i++)
		value_list_add(&wanted, value_int(arena, MANY - 1));
	question->there = value_map(arena, "a", value_list_end(&list), NULL);
	question->wanted = value_map(arena, "a", value_list_end(&wanted), NULL);
}

START_TEST(others_have_their_turn_meanwhile)
{
	struct question question = { 0 };

	make_large(&question);
	fiber_start(loop, "ask", ask, &question);
	fiber_start(loop, "count", count_turns, &question);
	loop_run_until(loop, all_ended, NULL);
	ck_assert(question.is_matched);
	ck_assert_uint_ge(question.turns, 100);
}
END_TEST

START_TEST(who_is_gone_is_not_answered)
{
	struct question question = { 0 };

	make_large(&question);
	fiber_cancel(fiber_start(loop, "ask", ask, &question));
	loop_run_until(loop, all_ended, NULL);
	ck_assert(!question.is_matched);
}
END_TEST

TCase *
tcase_select_match(void)
{
	TCase *tcase = tcase_create("select_match");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, an_item_has_what_is_wanted_or_not, 0, sizeof pairs / sizeof pairs[0]);
	tcase_add_test(tcase, others_have_their_turn_meanwhile);
	tcase_add_test(tcase, who_is_gone_is_not_answered);
	return tcase;
}
