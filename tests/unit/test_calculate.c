#include <check.h>
#include <string.h>

#include "repeated.h"

/* Interface under test */
#include "../../worker-tools/expression.h"

TCase *tcase_calculate(void);

static struct arena *arena;

static void
set_up(void)
{
	arena = arena_new();
}

static void
tear_down(void)
{
	arena_destroy(&arena);
}

static const struct {
	const char *text, *result;
} values[] = {
	{ "2+3*4", "14" },
	{ "(2+3)*4", "20" },
	{ " 10 - 3 - 2 ", "5" },
	{ "2^3^2", "512" },
	{ "2**10", "1024" },
	{ "-2^2", "-4" },
	{ "(-2)^2", "4" },
	{ "2^-1", "0.5" },
	{ "2*-3", "-6" },
	{ "--+3", "3" },
	{ "10/4", "2.5" },
	{ "10/5", "2" },
	{ "7%3", "1" },
	{ "-7%3", "2" },
	{ "7%-3", "-2" },
	{ "-7%-3", "-1" },
	{ "5.5%2", "1.5" },
	{ "1e20%7", "2" },
	{ "-1e20%7", "5" },
	{ "18446744073709551616%10", "6" },
	{ "1000000000000001/-1", "-1000000000000001" },
	{ "0.1+0.2", "0.3" },
	{ ".5e1", "5" },
	{ "1.5E-3", "0.0015" },
	{ "0-0.0", "0" },
	{ "123456789*987654321", "121932631112635269" },
	{ "9223372036854775807", "9223372036854775807" },
	{ "9223372036854775807+1", "9.22337203685478e+18" },
	{ "-9223372036854775807-1", "-9223372036854775808" },
	{ "(-9223372036854775807-1)%-1", "0" },
	{ "(-9223372036854775807-1)/-1", "9.22337203685478e+18" },
	{ "3^39", "4052555153018976267" },
	{ "3^41", "3.64729963771708e+19" },
	{ "0^0", "1" },
	{ "max(1, 2*5, 3) + min(4, -5)", "5" },
	{ "max(1, 9007199254740993, -5) - min(9007199254740992, 9223372036854775807)",
	    "1" },
	{ "abs(-9007199254740993) + round(0)", "9007199254740993" },
	{ "floor(9007199254740993) - ceil(trunc(9007199254740992))", "1" },
	{ "abs(-9223372036854775807-1)", "9.22337203685478e+18" },
	{ "max(9007199254740993, 0.5) - 9007199254740992", "0" },
	{ "sqrt(16)", "4" },
	{ "round(2.5) + floor(-1.5) + ceil(1.2) + trunc(-1.7)", "2" },
	{ "hypot(3,4)", "5" },
	{ "ln(e)", "1" },
	{ "log10(1000) + log2(8)", "6" },
	{ "cos(pi)", "-1" },
	{ "2*pi", "6.28318530717959" },
	{ "\t1\n+\r1", "2" },
};

START_TEST(works_out)
{
	const struct fault *fault = NULL;
	const char *result = expression_value(arena, values[_i].text, &fault);

	ck_assert_msg(result != NULL, "%s: %s", values[_i].text,
	    fault == NULL ? "" : fault->message);
	ck_assert_str_eq(result, values[_i].result);
}
END_TEST

static const struct {
	const char *text, *type, *message;
} refused[] = {
	{ "1/0", "ZeroDivisionError", "division by zero (at character 2)" },
	{ "1/(2-2)", "ZeroDivisionError", "character 2" },
	{ "1 / 0.0", "ZeroDivisionError", "character 3" },
	{ "5%0", "ZeroDivisionError", "character 2" },
	{ "0^-1", "ZeroDivisionError", "negative power" },
	{ "sqrt(-1)", "ValueError", "no real value (at character 1)" },
	{ "(-8)^(1/3)", "ValueError", "no real value" },
	{ "1e999", "ArithmeticError", "too large" },
	{ "10^400", "ArithmeticError", "too large" },
	{ "", "ValueError", "expected a number, found the end" },
	{ "1 2", "ValueError", "found '2' (at character 3)" },
	{ "2(3)", "ValueError", "found '(' (at character 2)" },
	{ "(1", "ValueError", "expected ')', found the end" },
	{ "1)", "ValueError", "found ')' (at character 2)" },
	{ ".", "ValueError", "expected a number" },
	{ "0x10", "ValueError", "found 'x'" },
	{ "nan", "ValueError", "'nan' is no number" },
	{ "x+1", "ValueError", "'x' is no number" },
	{ "sqr(2)", "ValueError", "did you mean 'sqrt'?" },
	{ "log(2)", "ValueError", "'log10'" },
	{ "sin()", "ValueError", "expected a number, found ')'" },
	{ "sin(1,2)", "ValueError", "sin takes 1 argument, not 2" },
	{ "atan2(1)", "ValueError", "atan2 takes 2 arguments, not 1" },
	{ "max(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "ValueError", "too many" },
	{ "1;system(2)", "ValueError", "found ';'" },
	{ "\xc3\xa9", "ValueError", "another sign" },
};

START_TEST(refuses)
{
	const struct fault *fault = NULL;

	ck_assert_ptr_null(expression_value(arena, refused[_i].text, &fault));
	ck_assert_ptr_nonnull(fault);
	ck_assert_str_eq(fault->type, refused[_i].type);
	ck_assert_msg(
	    strstr(fault->message, refused[_i].message) != NULL, "%s", fault->message);
}
END_TEST

START_TEST(bounds_the_depth_of_every_kind_of_nesting)
{
	static const char *const pieces[] = { "(", "-", "2^", "sqrt(", "max(1," };
	const struct fault *fault = NULL;

	ck_assert_ptr_null(expression_value(
	    arena, arena_printf(arena, "%s1", repeated(arena, pieces[_i], 300)), &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "nested too deep"));
}
END_TEST

START_TEST(is_not_bounded_by_the_number_of_operators)
{
	const struct fault *fault = NULL;

	ck_assert_str_eq(
	    expression_value(
		arena, arena_printf(arena, "%s1", repeated(arena, "1+", 900)), &fault),
	    "901");
}
END_TEST

START_TEST(bounds_the_length)
{
	const struct fault *fault = NULL;

	ck_assert_ptr_null(expression_value(
	    arena, repeated(arena, "1", EXPRESSION_BYTES_MAX + 1), &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "longer than"));
}
END_TEST

TCase *
tcase_calculate(void)
{
	TCase *tcase = tcase_create("calculate");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, works_out, 0, sizeof values / sizeof values[0]);
	tcase_add_loop_test(tcase, refuses, 0, sizeof refused / sizeof refused[0]);
	tcase_add_loop_test(tcase, bounds_the_depth_of_every_kind_of_nesting, 0, 5);
	tcase_add_test(tcase, is_not_bounded_by_the_number_of_operators);
	tcase_add_test(tcase, bounds_the_length);
	return tcase;
}
