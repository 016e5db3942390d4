/* Long-term memory, against a real Redis, and its filter. */
#include <check.h>
#include <string.h>

#include "literal.h"
#include "store_trial.h"

/* Interface under test */
#include "item_filter.h"
#include "item_key.h"
#include "items.h"

TCase *tcase_items(void);

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

static const char *
refused(const char *op)
{
	const struct value *fault = value_get(run_op(op), "fault");

	ck_assert_str_eq(value_get_text(fault, "type"), "ValueError");
	return value_get_text(fault, "message");
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

/* --- one item ------------------------------------------------------------------------- */

static void
play_one(void)
{
	const struct value *first, *again;

	ck_assert_uint_eq(
	    value_size(run_op("{'op': 'get', 'namespace': ['u', '7'], 'key': 'k'}")), 0);
	first = item("{'op': 'put', 'namespace': ['u', '7'], 'key': 'k',"
		     " 'value': {'likes': ['tea', {}], 'n': null}}");
	ck_assert_value(trial.arena, value_get(first, "namespace"), "['u', '7']");
	ck_assert_ptr_null(value_get(first, "expires_at"));
	ck_assert(value_equal(
	    first, item("{'op': 'get', 'namespace': ['u', '7'], 'key': 'k'}")));
	again =
	    item("{'op': 'put', 'namespace': ['u', '7'], 'key': 'k', 'value': {'x': 1}}");
	ck_assert(
	    value_equal(value_get(again, "created_at"), value_get(first, "created_at")));
	ck_assert_int_ge(
	    value_get_int(again, "updated_at", 0), value_get_int(first, "updated_at", 0));
	/* Neither the namespace above nor the one below has it. */
	ck_assert_ptr_null(item("{'op': 'get', 'namespace': ['u'], 'key': 'k'}"));
	ck_assert_ptr_null(
	    item("{'op': 'get', 'namespace': ['u', '7', 'k'], 'key': 'k'}"));
	ck_assert_int_eq(
	    value_get_int(run_op("{'op': 'delete', 'namespace': ['u', '7'], 'key': 'k'}"),
		"deleted", 9),
	    1);
	ck_assert_int_eq(
	    value_get_int(run_op("{'op': 'delete', 'namespace': ['u', '7'], 'key': 'k'}"),
		"deleted", 9),
	    0);
	ck_assert_ptr_null(item("{'op': 'get', 'namespace': ['u', '7'], 'key': 'k'}"));
	ck_assert_str_eq(keys_of("{'op': 'search'}"), "");
}

START_TEST(an_item_is_put_got_and_deleted)
{
	trial_play(play_one);
}
END_TEST

/* --- searching ------------------------------------------------------------------------ */

static void
put_some(void)
{
	item("{'op': 'put', 'namespace': ['u', '7'], 'key': 'a', 'value': {'n': 1}}");
	item("{'op': 'put', 'namespace': ['u', '7', 'x'], 'key': 'b', 'value': {'n': "
	     "2}}");
	item("{'op': 'put', 'namespace': ['u', '70'], 'key': 'c', 'value': {'n': 3}}");
	item("{'op': 'put', 'namespace': ['u'], 'key': 'd', 'value': {'n': 4.5}}");
	item("{'op': 'put', 'namespace': ['v'], 'key': 'e', 'value': {'t': 'x'}}");
}

static const struct {
	const char *op, *keys;
} searches[] = {
	{ "{'op': 'search'}", "dabce" },
	{ "{'op': 'search', 'namespace': ['u']}", "dabc" },
	{ "{'op': 'search', 'namespace': ['u', '7']}", "ab" },
	{ "{'op': 'search', 'namespace': ['u', '']}", NULL },
	{ "{'op': 'search', 'namespace': ['none']}", "" },
	{ "{'op': 'search', 'limit': 2}", "da" },
	{ "{'op': 'search', 'limit': 2, 'offset': 3}", "ce" },
	{ "{'op': 'search', 'offset': 9}", "" },
	{ "{'op': 'search', 'filter': {'n': 2}}", "b" },
	{ "{'op': 'search', 'filter': {'n': {'$gt': 1, '$lte': 3}}}", "bc" },
	{ "{'op': 'search', 'filter': {'n': {'$ne': 1}, 't': {'$eq': null}}}", "dbc" },
	{ "{'op': 'search', 'filter': {'t': {'$gte': 'x'}}}", "e" },
};
#define SEARCHES (int)(sizeof searches / sizeof searches[0])

static void
play_searches(void)
{
	int i;

	put_some();
	for (i = 0; i < SEARCHES; i++)
		if (searches[i].keys != NULL)
			ck_assert_msg(
			    strcmp(keys_of(searches[i].op), searches[i].keys) == 0,
			    "%s: %s", searches[i].op, keys_of(searches[i].op));
		else
			ck_assert_ptr_nonnull(
			    strstr(refused(searches[i].op), "namespace[1]"));
}

START_TEST(a_search_finds_what_is_below_a_prefix)
{
	trial_play(play_searches);
}
END_TEST

/* More than a page, with a filter that lets the last through. */
static void
play_pages(void)
{
	int i;

	for (i = 0; i < 450; i++)
		item(arena_printf(trial.arena,
		    "{'op': 'put', 'namespace': ['p', 'n%d'], 'key': 'k', 'value': {'i': "
		    "%d}}",
		    i, i));
	ck_assert_uint_eq(
	    value_size(value_get(
		run_op("{'op': 'search', 'namespace': ['p'], 'limit': 1000}"), "items")),
	    450);
	ck_assert_uint_eq(
	    value_size(value_get(run_op("{'op': 'search', 'namespace': ['p'], 'filter': "
					"{'i': {'$gte': 440}}}"),
		"items")),
	    10);
	ck_assert_uint_eq(
	    value_size(value_get(
		run_op("{'op': 'namespaces', 'namespace': ['p'], 'limit': 1000}"),
		"namespaces")),
	    450);
	ck_assert_value(trial.arena,
	    value_get(run_op("{'op': 'namespaces', 'max_depth': 1}"), "namespaces"),
	    "[['p']]");
}

/* The caller's arena gets what was found, not what was looked at. */
static void
play_scan(void)
{
	struct arena *arena = arena_new();
	const struct value *answer;
	size_t began;
	int i;

	for (i = 0; i < 300; i++)
		run_op(arena_printf(trial.arena,
		    "{'op': 'put', 'namespace': ['p'], 'key': '%d', 'value': {'i': %d, "
		    "'text': '%0999d'}}",
		    i, i, i));
	began = arena_bytes(arena);
	answer = items_do(
	    trial.a, arena, literal(trial.arena, "{'op': 'search', 'filter': {'i': 7}}"));
	ck_assert_uint_eq(value_size(value_get(answer, "items")), 1);
	ck_assert_uint_lt(arena_bytes(arena) - began, 100000);
	arena_destroy(&arena);
}

/* Items of 1 MiB in namespace p, as put would store them. */
static void
put_large(int count)
{
	trial_ask("EVAL",
	    "local value = '1 1 0\\n\\129\\161x\\198\\0\\16\\0\\0' .. string.rep('y', "
	    "1048576)\n"
	    "for i = 1, ARGV[1] do\n"
	    "  local member = string.format('p\\31\\30%04d', i)\n"
	    "  redis.call('HSET', KEYS[1], member, value)\n"
	    "  redis.call('ZADD', KEYS[2], 0, member)\n"
	    "end\n"
	    "return 1",
	    "2", arena_printf(trial.arena, "fl:{s%u}:item", item_shard("p\37")),
	    arena_printf(trial.arena, "fl:{s%u}:items", item_shard("p\37")),
	    arena_printf(trial.arena, "%d", count));
}

/* However large items are, a search holds few of them, and says why it gives no more. */
static void
play_large(void)
{
	const char *const by_bytes[] = { "FCALL", "fl_item_page", "1",
		arena_printf(trial.arena, "fl:{s%u}:items", item_shard("p\37")),
		store_prefix(trial.arena, item_shard("p\37")), "-", "+", "200",
		"2097152" };

	put_large(260);
	ck_assert_uint_eq(
	    value_size(trial_ask_words(by_bytes, sizeof by_bytes / sizeof *by_bytes)),
	    2 * 2 + 1);
	ck_assert_str_eq(
	    keys_of("{'op': 'search', 'namespace': ['p'], 'limit': 3}"), "000100020003");
	ck_assert_str_eq(
	    keys_of("{'op': 'search', 'namespace': ['p'], 'limit': 2, 'offset': 100}"),
	    "01010102");
	ck_assert_str_eq(
	    keys_of("{'op': 'search', 'limit': 2, 'offset': 3}"), "00040005");
	ck_assert_ptr_nonnull(strstr(
	    refused("{'op': 'search', 'namespace': ['p'], 'limit': 20}"), "with limit"));
	ck_assert_ptr_nonnull(
	    strstr(refused("{'op': 'search', 'limit': 20}"), "with limit"));
	ck_assert_ptr_nonnull(
	    strstr(refused("{'op': 'search', 'namespace': ['p'], 'filter': {'x': 'n'}}"),
		"more than 256 MiB"));
}

START_TEST(a_search_of_large_items_is_bounded)
{
	trial_play(play_large);
}
END_TEST

/* In the order of members, whichever shards they are in, and whichever of them come first. */
static void
play_everywhere(void)
{
	const char *all = "";
	int i;

	for (i = 0; i < 300; i++) {
		item(arena_printf(trial.arena,
		    "{'op': 'put', 'namespace': ['n%03d'], 'key': '%03d ', 'value': {}}",
		    i, i));
		all = arena_printf(trial.arena, "%s%03d ", all, i);
	}
	ck_assert_str_eq(keys_of("{'op': 'search', 'limit': 1000}"), all);
	ck_assert_str_eq(
	    keys_of("{'op': 'search', 'limit': 3, 'offset': 250}"), "250 251 252 ");
	ck_assert_str_eq(keys_of("{'op': 'search', 'limit': 1}"), "000 ");
	ck_assert_value(trial.arena,
	    value_get(
		run_op("{'op': 'namespaces', 'limit': 2, 'offset': 150}"), "namespaces"),
	    "[['n150'], ['n151']]");
}

START_TEST(a_search_everywhere_gives_one_order)
{
	trial_play(play_everywhere);
}
END_TEST

START_TEST(a_search_leaves_nothing_but_its_answer)
{
	trial_play(play_scan);
}
END_TEST

START_TEST(a_search_goes_on_behind_a_page)
{
	trial_play(play_pages);
}
END_TEST

static void
play_namespaces(void)
{
	put_some();
	ck_assert_value(trial.arena,
	    value_get(run_op("{'op': 'namespaces'}"), "namespaces"),
	    "[['u'], ['u', '7'], ['u', '7', 'x'], ['u', '70'], ['v']]");
	ck_assert_value(trial.arena,
	    value_get(run_op("{'op': 'namespaces', 'namespace': ['u'], 'max_depth': 2,"
			     " 'limit': 2, 'offset': 1}"),
		"namespaces"),
	    "[['u', '7'], ['u', '70']]");
}

static const struct {
	const char *asked, *found;
} patterns[] = {
	{ "'suffix': ['x']", "[['u', '7', 'x']]" },
	{ "'suffix': ['7']", "[['u', '7']]" },
	{ "'suffix': ['*', 'x']", "[['u', '7', 'x']]" },
	{ "'suffix': ['u', '*']", "[['u', '7'], ['u', '70']]" },
	{ "'suffix': []", "[['u'], ['u', '7'], ['u', '7', 'x'], ['u', '70'], ['v']]" },
	{ "'namespace': ['*', '7']", "[['u', '7'], ['u', '7', 'x']]" },
	{ "'namespace': ['u', '*', 'x']", "[['u', '7', 'x']]" },
	{ "'namespace': ['u', '*'], 'suffix': ['*']",
	    "[['u', '7'], ['u', '7', 'x'], ['u', '70']]" },
	/* What is cut is cut behind it, and stays one. */
	{ "'namespace': ['*', '*'], 'max_depth': 1", "[['u']]" },
	{ "'namespace': ['u', '*'], 'limit': 1, 'offset': 1", "[['u', '7', 'x']]" },
	{ "'namespace': ['v'], 'suffix': ['u', 'v']", "[]" },
};

static void
play_patterns(void)
{
	size_t i;

	put_some();
	for (i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
		ck_assert_value(trial.arena,
		    value_get(run_op(arena_printf(trial.arena, "{'op': 'namespaces', %s}",
				  patterns[i].asked)),
			"namespaces"),
		    patterns[i].found);
}

START_TEST(namespaces_are_listed_once)
{
	trial_play(play_namespaces);
}
END_TEST

START_TEST(namespaces_are_found_by_both_ends)
{
	trial_play(play_patterns);
}
END_TEST

/* --- what is wrong -------------------------------------------------------------------- */

static const struct {
	const char *op, *words;
} mistakes[] = {
	{ "{}", "there are put, get" },
	{ "{'op': 'take'}", "there are put, get" },
	{ "{'op': 'get', 'key': 'k'}", "namespace: must be a list" },
	{ "{'op': 'get', 'namespace': [], 'key': 'k'}", "namespace: must be a list" },
	{ "{'op': 'get', 'namespace': 'u', 'key': 'k'}", "namespace: must be a list" },
	{ "{'op': 'get', 'namespace': ['u', 7], 'key': 'k'}", "namespace[1]" },
	{ "{'op': 'get', 'namespace': ['a\\u001fb'], 'key': 'k'}", "namespace[0]" },
	{ "{'op': 'get', 'namespace': ['u']}", "key: must be" },
	{ "{'op': 'get', 'namespace': ['u'], 'key': ''}", "key: must be" },
	{ "{'op': 'get', 'namespace': ['u'], 'keys': 'k'}", "did you mean 'key'" },
	{ "{'op': 'put', 'namespace': ['u'], 'key': 'k'}", "value: must be a map" },
	{ "{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': 3}", "value: must" },
	{ "{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {}, 'ttl_ms': 0}",
	    "ttl_ms: must" },
	{ "{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {}, 'ttl_ms':"
	  " 9223372036854775807}",
	    "ttl_ms: must be a whole number from 1 to 316224000000" },
	{ "{'op': 'search', 'limit': 0}", "limit: must" },
	{ "{'op': 'search', 'limit': 1001}", "from 1 to 1000" },
	{ "{'op': 'search', 'offset': -1}", "offset: must" },
	{ "{'op': 'search', 'filter': []}", "filter: must" },
	{ "{'op': 'search', 'filter': {'n': {'$gr': 1}}}", "'$gr' is no operator" },
	{ "{'op': 'namespaces', 'max_depth': 0}", "max_depth: must" },
	{ "{'op': 'namespaces', 'suffix': 'x'}", "suffix: " },
	{ "{'op': 'namespaces', 'suffix': [1]}", "suffix: " },
	{ "{'op': 'search', 'refresh_ttl': 1}", "refresh_ttl: must be true or false" },
	{ "{'op': 'get', 'namespace': ['u'], 'key': 'k', 'index': []}",
	    "unknown key 'index'" },
	{ "{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {}, 'index': true}",
	    "index: must be false, or a list" },
	{ "{'op': 'put', 'namespace': ['u'], 'key': 'k', 'value': {}, 'index': [1]}",
	    "index: must be false, or a list" },
	{ "{'op': 'search', 'suffix': ['x']}", "unknown key 'suffix'" },
	{ "{'op': 'search', 'query': ''}", "query: must be a text" },
	{ "{'op': 'search', 'query': 1}", "query: must be a text" },
	{ "{'op': 'search', 'query': null}", "query: must be a text" },
	{ "{'op': 'namespaces', 'query': 'x'}", "unknown key 'query'" },
	{ "{'op': 'namespaces', 'namespace': ['*', 1]}", "namespace" },
};
#define MISTAKES (int)(sizeof mistakes / sizeof mistakes[0])

static void
play_mistakes(void)
{
	const char *op = "{'op': 'search', 'filter': {'n': 1";
	int i;

	for (i = 1; i < (int)ITEM_FILTER_MAX; i++)
		op = arena_printf(trial.arena, "%s, 'k%d': 1", op, i);
	ck_assert(value_has(run_op(arena_printf(trial.arena, "%s}}", op)), "items"));
	op = refused(arena_printf(trial.arena, "%s, 'o': 1}}", op));
	ck_assert_ptr_nonnull(strstr(op, "more than 256 conditions"));
	for (i = 0; i < MISTAKES; i++)
		ck_assert_msg(strstr(refused(mistakes[i].op), mistakes[i].words) != NULL,
		    "%s: %s", mistakes[i].op, refused(mistakes[i].op));
}

START_TEST(a_wrong_operation_is_refused_with_its_place)
{
	trial_play(play_mistakes);
}
END_TEST

TCase *
tcase_items(void)
{
	TCase *tc = tcase_create("items");

	tcase_add_checked_fixture(tc, trial_open, trial_close);
	tcase_set_timeout(tc, 120); /* 260 MB of items, with the sanitizers, too */
	tcase_add_test(tc, an_item_is_put_got_and_deleted);
	tcase_add_test(tc, a_search_finds_what_is_below_a_prefix);
	tcase_add_test(tc, a_search_goes_on_behind_a_page);
	tcase_add_test(tc, a_search_leaves_nothing_but_its_answer);
	tcase_add_test(tc, a_search_of_large_items_is_bounded);
	tcase_add_test(tc, a_search_everywhere_gives_one_order);
	tcase_add_test(tc, namespaces_are_listed_once);
	tcase_add_test(tc, namespaces_are_found_by_both_ends);
	tcase_add_test(tc, a_wrong_operation_is_refused_with_its_place);
	return tc;
}
