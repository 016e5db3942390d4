/* Vectors of long-term memory's items, against a real Redis: several searches at once, and what one has no time for. */
#include <check.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "literal.h"
#include "meaning_trial.h"

/* Interface under test */
#include "embed.h"
#include "item_key.h"
#include "item_vectors.h"
#include "items.h"

TCase *tcase_item_vectors(void);

struct searcher {
	const char *op;
	uint64_t left_ms; /* 0: as long as it takes */
	const struct value *answer;
	bool has_ended;
	struct fiber *fiber;
};

static void
searcher_main(void *arg)
{
	struct searcher *searcher = arg;
	const struct value *op = literal(trial.arena, searcher->op);

	searcher->answer = searcher->left_ms == 0 ? items_do(trial.a, trial.arena, op)
						  : items_do_within(trial.a, trial.arena,
							op, searcher->left_ms);
	searcher->has_ended = true;
}

static void
searcher_start(struct searcher *searcher)
{
	searcher->op = "{'op': 'search', 'query': 'tea'}";
	searcher->fiber = fiber_start(fiber_loop(), "searcher", searcher_main, searcher);
}

static void
searcher_end(const struct searcher *searcher)
{
	while (!searcher->has_ended)
		fiber_yield();
}

static void
wait_for_texts(size_t texts)
{
	while (model.texts < texts)
		fiber_yield();
}

static void
play_at_once(void)
{
	struct searcher searchers[2] = { { 0 }, { 0 } };
	size_t i;

	meaning_put_four();
	model.is_held = true;
	for (i = 0; i < 2; i++)
		searcher_start(&searchers[i]);
	wait_for_texts(2 + 1); /* both queries, and what is first of the items */
	for (i = 0; i < 50; i++)
		trial_ask("PING"); /* the other one is as far */
	model.is_held = false;
	for (i = 0; i < 2; i++) {
		searcher_end(&searchers[i]);
		ck_assert_uint_eq(value_size(value_get(searchers[i].answer, "items")), 4);
	}
	ck_assert_uint_eq(model.texts, 2 + 4);
	ck_assert_uint_eq(value_size(trial_ask("KEYS", "*item-claims")), 0);
}

START_TEST(of_searches_at_once_one_makes_a_vector)
{
	trial_play(play_at_once);
}
END_TEST

/* The first one's caller goes, and in time for the second there is no vector: what the model says at last is kept. */
static void
play_late(void)
{
	struct searcher gone = { 0 }, late = { .left_ms = 2 }, next = { 0 };
	const struct value *fault;

	meaning_put("['u']", "a", "{'text': 'tea'}");
	model.is_held = true;
	searcher_start(&gone);
	wait_for_texts(2);
	fiber_cancel(gone.fiber);
	searcher_end(&gone);
	ck_assert_ptr_null(gone.answer);
	searcher_start(&late);
	searcher_end(&late);
	fault = value_get(late.answer, "fault");
	ck_assert_str_eq(value_get_text(fault, "type"), "TimeoutError");
	ck_assert(value_get_bool(fault, "retryable", false));
	ck_assert_ptr_nonnull(strstr(value_get_text(fault, "message"), "search again"));
	model.is_held = false;
	searcher_start(&next);
	searcher_end(&next);
	ck_assert_uint_eq(value_size(value_get(next.answer, "items")), 1);
	ck_assert_uint_eq(model.texts, 3 + 1);
}

START_TEST(what_a_search_has_not_waited_for_is_kept)
{
	trial_play(play_late);
}
END_TEST

/* Whoever ends it all need not wait for the model. */
static void
play_stop(void)
{
	struct searcher searcher = { 0 };

	meaning_put("['u']", "a", "{'text': 'tea'}");
	model.is_held = true;
	searcher_start(&searcher);
	wait_for_texts(2);
	store_embed_stop(trial.a);
	searcher_end(&searcher);
	ck_assert_ptr_null(searcher.answer);
}

