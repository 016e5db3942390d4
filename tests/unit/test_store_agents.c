/* Agents as versions: each change is one step with its line in the agent's log; against a real
 * Redis. */
#include <check.h>
#include <string.h>

#include "store_agents.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_agents(void);

static enum store_status
apply(const char *version, uint64_t back_to, int64_t expected, uint64_t *number_r)
{
	const struct store_apply apply = { .name = "clerk",
		.version = version,
		.source = *version != '\0' ? value_map(trial.arena, "model",
						 value_str(trial.arena, version), NULL)
					   : NULL,
		.by = "ann@here",
		.comment = back_to > 0 ? NULL : "why not",
		.back_to = back_to,
		.expected = expected };

	return store_apply_agent(trial.a, trial.arena, &apply, number_r);
}

static void
check_applied(const char *version, uint64_t number)
{
	uint64_t given = 0;

	ck_assert_int_eq(apply(version, 0, -1, &given), STORE_OK);
	ck_assert_uint_eq(given, number);
}

static const char *
current(void)
{
	const char *version = "";

	store_agent_version(trial.a, trial.arena, "clerk", &version);
	return version;
}

static const struct value *
entry(size_t number)
{
	const struct value *log = NULL;

	ck_assert_int_eq(store_agent_log(trial.a, trial.arena, "clerk", &log), STORE_OK);
	return value_at(log, number - 1);
}

static void
play_numbers(void)
{
	uint64_t number = 0;

	check_applied("v1", 1);
	check_applied("v2", 2);
	ck_assert_int_eq(apply("v2", 0, -1, &number), STORE_KNOWN);
	ck_assert_uint_eq(number, 2);
	ck_assert_str_eq(value_get_text(entry(1), "version"), "v1");
	ck_assert_str_eq(value_get_text(entry(2), "by"), "ann@here");
	ck_assert_str_eq(value_get_text(entry(2), "comment"), "why not");
	ck_assert_int_gt(value_get_int(entry(2), "at", 0), 0);
	ck_assert_ptr_null(entry(3));
}

START_TEST(each_version_has_a_number_and_says_who_and_why)
{
	trial_play(play_numbers);
}
END_TEST

static void
play_back(void)
{
	uint64_t number = 0;

	check_applied("v1", 1);
	check_applied("v2", 2);
	ck_assert_int_eq(apply("v1", 1, 2, &number), STORE_OK);
	ck_assert_uint_eq(number, 3);
	ck_assert_str_eq(current(), "v1");
	ck_assert_int_eq(value_get_int(entry(3), "back_to", 0), 1);
	/* Somebody else looked at the log when it had two. */
	ck_assert_int_eq(apply("v2", 2, 2, &number), STORE_STALE);
	ck_assert_str_eq(current(), "v1");
	ck_assert_ptr_null(entry(4));
}

START_TEST(a_way_back_is_not_over_what_it_has_not_seen)
{
	trial_play(play_back);
}
END_TEST

static void
play_deleted(void)
{
	uint64_t number = 0;

	check_applied("v1", 1);
	check_applied("", 2);
	ck_assert_str_eq(current(), "");
	ck_assert_int_eq(apply("", 0, -1, &number), STORE_NONE);
	ck_assert_str_eq(value_get_text(entry(2), "version"), "");
	check_applied("v1", 3);
}

START_TEST(a_deleted_agent_keeps_its_log)
{
	trial_play(play_deleted);
}
END_TEST

static void
play_without_log(void)
{
	trial_ask("HSET", STORE_AGENTS, "clerk", "v0");
	check_applied("v1", 2);
	ck_assert_str_eq(value_get_text(entry(1), "version"), "v0");
	ck_assert_int_eq(value_get_int(entry(1), "at", -1), 0);
}

START_TEST(an_agent_of_a_time_without_logs_gets_one)
{
	trial_play(play_without_log);
}
END_TEST

TCase *
tcase_store_agents(void)
{
	TCase *tcase = tcase_create("store_agents");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, each_version_has_a_number_and_says_who_and_why);
	tcase_add_test(tcase, a_way_back_is_not_over_what_it_has_not_seen);
	tcase_add_test(tcase, a_deleted_agent_keeps_its_log);
	tcase_add_test(tcase, an_agent_of_a_time_without_logs_gets_one);
	return tcase;
}
