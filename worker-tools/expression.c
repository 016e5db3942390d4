#include "expression_private.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 1e15 /* whole doubles below are written without an exponent */

static struct number parse_sum(struct parser *parser);
static struct number parse_signed(struct parser *parser);

/* --- numbers ------------------------------------------------------------------------ */

struct number
expression_whole(int64_t whole)
{
	return (struct number){ true, whole, (double)whole };
}

struct number
expression_fail(
    struct parser *parser, const char *at, const char *type, const char *reason)
{
	if (parser->fault == NULL)
		parser->fault = fault_new(parser->arena, type, "%s (at character %td)",
		    reason, at - parser->text + 1);
	return expression_whole(0);
}

/* Takes the result of an operation written at at. */
struct number
expression_real(struct parser *parser, const char *at, double real)
{
	if (isnan(real))
		return expression_fail(
		    parser, at, "ValueError", "this has no real value");
	if (isinf(real))
		return expression_fail(
		    parser, at, "ArithmeticError", "the result is too large");
	return (struct number){ false, 0, real };
}

static bool
is_zero(struct number number)
{
	return number.is_whole ? number.whole == 0 : number.real == 0;
}

static const char *
number_text(struct arena *arena, struct number number)
{
	if (number.is_whole)
		return arena_printf(arena, "%lld", (long long)number.whole);
	if (number.real == 0)
		return "0"; /* and not "-0" */
	if (fabs(number.real) < EXACT_MAX && trunc(number.real) == number.real)
		return arena_printf(arena, "%.0f", number.real);
	return arena_printf(arena, "%.15g", number.real);
}

/* --- operators ---------------------------------------------------------------------- */

static struct number
add(struct parser *parser, const char *at, struct number a, struct number b)
{
	int64_t whole;

	if (a.is_whole && b.is_whole && !__builtin_add_overflow(a.whole, b.whole, &whole))
		return expression_whole(whole);
	return expression_real(parser, at, a.real + b.real);
}

static struct number
subtract(struct parser *parser, const char *at, struct number a, struct number b)
{
	int64_t whole;

	if (a.is_whole && b.is_whole && !__builtin_sub_overflow(a.whole, b.whole, &whole))
		return expression_whole(whole);
	return expression_real(parser, at, a.real - b.real);
}

static struct number
multiply(struct parser *parser, const char *at, struct number a, struct number b)
{
	int64_t whole;

	if (a.is_whole && b.is_whole && !__builtin_mul_overflow(a.whole, b.whole, &whole))
		return expression_whole(whole);
	return expression_real(parser, at, a.real * b.real);
}

static struct number
divide(struct parser *parser, const char *at, struct number a, struct number b)
{
	if (is_zero(b))
		return expression_fail(
		    parser, at, "ZeroDivisionError", "division by zero");
	if (a.is_whole && b.is_whole && (b.whole != -1 || a.whole != INT64_MIN) &&
	    a.whole % b.whole == 0)
		return expression_whole(a.whole / b.whole);
	return expression_real(parser, at, a.real / b.real);
}

/* The remainder has the sign of the divisor, as in Python and in mathematics. */
static struct number
modulo(struct parser *parser, const char *at, struct number a, struct number b)
{
	double rest = fmod(a.real, b.real);

	if (is_zero(b))
		return expression_fail(
		    parser, at, "ZeroDivisionError", "remainder of a division by zero");
	if (a.is_whole && b.is_whole) {
		int64_t mod = b.whole == -1 ? 0 : a.whole % b.whole;

		return expression_whole(
		    mod != 0 && (mod ^ b.whole) < 0 ? mod + b.whole : mod);
	}
	return expression_real(
	    parser, at, rest != 0 && (rest < 0) != (b.real < 0) ? rest + b.real : rest);
}

/* Computes base^exponent by squaring. Returns false when it does not fit. */
static bool
whole_power(int64_t base, int64_t exponent, int64_t *power_r)
{
	int64_t power = 1;

	for (;; exponent /= 2) {
		if (exponent % 2 == 1 && __builtin_mul_overflow(power, base, &power))
			return false;
		if (exponent <= 1)
			break;
		if (__builtin_mul_overflow(base, base, &base))
			return false;
	}
	*power_r = power;
	return true;
}

static struct number
raise(struct parser *parser, const char *at, struct number a, struct number b)
{
	int64_t whole;

	if (is_zero(a) && b.real < 0)
		return expression_fail(
		    parser, at, "ZeroDivisionError", "zero to a negative power");
	if (a.is_whole && b.is_whole && b.whole >= 0 &&
	    whole_power(a.whole, b.whole, &whole))
		return expression_whole(whole);
	return expression_real(parser, at, pow(a.real, b.real));
}

/* --- grammar ------------------------------------------------------------------------ */

/* Returns where the next symbol starts. */
static const char *
skip_space(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
	return parser->at;
}

static bool
accept(struct parser *parser, const char *symbol)
{
	if (strncmp(skip_space(parser), symbol, strlen(symbol)) != 0)
		return false;
	parser->at += strlen(symbol);
	return true;
}

static struct number
unexpected(struct parser *parser, const char *wanted)
{
	const char *at = skip_space(parser);
	char found[4] = { '\'', *at, '\'', '\0' };

	return expression_fail(parser, at, "ValueError",
	    arena_printf(parser->arena, "expected %s, found %s", wanted,
		*at == '\0'                   ? "the end"
		: isprint((unsigned char)*at) ? found
					      : "another sign"));
}

