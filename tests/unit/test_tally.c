/* What coordinators count of models, told to a real Redis. */
#include <check.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "literal.h"
#include "store_trial.h"

/* Interface under test */
#include "../../coordinator/tally.h"
#include "store_fleet.h"

TCase *tcase_tally(void);

static struct tally *tally;

static void
answer(const char *model, const char *usage)
{
	tally_answer(tally, model, usage != NULL ? literal(trial.arena, usage) : NULL);
}

static void
result(const char *model, const char *body)
{
	tally_result(tally, model, literal(trial.arena, body));
}

/* What was told of model as kind. */
static int64_t
told(const char *model, const char *kind)
{
	const struct value *counts = NULL, *tokens;
	int64_t sum = 0;
	size_t i;

	ck_assert_int_eq(store_counts(trial.a, trial.arena, &counts), STORE_OK);
	tokens = value_get(counts, "tokens");
	for (i = 0; i < value_size(tokens); i++)
		if (value_text_is(value_get(value_at(tokens, i), "model"), model) &&
		    value_text_is(value_get(value_at(tokens, i), "kind"), kind))
			sum += value_get_int(value_at(tokens, i), "count", 0);
	return sum;
}

static void
begin(void)
{
	tally = tally_new(redis_loop(trial.redis), trial.a);
}

/* What is left is told at the end. */
static void
end(void)
{
	struct loop *loop = redis_loop(trial.redis);

	tally_stop(tally);
	while (fiber_count(loop) > 1)
		fiber_sleep(1);
	tally_destroy(&tally);
}

static void
play_kinds(void)
{
	begin();
	answer("a:m", "{'input_tokens': 7, 'output_tokens': 5, 'total_tokens': 12, "
		      "'input_token_details': {'cache_read': 3, 'cache_creation': 2}, "
		      "'output_token_details': {'reasoning': 4}}");
	answer("a:m", "{'input_tokens': 1, 'output_tokens': 1}");
	answer("a:m", NULL);
	answer(NULL, "{'input_tokens': 1}");
	answer("b:m", "{'input_tokens': -1, 'output_tokens': 1000000001, "
		      "'input_token_details': 7}");
	end();
	ck_assert_int_eq(told("a:m", "answers"), 3);
	ck_assert_int_eq(told("a:m", "untold"), 1);
	ck_assert_int_eq(told("a:m", "input"), 8);
	ck_assert_int_eq(told("a:m", "output"), 6);
	ck_assert_int_eq(told("a:m", "cache_read"), 3);
	ck_assert_int_eq(told("a:m", "cache_creation"), 2);
	ck_assert_int_eq(told("a:m", "reasoning"), 4);
	ck_assert_int_eq(told("b:m", "answers"), 1);
	ck_assert_int_eq(told("b:m", "input") + told("b:m", "output"), 0);
}

START_TEST(each_kind_of_tokens_is_summed)
{
	trial_play(play_kinds);
}
END_TEST

static void
play_results(void)
{
	begin();
	result("a:m", "{'messages': [{'type': 'ai', 'content': 'x', 'usage_metadata': "
		      "{'input_tokens': 7}}, {'type': 'tool', 'content': 'y'}]}");
	/* Its own list has all, its answer's too. */
	result("a:m",
	    "{'messages': [{'type': 'ai', 'content': 'x', 'usage_metadata': "
	    "{'input_tokens': 7}}], 'usage': [{'model': 'b:m', 'usage': "
	    "{'input_tokens': 7}}, {'model': 'b:m', 'estimated': true, 'usage': "
	    "{'input_tokens': 9}}]}");
	result("a:m", "{'fault': {'type': 'RateLimitError'}}");
	result(NULL, "{'commands': [], 'messages': [{'type': 'ai', 'content': 'x'}]}");
	result(NULL, "{'usage': [{'model': 'c:m', 'usage': {'input_tokens': 2}}, 7]}");
	result("a:m", "7");
	end();
	ck_assert_int_eq(told("a:m", "answers"), 1);
	ck_assert_int_eq(told("a:m", "input"), 7);
	ck_assert_int_eq(told("b:m", "answers"), 2);
	ck_assert_int_eq(told("b:m", "untold"), 1);
	ck_assert_int_eq(told("b:m", "input"), 7);
	ck_assert_int_eq(told("c:m", "input"), 2);
}

