/* A thread's time to live, as a client of LangGraph's API writes it. Texts have ' for ". */
#include <check.h>

#include "bounds.h"
#include "has.h"
#include "literal.h"

/* Interface under test */
#include "run_body.h"

TCase *tcase_run_body_ttl(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct {
	const char *ttl, *expected; /* NULL: none */
	const char *error;
} ttls[] = {
	{ "null", NULL, NULL },
	{ "5", "300000 delete", NULL },
	{ "0.5", "30000 delete", NULL },
	{ "0", "0 delete", NULL },
	{ "{'ttl': 60}", "3600000 delete", NULL },
	{ "{'ttl': 60, 'strategy': null}", "3600000 delete", NULL },
	{ "{'ttl': 60, 'strategy': 'delete'}", "3600000 delete", NULL },
	{ "{'ttl': 1, 'strategy': 'keep_latest'}", "60000 keep_latest", NULL },
	{ "-1", NULL, "ttl: must be a number of minutes" },
	{ "1e300", NULL, "ttl: must be a number of minutes" },
	{ "'5'", NULL, "ttl: must be a number of minutes" },
	{ "true", NULL, "ttl: must be a number of minutes" },
	{ "[5]", NULL, "ttl: must be a number of minutes" },
	{ "{}", NULL, "ttl: must be a number of minutes" },
	{ "{'ttl': null}", NULL, "ttl: must be a number of minutes" },
	{ "{'ttl': 'x'}", NULL, "ttl: must be a number of minutes" },
	{ "{'strategy': 'delete'}", NULL, "ttl: must be a number of minutes" },
	{ "{'ttl': 5, 'strategy': 'archive'}", NULL, "ttl.strategy: must be" },
	{ "{'ttl': 5, 'strategy': 1}", NULL, "ttl.strategy: must be" },
};

START_TEST(a_time_to_live_has_two_forms)
{
	const char *error = "none";
	const char *text = run_body_ttl(arena, literal(arena, ttls[_i].ttl), &error);

	ck_assert_pstr_eq(text, ttls[_i].expected);
	if (ttls[_i].error != NULL)
		ck_assert_has(error, ttls[_i].error);
	else
		ck_assert_pstr_eq(error, NULL);
}
END_TEST

START_TEST(a_time_to_live_that_nobody_gives_is_none)
{
	const char *error = "none";

	ck_assert_ptr_null(run_body_ttl(arena, NULL, &error));
	ck_assert_ptr_null(error);
	ck_assert_ptr_null(run_body_ttl(
	    arena, value_int(arena, (int64_t)(TTL_MS_MAX / 60000 + 1)), &error));
	ck_assert_ptr_nonnull(error);
}
END_TEST

TCase *
tcase_run_body_ttl(void)
{
	TCase *tcase = tcase_create("run_body_ttl");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_time_to_live_has_two_forms, 0, COUNT(ttls));
	tcase_add_test(tcase, a_time_to_live_that_nobody_gives_is_none);
	return tcase;
}