/* number = digits ["." digits] ["e" ["+"|"-"] digits] */
static struct number
parse_number(struct parser *parser)
{
	const char *start = parser->at;
	size_t digits = strspn(start, "0123456789");
	const char *at = start + digits;
	long long whole;

	if (*at == '.')
		at += 1 + strspn(at + 1, "0123456789");
	if (at == start + 1 && digits == 0)
		return unexpected(parser, "a number");
	if (*at == 'e' || *at == 'E') {
		const char *exponent = at + 1 + (at[1] == '+' || at[1] == '-');

		if (isdigit((unsigned char)*exponent))
			at = exponent + strspn(exponent, "0123456789");
	}
	parser->at = at;
	errno = 0;
	whole = strtoll(start, NULL, 10);
	if (at == start + digits && errno == 0)
		return expression_whole(whole);
	return expression_real(parser, start, strtod(start, NULL));
}

static struct number
parse_call(struct parser *parser, const char *at, const char *name)
{
	const struct function *function = expression_function(parser, at, name);
	struct number numbers[ARGUMENTS_MAX];
	size_t count = 0;

	if (function == NULL)
		return expression_whole(0);
	do {
		if (count == ARGUMENTS_MAX)
			return expression_fail(
			    parser, parser->at, "ValueError", "too many arguments");
		numbers[count++] = parse_sum(parser);
	} while (parser->fault == NULL && accept(parser, ","));
	if (!accept(parser, ")"))
		return unexpected(parser, "',' or ')'");
	return expression_call(parser, at, function, numbers, count);
}

/* name = "pi" | "e" | function "(" sum {"," sum} ")" */
static struct number
parse_name(struct parser *parser)
{
	const char *at = parser->at, *name;

	while (isalnum((unsigned char)*parser->at) || *parser->at == '_')
		parser->at++;
	name = arena_copy(parser->arena, at, (size_t)(parser->at - at));
	if (accept(parser, "("))
		return parse_call(parser, at, name);
	if (strcmp(name, "pi") == 0)
		return expression_real(parser, at, M_PI);
	if (strcmp(name, "e") == 0)
		return expression_real(parser, at, M_E);
	return expression_fail(parser, at, "ValueError",
	    arena_printf(parser->arena,
		"'%.60s' is no number; the names known alone are pi and e", name));
}

/* primary = number | name | "(" sum ")" */
static struct number
parse_primary(struct parser *parser)
{
	struct number number;
	const char *at = skip_space(parser);

	if (isdigit((unsigned char)*at) || *at == '.')
		return parse_number(parser);
	if (isalpha((unsigned char)*at))
		return parse_name(parser);
	if (!accept(parser, "("))
		return unexpected(parser, "a number");
	number = parse_sum(parser);
	return accept(parser, ")") ? number : unexpected(parser, "')'");
}

/* power = primary ["^" signed]: from the right, and -2^2 is -4 */
static struct number
parse_power(struct parser *parser)
{
	struct number base = parse_primary(parser);
	const char *at = skip_space(parser);

	if (!accept(parser, "^") && !accept(parser, "**"))
		return base;
	return raise(parser, at, base, parse_signed(parser));
}

/* signed = ("-" | "+") signed | power; every way down passes here */
static struct number
parse_signed(struct parser *parser)
{
	struct number number = expression_whole(0);
	const char *at = skip_space(parser);

	if (parser->fault != NULL)
		return number;
	if (++parser->depth > EXPRESSION_DEPTH_MAX)
		expression_fail(
		    parser, at, "ValueError", "the expression is nested too deep");
	else if (accept(parser, "-"))
		number = subtract(parser, at, number, parse_signed(parser));
	else if (accept(parser, "+"))
		number = parse_signed(parser);
	else
		number = parse_power(parser);
	parser->depth--;
	return number;
}

/* product = signed {("*" | "/" | "%") signed} */
static struct number
parse_product(struct parser *parser)
{
	struct number number = parse_signed(parser);

	for (;;) {
		const char *at = skip_space(parser);

		if (accept(parser, "*"))
			number = multiply(parser, at, number, parse_signed(parser));
		else if (accept(parser, "/"))
			number = divide(parser, at, number, parse_signed(parser));
		else if (accept(parser, "%"))
			number = modulo(parser, at, number, parse_signed(parser));
		else
			return number;
	}
}

/* sum = product {("+" | "-") product} */
static struct number
parse_sum(struct parser *parser)
{
	struct number number = parse_product(parser);

	for (;;) {
		const char *at = skip_space(parser);

		if (accept(parser, "+"))
			number = add(parser, at, number, parse_product(parser));
		else if (accept(parser, "-"))
			number = subtract(parser, at, number, parse_product(parser));
		else
			return number;
	}
}

const char *
expression_value(struct arena *arena, const char *text, const struct fault **fault_r)
{
	struct parser parser = { .arena = arena, .text = text, .at = text };
	struct number number;

	if (strlen(text) > EXPRESSION_BYTES_MAX) {
		*fault_r = fault_new(arena, "ValueError",
		    "the expression is longer than %u characters", EXPRESSION_BYTES_MAX);
		return NULL;
	}
	number = parse_sum(&parser);
	if (*skip_space(&parser) != '\0')
		unexpected(&parser, "an operator or the end");
	if (parser.fault != NULL) {
		*fault_r = parser.fault;
		return NULL;
	}
	return number_text(arena, number);
}
