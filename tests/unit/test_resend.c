#include <check.h>

/* Interface under test */
#include "resend.h"

#include "bounds.h"

TCase *tcase_resend(void);

START_TEST(what_has_no_body_waits_for_the_pause_alone)
{
	ck_assert_uint_eq(resend_first_ms(RESEND_MS, 0), RESEND_MS);
	ck_assert_uint_eq(resend_first_ms(RESEND_MS, 100), RESEND_MS);
}
END_TEST

START_TEST(what_has_one_waits_until_it_may_have_crossed)
{
	ck_assert_uint_eq(resend_first_ms(RESEND_MS, CROSSING_BYTES_S), RESEND_MS + 1000);
	ck_assert_uint_eq(
	    resend_first_ms(0, 3 * CROSSING_BYTES_S + CROSSING_BYTES_S / 2), 3500);
	/* No connection is cut for a message that there is time for. */
	ck_assert_uint_le(resend_first_ms(0, BODY_BYTES_MAX), CROSSING_MS_MAX);
}
END_TEST

START_TEST(then_it_waits_ever_longer_and_never_less_long)
{
	ck_assert_uint_eq(resend_next_ms(RESEND_MS), UINT64_C(2) * RESEND_MS);
	ck_assert_uint_eq(resend_next_ms(RESULT_RESEND_MS_MAX - 1), RESULT_RESEND_MS_MAX);
	ck_assert_uint_eq(resend_next_ms(RESULT_RESEND_MS_MAX), RESULT_RESEND_MS_MAX);
	ck_assert_uint_eq(resend_next_ms(CROSSING_MS_MAX), CROSSING_MS_MAX);
}
END_TEST

TCase *
tcase_resend(void)
{
	TCase *tcase = tcase_create("resend");

	tcase_add_test(tcase, what_has_no_body_waits_for_the_pause_alone);
	tcase_add_test(tcase, what_has_one_waits_until_it_may_have_crossed);
	tcase_add_test(tcase, then_it_waits_ever_longer_and_never_less_long);
	return tcase;
}
