/* The inbox: who reads it, what they have not dealt with, what they have. Against a real Redis. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_inbox(void);

#define LONG 60000u
#define MANY 1010u
#define LARGE (6u << 20)

static long
readers(void)
{
	return (long)value_size(
	    trial_ask("XINFO", "CONSUMERS", STORE_INBOX, STORE_INBOX_GROUP));
}

static void
play_readers(void)
{
	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	trial_ask("XADD", STORE_INBOX, "1-0", "agent", "a");
	trial_ask("XREADGROUP", "GROUP", STORE_INBOX_GROUP, "holds", "STREAMS",
	    STORE_INBOX, ">");
	trial_ask("XGROUP", "CREATECONSUMER", STORE_INBOX, STORE_INBOX_GROUP, "leaves");
	trial_ask("XGROUP", "CREATECONSUMER", STORE_INBOX, STORE_INBOX_GROUP, "reads");
	ck_assert_int_eq(readers(), 3);
	ck_assert_int_eq(
	    store_tidy_inbox(trial.a, trial.arena, "leaves", LONG), STORE_OK);
	ck_assert_int_eq(readers(), 2);
	/* What a reader has not finished is not forgotten with it. */
	ck_assert_int_eq(store_tidy_inbox(trial.a, trial.arena, "holds", LONG), STORE_OK);
	ck_assert_int_eq(readers(), 2);
	trial_ask("XACK", STORE_INBOX, STORE_INBOX_GROUP, "1-0");
	ck_assert_int_eq(store_tidy_inbox(trial.a, trial.arena, "holds", LONG), STORE_OK);
	ck_assert_int_eq(readers(), 1);
}

START_TEST(readers_of_the_inbox_do_not_pile_up)
{
	trial_play(play_readers);
}
END_TEST

static void
check_texts(const struct value *texts, const char *const *expected)
{
	size_t i;

	for (i = 0; expected[i] != NULL; i++)
		ck_assert_str_eq(redis_reply_text(value_at(texts, i)), expected[i]);
	ck_assert_uint_eq(value_size(texts), i);
}

static void
play_ahead(void)
{
	static const char *const own[] = { "2-0", "10-0" };
	const struct value *ahead;

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	/* A field that is given twice counts as it was given last, an empty one not at all. */
	trial_ask("XADD", STORE_INBOX, "1-0", "thread", "x", "thread", "t", "run", "r");
	trial_ask("XADD", STORE_INBOX, "2-0", "agent", "a", "run", "r2");
	trial_ask("XADD", STORE_INBOX, "2-1", "thread", "", "run", "");
	trial_ask("XADD", STORE_INBOX, "3-0", "agent", "a", "thread", "gone");
	trial_ask("XADD", STORE_INBOX, "10-0", "agent", "a", "thread", "t");
	trial_ask("XREADGROUP", "GROUP", STORE_INBOX_GROUP, "reads", "STREAMS",
	    STORE_INBOX, ">");
	trial_ask("XADD", STORE_INBOX, "10-1", "agent", "a", "thread", "not read");
	trial_ask("XDEL", STORE_INBOX, "3-0");
	ck_assert_int_eq(
	    store_inbox_ahead(trial.a, trial.arena, own, 2, &ahead), STORE_OK);
	check_texts(ahead, (const char *const[]){
			       "", "1-0", "t", "r", "2-1", "run-2-1", "run-2-1", NULL });
	ck_assert_int_eq(
	    store_inbox_ahead(trial.a, trial.arena, own, 1, &ahead), STORE_OK);
	check_texts(ahead, (const char *const[]){ "", "1-0", "t", "r", NULL });
}

START_TEST(what_is_read_and_not_dealt_with_is_ahead)
{
	trial_play(play_ahead);
}
END_TEST

static void
read_all(void)
{
	trial_ask("XREADGROUP", "GROUP", STORE_INBOX_GROUP, "reads", "STREAMS",
	    STORE_INBOX, ">");
}

