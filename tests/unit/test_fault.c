#include <check.h>
#include <string.h>

/* Interface under test */
#include "fault.h"

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

static const struct value *
names(const char *first, const char *second)
{
	const struct value *items[] = { value_str(arena, first),
		value_str(arena, second) };

	return value_array(arena, items, 2);
}

START_TEST(types_inherit_as_in_python)
{
	ck_assert(fault_type_is("RateLimitError", "RateLimitError"));
	ck_assert(fault_type_is("RateLimitError", "APIStatusError"));
	ck_assert(fault_type_is("RateLimitError", "OpenAIError"));
	ck_assert(fault_type_is("RateLimitError", "Exception"));
	ck_assert(fault_type_is("ZeroDivisionError", "ArithmeticError"));
	ck_assert(fault_type_is("FileNotFoundError", "OSError"));
	ck_assert(!fault_type_is("APIStatusError", "RateLimitError"));
	ck_assert(!fault_type_is("RateLimitError", "OSError"));
	ck_assert(!fault_type_is("Exception", "RuntimeError"));
	ck_assert(!fault_type_is(NULL, "Exception"));
	ck_assert(!fault_type_is("ValueError", NULL));
}
END_TEST

START_TEST(ioerror_is_oserror_in_both_directions)
{
	ck_assert(fault_type_is("IOError", "OSError"));
	ck_assert(fault_type_is("OSError", "IOError"));
	ck_assert(fault_type_is("FileNotFoundError", "IOError"));
	ck_assert(fault_type_is("TimeoutError", "EnvironmentError"));
	ck_assert(!fault_type_is("IOError", "FileNotFoundError"));
}
END_TEST

START_TEST(invented_types_are_exceptions_and_nothing_else)
{
	ck_assert(fault_type_is("QuotaGoneError", "QuotaGoneError"));
	ck_assert(fault_type_is("QuotaGoneError", "Exception"));
	ck_assert(!fault_type_is("QuotaGoneError", "OSError"));
	ck_assert(!fault_type_is("OSError", "QuotaGoneError"));
	ck_assert(fault_new(arena, "QuotaGoneError", "x")->retryable);
}
END_TEST

START_TEST(cancellation_is_no_exception_and_matches_nothing)
{
	struct fault *fault = fault_cancelled(arena);

	ck_assert(fault->control);
	ck_assert(!fault->retryable);
	ck_assert(!fault->fatal);
	ck_assert_str_eq(fault->type, "CancelledError");
	ck_assert(!fault_type_is(fault->type, "Exception"));
	ck_assert(!fault_matches(fault, NULL));
	ck_assert(!fault_matches(fault, names("Exception", "CancelledError")));
}
END_TEST

START_TEST(the_table_says_what_is_worth_another_try)
{
	ck_assert(fault_new(arena, "RateLimitError", "x")->retryable);
	ck_assert(fault_new(arena, "InternalServerError", "x")->retryable);
	ck_assert(!fault_new(arena, "BadRequestError", "x")->retryable);
	ck_assert(!fault_new(arena, "AuthenticationError", "x")->retryable);
	ck_assert(!fault_new(arena, "ToolInvocationError", "x")->retryable);
}
END_TEST

START_TEST(names_select_faults)
{
	struct fault *slow = fault_new(arena, "RateLimitError", "slow down");
	struct fault *wrong = fault_new(arena, "BadRequestError", "what?");

	ck_assert(fault_matches(slow, names("ValueError", "APIError")));
	ck_assert(!fault_matches(slow, names("ValueError", "OSError")));
	ck_assert(!fault_matches(slow, value_empty_array()));
	ck_assert(fault_matches(slow, NULL));
	ck_assert(fault_matches(slow, value_nil()));
	ck_assert(!fault_matches(wrong, NULL));
	ck_assert(fault_matches(wrong, names("BadRequestError", "x")));
	ck_assert(
	    !fault_matches(slow, value_array_add(arena, NULL, value_int(arena, 1))));
}
END_TEST

START_TEST(a_fault_survives_the_wire)
{
	struct fault *fault = fault_new(arena, "RateLimitError", "%d in %s", 7, "a row");
	struct fault *back;

	fault->retry_after_ms = 1500;
	fault->retryable = false;
	fault->fatal = true;
	back = fault_from_value(arena, fault_to_value(arena, fault));
	ck_assert_str_eq(back->type, "RateLimitError");
	ck_assert_str_eq(back->message, "7 in a row");
	ck_assert_int_eq(back->retry_after_ms, 1500);
	ck_assert(!back->retryable);
	ck_assert(!back->control);
	ck_assert(back->fatal);
	ck_assert(fault_from_value(arena, fault_to_value(arena, fault_cancelled(arena)))
		      ->control);
}
END_TEST

START_TEST(a_fault_can_be_made_of_anything)
{
	struct fault *fault = fault_from_value(arena, NULL);

	ck_assert_str_eq(fault->type, "Exception");
	ck_assert(strlen(fault->message) > 0);
	fault = fault_from_value(arena,
	    value_map(arena, "type", value_int(arena, 1), "message",
		value_str(arena, "100%s"), "retry_after_ms", value_int(arena, -5), NULL));
	ck_assert_str_eq(fault->type, "Exception");
	ck_assert_str_eq(fault->message, "100%s");
	ck_assert_int_eq(fault->retry_after_ms, 0);
	fault = fault_from_value(
	    arena, value_map(arena, "type", value_str(arena, "CancelledError"), NULL));
	ck_assert(!fault->control);
}
END_TEST

static const struct {
	const char *type, *parent;
} table[] = {
#define FAULT(type, parent, retryable) { #type, parent },
#include "faults.def"
#undef FAULT
};

START_TEST(parents_stand_before_their_children)
{
	const char *const *types = fault_types();
	const char *parent = table[_i].parent;
	int at;

	ck_assert_str_eq(types[_i], table[_i].type);
	ck_assert_ptr_null(types[sizeof table / sizeof table[0]]);
	if (parent == NULL)
		return;
	for (at = 0; at < _i && strcmp(table[at].type, parent) != 0; at++)
		;
	ck_assert_msg(at < _i, "%s: %s", table[_i].type, parent);
	ck_assert(fault_type_is(table[_i].type, parent));
}
END_TEST

TCase *tcase_fault(void);
TCase *
tcase_fault(void)
{
	TCase *tcase = tcase_create("fault");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, types_inherit_as_in_python);
	tcase_add_test(tcase, ioerror_is_oserror_in_both_directions);
	tcase_add_test(tcase, invented_types_are_exceptions_and_nothing_else);
	tcase_add_test(tcase, cancellation_is_no_exception_and_matches_nothing);
	tcase_add_test(tcase, the_table_says_what_is_worth_another_try);
	tcase_add_test(tcase, names_select_faults);
	tcase_add_test(tcase, a_fault_survives_the_wire);
	tcase_add_test(tcase, a_fault_can_be_made_of_anything);
	tcase_add_loop_test(tcase, parents_stand_before_their_children, 0,
	    sizeof table / sizeof table[0]);
	return tcase;
}
