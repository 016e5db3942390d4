/* Crons as they are kept in Redis: made, changed, fired once; against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "crons.h"

TCase *tcase_store_crons(void);

#define DUE "1000" /* ms since 1970: long ago */
#define LATER INT64_C(4102455600000)

static struct cron
make(const char *id)
{
	return (struct cron){ .id = id,
		.agent = "clerk",
		.schedule = "0 3 * * *",
		.next_ms = LATER,
		.entry = value_map(trial.arena, "agent", VALUE_TEXT("clerk"), "input",
		    VALUE_TEXT("\"Hi\""), NULL),
		.metadata = value_map(trial.arena, "team", VALUE_TEXT("sales"), NULL) };
}

static void
create(const struct cron *cron)
{
	ck_assert_int_eq(crons_create(trial.a, trial.arena, cron), STORE_OK);
}

static struct cron
get(const char *id)
{
	struct cron cron;

	ck_assert_int_eq(crons_read(trial.a, trial.arena, id, &cron), STORE_OK);
	return cron;
}

static const char *
key_of(const char *id)
{
	return arena_printf(
	    trial.arena, "%scrons", store_prefix(trial.arena, store_shard(id)));
}

/* As if its time had come. */
static void
make_due(const char *id)
{
	trial_ask("ZADD", key_of(id), DUE, id);
}

static size_t
due(const char *id, struct cron_list *list)
{
	ck_assert_int_eq(
	    crons_due(trial.a, trial.arena, store_shard(id), 10, list), STORE_OK);
	return list->count;
}

static int64_t
submitted(void)
{
	return trial_ask("XLEN", STORE_INBOX)->integer;
}

/* --- what it is ------------------------------------------------------------------------- */

static void
play_keeping(void)
{
	struct cron cron = make("nightly"), found;

	cron.timezone = "Europe/Berlin";
	cron.thread = "news";
	cron.end_ms = INT64_C(4102455600001);
	cron.keeps = true;
	cron.metadata = value_map(trial.arena, "who", VALUE_TEXT("me"), NULL);
	cron.assistant = "clara";
	create(&cron);
	ck_assert_int_eq(crons_create(trial.a, trial.arena, &cron), STORE_KNOWN);
	found = get("nightly");
	ck_assert_str_eq(found.agent, "clerk");
	ck_assert_str_eq(found.assistant, "clara");
	ck_assert_str_eq(found.schedule, "0 3 * * *");
	ck_assert_str_eq(found.timezone, "Europe/Berlin");
	ck_assert_str_eq(found.thread, "news");
	ck_assert_int_eq(found.end_ms, cron.end_ms);
	ck_assert_int_eq(found.next_ms, cron.next_ms);
	ck_assert(found.keeps && !found.is_paused);
	ck_assert(value_equal(found.metadata, cron.metadata));
	ck_assert(value_equal(found.entry, cron.entry));
	ck_assert_uint_eq(found.version, 1);
	ck_assert_int_gt(found.created_ms, 0);
	ck_assert_ptr_null(found.last_run);
	ck_assert_int_eq(crons_delete(trial.a, trial.arena, "nightly"), STORE_OK);
	ck_assert_int_eq(crons_delete(trial.a, trial.arena, "nightly"), STORE_NONE);
	ck_assert_int_eq(crons_read(trial.a, trial.arena, "nightly", &found), STORE_NONE);
	ck_assert_int_eq(trial_ask("DBSIZE")->integer, 0);
}

START_TEST(a_cron_is_kept_as_it_is)
{
	trial_play(play_keeping);
}
END_TEST

static void
play_changes(void)
{
	struct cron cron = make("c"), old;

	create(&cron);
	cron = old = get("c");
	cron.schedule = "@daily";
	cron.entry = NULL;
	cron.next_ms = 5;
	ck_assert_int_eq(crons_change(trial.a, trial.arena, &cron, false), STORE_OK);
	ck_assert_int_eq(crons_change(trial.a, trial.arena, &cron, false), STORE_STALE);
	cron = get("c");
	ck_assert_str_eq(cron.schedule, "@daily");
	ck_assert_int_eq(cron.next_ms, old.next_ms);
	ck_assert(value_equal(cron.entry, old.entry));
	ck_assert_uint_eq(cron.version, 2);
	cron.is_paused = true;
	cron.next_ms = CRON_NEVER;
	ck_assert_int_eq(crons_change(trial.a, trial.arena, &cron, true), STORE_OK);
	cron = get("c");
	ck_assert(cron.is_paused && cron.next_ms == CRON_NEVER);
	cron.id = "none";
	ck_assert_int_eq(crons_change(trial.a, trial.arena, &cron, true), STORE_NONE);
}

