/* Long-term memory by meaning, against a real Redis: what is found first, and which vectors are made. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "literal.h"
#include "meaning_trial.h"

/* Interface under test */
#include "bounds.h"
#include "embed.h"
#include "item_key.h"
#include "items.h"
#include "vector.h"

TCase *tcase_item_rank(void);

/* --- what is found ------------------------------------------------------------------- */

static void
play_order(void)
{
	meaning_put_four();
	ck_assert_str_eq(meaning_keys_of("'query': 'tea'"), "bdca");
	ck_assert_str_eq(meaning_keys_of("'query': 'dog'"), "acdb");
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'namespace': ['u']"), "bca");
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'filter': {'n': 1}"), "dc");
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'limit': 2"), "bd");
	ck_assert_str_eq(
	    meaning_keys_of("'query': 'tea', 'limit': 2, 'offset': 1"), "dc");
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'offset': 4"), "");
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'namespace': ['none']"), "");
	/* Without a query it is as it was, and has no score. */
	ck_assert_str_eq(
	    value_get_text(
		value_at(value_get(meaning_run_op("{'op': 'search'}"), "items"), 3),
		"key"),
	    "d");
	ck_assert(!value_has(
	    value_at(value_get(meaning_run_op("{'op': 'search'}"), "items"), 0),
	    "score"));
}

START_TEST(what_means_most_alike_comes_first)
{
	trial_play(play_order);
}
END_TEST

/* --- which vectors are made ------------------------------------------------------------ */

/* How many texts the model saw for that search, beside its query. */
static size_t
made_by(const char *search)
{
	size_t before = model.texts;

	meaning_keys_of(search);
	return model.texts - before - 1;
}

static void
play_once(void)
{
	meaning_put_four();
	ck_assert_uint_eq(made_by("'query': 'tea', 'namespace': ['u']"), 3);
	ck_assert_uint_eq(made_by("'query': 'dog'"), 1);
	ck_assert_uint_eq(made_by("'query': 'dog'"), 0);
	/* Another text, which was put within the same millisecond perhaps. */
	meaning_put("['u', '1']", "a", "{'text': 'tea, tea'}");
	ck_assert_uint_eq(made_by("'query': 'dog'"), 1);
	ck_assert_str_eq(meaning_keys_of("'query': 'tea'"), "badc");
	/* Put as it was: nothing new. */
	meaning_put("['u', '1']", "a", "{'text': 'tea, tea'}");
	ck_assert_uint_eq(made_by("'query': 'dog'"), 0);
	/* Another model's vectors say nothing to this one. */
	model.model = "m:2";
	ck_assert_uint_eq(made_by("'query': 'dog'"), 4);
}

START_TEST(a_text_becomes_a_vector_once)
{
	trial_play(play_once);
}
END_TEST

static int64_t
vectors_kept(const char *space)
{
	return trial_ask(
	    "HLEN", arena_printf(trial.arena, "fl:{s%u}:item-vector", item_shard(space)))
	    ->integer;
}

static void
play_gone(void)
{
	meaning_put("['u']", "a", "{'text': 'tea'}");
	meaning_keys_of("'query': 'tea'");
	ck_assert_int_eq(vectors_kept("u\37"), 1);
	meaning_run_op("{'op': 'delete', 'namespace': ['u'], 'key': 'a'}");
	ck_assert_int_eq(vectors_kept("u\37"), 0);
}

START_TEST(a_vector_goes_with_its_item)
{
	trial_play(play_gone);
}
END_TEST

/* Three pages, and two calls for most. */
static void
play_many(void)
{
	char key[16];
	int i;

	for (i = 0; i < 500; i++) {
		snprintf(key, sizeof key, "k%03d", i);
		meaning_put(
		    "['u']", key, i == 321 ? "{'text': 'tea'}" : "{'text': 'dog'}");
	}
	ck_assert_uint_eq(made_by("'query': 'tea', 'limit': 1"), 500);
	/* 200, 200 and 100 items, 64 a call, and the query. */
	ck_assert_uint_eq(model.calls, 1 + 4 + 4 + 2);
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'limit': 1"), "k321");
	ck_assert_str_eq(
	    meaning_keys_of("'query': 'tea', 'limit': 2, 'offset': 1"), "k000k001");
	ck_assert_str_eq(
	    meaning_keys_of("'query': 'tea', 'limit': 9, 'offset': 498"), "k498k499");
}

