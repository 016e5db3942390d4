/* What lists of threads are made of: threads without what they hold, and bounds; against a real Redis. */
#include <check.h>
#include <string.h>

#include "bounds.h"
#include "literal.h"
#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_fleet.h"

TCase *tcase_store_lists(void);

static void
play_outline(void)
{
	const struct value *outline = NULL, *whole;

	thread_play("r", 2, "success");
	whole = thread_state();
	ck_assert_int_eq(
	    store_thread_outline(trial.a, trial.arena, "t", &outline), STORE_OK);
	ck_assert(value_equal(value_get(outline, "head"), value_get(whole, "head")));
	ck_assert(
	    value_equal(value_get(outline, "created"), value_get(whole, "created")));
	ck_assert_uint_gt(value_size(value_get(whole, "messages")), 0);
	ck_assert_uint_eq(value_size(value_get(outline, "messages")), 0);
	ck_assert_int_eq(
	    store_thread_outline(trial.a, trial.arena, "none", &outline), STORE_NONE);
}

START_TEST(an_outline_is_a_thread_without_what_it_holds)
{
	trial_play(play_outline);
}
END_TEST

static void
play_entry(void)
{
	const char *entry =
	    redis_reply_text(trial_ask("XADD", STORE_INBOX, "*", "a", "b"));

	ck_assert_int_eq(store_has_entry(trial.a, trial.arena, entry), STORE_OK);
	trial_ask("XDEL", STORE_INBOX, entry);
	ck_assert_int_eq(store_has_entry(trial.a, trial.arena, entry), STORE_NONE);
}

START_TEST(an_entry_is_there_until_it_is_dealt_with)
{
	trial_play(play_entry);
}
END_TEST

/* {name: a text of that size} */
static const struct value *
metadata_of(const char *name, size_t size)
{
	char *text = arena_alloc(trial.arena, size + 1);

	memset(text, 'x', size);
	text[size] = '\0';
	return value_map(trial.arena, name, value_str(trial.arena, text), NULL);
}

static void
play_growth(void)
{
	const size_t half = METADATA_BYTES_MAX / 2;

	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "t", NULL, NULL), STORE_OK);
	ck_assert_int_eq(
	    store_note_thread(trial.a, trial.arena, "t", metadata_of("a", half), NULL),
	    STORE_OK);
	ck_assert_int_eq(
	    store_note_thread(trial.a, trial.arena, "t", metadata_of("b", half), NULL),
	    STORE_REJECTED);
	ck_assert_uint_eq(value_size(value_get(thread_state(), "metadata")), 1);
	ck_assert_int_eq(
	    store_note_thread(trial.a, trial.arena, "t", metadata_of("a", half), NULL),
	    STORE_OK);
}

START_TEST(metadata_does_not_grow_beyond_its_bound)
{
	trial_play(play_growth);
}
END_TEST

/* Each name that comes is no copy of all that are there. */
static void
play_many_noted(void)
{
	struct value_fields many = { .arena = trial.arena };
	const struct value *metadata;
	size_t before;
	unsigned i;

	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "t",
		literal(trial.arena, "{'a': null, 'k7': true, 'gone': 1}"), NULL),
	    STORE_OK);
	for (i = 0; i < 1500; i++)
		value_fields_set(&many, arena_printf(trial.arena, "k%u", i),
		    value_int(trial.arena, 1));
	value_fields_set(&many, "gone", value_nil());
	metadata = value_fields_end(&many);
	before = arena_bytes(trial.arena);
	ck_assert_int_eq(
	    store_note_thread(trial.a, trial.arena, "t", metadata, NULL), STORE_OK);
	ck_assert_uint_lt(arena_bytes(trial.arena) - before, 4u << 20);
	metadata = value_get(thread_state(), "metadata");
	ck_assert_uint_eq(value_size(metadata), 1501);
	ck_assert(value_is_nil(value_get(metadata, "a")) && value_has(metadata, "a"));
	ck_assert_int_eq(value_get_int(metadata, "k7", 0), 1);
}

START_TEST(much_can_be_noted_at_once)
{
	trial_play(play_many_noted);
}
END_TEST

/* --- a tenant's --------------------------------------------------------------------------- */

