/* What keeps a process's memory to itself. */
#include <check.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Interface under test */
#include "secrecy.h"

TCase *tcase_secrecy(void);

static rlim_t
core_bytes(void)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &limit), 0);
	return limit.rlim_cur;
}

START_TEST(no_core_and_no_debugger)
{
	secrecy_begin(false);
	ck_assert_uint_eq(core_bytes(), 0);
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 0);
}
END_TEST

START_TEST(who_wants_them_has_both)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &limit), 0);
	limit.rlim_cur = 0; /* as a parent of ours left it */
	ck_assert_int_eq(setrlimit(RLIMIT_CORE, &limit), 0);
	secrecy_begin(true);
	ck_assert_uint_eq(core_bytes(), limit.rlim_max);
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 1);
}
END_TEST

TCase *
tcase_secrecy(void)
{
	TCase *tcase = tcase_create("secrecy");

	tcase_add_test(tcase, no_core_and_no_debugger);
	tcase_add_test(tcase, who_wants_them_has_both);
	return tcase;
}
