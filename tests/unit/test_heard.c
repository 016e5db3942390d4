#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../coordinator/heard.h"

TCase *tcase_heard(void);

static struct heard *heard;

static void
setup(void)
{
	heard = heard_new(2, 1);
}

static void
teardown(void)
{
	heard_destroy(&heard);
}

static void
put(const char *thread, size_t count)
{
	struct heard_part part = { .count = count };

	memset(part.digest, (int)count, sizeof part.digest);
	heard_put(heard, thread, &part);
}

/* count 0: nothing is known of thread. */
static void
expect(const char *thread, size_t count)
{
	struct heard_part part = { 0 };

	ck_assert(heard_get(heard, thread, &part) == (count > 0));
	ck_assert_uint_eq(part.count, count);
	ck_assert_uint_eq(part.digest[DIGEST_BYTES - 1], count);
}

START_TEST(the_newest_is_known_until_it_is_forgotten)
{
	expect("a", 0);
	put("a", 1);
	put("a", 2);
	expect("a", 2);
	ck_assert_uint_eq(heard_count(heard), 1);
	heard_forget(heard, "a");
	heard_forget(heard, "a");
	expect("a", 0);
}
END_TEST

START_TEST(the_longest_unused_goes)
{
	put("a", 1);
	put("b", 2);
	expect("a", 1);
	put("c", 3);
	expect("b", 0);
	expect("a", 1);
	expect("c", 3);
	ck_assert_uint_eq(heard_count(heard), 2);
}
END_TEST

TCase *
tcase_heard(void)
{
	TCase *tcase = tcase_create("heard");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_newest_is_known_until_it_is_forgotten);
	tcase_add_test(tcase, the_longest_unused_goes);
	return tcase;
}
