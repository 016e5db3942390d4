/* Numbers of the validator: exact, as they are written in decimal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema_check.h"

__extension__ typedef unsigned __int128 uint128;

/* coefficient * 10^exponent, without the sign. */
struct decimal {
	uint64_t coefficient;
	int exponent;
};

bool
number_is_integer(const struct value *number)
{
	if (value_is(number, VALUE_INT))
		return true;
	return value_is(number, VALUE_FLOAT) && isfinite(number->real) &&
	       number->real == trunc(number->real);
}

int
number_compare(const struct value *a, const struct value *b)
{
	/* Its mantissa holds any int64 and any double. */
	long double left = a->type == VALUE_INT ? (long double)a->integer : a->real;
	long double right = b->type == VALUE_INT ? (long double)b->integer : b->real;

	return (left > right) - (left < right);
}

/* The shortest decimal that reads back as real: what somebody wrote. */
static struct decimal
decimal_of_real(double real)
{
	char text[40], *at;
	struct decimal decimal = { 0 };
	int digits;

	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*e", digits - 1, fabs(real));
		if (strtod(text, NULL) == fabs(real))
			break;
	}
	for (at = text; *at != 'e'; at++) {
		if (*at == '.')
			continue;
		decimal.coefficient = decimal.coefficient * 10 + (uint64_t)(*at - '0');
	}
	decimal.exponent =
	    (int)strtol(at + 1, NULL, 10) - (digits > 17 ? 16 : digits - 1);
	return decimal;
}

static struct decimal
decimal_of(const struct value *number)
{
	struct decimal decimal = { 0 };

	if (number->type == VALUE_FLOAT)
		return decimal_of_real(number->real);
	decimal.coefficient = number->integer < 0 ? 0 - (uint64_t)number->integer
						  : (uint64_t)number->integer;
	return decimal;
}

/* Returns 10^exponent modulo modulus. */
static uint64_t
power_of_ten(unsigned exponent, uint64_t modulus)
{
	uint128 result = 1 % modulus, base = 10 % modulus;

	for (; exponent > 0; exponent /= 2) {
		if (exponent % 2 == 1)
			result = result * base % modulus;
		base = base * base % modulus;
	}
	return (uint64_t)result;
}

bool
number_is_multiple(const struct value *number, const struct value *factor)
{
	struct decimal a = decimal_of(number), b = decimal_of(factor);
	int shift = a.exponent - b.exponent;
	uint128 product, unit = b.coefficient;

	if (a.coefficient == 0 || unit == 0)
		return unit != 0;
	if (shift >= 0) {
		product = (uint128)(a.coefficient % b.coefficient) *
			  power_of_ten((unsigned)shift, b.coefficient);
		return product % b.coefficient == 0;
	}
	for (; shift < 0 && unit <= a.coefficient; shift++)
		unit *= 10;
	return shift == 0 && a.coefficient % unit == 0;
}

int64_t
number_count(const struct value *keyword)
{
	double number = value_number(keyword, -1);

	if (!(number >= 0) || !number_is_integer(keyword))
		return -1;
	if (keyword->type == VALUE_INT)
		return keyword->integer;
	return number >= 0x1p62 ? INT64_MAX : (int64_t)number;
}
