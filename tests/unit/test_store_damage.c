/* Keys of a wrong type, by a hand or a restore, where a whole shard is looked through: what is one run's or one
 * thread's trouble stands in no other's way; against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "crons.h"
#include "store.h"
#include "store_webhooks.h"

TCase *tcase_store_damage(void);

#define LONG 60000u

static const char *
key(const char *name)
{
	return arena_printf(
	    trial.arena, "%s%s", store_prefix(trial.arena, store_shard("t")), name);
}

/* The threads that a sweep finds, which must not fail. */
static const struct value *
swept(void)
{
	const struct value *threads = NULL;

	ck_assert_int_eq(
	    store_sweep(trial.a, trial.arena, store_shard("t"), 100, &threads), STORE_OK);
	return threads;
}

static const char *
status_of(const char *run)
{
	const struct value *record = NULL;

	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", run, &record), STORE_OK);
	return value_get_text(record, "status");
}

/* --- delayed runs ------------------------------------------------------------------------- */

static void
submit_later(const char *thread, const char *run)
{
	ck_assert_int_eq(
	    store_submit(trial.a, trial.arena, thread, run,
		value_map(trial.arena, "agent", value_str(trial.arena, "clerk"), "at",
		    value_str(trial.arena, "9000000000000"), NULL),
		&(int64_t){ 0 }),
	    STORE_OK);
}

/* Another thread of the shard. */
static const char *
neighbour(void)
{
	const char *name;
	unsigned i = 0;

	do {
		name = arena_printf(trial.arena, "n%u", i++);
	} while (store_shard(name) != store_shard("t"));
	return name;
}

static void
play_later(void)
{
	const char *line =
	    arena_printf(trial.arena, "%s:q", store_thread_key(trial.arena, neighbour()));

	submit_later("t", "r");
	submit_later(neighbour(), "waits");
	trial_ask("SET", line, "no list");
	trial_ask("SET", key("r:bad"), "no hash");
	trial_ask("ZADD", key("later"), "1", "bad", "2", "waits", "3", "gone", "4", "r");
	ck_assert_uint_eq(value_size(swept()), 1);
	ck_assert_str_eq(status_of("r"), "queued");
	ck_assert_str_eq(status_of("waits"), "delayed");
	/* They are looked at again some day, when somebody has mended what they need. */
	ck_assert_int_eq(trial_ask("ZCARD", key("later"))->integer, 2);
	ck_assert_int_eq(trial_ask("ZCOUNT", key("later"), "0", "1000")->integer, 0);
	trial_ask("DEL", line);
	trial_ask("ZADD", key("later"), "1", "waits");
	swept();
	ck_assert_str_eq(status_of("waits"), "queued");
}

START_TEST(a_damaged_one_keeps_no_other_delayed_run)
{
	trial_play(play_later);
}
END_TEST

/* --- threads ------------------------------------------------------------------------------ */

/* Its run ended while the line of those that wait was damaged. */
static void
play_line(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	trial_ask("SET", key("t:t:q"), "no list");
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_DAMAGED);
	ck_assert_str_eq(status_of("r"), "success");
	trial_ask("ZADD", key("due"), "1", "t");
	ck_assert_uint_eq(value_size(swept()), 0);
	ck_assert(!value_is_nil(trial_ask("ZSCORE", key("due"), "t")));
	trial_ask("DEL", key("t:t:q"));
	trial_ask("ZADD", key("due"), "1", "t");
	ck_assert_uint_eq(value_size(swept()), 0);
	ck_assert(value_is_nil(trial_ask("ZSCORE", key("due"), "t")));
}

START_TEST(a_damaged_line_keeps_no_other_thread)
{
	trial_play(play_line);
}
END_TEST

static void
claim_is(const char *run)
{
	struct store_claim claim;

	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, run);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
}

/* What waits and cannot be read keeps its place, and those behind it go on; mended, it is the next. */
static void
play_waiting(void)
{
	struct store_claim claim;
	const struct value *threads;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	trial_submit("t", "bad");
	trial_submit("t", "good");
	trial_ask("RENAME", key("r:bad"), key("kept"));
	trial_ask("SET", key("r:bad"), "no hash");
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
	threads = swept();
	ck_assert_uint_eq(value_size(threads), 1);
	claim_is("good");
	ck_assert_int_eq(
	    store_claim(trial.a, trial.arena, "t", LONG, &claim), STORE_DAMAGED);
	ck_assert_int_eq(trial_ask("LLEN", key("t:t:q"))->integer, 1);
	ck_assert(!value_is_nil(trial_ask("ZSCORE", key("due"), "t")));
	trial_ask("RENAME", key("kept"), key("r:bad"));
	trial_ask("HSET", key("r:bad"), "attempts", "many");
	trial_ask("HSET", key("t:t"), "version", "new");
	ck_assert_int_eq(
	    store_claim(trial.a, trial.arena, "t", LONG, &claim), STORE_FAILED);
	ck_assert_int_eq(trial_ask("LLEN", key("t:t:q"))->integer, 1);
	trial_ask("HSET", key("t:t"), "version", "2");
	claim_is("bad");
	ck_assert(value_is_nil(trial_ask("ZSCORE", key("due"), "t")));
}

START_TEST(a_damaged_record_is_not_lost_and_keeps_no_other_run)
{
	trial_play(play_waiting);
}
END_TEST