/* What is looked at has a bound, and it says how far it came. */
static void
play_many_ahead(void)
{
	static const char *const own[] = { "30-0" };
	const struct value *ahead;
	unsigned i;

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	for (i = 0; i < MANY; i++)
		trial_ask("XADD", STORE_INBOX, "20-*", "agent", "a", "run", "many");
	read_all();
	ck_assert_int_eq(
	    store_inbox_ahead(trial.a, trial.arena, own, 1, &ahead), STORE_OK);
	ck_assert_str_eq(redis_reply_text(value_at(ahead, 0)), "20-999");
	ck_assert_uint_eq(value_size(ahead), 1 + 3 * 1000);
}

START_TEST(of_many_the_first_ones_are_looked_at)
{
	trial_play(play_many_ahead);
}
END_TEST

/* The same of field, whichever it is. */
static void
look_ahead_of_large(const char *field)
{
	static const char *const own[] = { "30-0" };
	const struct value *ahead;
	char *input = arena_alloc(trial.arena, LARGE + 1);
	unsigned i;

	memset(input, 'x', LARGE);
	input[LARGE] = '\0';
	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	for (i = 0; i < 4; i++)
		trial_ask("XADD", STORE_INBOX, "20-*", "run", "r", field, input);
	read_all();
	ck_assert_int_eq(
	    store_inbox_ahead(trial.a, trial.arena, own, 1, &ahead), STORE_OK);
	ck_assert_str_eq(redis_reply_text(value_at(ahead, 0)), "20-2");
	ck_assert_uint_eq(value_size(ahead), 1 + 3 * 3);
	trial_ask("DEL", STORE_INBOX);
}

static void
play_large_ahead(void)
{
	look_ahead_of_large("input");
	look_ahead_of_large("resume");
}

START_TEST(of_large_ones_the_first_ones_are_looked_at)
{
	trial_play(play_large_ahead);
}
END_TEST

static void
play_dealt(void)
{
	const struct value *dealt = value_bin(trial.arena, "1-0", 3);

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	trial_ask("XADD", STORE_INBOX, "1-0", "agent", "a");
	trial_ask("XADD", STORE_INBOX, "2-0", "agent", "a");
	read_all();
	ck_assert_int_eq(store_inbox_dealt(trial.a, trial.arena, &dealt, 1), STORE_OK);
	ck_assert_int_eq(store_inbox_dealt(trial.a, trial.arena, &dealt, 1), STORE_OK);
	ck_assert_uint_eq(value_size(trial_ask("XRANGE", STORE_INBOX, "-", "+")), 1);
	ck_assert_int_eq(
	    value_at(trial_ask("XPENDING", STORE_INBOX, STORE_INBOX_GROUP), 0)->integer,
	    1);
}

START_TEST(what_is_dealt_with_is_nobodys)
{
	trial_play(play_dealt);
}
END_TEST

/* --- reading -------------------------------------------------------------------------- */

static const char *
letters(size_t size)
{
	char *text = arena_alloc(trial.arena, size + 1);

	memset(text, 'x', size);
	text[size] = '\0';
	return text;
}

static const struct value *
read_from(const char *from)
{
	const struct value *entries = NULL;

	ck_assert_int_eq(
	    store_inbox_read(trial.a, trial.arena, "reads", from, INBOX_BATCH, &entries),
	    STORE_OK);
	return entries;
}

static const char *
id_at(const struct value *entries, size_t index)
{
	return redis_reply_text(value_at(value_at(entries, index), 0));
}

static const struct value *
orphans(const char **from_p)
{
	const struct value *entries = NULL;

	ck_assert_int_eq(
	    store_inbox_orphans(trial.a, trial.arena, "heir", 0, from_p, &entries),
	    STORE_OK);
	return entries;
}

