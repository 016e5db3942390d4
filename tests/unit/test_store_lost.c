/* Steps whose answer is lost on the way, and that are asked once more; against a real Redis. */
#include <check.h>

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

START_TEST(who_hears_nothing_has_deleted_a_cron_all_the_same)
{
	trial_play(play_delete);
}
END_TEST

TCase *
tcase_store_lost(void)
{
	TCase *tcase = tcase_create("store_lost");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, who_hears_nothing_has_deleted_a_cron_all_the_same);
	return tcase;
}
