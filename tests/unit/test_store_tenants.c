/* Whose a thread is: by whom it came to be; and who is refused there. Against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_tenants(void);

#define VERSION "7c0ffee"
#define LONG 60000u
#define FAR "9000000000000"

/* How a run comes: queued, or claimed as it comes. */
static bool claims;

static enum store_status
submit(const char *thread, const char *run, const char *tenant, const char *name,
    const char *text)
{
	struct arena *arena = trial.arena;
	const struct value *fields = value_map(arena, "agent", value_str(arena, "clerk"),
	    "version", value_str(arena, VERSION), "tenant",
	    tenant != NULL ? value_str(arena, tenant) : NULL, NULL);
	struct store_claim claim;
	bool claimed;

	if (name != NULL)
		fields = value_map_with(arena, fields, name, value_str(arena, text));
	return store_arrive(trial.a, arena,
	    &(struct store_newcomer){ thread, run, fields }, LONG, &claimed,
	    claims ? &claim : NULL);
}

/* As keys of tenants submit. */
static enum store_status
submit_apart(const char *thread, const char *run, const char *tenant)
{
	return submit(thread, run, tenant, "apart", "1");
}

static const char *
tenant_of(const char *thread)
{
	const struct value *state = NULL;
	const char *tenant = NULL;

	ck_assert_int_eq(
	    store_thread_tenant(trial.a, trial.arena, thread, &tenant), STORE_OK);
	ck_assert_int_eq(store_thread(trial.a, trial.arena, thread, &state), STORE_OK);
	ck_assert_pstr_eq(value_get_text(state, "tenant"), tenant);
	return tenant;
}

static void
must_be_refused(const char *thread, const char *run)
{
	const struct value *record = NULL;

	ck_assert_int_eq(store_run(trial.a, trial.arena, thread, run, &record), STORE_OK);
	ck_assert_str_eq(value_get_text(record, "status"), "refused");
	ck_assert_str_eq(
	    value_get_text(value_get(record, "fault"), "type"), "PermissionError");
}

static void
play_origin(void)
{
	const char *tenant;

	trial_ask("HSET", "fl:agents", "clerk", VERSION);
	ck_assert_int_eq(
	    store_thread_tenant(trial.a, trial.arena, "t", &tenant), STORE_NONE);
	ck_assert_int_eq(submit("t", "r1", "acme", NULL, NULL), STORE_OK);
	ck_assert_str_eq(tenant_of("t"), "acme");
	/* It stays that, whoever goes on with it. */
	ck_assert_int_eq(submit("t", "r2", "other", NULL, NULL), STORE_OK);
	ck_assert_str_eq(tenant_of("t"), "acme");
	ck_assert_int_eq(submit("u", "r3", NULL, NULL, NULL), STORE_OK);
	ck_assert_ptr_null(tenant_of("u"));
	ck_assert_int_eq(submit("u", "r4", "acme", NULL, NULL), STORE_OK);
	ck_assert_ptr_null(tenant_of("u"));
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "v", NULL, NULL, "acme"), STORE_OK);
	ck_assert_str_eq(tenant_of("v"), "acme");
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "v", NULL, NULL, "other"),
	    STORE_KNOWN);
	ck_assert_str_eq(tenant_of("v"), "acme");
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "w", NULL, NULL, NULL), STORE_OK);
	ck_assert_ptr_null(tenant_of("w"));
}

START_TEST(a_thread_is_whose_run_or_key_made_it)
{
	claims = _i == 1;
	trial_play(play_origin);
}
END_TEST

static void
play_apart(void)
{
	trial_ask("HSET", "fl:agents", "clerk", VERSION);
	ck_assert_int_eq(submit_apart("t", "r1", "acme"), STORE_OK);
	ck_assert_int_eq(submit_apart("t", "r2", "other"), STORE_REJECTED);
	ck_assert_str_eq(store_error(trial.a), "thread 't' is not tenant 'other''s");
	must_be_refused("t", "r2");
	/* The answer was lost: it is told again. */
	ck_assert_int_eq(submit_apart("t", "r2", "other"), STORE_REJECTED);
	ck_assert_int_eq(submit_apart("t", "r3", "acme"), STORE_OK);
	/* Nobody's is not everybody's. */
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "u", NULL, NULL, NULL), STORE_OK);
	ck_assert_int_eq(submit_apart("u", "r4", "acme"), STORE_REJECTED);
	ck_assert_ptr_null(tenant_of("u"));
}