START_TEST(a_search_looks_at_all_pages)
{
	trial_play(play_many);
}
END_TEST

/* The same name, and vectors of another size: as if there were none. */
static void
play_other_size(void)
{
	meaning_put_four();
	ck_assert_uint_eq(made_by("'query': 'tea'"), 4);
	model.size = 5;
	ck_assert_uint_eq(made_by("'query': 'tea'"), 4);
	ck_assert_str_eq(meaning_keys_of("'query': 'tea'"), "bdca");
}

static void
play_odd_size(void)
{
	const struct value *fault;

	meaning_put("['u']", "a", "{'text': 'tea'}");
	meaning_put("['u']", "b", "{'text': 'odd'}");
	fault = value_get(meaning_run_op("{'op': 'search', 'query': 'tea'}"), "fault");
	ck_assert_str_eq(value_get_text(fault, "message"),
	    "store search: the model gave 1 vectors of the query's size for 2 texts");
}

START_TEST(a_vector_of_another_size_than_the_querys_is_refused)
{
	trial_play(play_odd_size);
}
END_TEST

START_TEST(a_vector_of_another_size_is_made_anew)
{
	trial_play(play_other_size);
}
END_TEST

/* What a provider refuses, or answers with more than anybody takes, would be in the way of every search. */
static void
play_large(void)
{
	char key[16];
	unsigned i;

	for (i = 0; i < EMBEDDED_TEXTS_MAX; i++) {
		snprintf(key, sizeof key, "k%03u", i);
		meaning_put("['u']", key,
		    arena_printf(trial.arena, "{'x': '%*s'}",
			(int)EMBEDDED_TEXT_BYTES_MAX, "tea"));
	}
	ck_assert_uint_eq(made_by("'query': 'tea'"), EMBEDDED_TEXTS_MAX);
	ck_assert_uint_gt(model.most_bytes, EMBEDDED_BYTES_MAX / 2);
	ck_assert_uint_le(model.most_bytes, EMBEDDED_BYTES_MAX);
	model.size = VECTOR_NUMBERS_MAX;
	model.most = 0;
	ck_assert_uint_eq(made_by("'query': 'tea'"), EMBEDDED_TEXTS_MAX);
	ck_assert_uint_eq(model.most, EMBEDDED_NUMBERS_MAX / VECTOR_NUMBERS_MAX);
}

START_TEST(a_call_is_bounded_in_texts_and_vectors)
{
	trial_play(play_large);
}
END_TEST

/* --- which text stands for a value ------------------------------------------------------- */

static const struct {
	const char *fields, *value, *text;
} texts[] = {
	{ "[]", "{'b': 1, 'a': 'tea'}", "{\"b\":1,\"a\":\"tea\"}" },
	{ "['a']", "{'b': 1, 'a': 'tea'}", "tea" },
	{ "['b']", "{'b': 1, 'a': 'tea'}", "{\"b\":1}" },
	{ "['a', 'x', 'b']", "{'b': 1, 'a': 'tea', 'c': 2}", "{\"a\":\"tea\",\"b\":1}" },
};