START_TEST(a_result_tells_by_its_list_or_by_its_answer)
{
	trial_play(play_results);
}
END_TEST

static void
play_many(void)
{
	size_t i;

	begin();
	for (i = 0; i < TALLY_MODELS_MAX + 3; i++)
		answer(arena_printf(trial.arena, "a:%zu", i), NULL);
	answer("a:0", NULL);
	end();
	ck_assert_int_eq(told("a:0", "answers"), 2);
	ck_assert_int_eq(told("other", "answers"), 3);
}

START_TEST(models_beyond_a_hundred_are_one)
{
	trial_play(play_many);
}
END_TEST

/* Of which a provider made too much. */
static void
play_long(void)
{
	char name[SERVICE_BYTES_MAX + 2];

	memset(name, 'm', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	begin();
	answer(name, "{'input_tokens': 7}");
	answer(name + 1, "{'input_tokens': 2}");
	end();
	ck_assert_int_eq(told("other", "input"), 7);
	ck_assert_int_eq(told(name + 1, "input"), 2);
}

START_TEST(a_name_that_is_too_long_is_none)
{
	trial_play(play_long);
}
END_TEST

static const struct value *
times(void)
{
	const struct value *counts = NULL;

	ck_assert_int_eq(store_counts(trial.a, trial.arena, &counts), STORE_OK);
	return value_get(value_get(counts, "times"), "ended");
}

/* Of how many runs that ended so the time lies at or below the first bound, up to the second, ... */
static void
play_runs(void)
{
	begin();
	tally_run(tally, "success", 0);
	tally_run(tally, "success", 5);
	tally_run(tally, "success", 6);
	tally_run(tally, "error", 300001);
	tally_run(tally, "refused", 1); /* no coordinator has those */
	end();
	begin();
	tally_run(tally, "success", 7);
	end();
	trial_ask(
	    "HINCRBY", "fl:times", "7 cancelled", "3"); /* a bound of another version */
	trial_ask("HSET", "fl:times", "odd", "1", "x y", "2");
	ck_assert_value(trial.arena, value_get(times(), "success"),
	    "{'counts': [2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 'sum_ms': 18}");
	ck_assert_value(trial.arena, value_get(times(), "error"),
	    "{'counts': [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 'sum_ms': "
	    "300001}");
	ck_assert_value(trial.arena, value_get(times(), "cancelled"),
	    "{'counts': [0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 'sum_ms': 0}");
	ck_assert_value(trial.arena, value_get(times(), "refused"),
	    "{'counts': [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 'sum_ms': 0}");
}

START_TEST(how_long_runs_took_is_summed)
{
	trial_play(play_runs);
}
END_TEST

/* Its key is no hash. */
static void
play_refused(void)
{
	begin();
	answer("a:m", "{'input_tokens': 7}");
	tally_run(tally, "success", 7);
	trial_ask("SET", "fl:tokens", "none of ours");
	trial_ask("SET", "fl:times", "nor that");
	end();
	ck_assert_str_eq(redis_reply_text(trial_ask("GET", "fl:tokens")), "none of ours");
	ck_assert_str_eq(redis_reply_text(trial_ask("GET", "fl:times")), "nor that");
}

START_TEST(who_cannot_tell_ends_all_the_same)
{
	trial_play(play_refused);
}
END_TEST

TCase *
tcase_tally(void)
{
	TCase *tcase = tcase_create("tally");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, each_kind_of_tokens_is_summed);
	tcase_add_test(tcase, a_result_tells_by_its_list_or_by_its_answer);
	tcase_add_test(tcase, models_beyond_a_hundred_are_one);
	tcase_add_test(tcase, a_name_that_is_too_long_is_none);
	tcase_add_test(tcase, how_long_runs_took_is_summed);
	tcase_add_test(tcase, who_cannot_tell_ends_all_the_same);
	return tcase;
}
