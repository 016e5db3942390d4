/* Runs every kill test listed in cases.h against the programs of the same build.
 * CK_RUN_CASE=broker runs one. */
#include <check.h>
#include <stdlib.h>

#define CASE(name) TCase *tcase_##name(void);
#include "cases.h"
#undef CASE

int
main(void)
{
	Suite *suite = suite_create("kill");
	SRunner *runner;
	int failed;

#define CASE(name) suite_add_tcase(suite, tcase_##name());
#include "cases.h"
#undef CASE
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
