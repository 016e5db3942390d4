/* failed_check: what an assertion does that fails, in place of check's own (tests.mk, --wrap).
 *
 * Where the checks of a case share a process (CK_FORK=no) check jumps back to its loop. Out of a fiber that leaves frames
 * of the test's own stack behind: what comes next is told to be wrong by AddressSanitizer, and what had failed is never told. So
 * it is told at once, and the process ends. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
_Noreturn void __real__ck_assert_failed(
    const char *file, int line, const char *expr, const char *msg, ...);
_Noreturn void __wrap__ck_assert_failed(
    const char *file, int line, const char *expr, const char *msg, ...);

void
__wrap__ck_assert_failed(
    const char *file, int line, const char *expr, const char *msg, ...)
{
	const char *fork = getenv("CK_FORK"), *name = getenv("CK_RUN_CASE");
	char text[8192];
	va_list arguments;

	snprintf(text, sizeof text, "%s", expr);
	if (msg != NULL) {
		va_start(arguments, msg);
		vsnprintf(text, sizeof text, msg, arguments);
		va_end(arguments);
	}
	if (fork == NULL || strcmp(fork, "no") != 0)
		__real__ck_assert_failed(
		    file, line, expr, msg != NULL ? "%s" : NULL, text);
	fprintf(stderr, "%s:%d:F:%s: %s\n", file, line, name != NULL ? name : "", text);
	_exit(EXIT_FAILURE);
}
/* NOLINTEND(bugprone-reserved-identifier) */
