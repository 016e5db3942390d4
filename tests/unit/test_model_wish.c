/* The service a middleware's model is asked at. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

/* Interface under test */
#include "model_wish.h"

TCase *tcase_model_wish(void);

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
	const char *model, *service;
} models[] = {
	{ "openai:gpt-4o", "model:openai" },
	{ "openai:ft:gpt 4o", "model:openai" }, /* what follows is the provider's */
	{ "a:", "model:a" },
	{ NULL, NULL },
	{ "", NULL },
	{ "gpt-4o", NULL },
	{ ":gpt-4o", NULL },
	{ "a b:x", NULL },
	{ "a\n:x", NULL },
	{ "\xc3\xa4:x", NULL },
};

START_TEST(a_models_provider_is_its_service)
{
	const char *service = model_wish_service(arena, models[_i].model);

	ck_assert_pstr_eq(service, models[_i].service);
}
END_TEST

START_TEST(a_providers_name_has_a_bound)
{
	char model[SERVICE_BYTES_MAX + 2];
	const size_t most = SERVICE_BYTES_MAX - strlen("model:");

	memset(model, 'a', sizeof model);
	memcpy(model + most, ":x", sizeof ":x");
	ck_assert_ptr_nonnull(model_wish_service(arena, model));
	memcpy(model + most, "a:x", sizeof "a:x");
	ck_assert_ptr_null(model_wish_service(arena, model));
}
END_TEST

static const struct fault *
refused(const char *model)
{
	return fault_from_value(
	    arena, value_get(model_wish_refused(arena, model), "fault"));
}

START_TEST(what_is_no_model_is_named_and_cut_short)
{
	char longer[4096];
	const struct fault *fault = refused("a b:x");

	ck_assert_str_eq(fault->type, "ValueError");
	ck_assert_ptr_nonnull(strstr(fault->message, "\"a b:x\""));
	ck_assert_ptr_nonnull(strstr(refused(NULL)->message, "named none"));
	memset(longer, 'a', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	fault = refused(longer);
	ck_assert_ptr_nonnull(strstr(fault->message, "aaa...\""));
	ck_assert_uint_lt(strlen(fault->message), 512);
}
END_TEST

TCase *
tcase_model_wish(void)
{
	TCase *tcase = tcase_create("model_wish");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, a_models_provider_is_its_service, 0, sizeof models / sizeof models[0]);
	tcase_add_test(tcase, a_providers_name_has_a_bound);
	tcase_add_test(tcase, what_is_no_model_is_named_and_cut_short);
	return tcase;
}
