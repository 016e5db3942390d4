#include <check.h>
#include <stdio.h>

#include "settled.h"

TCase *tcase_settled(void);

static struct settled *settled;

static void
setup(void)
{
	settled = settled_new(1, 3, 1000);
}

static void
teardown(void)
{
	settled_destroy(&settled);
}

START_TEST(an_id_is_known_until_it_is_too_old)
{
	settled_add(settled, "a", 100);
	ck_assert(settled_has(settled, "a"));
	ck_assert(!settled_has(settled, "b"));
	settled_expire(settled, 1099);
	ck_assert(settled_has(settled, "a"));
	settled_expire(settled, 1100);
	ck_assert(!settled_has(settled, "a"));
}
END_TEST

START_TEST(an_id_noted_again_begins_anew)
{
	settled_add(settled, "a", 100);
	settled_add(settled, "a", 900);
	settled_expire(settled, 1500);
	ck_assert(settled_has(settled, "a"));
}
END_TEST

START_TEST(the_oldest_goes_when_there_are_too_many)
{
	settled_add(settled, "a", 1);
	settled_add(settled, "b", 2);
	settled_add(settled, "c", 3);
	settled_add(settled, "d", 4);
	ck_assert(!settled_has(settled, "a"));
	ck_assert(settled_has(settled, "b"));
	ck_assert(settled_has(settled, "d"));
}
END_TEST

START_TEST(a_removed_id_is_not_known)
{
	settled_add(settled, "a", 1);
	settled_remove(settled, "a");
	settled_remove(settled, "a");
	ck_assert(!settled_has(settled, "a"));
}
END_TEST

TCase *
tcase_settled(void)
{
	TCase *tcase = tcase_create("settled");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_id_is_known_until_it_is_too_old);
	tcase_add_test(tcase, an_id_noted_again_begins_anew);
	tcase_add_test(tcase, the_oldest_goes_when_there_are_too_many);
	tcase_add_test(tcase, a_removed_id_is_not_known);
	return tcase;
}