static void
play_read(void)
{
	const struct value *entries;
	const char *from = "0-0";
	unsigned i;

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	ck_assert_uint_eq(value_size(read_from(">")), 0);
	for (i = 1; i <= INBOX_BATCH + 2; i++)
		trial_ask("XADD", STORE_INBOX, arena_printf(trial.arena, "%u-0", i),
		    "agent", "a");
	entries = read_from(">");
	ck_assert_uint_eq(value_size(entries), INBOX_BATCH);
	ck_assert_str_eq(id_at(entries, 0), "1-0");
	ck_assert_str_eq(id_at(entries, INBOX_BATCH - 1), "128-0");
	ck_assert_uint_eq(value_size(read_from(">")), 2);
	ck_assert_uint_eq(value_size(read_from(">")), 0);
	/* What was deleted has no fields. */
	trial_ask("XDEL", STORE_INBOX, "129-0");
	entries = read_from("100-0");
	ck_assert_uint_eq(value_size(entries), 30);
	ck_assert_str_eq(id_at(entries, 0), "101-0");
	ck_assert(value_is_nil(value_at(value_at(entries, 28), 1)));
	ck_assert_uint_eq(value_size(value_at(value_at(entries, 29), 1)), 2);
	ck_assert_uint_eq(value_size(read_from("130-0")), 0);
	/* Whoever takes them over goes on where he was. */
	entries = orphans(&from);
	ck_assert_uint_eq(value_size(entries), INBOX_BATCH);
	ck_assert_str_eq(id_at(entries, 0), "1-0");
	ck_assert_str_ne(from, "0-0");
	entries = orphans(&from);
	ck_assert_uint_eq(value_size(entries), 1);
	ck_assert_str_eq(id_at(entries, 0), "130-0");
	ck_assert_str_eq(from, "0-0");
}

START_TEST(the_inbox_is_read_in_portions)
{
	trial_play(play_read);
}
END_TEST

/* A hundred of them at once kept Redis for longer than anybody waits for an answer, and so each time they were read again. */
static void
play_read_large(void)
{
	const char *input = letters(LARGE), *from = "0-0";
	size_t read = 0, some;
	unsigned i;

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	for (i = 0; i < 12; i++)
		trial_ask("XADD", STORE_INBOX, "20-*", "run", "r", "input", input);
	do {
		some = value_size(read_from(">"));
		read += some;
		ck_assert_uint_le(some, 3);
	} while (some > 0);
	ck_assert_uint_eq(read, 12);
	ck_assert_uint_eq(value_size(read_from("0")), 3);
	ck_assert_uint_eq(value_size(orphans(&from)), 3);
	ck_assert_str_eq(from, "20-3");
}

START_TEST(of_large_ones_few_are_read_at_once)
{
	trial_play(play_read_large);
}
END_TEST

/* What no submission is. */
static void
play_read_huge(void)
{
	const char *input = letters(34u << 20);
	const struct value *entries;

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	trial_ask("XADD", STORE_INBOX, "1-0", "run", "r", "input", input, "more", "x");
	trial_ask("EVAL",
	    "local flat = {} for i = 1, 5000 do flat[i] = 'x' end "
	    "redis.call('XADD', KEYS[1], '2-0', unpack(flat))",
	    "1", STORE_INBOX);
	entries = read_from(">");
	ck_assert_uint_eq(value_size(entries), 1);
	entries = value_at(value_at(entries, 0), 1);
	ck_assert_str_eq(redis_reply_text(value_at(entries, 1)), "r");
	ck_assert_uint_lt(value_at(entries, 3)->size, 33u << 20);
	ck_assert_uint_eq(value_at(entries, 5)->size, 0);
	entries = value_at(value_at(read_from(">"), 0), 1);
	ck_assert_uint_eq(value_size(entries), 128);
}

START_TEST(what_is_larger_than_any_submission_is_cut)
{
	trial_play(play_read_huge);
}
END_TEST

TCase *
tcase_store_inbox(void)
{
	TCase *tcase = tcase_create("store_inbox");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, readers_of_the_inbox_do_not_pile_up);
	tcase_add_test(tcase, what_is_read_and_not_dealt_with_is_ahead);
	tcase_add_test(tcase, of_many_the_first_ones_are_looked_at);
	tcase_add_test(tcase, of_large_ones_the_first_ones_are_looked_at);
	tcase_add_test(tcase, what_is_dealt_with_is_nobodys);
	tcase_add_test(tcase, the_inbox_is_read_in_portions);
	tcase_add_test(tcase, of_large_ones_few_are_read_at_once);
	tcase_add_test(tcase, what_is_larger_than_any_submission_is_cut);
	return tcase;
}