START_TEST(it_is_changed_by_who_knows_it)
{
	trial_play(play_changes);
}
END_TEST

static bool
is_seventh(const struct cron *cron, const void *arg)
{
	return strcmp(cron->id, arg) == 0 && value_has(cron->metadata, "team");
}

static void
play_all(void)
{
	struct cron_list list;
	unsigned i;

	for (i = 0; i < 100; i++) {
		struct cron cron = make(arena_printf(trial.arena, "c%02u", 99 - i));

		create(&cron);
	}
	/* None of ours: the others are found all the same. */
	trial_ask("ZADD", key_of("c07"), "1", "odd");
	trial_ask("SET",
	    arena_printf(
		trial.arena, "%scron:odd", store_prefix(trial.arena, store_shard("c07"))),
	    "x");
	ck_assert_int_eq(
	    crons_find(trial.a, trial.arena, &(struct cron_wish){ 0 }, &list), STORE_OK);
	ck_assert_uint_eq(list.count, 100);
	ck_assert(value_has(list.items[0].metadata, "team"));
	for (i = 0; i < 100; i++)
		ck_assert_str_eq(list.items[i].id, arena_printf(trial.arena, "c%02u", i));
	ck_assert_ptr_null(list.items[0].entry);
	ck_assert_int_eq(
	    crons_find(trial.a, trial.arena,
		&(struct cron_wish){ is_seventh, "c07", .spares_metadata = true }, &list),
	    STORE_OK);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_str_eq(list.items[0].id, "c07");
	ck_assert_ptr_null(list.items[0].metadata);
}

START_TEST(all_are_found)
{
	trial_play(play_all);
}
END_TEST

static void
play_bound(void)
{
	struct cron cron = make("c");

	trial_ask("EVAL", "for i = 1, 1000 do redis.call('ZADD', KEYS[1], 'inf', i) end",
	    "1", key_of("c"));
	ck_assert_int_eq(crons_create(trial.a, trial.arena, &cron), STORE_REJECTED);
}

START_TEST(a_shard_has_so_many_and_no_more)
{
	trial_play(play_bound);
}
END_TEST

/* --- when its time has come ------------------------------------------------------------- */

static void
play_once(void)
{
	struct cron cron = make("c");
	struct cron_list here, there;
	struct store_chores chores;
	const char *run;

	create(&cron);
	ck_assert_uint_eq(due("c", &here), 0);
	ck_assert_int_eq(
	    store_chores(trial.a, trial.arena, store_shard("c"), &chores), STORE_OK);
	ck_assert(!chores.crons);
	make_due("c");
	store_chores(trial.a, trial.arena, store_shard("c"), &chores);
	ck_assert(chores.crons);
	ck_assert_uint_eq(due("c", &here), 1);
	ck_assert_uint_eq(due("c", &there), 1);
	ck_assert_int_gt(here.now_ms, INT64_C(1700000000000));
	run = cron_run_id(trial.arena, "c", here.items[0].next_ms);
	ck_assert_str_eq(run, "c-19700101T000001Z");
	ck_assert_int_eq(crons_fire(trial.a, trial.arena, &here.items[0], run,
			     cron.next_ms, "it is Monday"),
	    STORE_OK);
	ck_assert_int_eq(
	    crons_fire(trial.b, trial.arena, &there.items[0], run, cron.next_ms, NULL),
	    STORE_STALE);
	ck_assert_int_eq(
	    crons_put_off(trial.b, trial.arena, &there.items[0], 2000, "no such zone"),
	    STORE_STALE);
	ck_assert_int_eq(submitted(), 1);
	cron = get("c");
	ck_assert_int_eq(cron.next_ms, LATER);
	ck_assert_int_eq(cron.last_ms, 1000);
	ck_assert_str_eq(cron.last_run, run);
	ck_assert_str_eq(cron.error, "it is Monday");
	ck_assert_uint_eq(cron.version, 1);
	ck_assert_uint_eq(due("c", &here), 0);
}