/* What is to make way for another run, and cannot be read, is not in its way. */
static void
play_way(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	trial_submit("t", "bad");
	trial_submit("t", "waits");
	trial_ask("SET", key("r:bad"), "no hash");
	ck_assert_int_eq(store_submit(trial.a, trial.arena, "t", "new",
			     value_map(trial.arena, "multitask",
				 value_str(trial.arena, "interrupt"), NULL),
			     &(int64_t){ 0 }),
	    STORE_OK);
	ck_assert_str_eq(status_of("waits"), "cancelled");
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "cancelled"), STORE_OK);
	claim_is("new");
}

START_TEST(a_damaged_record_makes_way)
{
	trial_play(play_way);
}
END_TEST

/* --- webhooks ----------------------------------------------------------------------------- */

static void
play_hooks(void)
{
	const struct value *taken = NULL;

	trial_hset("r:r", "webhook", "http://example.com/");
	trial_ask("SET", key("r:bad"), "no hash");
	trial_ask("ZADD", key("hooks"), "1", "bad", "2", "r");
	ck_assert_int_eq(
	    store_take_webhooks(trial.a, trial.arena, store_shard("t"), LONG, 10, &taken),
	    STORE_OK);
	ck_assert_uint_eq(value_size(taken), 3);
	ck_assert_str_eq(redis_reply_text(value_at(taken, 1)), "r");
}

START_TEST(a_damaged_record_keeps_no_other_webhook)
{
	trial_play(play_hooks);
}
END_TEST

/* --- what forgotten runs have left -------------------------------------------------------- */

static void
play_gone(void)
{
	trial_ask("SET", key("r:bad"), "no hash");
	trial_ask("RPUSH", "fl:run:worse", "no text");
	trial_ask("SET", "fl:run:r", "t");
	trial_ask("HSET", key("forgotten"), "bad", "- t", "worse", "- t", "r", "- t");
	ck_assert_int_eq(
	    store_forget_gone(trial.a, trial.arena, store_shard("t"), 10), STORE_OK);
	ck_assert_int_eq(trial_ask("EXISTS", key("forgotten"), "fl:run:r")->integer, 0);
}

START_TEST(a_damaged_key_keeps_no_other_forgotten_run)
{
	trial_play(play_gone);
}
END_TEST

/* --- chores ------------------------------------------------------------------------------- */

static void
play_chores(void)
{
	static const char *const names[] = { "bereft", "hooks", "item-ends", "ttl",
		"forgotten", "crons" };
	struct store_chores found;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		trial_ask("SADD", key("bereft"), "r");
		trial_ask("ZADD", key("ttl"), "1", "t");
		trial_ask("DEL", key(names[i]));
		trial_ask("SET", key(names[i]), "of a wrong type");
		ck_assert_int_eq(
		    store_chores(trial.a, trial.arena, store_shard("t"), &found),
		    STORE_OK);
		ck_assert_str_eq(found.damaged, key(names[i]));
		ck_assert(found.orphans == (strcmp(names[i], "bereft") != 0));
		ck_assert(found.threads == (strcmp(names[i], "ttl") != 0));
		ck_assert(!found.webhooks && !found.items && !found.gone && !found.crons);
		trial_ask("DEL", key(names[i]));
	}
	store_chores(trial.a, trial.arena, store_shard("t"), &found);
	ck_assert_ptr_null(found.damaged);
}

/* The inbox is damaged, and not the cron. */
static void
play_firing(void)
{
	struct cron cron = { .id = "t",
		.agent = "clerk",
		.schedule = "@daily",
		.next_ms = 1000,
		.entry = value_map(trial.arena, "agent", VALUE_TEXT("clerk"), NULL) };
	struct cron_list due;
	const int64_t later = INT64_C(9000000000000);

	ck_assert_int_eq(crons_create(trial.a, trial.arena, &cron), STORE_OK);
	ck_assert_int_eq(
	    crons_due(trial.a, trial.arena, store_shard("t"), 10, &due), STORE_OK);
	ck_assert_uint_eq(due.count, 1);
	trial_ask("SET", STORE_INBOX, "of a wrong type");
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &due.items[0], "r", later, NULL),
	    STORE_DAMAGED);
	trial_ask("DEL", STORE_INBOX);
	ck_assert_int_eq(
	    crons_fire(trial.a, trial.arena, &due.items[0], "r", later, NULL), STORE_OK);
}

START_TEST(a_damaged_inbox_is_no_crons_damage)
{
	trial_play(play_firing);
}
END_TEST

START_TEST(a_damaged_key_keeps_no_other_chore)
{
	trial_play(play_chores);
}
END_TEST

TCase *
tcase_store_damage(void)
{
	TCase *tcase = tcase_create("store_damage");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_damaged_one_keeps_no_other_delayed_run);
	tcase_add_test(tcase, a_damaged_line_keeps_no_other_thread);
	tcase_add_test(tcase, a_damaged_record_is_not_lost_and_keeps_no_other_run);
	tcase_add_test(tcase, a_damaged_record_makes_way);
	tcase_add_test(tcase, a_damaged_record_keeps_no_other_webhook);
	tcase_add_test(tcase, a_damaged_key_keeps_no_other_forgotten_run);
	tcase_add_test(tcase, a_damaged_key_keeps_no_other_chore);
	tcase_add_test(tcase, a_damaged_inbox_is_no_crons_damage);
	return tcase;
}
