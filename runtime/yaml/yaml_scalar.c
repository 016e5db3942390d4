#include "yaml_scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CORE_TAG "tag:yaml.org,2002:"

static bool
is_one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static const char *
skip_digits(const char *text)
{
	while (isdigit((unsigned char)*text))
		text++;
	return text;
}

static const char *
skip_sign(const char *text)
{
	return *text == '-' || *text == '+' ? text + 1 : text;
}

/* [-+]? [0-9]+ */
static bool
is_decimal(const char *text)
{
	const char *digits = skip_sign(text);

	return *digits != '\0' && *skip_digits(digits) == '\0';
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool
is_real(const char *text)
{
	const char *whole = skip_sign(text), *at = skip_digits(whole), *digits;
	bool has_digits = at > whole;

	if (*at == '.') {
		digits = at + 1;
		at = skip_digits(digits);
		has_digits = has_digits || at > digits;
	}
	if (!has_digits)
		return false;
	if (*at == 'e' || *at == 'E') {
		digits = skip_sign(at + 1);
		at = skip_digits(digits);
		if (at == digits)
			return false;
	}
	return *at == '\0';
}

/* Returns an integer; one beyond 64 bits becomes the nearest float, as in JSON. */
static const struct value *
integer_of(struct arena *arena, const char *text, const char *digits, int base)
{
	long long integer;
	char *end;

	errno = 0;
	integer = strtoll(digits, &end, base);
	if (*end != '\0')
		return NULL;
	if (errno == 0)
		return value_int(arena, integer);
	/* strtod reads decimal and 0x, but no 0o. */
	return value_float(arena, base == 8 ? INFINITY : strtod(text, NULL));
}

static const struct value *
number_of(struct arena *arena, const char *text)
{
	static const char *const infinities[] = { ".inf", ".Inf", ".INF", NULL };
	static const char *const nans[] = { ".nan", ".NaN", ".NAN", NULL };

	if (is_decimal(text))
		return integer_of(arena, text, text, 10);
	if (text[0] == '0' && text[1] == 'x' && isxdigit((unsigned char)text[2]))
		return integer_of(arena, text, text + 2, 16);
	if (text[0] == '0' && text[1] == 'o' && isdigit((unsigned char)text[2]))
		return integer_of(arena, text, text + 2, 8);
	if (is_real(text))
		return value_float(arena, strtod(text, NULL));
	if (is_one_of(skip_sign(text), infinities))
		return value_float(arena, text[0] == '-' ? -INFINITY : INFINITY);
	if (is_one_of(text, nans))
		return value_float(arena, NAN);
	return NULL;
}

/* Returns what a plain scalar is. */
static const struct value *
core_value(struct arena *arena, const char *text, size_t size)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const trues[] = { "true", "True", "TRUE", NULL };
	static const char *const falses[] = { "false", "False", "FALSE", NULL };
	const struct value *number;

	if (is_one_of(text, nulls))
		return value_nil();
	if (is_one_of(text, trues))
		return value_bool(true);
	if (is_one_of(text, falses))
		return value_bool(false);
	number = number_of(arena, text);
	return number != NULL ? number : value_strn(arena, text, size);
}

/* Returns text as what the core tag name says it is. */
static const struct value *
tagged_value(struct arena *arena, const char *text, size_t size, const char *name,
    const char **error_r)
{
	static const struct {
		const char *name;
		enum value_type type;
	} kinds[] = {
		{ "null", VALUE_NIL },
		{ "bool", VALUE_BOOL },
		{ "int", VALUE_INT },
		{ "float", VALUE_FLOAT },
	};
	const size_t count = sizeof kinds / sizeof kinds[0];
	const struct value *value = core_value(arena, text, size);
	size_t i = 0;

	while (i < count && strcmp(name, kinds[i].name) != 0)
		i++;
	if (i == count) {
		*error_r = arena_printf(arena, "unknown tag !!%s", name);
		return NULL;
	}
	if (kinds[i].type == VALUE_FLOAT && value->type == VALUE_INT)
		return value_float(arena, (double)value->integer);
	if (value->type == kinds[i].type)
		return value;
	*error_r = arena_printf(arena, "this is no !!%s", name);
	return NULL;
}

/* True when value came from digits that say more than a double holds. */
static bool
is_out_of_range(const struct value *value, const char *text)
{
	return value_is(value, VALUE_FLOAT) && isinf(value->real) &&
	       strpbrk(text, "0123456789") != NULL;
}

const struct value *
yaml_scalar(struct arena *arena, const char *text, size_t size, bool is_plain,
    const char *tag, const char **error_r)
{
	const struct value *value;

	if (tag == NULL && is_plain) {
		value = core_value(arena, text, size);
	} else if (tag == NULL || strcmp(tag, "!") == 0 ||
		   strcmp(tag, CORE_TAG "str") == 0) {
		value = value_strn(arena, text, size);
	} else if (strncmp(tag, CORE_TAG, strlen(CORE_TAG)) == 0) {
		value = tagged_value(arena, text, size, tag + strlen(CORE_TAG), error_r);
	} else {
		*error_r = arena_printf(arena, "unknown tag %s", tag);
		return NULL;
	}
	if (!is_out_of_range(value, text))
		return value;
	*error_r = "a number is out of range";
	return NULL;
}
