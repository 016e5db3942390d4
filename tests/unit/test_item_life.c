/* How long items of long-term memory last, against a real Redis. */
#include <check.h>
#include <string.h>

#include "literal.h"
#include "store_trial.h"

/* Interface under test */
#include "item_key.h"
#include "items.h"

TCase *tcase_item_life(void);

static const struct value *
run_op(const char *op)
{
	const struct value *answer =
	    items_do(trial.a, trial.arena, literal(trial.arena, op));

	ck_assert_ptr_nonnull(answer);
	return answer;
}

static const struct value *
item(const char *op)
{
	return value_get(run_op(op), "item");
}

/* The keys that a search gives, in order. */
static const char *
keys_of(const char *op)
{
	const struct value *items = value_get(run_op(op), "items");
	const char *text = "";
	size_t i;

	ck_assert_msg(items != NULL, "%s", op);
	for (i = 0; i < value_size(items); i++)
		text = arena_printf(
		    trial.arena, "%s%s", text, value_get_text(value_at(items, i), "key"));
	return text;
}

/* What is over is not there, though nobody has swept; then its room is free as well. */
static void
play_ttl(void)
{
	const struct value *put = item("{'op': 'put', 'namespace': ['u'], 'key': 'k',"
				       " 'value': {}, 'ttl_ms': 3600000}");

	ck_assert_int_eq(value_get_int(put, "expires_at", 0),
	    value_get_int(put, "updated_at", 0) + 3600000);
	ck_assert_str_eq(keys_of("{'op': 'search', 'namespace': ['u']}"), "k");
	trial_ask("HSET", arena_printf(trial.arena, "fl:{s%u}:item", item_shard("u\37")),
	    "u\37\36k", "1 1 2\n\200");
	ck_assert_ptr_null(item("{'op': 'get', 'namespace': ['u'], 'key': 'k'}"));
	ck_assert_str_eq(keys_of("{'op': 'search', 'namespace': ['u']}"), "");
	trial_ask("ZADD",
	    arena_printf(trial.arena, "fl:{s%u}:item-ends", item_shard("u\37")), "2",
	    "u\37\36k");
	items_sweep(trial.a, item_shard("u\37"));
	ck_assert_int_eq(
	    trial_ask("EXISTS",
		arena_printf(trial.arena, "fl:{s%u}:items", item_shard("u\37")),
		arena_printf(trial.arena, "fl:{s%u}:item", item_shard("u\37")))
		->integer,
	    0);
	/* What is put for ever after it was put for a while stays. */
	item("{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {}, 'ttl_ms': 1}");
	item("{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {}}");
	items_sweep(trial.a, item_shard("u\37"));
	ck_assert_str_eq(keys_of("{'op': 'search', 'namespace': ['u']}"), "k");
}

START_TEST(an_item_ends_with_its_time)
{
	trial_play(play_ttl);
}
END_TEST

/* More end in a second than one step takes away: they must not pile up. */
static void
play_many_over(void)
{
	unsigned shard = item_shard("u\37");
	const char *prefix = store_prefix(trial.arena, shard);

	trial_ask("EVAL",
	    "for i = 1, 5000 do redis.call('ZADD', KEYS[1], 1, 'u\37\36' .. i) "
	    "redis.call('ZADD', KEYS[2], 0, 'u\37\36' .. i) "
	    "redis.call('HSET', KEYS[3], 'u\37\36' .. i, '1 1 2\\n\200') end",
	    "3", arena_printf(trial.arena, "%sitem-ends", prefix),
	    arena_printf(trial.arena, "%sitems", prefix),
	    arena_printf(trial.arena, "%sitem", prefix));
	items_sweep(trial.a, shard);
	trial_check_keys(NULL, 0);
}

START_TEST(however_many_have_ended_one_sweep_takes_them_away)
{
	trial_play(play_many_over);
}
END_TEST

/* --- reading -------------------------------------------------------------------------- */

/* Puts k to last for ms, as if it had been put left_ms before it ends. Returns when that is. */
static int64_t
put_ending(int64_t ms, int64_t left_ms)
{
	const struct value *put = item(arena_printf(trial.arena,
	    "{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {'n': 1},"
	    " 'index': ['a b'], 'ttl_ms': %lld}",
	    (long long)ms));
	const char *key = arena_printf(trial.arena, "fl:{s%u}:item", item_shard("u\37"));
	const long long ends = (long long)(value_get_int(put, "updated_at", 0) + left_ms);

	trial_ask("EVAL",
	    "local bytes = redis.call('HGET', KEYS[1], ARGV[1])\n"
	    "redis.call('HSET', KEYS[1], ARGV[1], "
	    "(string.gsub(bytes, '^(%d+ %d+) %d+', '%1 ' .. ARGV[2])))",
	    "1", key, "u\37\36k", arena_printf(trial.arena, "%lld", ends));
	return ends;
}

static int64_t
ends_at(void)
{
	return value_get_int(
	    item("{'op': 'get', 'namespace': ['u'], 'key': 'k'}"), "expires_at", 0);
}

static const char *const reads[] = {
	"{'op': 'get', 'namespace': ['u'], 'key': 'k', 'refresh_ttl': true}",
	"{'op': 'search', 'namespace': ['u'], 'refresh_ttl': true}",
	"{'op': 'search', 'filter': {'n': 1}, 'refresh_ttl': true}",
};

static void
play_refresh(void)
{
	const char *score =
	    arena_printf(trial.arena, "fl:{s%u}:item-ends", item_shard("u\37"));
	int64_t ends;
	size_t i;

	for (i = 0; i < sizeof reads / sizeof reads[0]; i++) {
		ends = put_ending(3600000, 60000);
		run_op("{'op': 'get', 'namespace': ['u'], 'key': 'k'}");
		run_op("{'op': 'search', 'refresh_ttl': false}");
		run_op("{'op': 'search', 'offset': 1, 'refresh_ttl': true}");
		ck_assert_int_eq(ends_at(), ends);
		run_op(reads[i]);
		ck_assert_int_gt(ends_at(), ends + 3000000);
		ck_assert_str_eq(redis_reply_text(trial_ask("ZSCORE", score, "u\37\36k")),
		    arena_printf(trial.arena, "%lld", (long long)ends_at()));
		ck_assert_value(trial.arena,
		    value_get(
			item("{'op': 'get', 'namespace': ['u'], 'key': 'k'}"), "index"),
		    "['a b']");
	}
	/* Hardly later: it is not written for that. */
	ends = put_ending(6000100, 6000000);
	run_op(reads[0]);
	ck_assert_int_eq(ends_at(), ends);
	/* What lasts for ever goes on so, and what an older version has put for a while ends then. */
	item("{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {}}");
	run_op(reads[0]);
	ck_assert_int_eq(ends_at(), 0);
	trial_ask("HSET", arena_printf(trial.arena, "fl:{s%u}:item", item_shard("u\37")),
	    "u\37\36k", "1 1 99999999999999\n\200");
	run_op(reads[0]);
	ck_assert_int_eq(ends_at(), 99999999999999);
}

START_TEST(an_item_that_is_read_may_last_again)
{
	trial_play(play_refresh);
}
END_TEST

TCase *
tcase_item_life(void)
{
	TCase *tc = tcase_create("item_life");

	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, trial_open, trial_close);
	tcase_add_test(tc, an_item_ends_with_its_time);
	tcase_add_test(tc, however_many_have_ended_one_sweep_takes_them_away);
	tcase_add_test(tc, an_item_that_is_read_may_last_again);
	return tc;
}
