/* A coordinator that starts on a Redis that will not do says why, and ends. */
#include <check.h>
#include <string.h>

#include "cli.h"
#include "redis_trial.h"

TCase *tcase_redis_start(void);

/* Starts a coordinator, which must end by itself and say the words. */
static void
check_refuses(const char *url, const char *words)
{
	const struct cli coordinator = { .program = "coordinator",
		.arena = redis_trial.arena };
	struct said said =
	    CLI(&coordinator, "--redis", url, "--broker", "ipc:///tmp/fl-nobody");

	ck_assert_msg(said.status == 1, "status %d: %s", said.status, said.err);
	ck_assert_msg(strstr(said.err, words) != NULL, "%s", said.err);
}

START_TEST(on_a_redis_that_throws_keys_away)
{
	ASK("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
	check_refuses(redis_trial.url, "CONFIG SET maxmemory-policy noeviction");
}
END_TEST

/* Whose users may not ask how it is set. */
START_TEST(on_one_that_throws_keys_away_and_does_not_tell_everybody)
{
	ASK("CONFIG", "SET", "maxmemory-policy", "volatile-ttl");
	ASK("ACL", "SETUSER", "default", "-config");
	check_refuses(redis_trial.url, "maxmemory-policy volatile-ttl");
}
END_TEST

START_TEST(on_one_that_wants_a_password)
{
	ASK("CONFIG", "SET", "requirepass", "secret");
	check_refuses(redis_trial.url, "NOAUTH");
}
END_TEST

TCase *
tcase_redis_start(void)
{
	TCase *tcase = tcase_create("redis_start");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, redis_trial_open, redis_trial_close);
	tcase_add_test(tcase, on_a_redis_that_throws_keys_away);
	tcase_add_test(tcase, on_one_that_throws_keys_away_and_does_not_tell_everybody);
	tcase_add_test(tcase, on_one_that_wants_a_password);
	return tcase;
}
