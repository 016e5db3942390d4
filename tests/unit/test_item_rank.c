/* Long-term memory by meaning, against a real Redis: what is found first, and which vectors are made. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "literal.h"
#include "store_trial.h"

/* Interface under test */
#include "bounds.h"
#include "embed.h"
#include "item_key.h"
#include "items.h"
#include "vector.h"

TCase *tcase_item_rank(void);

/* A model that knows two things: how often a text says "tea", and how often "dog". */
static struct {
	const char *model, *fields;
	unsigned calls;
	size_t texts;
	const char *last;        /* text */
	size_t most, most_bytes; /* of one call */
	int size;                /* how many numbers a vector has */
	const char *answer;      /* instead of what is right; "cancelled": none */
	struct arena *arena;
} model;

static const struct value *
count_of(struct arena *arena, const char *text, const char *word)
{
	int count = 0;

	while ((text = strstr(text, word)) != NULL) {
		text += strlen(word);
		count++;
	}
	return value_int(arena, count);
}

/* Returns of text what is known of it, and then as many others as are asked for. */
static const struct value *
vector_of(struct arena *arena, const char *text)
{
	struct value_list numbers = { .arena = arena };
	int i;

	value_list_add(&numbers, count_of(arena, text, "tea"));
	value_list_add(&numbers, count_of(arena, text, "dog"));
	for (i = strstr(text, "odd") != NULL ? 1 : 2; i < model.size; i++)
		value_list_add(&numbers, value_float(arena, 0.001));
	return vector_new(arena, value_list_end(&numbers));
}

static void
note_call(const struct value *texts)
{
	size_t bytes = 0, i;

	ck_assert_uint_le(value_size(texts), EMBEDDED_TEXTS_MAX);
	for (i = 0; i < value_size(texts); i++)
		bytes += value_at(texts, i)->size;
	model.calls++;
	model.texts += value_size(texts);
	if (value_size(texts) > model.most)
		model.most = value_size(texts);
	if (bytes > model.most_bytes)
		model.most_bytes = bytes;
}

static const struct value *
embed(void *arg, struct arena *arena, const char *name, const struct value *texts)
{
	struct value_list vectors = { .arena = arena };
	size_t i;

	ck_assert_ptr_eq(arg, &model);
	ck_assert_uint_le(value_size(texts), EMBEDDED_TEXTS_MAX);
	note_call(texts);
	for (i = 0; i < value_size(texts); i++) {
		const char *text = value_text(value_at(texts, i));

		model.last = arena_strdup(model.arena, text);
		value_list_add(&vectors, vector_of(arena, text));
	}
	if (model.answer != NULL)
		return strcmp(model.answer, "cancelled") == 0
			   ? NULL
			   : literal(arena, model.answer);
	return value_map(arena, "model",
	    value_str(arena, name != NULL ? name : model.model), "fields",
	    literal(arena, model.fields), "vectors", value_list_end(&vectors), NULL);
}

static void
setup(void)
{
	trial_open();
	memset(&model, 0, sizeof model);
	model.model = "m:1";
	model.fields = "[]";
	model.size = 3;
	model.arena = trial.arena;
	store_embed_with(trial.a, embed, &model);
}

static const struct value *
run_op(const char *op)
{
	const struct value *answer =
	    items_do(trial.a, trial.arena, literal(trial.arena, op));

	ck_assert_ptr_nonnull(answer);
	return answer;
}

static void
put(const char *where, const char *key, const char *value)
{
	ck_assert(
	    value_has(run_op(arena_printf(trial.arena,
			  "{'op': 'put', 'namespace': %s, 'key': '%s', 'value': %s}",
			  where, key, value)),
		"item"));
}

/* The keys that a search gives, in order. */
static const char *
keys_of(const char *more)
{
	const struct value *items = value_get(
	    run_op(arena_printf(trial.arena, "{'op': 'search', %s}", more)), "items");
	const char *text = "";
	double last = 2;
	size_t i;

	ck_assert_msg(items != NULL, "%s", more);
	for (i = 0; i < value_size(items); i++) {
		const struct value *item = value_at(items, i);
		double score = value_number(value_get(item, "score"), 9);

		ck_assert(score <= last);
		last = score;
		text =
		    arena_printf(trial.arena, "%s%s", text, value_get_text(item, "key"));
	}
	return text;
}

