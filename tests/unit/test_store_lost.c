/* Steps whose answer is lost on the way, and that are asked once more; against a real Redis. */
#include <check.h>
#include <string.h>

#include "fiber.h"
#include "store_trial.h"

/* Interface under test */
#include "crons.h"

TCase *tcase_store_lost(void);

/* By a connection of its own. */
#define ASK_BESIDE(...)                                                                  \
	redis_text(                                                                      \
	    redis_trial.redis, trial.arena, REDIS_TRIAL_MS, &reply, __VA_ARGS__, NULL)

static enum store_status deleted;

/* Redis says nothing to this, nor to the next command of the connection. */
static void
say_nothing(void *arg)
{
	const struct value *reply;

	(void)arg;
	redis_text(trial.redis, trial.arena, REDIS_TRIAL_MS, &reply, "CLIENT", "REPLY",
	    "SKIP", NULL);
}

static void
delete_cron(void *arg)
{
	deleted = crons_delete(trial.a, trial.arena, arg);
}

static void
play_delete(void)
{
	const struct cron cron = { .id = "a",
		.agent = "clerk",
		.schedule = "@daily",
		.next_ms = CRON_NEVER,
		.entry = value_map(trial.arena, "agent", VALUE_TEXT("clerk"), NULL) };
	const char *key = arena_printf(
	    trial.arena, "%scrons", store_prefix(trial.arena, store_shard("a")));
	const struct value *reply = NULL;

	ck_assert_int_eq(crons_create(trial.a, trial.arena, &cron), STORE_OK);
	deleted = STORE_STALE;
	fiber_start(redis_trial.loop, "skip", say_nothing, NULL);
	fiber_start(redis_trial.loop, "delete", delete_cron, (void *)(uintptr_t)cron.id);
	do
		ASK_BESIDE("ZSCORE", key, "a");
	while (!value_is_nil(reply));
	ASK_BESIDE("CLIENT", "KILL", "TYPE", "normal"); /* but not who asks */
	while (deleted == STORE_STALE)
		fiber_sleep(1);
	ck_assert_int_eq(deleted, STORE_OK);
	ck_assert_int_eq(crons_delete(trial.a, trial.arena, "a"), STORE_NONE);
}

static void
erase_thread(void *arg)
{
	struct store_pruned pruned;

	deleted = store_erase(trial.a, trial.arena, arg, false, &pruned);
}

static void
play_erase(void)
{
	static char thread[] = "t";
	const char *key = store_thread_key(trial.arena, thread), *answer, *ended;
	const struct value *reply = NULL;

	trial_submit(thread, "r");
	store_cancel(trial.a, trial.arena, thread, "r", &answer, &ended);
	deleted = STORE_STALE;
	fiber_start(redis_trial.loop, "skip", say_nothing, NULL);
	fiber_start(redis_trial.loop, "erase", erase_thread, thread);
	do
		ASK_BESIDE("EXISTS", key);
	while (reply->integer != 0);
	ASK_BESIDE("CLIENT", "KILL", "TYPE", "normal"); /* but not who asks */
	while (deleted == STORE_STALE)
		fiber_sleep(1);
	ck_assert_int_eq(deleted, STORE_OK);
	erase_thread(thread);
	ck_assert_int_eq(deleted, STORE_NONE);
}

START_TEST(who_hears_nothing_has_deleted_a_thread_all_the_same)
{
	trial_play(play_erase);
}
END_TEST

START_TEST(who_hears_nothing_has_deleted_a_cron_all_the_same)
{
	trial_play(play_delete);
}
END_TEST

static struct store_claim claimed;

static void
claim_thread(void *arg)
{
	(void)arg;
	trial_claim(trial.a, "t", 60000, &claimed);
}