START_TEST(two_who_fire_it_submit_one_run)
{
	trial_play(play_once);
}
END_TEST

static const char *
field_of(const struct value *entry, const char *name)
{
	const struct value *fields = value_at(value_at(entry, 0), 1);
	size_t i;

	for (i = 0; i + 1 < value_size(fields); i += 2)
		if (strcmp(redis_reply_text(value_at(fields, i)), name) == 0)
			return redis_reply_text(value_at(fields, i + 1));
	return "";
}

static void
play_entry(void)
{
	struct cron cron = make("c");
	const struct value *entry;
	struct cron_list list;

	cron.thread = "news";
	create(&cron);
	make_due("c");
	due("c", &list);
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &list.items[0], "r", CRON_NEVER, NULL),
	    STORE_OK);
	entry = trial_ask("XRANGE", STORE_INBOX, "-", "+");
	ck_assert_str_eq(field_of(entry, "run"), "r");
	ck_assert_str_eq(field_of(entry, "thread"), "news");
	ck_assert_str_eq(field_of(entry, "agent"), "clerk");
	ck_assert_str_eq(field_of(entry, "input"), "\"Hi\"");
	ck_assert_int_eq(get("c").next_ms, CRON_NEVER);
	ck_assert_str_eq(get("c").last_run, "r");
}

START_TEST(what_is_submitted_is_its_entry)
{
	trial_play(play_entry);
}
END_TEST

static void
play_given(void)
{
	struct cron cron = make("c");
	const struct value *entry;
	struct cron_list list;

	create(&cron);
	make_due("c");
	due("c", &list);
	list.items[0].given = value_map(
	    trial.arena, "agent", VALUE_TEXT("other"), "context", VALUE_TEXT("{}"), NULL);
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &list.items[0], "r", LATER, NULL), STORE_OK);
	entry = trial_ask("XRANGE", STORE_INBOX, "-", "+");
	ck_assert_str_eq(field_of(entry, "agent"), "other");
	ck_assert_str_eq(field_of(entry, "context"), "{}");
	ck_assert_str_eq(field_of(entry, "input"), "\"Hi\"");
	ck_assert_str_eq(value_get_text(get("c").entry, "agent"), "clerk");
}

START_TEST(what_it_is_given_takes_the_entrys_place)
{
	trial_play(play_given);
}
END_TEST

static void
play_between(void)
{
	struct cron cron = make("c");
	struct cron_list list;

	create(&cron);
	make_due("c");
	due("c", &list);
	cron = get("c");
	cron.entry = NULL;
	ck_assert_int_eq(crons_change(trial.a, trial.arena, &cron, false), STORE_OK);
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &list.items[0], "r", LATER, NULL),
	    STORE_STALE);
	due("c", &list);
	crons_delete(trial.a, trial.arena, "c");
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &list.items[0], "r", LATER, NULL),
	    STORE_STALE);
	ck_assert_int_eq(submitted(), 0);
}

/* As where Redis had no room for the submission, and there is some again. */
static void
play_waited(void)
{
	struct cron cron = make("c");
	struct cron_list list;

	create(&cron);
	make_due("c");
	due("c", &list);
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &list.items[0], "r", 2000, NULL),
	    STORE_STALE);
	ck_assert_int_eq(submitted(), 0);
	ck_assert_uint_eq(due("c", &list), 1);
}

START_TEST(a_next_time_that_is_over_by_then_does_not_count)
{
	trial_play(play_waited);
}
END_TEST

START_TEST(one_that_was_changed_meanwhile_is_not_fired)
{
	trial_play(play_between);
}
END_TEST

static void
play_damage(void)
{
	struct cron cron = make("c");
	struct cron_list list;

	create(&cron);
	make_due("c");
	trial_ask("HSET",
	    arena_printf(
		trial.arena, "%scron:c", store_prefix(trial.arena, store_shard("c"))),
	    "entry", "\xc1");
	due("c", &list);
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &list.items[0], "r", LATER, NULL),
	    STORE_REJECTED);
	/* Nor is one that is no list of texts submitted. */
	trial_ask("HSET",
	    arena_printf(
		trial.arena, "%scron:c", store_prefix(trial.arena, store_shard("c"))),
	    "entry",
	    "\x81\xa1"
	    "a\x91\x01");
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &list.items[0], "r", LATER, NULL),
	    STORE_REJECTED);
	ck_assert_int_eq(submitted(), 0);
	ck_assert_int_eq(crons_put_off(trial.a, trial.arena, &list.items[0], CRON_NEVER,
			     "it is damaged"),
	    STORE_OK);
	ck_assert_uint_eq(due("c", &list), 0);
}

