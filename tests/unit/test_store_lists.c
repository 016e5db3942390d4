/* What lists of threads are made of: threads without what they hold, and bounds; against a real Redis. */
#include <check.h>
#include <string.h>

#include "bounds.h"
#include "literal.h"
#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

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

TCase *
tcase_store_lists(void)
{
	TCase *tcase = tcase_create("store_lists");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, an_outline_is_a_thread_without_what_it_holds);
	tcase_add_test(tcase, an_entry_is_there_until_it_is_dealt_with);
	tcase_add_test(tcase, metadata_does_not_grow_beyond_its_bound);
	return tcase;
}