static void
put_four(void)
{
	put("['u', '1']", "a", "{'text': 'a dog'}");
	put("['u', '1']", "b", "{'text': 'tea'}");
	put("['u', '2']", "c", "{'text': 'tea for the dog', 'n': 1}");
	put("['v']", "d", "{'text': 'tea tea dog', 'n': 1}");
}

/* --- what is found ------------------------------------------------------------------- */

static void
play_order(void)
{
	put_four();
	ck_assert_str_eq(keys_of("'query': 'tea'"), "bdca");
	ck_assert_str_eq(keys_of("'query': 'dog'"), "acdb");
	ck_assert_str_eq(keys_of("'query': 'tea', 'namespace': ['u']"), "bca");
	ck_assert_str_eq(keys_of("'query': 'tea', 'filter': {'n': 1}"), "dc");
	ck_assert_str_eq(keys_of("'query': 'tea', 'limit': 2"), "bd");
	ck_assert_str_eq(keys_of("'query': 'tea', 'limit': 2, 'offset': 1"), "dc");
	ck_assert_str_eq(keys_of("'query': 'tea', 'offset': 4"), "");
	ck_assert_str_eq(keys_of("'query': 'tea', 'namespace': ['none']"), "");
	/* Without a query it is as it was, and has no score. */
	ck_assert_str_eq(
	    value_get_text(
		value_at(value_get(run_op("{'op': 'search'}"), "items"), 3), "key"),
	    "d");
	ck_assert(!value_has(
	    value_at(value_get(run_op("{'op': 'search'}"), "items"), 0), "score"));
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

	keys_of(search);
	return model.texts - before - 1;
}

static void
play_once(void)
{
	put_four();
	ck_assert_uint_eq(made_by("'query': 'tea', 'namespace': ['u']"), 3);
	ck_assert_uint_eq(made_by("'query': 'dog'"), 1);
	ck_assert_uint_eq(made_by("'query': 'dog'"), 0);
	/* Another text, which was put within the same millisecond perhaps. */
	put("['u', '1']", "a", "{'text': 'tea, tea'}");
	ck_assert_uint_eq(made_by("'query': 'dog'"), 1);
	ck_assert_str_eq(keys_of("'query': 'tea'"), "badc");
	/* Put as it was: nothing new. */
	put("['u', '1']", "a", "{'text': 'tea, tea'}");
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
	put("['u']", "a", "{'text': 'tea'}");
	keys_of("'query': 'tea'");
	ck_assert_int_eq(vectors_kept("u\37"), 1);
	run_op("{'op': 'delete', 'namespace': ['u'], 'key': 'a'}");
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
		put("['u']", key, i == 321 ? "{'text': 'tea'}" : "{'text': 'dog'}");
	}
	ck_assert_uint_eq(made_by("'query': 'tea', 'limit': 1"), 500);
	/* 200, 200 and 100 items, 64 a call, and the query. */
	ck_assert_uint_eq(model.calls, 1 + 4 + 4 + 2);
	ck_assert_str_eq(keys_of("'query': 'tea', 'limit': 1"), "k321");
	ck_assert_str_eq(keys_of("'query': 'tea', 'limit': 2, 'offset': 1"), "k000k001");
	ck_assert_str_eq(
	    keys_of("'query': 'tea', 'limit': 9, 'offset': 498"), "k498k499");
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
	put_four();
	ck_assert_uint_eq(made_by("'query': 'tea'"), 4);
	model.size = 5;
	ck_assert_uint_eq(made_by("'query': 'tea'"), 4);
	ck_assert_str_eq(keys_of("'query': 'tea'"), "bdca");
}