/* Fails unless these are tenant's, newest first, each with a blank behind it. */
static void
check_tenant(const char *tenant, const char *expected)
{
	const struct value *threads = NULL;
	const char *names = "";
	uint64_t total = 99;
	size_t i;

	ck_assert_int_eq(
	    store_threads(trial.a, trial.arena, tenant, 100, &threads, &total), STORE_OK);
	for (i = 0; i < value_size(threads); i++)
		names = arena_printf(trial.arena, "%s%s ", names,
		    value_get_text(value_at(threads, i), "thread"));
	ck_assert_str_eq(names, expected);
	ck_assert_uint_eq(total, value_size(threads));
}

/* Many more than are wanted, the newest anywhere. */
static void
play_newest(void)
{
	const struct value *threads = NULL;
	uint64_t total = 0;
	unsigned i;

	for (i = 0; i < SHARDS; i++)
		trial_ask("ZADD",
		    arena_printf(trial.arena, "%sthreads", store_prefix(trial.arena, i)),
		    arena_printf(trial.arena, "%u", 1 + i * 37 % SHARDS),
		    arena_printf(trial.arena, "t%03u", 1 + i * 37 % SHARDS));
	ck_assert_int_eq(
	    store_threads(trial.a, trial.arena, NULL, 3, &threads, &total), STORE_OK);
	ck_assert_uint_eq(total, SHARDS);
	ck_assert_uint_eq(value_size(threads), 3);
	for (i = 0; i < 3; i++)
		ck_assert_str_eq(value_get_text(value_at(threads, i), "thread"),
		    arena_printf(trial.arena, "t%03u", SHARDS - i));
}

START_TEST(of_many_threads_the_newest_are_told)
{
	trial_play(play_newest);
}
END_TEST

static void
open_thread(const char *name, const char *ttl)
{
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, name, NULL, ttl), STORE_OK);
}

static void
expire(const char *name)
{
	unsigned shard = store_shard(name);
	const struct value *threads = NULL;

	trial_ask("ZADD",
	    arena_printf(trial.arena, "%sttl", store_prefix(trial.arena, shard)), "1",
	    name);
	ck_assert_int_eq(
	    store_expire(trial.a, trial.arena, shard, 10, NULL, &threads), STORE_OK);
}

/* However it comes, and however it goes. */
static void
play_tenants(void)
{
	struct store_pruned pruned;

	open_thread("acme~1", NULL);
	check_tenant("acme", "acme~1 ");
	trial_submit("other~2", "r");
	open_thread("acmes~3", NULL);
	open_thread("acme", NULL);
	check_tenant("acme", "acme~1 ");
	check_tenant("other", "other~2 ");
	check_tenant("nobody", "");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "acme~1", false, &pruned), STORE_OK);
	check_tenant("acme", "");
	open_thread("acme~4~5", "1000 delete");
	check_tenant("acme", "acme~4~5 ");
	expire("acme~4~5");
	check_tenant("acme", "");
	check_tenant("acmes", "acmes~3 ");
}

START_TEST(a_tenants_threads_are_listed_by_themselves)
{
	trial_play(play_tenants);
}
END_TEST

/* In front of the mark stands what can be no tenant's name. */
static void
play_no_tenants(void)
{
	static const char *const names[] = { "~1", "a/b~1",
		"abcdefghijklmnopqrstuvwxyz01234567~1" };
	const struct value *keys;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		open_thread(names[i], NULL);
	keys = trial_ask("KEYS", "*:threads:*");
	ck_assert_uint_eq(value_size(keys), 0);
	open_thread("abcdefghijklmnopqrstuvwxyz.-_789~1", NULL);
	keys = trial_ask("KEYS", "*:threads:*");
	ck_assert_uint_eq(value_size(keys), 1);
}

START_TEST(what_is_no_tenants_has_no_list_of_its_own)
{
	trial_play(play_no_tenants);
}
END_TEST

TCase *
tcase_store_lists(void)
{
	TCase *tcase = tcase_create("store_lists");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, an_outline_is_a_thread_without_what_it_holds);
	tcase_add_test(tcase, an_entry_is_there_until_it_is_dealt_with);
	tcase_add_test(tcase, metadata_does_not_grow_beyond_its_bound);
	tcase_add_test(tcase, much_can_be_noted_at_once);
	tcase_add_test(tcase, a_tenants_threads_are_listed_by_themselves);
	tcase_add_test(tcase, what_is_no_tenants_has_no_list_of_its_own);
	tcase_add_test(tcase, of_many_threads_the_newest_are_told);
	return tcase;
}