/* By who has said of r.1.0 that it was sent, and of others that they were not. */
static void
give_back(void)
{
	const struct value *sent = value_str(trial.arena, "r.1.0");
	const struct store_hold hold = { "t", claimed.run, claimed.epoch, 1 };

	ck_assert_int_eq(store_release(trial.a, trial.arena, &hold,
			     value_array(trial.arena, &sent, 1)),
	    STORE_OK);
}

/* The answer to a's claim is lost, and it claims once more. */
static void
claim_twice(void)
{
	const char *key = store_thread_key(trial.arena, "t");
	const struct value *reply = NULL;

	claimed = (struct store_claim){ .run = NULL };
	fiber_start(redis_trial.loop, "skip", say_nothing, NULL);
	fiber_start(redis_trial.loop, "claim", claim_thread, NULL);
	do
		ASK_BESIDE("HGET", key, "owner");
	while (strcmp(redis_reply_text(reply), TRIAL_A) != 0);
	ck_assert_ptr_null(claimed.run);
	ASK_BESIDE("CLIENT", "KILL", "TYPE", "normal"); /* but not who asks */
	while (claimed.run == NULL)
		fiber_sleep(1);
}

static bool
has_given(void)
{
	const char *key = arena_printf(
	    trial.arena, "%sr:r", store_prefix(trial.arena, store_shard("t")));

	return value_number(trial_ask("HEXISTS", key, "given"), 0) != 0;
}

/* Nobody has made anything of the answer that was lost; of the one that came somebody has. */
static void
play_claim(void)
{
	struct store_claim next;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", 60000, &claimed);
	ck_assert_int_eq(trial_commit(trial.a, &claimed, "c1", "running"), STORE_OK);
	give_back();
	claim_twice();
	ck_assert(value_has(claimed.record, "sent"));
	ck_assert_uint_eq(claimed.attempts, 1);
	trial_claim(trial.a, "t", 60000, &next);
	ck_assert(!value_has(next.record, "sent"));
	ck_assert(!has_given());
}

START_TEST(a_claim_that_is_asked_again_is_told_again_what_was_sent)
{
	trial_play(play_claim);
}
END_TEST

/* It is for one claim, and for one superstep. */
static void
play_claimed_since(void)
{
	struct store_claim next;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", 60000, &claimed);
	ck_assert_int_eq(trial_commit(trial.a, &claimed, "c1", "running"), STORE_OK);
	give_back();
	trial_claim(trial.a, "t", 0, &claimed);
	ck_assert(value_has(claimed.record, "sent"));
	trial_claim(trial.b, "t", 60000, &next);
	ck_assert(!value_has(next.record, "sent"));
	claimed = next;
	ck_assert_int_eq(trial_commit(trial.b, &claimed, "c2", "running"), STORE_OK);
	ck_assert(!has_given());
}

START_TEST(what_was_sent_is_told_to_nobody_else)
{
	trial_play(play_claimed_since);
}
END_TEST

static void
play_used_up(void)
{
	trial_submit("t", "r");
	trial_claim(trial.a, "t", 60000, &claimed);
	ck_assert_int_eq(trial_commit(trial.a, &claimed, "c1", "running"), STORE_OK);
	give_back();
	trial_claim(trial.a, "t", 60000, &claimed);
	ck_assert(has_given());
	ck_assert_int_eq(trial_commit(trial.a, &claimed, "c2", "running"), STORE_OK);
	ck_assert(!has_given());
}

START_TEST(what_was_sent_goes_with_its_superstep)
{
	trial_play(play_used_up);
}
END_TEST

TCase *
tcase_store_lost(void)
{
	TCase *tcase = tcase_create("store_lost");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, who_hears_nothing_has_deleted_a_cron_all_the_same);
	tcase_add_test(tcase, who_hears_nothing_has_deleted_a_thread_all_the_same);
	tcase_add_test(tcase, a_claim_that_is_asked_again_is_told_again_what_was_sent);
	tcase_add_test(tcase, what_was_sent_is_told_to_nobody_else);
	tcase_add_test(tcase, what_was_sent_goes_with_its_superstep);
	return tcase;
}