static void
play_texts(void)
{
	size_t i;

	for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		meaning_put("['u']", "a", texts[i].value);
		model.fields = texts[i].fields;
		meaning_keys_of("'query': 'dog'");
		ck_assert_str_eq(model.last, texts[i].text);
	}
	/* Without any of the fields it is not found by meaning. */
	model.fields = "['x']";
	ck_assert_str_eq(meaning_keys_of("'query': 'dog'"), "");
	meaning_put("['u']", "a", "{'x': null}");
	ck_assert_str_eq(meaning_keys_of("'query': 'dog'"), "");
	meaning_put("['u']", "a", "{}");
	model.fields = "[]";
	ck_assert_str_eq(meaning_keys_of("'query': 'dog'"), "");
	/* A model may refuse what says nothing. */
	meaning_put("['u']", "a", "{'x': ''}");
	meaning_put("['u']", "b", "{'x': '\\u0000 tea'}");
	meaning_put("['u']", "c", "{'x': ' \\n\\t '}");
	model.fields = "['x']";
	ck_assert_str_eq(meaning_keys_of("'query': 'dog'"), "");
	meaning_run_op("{'op': 'delete', 'namespace': ['u'], 'key': 'b'}");
	meaning_run_op("{'op': 'delete', 'namespace': ['u'], 'key': 'c'}");
	/* What is behind so many bytes says nothing, and no character is cut. */
	meaning_put("['u']", "a",
	    arena_printf(trial.arena, "{'x': '%*s\xc3\xa9 tea'}",
		(int)EMBEDDED_TEXT_BYTES_MAX - 1, "-"));
	model.fields = "['x']";
	ck_assert_str_eq(meaning_keys_of("'query': 'dog'"), "a");
	ck_assert_uint_eq(strlen(model.last), EMBEDDED_TEXT_BYTES_MAX - 1);
	meaning_keys_of(arena_printf(
	    trial.arena, "'query': '%*s'", (int)ITEM_QUERY_BYTES_MAX, "tea"));
	ck_assert_uint_eq(strlen(model.last), EMBEDDED_TEXT_BYTES_MAX);
}

START_TEST(fields_say_which_text_stands_for_a_value)
{
	trial_play(play_texts);
}
END_TEST

/* What one item's put says of it goes before what is said of all. */
static const struct {
	const char *index, *text;
} indexes[] = {
	{ "['a']", "tea" },
	{ "['b.c']", "deep" },
	{ "['l[*].t']", "{\"l[*].t\":[\"x\",\"y\"]}" },
	{ "['l[-1].t']", "y" },
	{ "['l[9]', 'a']", "{\"a\":\"tea\"}" },
	{ "['$']", "{\"a\":\"tea\",\"b\":{\"c\":\"deep\"},\"l\":[{\"t\":\"x\"},{},{\"t\":"
		   "\"y\"}]}" },
	{ "null", "{\"b\":{\"c\":\"deep\"}}" },
	{ "false", NULL },
	{ "[]", NULL },
	{ "['l[x]', 'l[', 'a.b', '']", "?" },
	{ "['l[x]', 'l[', 'a.b', '[*]', '.']", NULL },
};

static void
play_indexes(void)
{
	size_t i;

	model.fields = "['b']";
	for (i = 0; i < sizeof indexes / sizeof indexes[0]; i++) {
		const struct value *put = meaning_run_op(arena_printf(trial.arena,
		    "{'op': 'put', 'namespace': ['u'], 'key': 'a', 'index': %s, 'value': "
		    "{'a': 'tea', 'b': {'c': 'deep'}, 'l': [{'t': 'x'}, {}, {'t': "
		    "'y'}]}}",
		    indexes[i].index));

		if (value_text_is(value_str(trial.arena, "?"),
			indexes[i].text != NULL ? indexes[i].text : "")) {
			ck_assert(value_has(put, "fault"));
			continue;
		}
		ck_assert(value_equal(put,
		    meaning_run_op("{'op': 'get', 'namespace': ['u'], 'key': 'a'}")));
		ck_assert_str_eq(meaning_keys_of("'query': 'dog'"),
		    indexes[i].text != NULL ? "a" : "");
		if (indexes[i].text != NULL)
			ck_assert_str_eq(model.last, indexes[i].text);
		ck_assert_uint_eq(
		    value_size(value_get(meaning_run_op("{'op': 'search'}"), "items")),
		    1);
	}
}