START_TEST(what_is_being_made_can_be_stopped)
{
	trial_play(play_stop);
}
END_TEST

/* Of somebody who has died over them. */
static void
play_left_claims(void)
{
	struct searcher searcher = { .left_ms = 2 };
	const char *claims =
	    arena_printf(trial.arena, "fl:{s%u}:item-claims", item_shard("u\37"));

	meaning_put("['u']", "a", "{'text': 'tea'}");
	model.is_held = true;
	searcher_start(&searcher);
	searcher_end(&searcher);
	ck_assert_ptr_nonnull(value_get(searcher.answer, "fault"));
	store_embed_stop(trial.a);
	model.is_held = false;
	while (trial_ask("EXISTS", claims)->integer == 1)
		fiber_yield();
	/* The other one from before somebody set the clock back. */
	ck_assert_int_eq(
	    trial_ask("ZADD", claims, "1", "u\37\36a?", "9000000000000", "u\37\36a!")
		->integer,
	    2);
	ck_assert_str_eq(meaning_keys_of("'query': 'tea'"), "a");
	ck_assert_int_eq(trial_ask("EXISTS", claims)->integer, 0);
}

START_TEST(a_claim_ends)
{
	trial_play(play_left_claims);
}
END_TEST

/* Has k0000 end a minute after it was put, though it was for an hour. Returns when that is. */
static int64_t
make_ending(void)
{
	const struct value *put = meaning_run_op("{'op': 'put', 'namespace': ['u'],"
						 " 'key': 'k0000', 'value': {},"
						 " 'ttl_ms': 3600000}");
	int64_t ends = value_get_int(value_get(put, "item"), "updated_at", 0) + 60000;

	trial_ask("HSET", arena_printf(trial.arena, "fl:{s%u}:item", item_shard("u\37")),
	    "u\37\36k0000",
	    arena_printf(
		trial.arena, "1 1 %lld 3600000\n\201\244text\243dog", (long long)ends));
	return ends;
}

static int64_t
ends_at(void)
{
	const struct value *got =
	    meaning_run_op("{'op': 'get', 'namespace': ['u'], 'key': 'k0000'}");

	return value_get_int(value_get(got, "item"), "expires_at", 0);
}

static void
play_bound(void)
{
	const struct value *fault;
	int64_t ends;
	unsigned i;

	for (i = 0; i < ITEMS_EMBEDDED_MAX; i++)
		meaning_put(
		    "['u']", arena_printf(trial.arena, "k%04u", i), "{'text': 'dog'}");
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'limit': 1"), "k0000");
	model.model = "m:2";
	meaning_put("['u']", "last", "{'text': 'tea'}");
	ends = make_ending();
	fault = value_get(
	    meaning_run_op("{'op': 'search', 'query': 'tea', 'refresh_ttl': true}"),
	    "fault");
	ck_assert_str_eq(value_get_text(fault, "type"), "TimeoutError");
	/* What it has not given lasts no longer for that. */
	ck_assert_int_eq(ends_at(), ends);
	ck_assert_ptr_nonnull(strstr(value_get_text(fault, "message"), "search again"));
	ck_assert_str_eq(meaning_keys_of("'query': 'tea', 'limit': 1"), "last");
}

START_TEST(a_search_makes_so_many_vectors)
{
	trial_play(play_bound);
}
END_TEST

TCase *
tcase_item_vectors(void)
{
	TCase *tc = tcase_create("item_vectors");

	tcase_add_checked_fixture(tc, meaning_open, trial_close);
	tcase_add_test(tc, of_searches_at_once_one_makes_a_vector);
	tcase_add_test(tc, what_a_search_has_not_waited_for_is_kept);
	tcase_add_test(tc, what_is_being_made_can_be_stopped);
	tcase_add_test(tc, a_claim_ends);
	tcase_add_test(tc, a_search_makes_so_many_vectors);
	return tc;
}
