#include "expression_private.h"

#include <math.h>
#include <string.h>

#include "nearest.h"

static double
smallest(const double *values, size_t count)
{
	double found = values[0];

	while (count-- > 1)
		found = fmin(found, values[count]);
	return found;
}

static double
largest(const double *values, size_t count)
{
	double found = values[0];

	while (count-- > 1)
		found = fmax(found, values[count]);
	return found;
}

/* Of whole numbers these give one: a double does not hold them all. */
enum whole { REAL, SAME, ABSOLUTE, LEAST, MOST };

struct function {
	const char *name;
	enum whole whole;
	double (*one)(double x); /* one of the three is set */
	double (*two)(double x, double y);
	double (*many)(const double *values, size_t count);
};

static const struct function functions[] = {
	{ "abs", ABSOLUTE, .one = fabs },
	{ "sqrt", .one = sqrt },
	{ "cbrt", .one = cbrt },
	{ "exp", .one = exp },
	{ "ln", .one = log },
	{ "log2", .one = log2 },
	{ "log10", .one = log10 },
	{ "sin", .one = sin },
	{ "cos", .one = cos },
	{ "tan", .one = tan },
	{ "asin", .one = asin },
	{ "acos", .one = acos },
	{ "atan", .one = atan },
	{ "atan2", .two = atan2 },
	{ "hypot", .two = hypot },
	{ "floor", SAME, .one = floor },
	{ "ceil", SAME, .one = ceil },
	{ "trunc", SAME, .one = trunc },
	{ "round", SAME, .one = round },
	{ "min", LEAST, .many = smallest },
	{ "max", MOST, .many = largest },
};
#define FUNCTION_COUNT (sizeof functions / sizeof functions[0])

const struct function *
expression_function(struct parser *parser, const char *at, const char *name)
{
	const char *names[FUNCTION_COUNT], *nearest;
	size_t i;

	for (i = 0; i < FUNCTION_COUNT; i++) {
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
		names[i] = functions[i].name;
	}
	nearest = strcmp(name, "log") == 0 ? "ln', 'log2' or 'log10"
					   : nearest_name(name, names, FUNCTION_COUNT);
	expression_fail(parser, at, "ValueError",
	    nearest == NULL
		? arena_printf(parser->arena, "there is no function '%.60s'", name)
		: arena_printf(parser->arena,
		      "there is no function '%.60s'; did you mean '%s'?", name, nearest));
	return NULL;
}

/* Returns false when that is no whole number, or they are not. */
static bool
whole_value(
    enum whole whole, const struct number *numbers, size_t count, int64_t *value_r)
{
	int64_t value = numbers[0].whole;
	size_t i;

	for (i = 0; i < count; i++) {
		int64_t other = numbers[i].whole;

		if (!numbers[i].is_whole)
			return false;
		if (whole == LEAST ? other < value : whole == MOST && other > value)
			value = other;
	}
	if (whole == ABSOLUTE && value == INT64_MIN)
		return false;
	*value_r = whole == ABSOLUTE && value < 0 ? -value : value;
	return whole != REAL;
}

struct number
expression_call(struct parser *parser, const char *at, const struct function *function,
    const struct number *numbers, size_t count)
{
	double values[ARGUMENTS_MAX];
	int64_t whole;
	size_t wanted = function->one != NULL ? 1 : function->two != NULL ? 2 : count;

	if (count != wanted)
		return expression_fail(parser, at, "ValueError",
		    arena_printf(parser->arena, "%s takes %zu argument%s, not %zu",
			function->name, wanted, wanted == 1 ? "" : "s", count));
	if (whole_value(function->whole, numbers, count, &whole))
		return expression_whole(whole);
	for (size_t i = 0; i < count; i++)
		values[i] = numbers[i].real;
	if (function->one != NULL)
		return expression_real(parser, at, function->one(values[0]));
	if (function->two != NULL)
		return expression_real(parser, at, function->two(values[0], values[1]));
	return expression_real(parser, at, function->many(values, count));
}
