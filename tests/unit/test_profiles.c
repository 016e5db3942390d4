#include <check.h>
#include <stdio.h>

#include "profiles.h"

TCase *tcase_profiles(void);

static struct profiles *profiles;
static struct packet packet;

static void
setup(void)
{
	profiles = profiles_new(1, 2);
}

static void
teardown(void)
{
	profiles_destroy(&profiles);
	packet_release(&packet);
}

/* Returns the profile {name: name}. */
static struct profile *
get(const char *name)
{
	struct arena *arena = arena_new();
	struct profile *profile;
	const char *error;

	packet_release(&packet);
	value_pack(&packet, value_map(arena, "name", value_str(arena, name), NULL));
	profile = profile_get(profiles, packet.data, packet.size, &error);
	ck_assert_ptr_nonnull(profile);
	arena_destroy(&arena);
	return profile;
}

START_TEST(the_same_bytes_are_decoded_once)
{
	struct profile *a = get("a"), *again = get("a");

	ck_assert_ptr_eq(a, again);
	ck_assert_str_eq(value_get_text(profile_value(a), "name"), "a");
	profile_release(profiles, &a);
	profile_release(profiles, &again);
	again = get("a");
	ck_assert_uint_eq(profiles_count(profiles), 1);
	profile_release(profiles, &again);
}
END_TEST

START_TEST(a_number_is_that_of_the_bytes_for_ever)
{
	struct profile *a = get("a"), *b = get("b"), *again = get("a"), *c = get("c");
	uint64_t number = profile_number(a);

	ck_assert_uint_ne(number, 0);
	ck_assert_uint_eq(profile_number(again), number);
	ck_assert_uint_ne(profile_number(b), number);
	profile_release(profiles, &again);
	profile_release(profiles, &a); /* one too many: it goes */
	profile_release(profiles, &b);
	profile_release(profiles, &c);
	a = get("a");
	ck_assert_uint_ne(profile_number(a), number);
	profile_release(profiles, &a);
}
END_TEST

START_TEST(the_longest_unused_goes_and_what_is_in_use_stays)
{
	struct profile *a = get("a"), *b = get("b"), *c = get("c");

	ck_assert_uint_eq(profiles_count(profiles), 3); /* all in use */
	profile_release(profiles, &b);
	ck_assert_uint_eq(profiles_count(profiles), 2);
	ck_assert_str_eq(value_get_text(profile_value(a), "name"), "a");
	profile_release(profiles, &a);
	profile_release(profiles, &c);
	b = get("b");
	ck_assert_uint_eq(profiles_count(profiles), 2);
	profile_release(profiles, &b);
}
END_TEST

START_TEST(what_is_no_value_is_refused_with_a_reason)
{
	const char *error = NULL;

	ck_assert_ptr_null(profile_get(profiles, "\xc1", 1, &error));
	ck_assert_ptr_nonnull(error);
	ck_assert_uint_eq(profiles_count(profiles), 0);
}
END_TEST

TCase *
tcase_profiles(void)
{
	TCase *tcase = tcase_create("profiles");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_same_bytes_are_decoded_once);
	tcase_add_test(tcase, a_number_is_that_of_the_bytes_for_ever);
	tcase_add_test(tcase, the_longest_unused_goes_and_what_is_in_use_stays);
	tcase_add_test(tcase, what_is_no_value_is_refused_with_a_reason);
	return tcase;
}