START_TEST(an_item_may_say_itself_what_is_looked_at)
{
	trial_play(play_indexes);
}
END_TEST

/* --- what goes wrong ----------------------------------------------------------------------- */

static const struct {
	const char *answer, *type, *says;
} troubles[] = {
	{ "{'fault': {'type': 'RateLimitError', 'message': 'slow down'}}",
	    "RateLimitError", "slow down" },
	{ "{'model': 'm:1', 'fields': [], 'vectors': []}", "APIResponseError",
	    "0 vectors for 1 texts" },
	{ "{'model': 'm:1', 'fields': [], 'vectors': ['x']}", "APIResponseError",
	    "0 vectors for 1 texts" },
	{ "{'vectors': []}", "APIResponseError", "0 vectors for 1 texts" },
};

static void
check_trouble(const char *type, const char *says)
{
	const struct value *fault =
	    value_get(meaning_run_op("{'op': 'search', 'query': 'tea'}"), "fault");

	ck_assert_msg(value_text_is(value_get(fault, "type"), type), "%s: %s", says,
	    value_get_text(fault, "type"));
	ck_assert_ptr_nonnull(strstr(value_get_text(fault, "message"), says));
}

static void
play_troubles(void)
{
	size_t i;

	meaning_put("['u']", "a", "{'text': 'tea'}");
	for (i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
		model.answer = troubles[i].answer;
		check_trouble(troubles[i].type, troubles[i].says);
	}
	model.answer = "cancelled";
	ck_assert_ptr_null(items_do(trial.a, trial.arena,
	    literal(trial.arena, "{'op': 'search', 'query': 'tea'}")));
	model.answer = NULL;
	ck_assert_str_eq(meaning_keys_of("'query': 'tea'"), "a");
	/* What somebody else has written there is no vector: it is made again. */
	trial_ask("HSET",
	    arena_printf(trial.arena, "fl:{s%u}:item-vector", item_shard("u\37")),
	    "u\37\36a", "rubbish");
	ck_assert_uint_eq(made_by("'query': 'tea'"), 1);
}

START_TEST(what_the_model_does_wrong_is_said)
{
	trial_play(play_troubles);
}
END_TEST

/* Vectors wait for room; who searches does not. */
static void
play_no_room(void)
{
	meaning_put("['u']", "a", "{'text': 'tea'}");
	trial_ask("CONFIG", "SET", "maxmemory", "1");
	ck_assert_str_eq(meaning_keys_of("'query': 'tea'"), "a");
	ck_assert_int_eq(vectors_kept("u\37"), 0);
	trial_ask("CONFIG", "SET", "maxmemory", "0");
	ck_assert_uint_eq(made_by("'query': 'tea'"), 1);
	ck_assert_int_eq(vectors_kept("u\37"), 1);
}

START_TEST(a_redis_that_is_full_is_searched)
{
	trial_play(play_no_room);
}
END_TEST

TCase *
tcase_item_rank(void)
{
	TCase *tc = tcase_create("item_rank");

	tcase_add_checked_fixture(tc, meaning_open, trial_close);
	tcase_add_test(tc, what_means_most_alike_comes_first);
	tcase_add_test(tc, a_text_becomes_a_vector_once);
	tcase_add_test(tc, a_vector_goes_with_its_item);
	tcase_add_test(tc, a_search_looks_at_all_pages);
	tcase_add_test(tc, a_vector_of_another_size_is_made_anew);
	tcase_add_test(tc, a_vector_of_another_size_than_the_querys_is_refused);
	tcase_add_test(tc, a_call_is_bounded_in_texts_and_vectors);
	tcase_add_test(tc, fields_say_which_text_stands_for_a_value);
	tcase_add_test(tc, an_item_may_say_itself_what_is_looked_at);
	tcase_add_test(tc, what_the_model_does_wrong_is_said);
	tcase_add_test(tc, a_redis_that_is_full_is_searched);
	return tc;
}