START_TEST(who_keeps_to_its_own_is_refused_elsewhere)
{
	claims = _i == 1;
	trial_play(play_apart);
}
END_TEST

/* Neither has the one that is refused ended what goes on there. */
static void
play_interrupt(void)
{
	const struct value *record = NULL;

	trial_ask("HSET", "fl:agents", "clerk", VERSION);
	ck_assert_int_eq(submit_apart("t", "r1", "acme"), STORE_OK);
	ck_assert_int_eq(
	    store_arrive(trial.a, trial.arena,
		&(struct store_newcomer){ "t", "r2",
		    value_map(trial.arena, "agent", value_str(trial.arena, "clerk"),
			"version", value_str(trial.arena, VERSION), "tenant",
			value_str(trial.arena, "other"), "apart",
			value_str(trial.arena, "1"), "multitask",
			value_str(trial.arena, "interrupt"), NULL) },
		LONG, &(bool){ false }, NULL),
	    STORE_REJECTED);
	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", "r1", &record), STORE_OK);
	ck_assert_str_eq(value_get_text(record, "status"), claims ? "running" : "queued");
	ck_assert(!store_cancel_wanted(trial.a, trial.arena, "t", "r1"));
}

START_TEST(who_is_refused_ends_nothing_there)
{
	claims = _i == 1;
	trial_play(play_interrupt);
}
END_TEST

/* The thread came to be another's while the run waited for its time. */
static void
play_delayed(void)
{
	const struct value *threads = NULL, *record = NULL;
	const char *later = arena_printf(
	    trial.arena, "%slater", store_prefix(trial.arena, store_shard("t")));

	trial_ask("HSET", "fl:agents", "clerk", VERSION);
	ck_assert_int_eq(
	    store_arrive(trial.a, trial.arena,
		&(struct store_newcomer){ "t", "late",
		    value_map(trial.arena, "agent", value_str(trial.arena, "clerk"),
			"version", value_str(trial.arena, VERSION), "tenant",
			value_str(trial.arena, "other"), "apart",
			value_str(trial.arena, "1"), "at", value_str(trial.arena, FAR),
			NULL) },
		LONG, &(bool){ false }, NULL),
	    STORE_OK);
	ck_assert_int_eq(submit_apart("t", "r1", "acme"), STORE_OK);
	trial_ask("ZADD", later, "1", "late");
	ck_assert_int_eq(
	    store_sweep(trial.a, trial.arena, store_shard("t"), 100, &threads), STORE_OK);
	must_be_refused("t", "late");
	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", "r1", &record), STORE_OK);
	ck_assert_str_ne(value_get_text(record, "status"), "refused");
	ck_assert_str_eq(tenant_of("t"), "acme");
}

START_TEST(a_delayed_run_is_refused_when_its_time_comes)
{
	trial_play(play_delayed);
}
END_TEST

static void
play_runs(void)
{
	trial_ask("HSET", "fl:agents", "clerk", VERSION);
	ck_assert_int_eq(submit("t", "r1", NULL, NULL, NULL), STORE_OK);
	ck_assert_int_eq(store_has_run(trial.a, trial.arena, "t", "r1"), STORE_OK);
	ck_assert_int_eq(store_has_run(trial.a, trial.arena, "t", "r2"), STORE_NONE);
	/* One of the shard, and of another thread. */
	trial_ask("HSET",
	    arena_printf(
		trial.arena, "%sr:r3", store_prefix(trial.arena, store_shard("t"))),
	    "thread", "u");
	ck_assert_int_eq(store_has_run(trial.a, trial.arena, "t", "r3"), STORE_NONE);
}

START_TEST(runs_are_their_threads)
{
	trial_play(play_runs);
}
END_TEST

TCase *
tcase_store_tenants(void)
{
	TCase *tcase = tcase_create("store_tenants");

	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_loop_test(tcase, a_thread_is_whose_run_or_key_made_it, 0, 2);
	tcase_add_loop_test(tcase, who_keeps_to_its_own_is_refused_elsewhere, 0, 2);
	tcase_add_loop_test(tcase, who_is_refused_ends_nothing_there, 0, 2);
	tcase_add_test(tcase, a_delayed_run_is_refused_when_its_time_comes);
	tcase_add_test(tcase, runs_are_their_threads);
	return tcase;
}