static void
play_odd_size(void)
{
	const struct value *fault;

	put("['u']", "a", "{'text': 'tea'}");
	put("['u']", "b", "{'text': 'odd'}");
	fault = value_get(run_op("{'op': 'search', 'query': 'tea'}"), "fault");
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
		put("['u']", key,
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
		put("['u']", "a", texts[i].value);
		model.fields = texts[i].fields;
		keys_of("'query': 'dog'");
		ck_assert_str_eq(model.last, texts[i].text);
	}
	/* Without any of the fields it is not found by meaning. */
	model.fields = "['x']";
	ck_assert_str_eq(keys_of("'query': 'dog'"), "");
	put("['u']", "a", "{'x': null}");
	ck_assert_str_eq(keys_of("'query': 'dog'"), "");
	put("['u']", "a", "{}");
	model.fields = "[]";
	ck_assert_str_eq(keys_of("'query': 'dog'"), "");
	/* A model may refuse what says nothing. */
	put("['u']", "a", "{'x': ''}");
	put("['u']", "b", "{'x': '\\u0000 tea'}");
	put("['u']", "c", "{'x': ' \\n\\t '}");
	model.fields = "['x']";
	ck_assert_str_eq(keys_of("'query': 'dog'"), "");
	run_op("{'op': 'delete', 'namespace': ['u'], 'key': 'b'}");
	run_op("{'op': 'delete', 'namespace': ['u'], 'key': 'c'}");
	/* What is behind so many bytes says nothing, and no character is cut. */
	put("['u']", "a",
	    arena_printf(trial.arena, "{'x': '%*s\xc3\xa9 tea'}",
		(int)EMBEDDED_TEXT_BYTES_MAX - 1, "-"));
	model.fields = "['x']";
	ck_assert_str_eq(keys_of("'query': 'dog'"), "a");
	ck_assert_uint_eq(strlen(model.last), EMBEDDED_TEXT_BYTES_MAX - 1);
	keys_of(arena_printf(
	    trial.arena, "'query': '%*s'", (int)ITEM_QUERY_BYTES_MAX, "tea"));
	ck_assert_uint_eq(strlen(model.last), EMBEDDED_TEXT_BYTES_MAX);
}

START_TEST(fields_say_which_text_stands_for_a_value)
{
	trial_play(play_texts);
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
	    value_get(run_op("{'op': 'search', 'query': 'tea'}"), "fault");

	ck_assert_msg(value_text_is(value_get(fault, "type"), type), "%s: %s", says,
	    value_get_text(fault, "type"));
	ck_assert_ptr_nonnull(strstr(value_get_text(fault, "message"), says));
}

static void
play_troubles(void)
{
	size_t i;

	put("['u']", "a", "{'text': 'tea'}");
	for (i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
		model.answer = troubles[i].answer;
		check_trouble(troubles[i].type, troubles[i].says);
	}
	model.answer = "cancelled";
	ck_assert_ptr_null(items_do(trial.a, trial.arena,
	    literal(trial.arena, "{'op': 'search', 'query': 'tea'}")));
	model.answer = NULL;
	ck_assert_str_eq(keys_of("'query': 'tea'"), "a");
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
	put("['u']", "a", "{'text': 'tea'}");
	trial_ask("CONFIG", "SET", "maxmemory", "1");
	ck_assert_str_eq(keys_of("'query': 'tea'"), "a");
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

	tcase_add_checked_fixture(tc, setup, trial_close);
	tcase_add_test(tc, what_means_most_alike_comes_first);
	tcase_add_test(tc, a_text_becomes_a_vector_once);
	tcase_add_test(tc, a_vector_goes_with_its_item);
	tcase_add_test(tc, a_search_looks_at_all_pages);
	tcase_add_test(tc, a_vector_of_another_size_is_made_anew);
	tcase_add_test(tc, a_vector_of_another_size_than_the_querys_is_refused);
	tcase_add_test(tc, a_call_is_bounded_in_texts_and_vectors);
	tcase_add_test(tc, fields_say_which_text_stands_for_a_value);
	tcase_add_test(tc, what_the_model_does_wrong_is_said);
	tcase_add_test(tc, a_redis_that_is_full_is_searched);
	return tc;
}