/* Written over by hand: it is told by its id, and is in nobody's way any more. */
static void
play_no_cron(void)
{
	struct cron cron = make("c");
	struct cron_list list;

	create(&cron);
	make_due("c");
	trial_ask("SET",
	    arena_printf(
		trial.arena, "%scron:c", store_prefix(trial.arena, store_shard("c"))),
	    "x");
	ck_assert_uint_eq(due("c", &list), 1);
	ck_assert_str_eq(list.items[0].id, "c");
	ck_assert_ptr_null(list.items[0].agent);
	ck_assert_int_eq(
	    crons_put_away(trial.a, trial.arena, store_shard("c"), "c"), STORE_OK);
	ck_assert_uint_eq(due("c", &list), 0);
	ck_assert_int_eq(crons_delete(trial.a, trial.arena, "c"), STORE_OK);
	/* No time that we have written. */
	create(&cron);
	trial_ask("ZADD", key_of("c"), "1000.5", "c");
	ck_assert_uint_eq(due("c", &list), 1);
	ck_assert_int_eq(list.items[0].next_ms, CRON_NEVER);
	ck_assert_int_eq(crons_delete(trial.a, trial.arena, "c"), STORE_OK);
	/* What is gone does not come back. */
	ck_assert_int_eq(
	    crons_put_away(trial.a, trial.arena, store_shard("c"), "c"), STORE_OK);
	ck_assert_int_eq(crons_delete(trial.a, trial.arena, "c"), STORE_NONE);
}

START_TEST(what_is_no_cron_any_more_is_put_away)
{
	trial_play(play_no_cron);
}
END_TEST

START_TEST(one_that_is_damaged_is_put_off)
{
	trial_play(play_damage);
}
END_TEST

/* --- pure ------------------------------------------------------------------------------- */

static void
play_next(void)
{
	struct cron cron = make("c");
	const char *error = "";
	int64_t next;

	ck_assert_int_eq(cron_next(trial.arena, &cron, 0, &next, &error), 0);
	ck_assert_int_eq(next, INT64_C(10800000));
	cron.end_ms = INT64_C(10800000);
	ck_assert_int_eq(cron_next(trial.arena, &cron, 0, &next, &error), 0);
	ck_assert_int_eq(next, INT64_C(10800000));
	cron.end_ms--;
	ck_assert_int_eq(cron_next(trial.arena, &cron, 0, &next, &error), 0);
	ck_assert_int_eq(next, CRON_NEVER);
	cron.timezone = "Nowhere";
	ck_assert_int_eq(cron_next(trial.arena, &cron, 0, &next, &error), -1);
	ck_assert(cron_is_id("nightly") && !cron_is_id("a b") && !cron_is_id(""));
	ck_assert(!cron_is_id(arena_printf(trial.arena, "%080d", 1)));
}

START_TEST(its_end_is_the_last_time)
{
	trial_play(play_next);
}
END_TEST

TCase *
tcase_store_crons(void)
{
	TCase *tcase = tcase_create("store_crons");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_cron_is_kept_as_it_is);
	tcase_add_test(tcase, it_is_changed_by_who_knows_it);
	tcase_add_test(tcase, all_are_found);
	tcase_add_test(tcase, a_shard_has_so_many_and_no_more);
	tcase_add_test(tcase, two_who_fire_it_submit_one_run);
	tcase_add_test(tcase, what_is_submitted_is_its_entry);
	tcase_add_test(tcase, what_it_is_given_takes_the_entrys_place);
	tcase_add_test(tcase, one_that_was_changed_meanwhile_is_not_fired);
	tcase_add_test(tcase, a_next_time_that_is_over_by_then_does_not_count);
	tcase_add_test(tcase, one_that_is_damaged_is_put_off);
	tcase_add_test(tcase, what_is_no_cron_any_more_is_put_away);
	tcase_add_test(tcase, its_end_is_the_last_time);
	return tcase;
}
