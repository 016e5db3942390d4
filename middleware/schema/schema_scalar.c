/* Keywords for any value, numbers and strings. */
#include <math.h>
#include <string.h>

#include "schema_check.h"

/* --- any value ---------------------------------------------------------------------- */

static bool
is_json_number(const struct value *instance)
{
	return value_is_number(instance) &&
	       (instance->type == VALUE_INT || isfinite(instance->real));
}

static bool
has_type(const struct value *instance, const char *type)
{
	if (strcmp(type, "integer") == 0)
		return number_is_integer(instance);
	if (strcmp(type, "number") == 0)
		return is_json_number(instance);
	if (strcmp(type, "string") == 0)
		return value_is(instance, VALUE_STR);
	if (strcmp(type, "boolean") == 0)
		return value_is(instance, VALUE_BOOL);
	if (strcmp(type, "array") == 0)
		return value_is(instance, VALUE_ARRAY);
	if (strcmp(type, "object") == 0)
		return value_is(instance, VALUE_MAP);
	return strcmp(type, "null") == 0 && value_is_nil(instance);
}

static const char *
article(const char *type)
{
	if (strcmp(type, "null") == 0)
		return "";
	return strchr("aeio", type[0]) != NULL ? "an " : "a ";
}

static const char *
types_text(struct arena *arena, const struct value *types)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(types); i++) {
		const char *type = value_text(value_at(types, i));

		if (type != NULL)
			text = arena_printf(arena, "%s%s%s%s", text,
			    i == 0                       ? ""
			    : i + 1 == value_size(types) ? " or "
							 : ", ",
			    article(type), type);
	}
	return text;
}

bool
check_type(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	size_t i;

	(void)schema;
	if (value_is(keyword, VALUE_STR)) {
		if (has_type(instance, keyword->text))
			return true;
		return check_fail(check, place, "must be %s%s, not %s",
		    article(keyword->text), keyword->text, json_type_of(instance));
	}
	if (!value_is(keyword, VALUE_ARRAY))
		return true;
	for (i = 0; i < keyword->size; i++) {
		const char *type = value_text(keyword->items[i]);

		if (type != NULL && has_type(instance, type))
			return true;
	}
	if (!check_wants_reason(check))
		return false;
	return check_fail(check, place, "must be %s, not %s",
	    types_text(check->arena, keyword), json_type_of(instance));
}

static const char *
choices_text(struct check *check, const struct value *choices)
{
	enum { SHOWN = 20 };
	const char *text = "";
	size_t i;

	for (i = 0; i < choices->size && i < SHOWN; i++)
		text = arena_printf(check->arena, "%s%s%s", text, i == 0 ? "" : ", ",
		    check_show(check, choices->items[i]));
	return choices->size <= SHOWN ? text
				      : arena_printf(check->arena, "%s, ...", text);
}

/* Where types or sizes differ nothing more is looked at. */
static bool
is_equal(struct check *check, const struct value *choice, const struct value *instance)
{
	bool is_alike = choice != NULL && instance != NULL &&
			choice->type == instance->type && choice->size == instance->size;

	if (is_alike ? !check_spend_on(check, instance) : !check_spend(check, 1))
		return false;
	return value_equal(choice, instance);
}

bool
check_enum(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	size_t i;

	(void)schema;
	if (!value_is(keyword, VALUE_ARRAY))
		return true;
	for (i = 0; i < keyword->size; i++) {
		if (is_equal(check, keyword->items[i], instance))
			return true;
		if (check->stopped != NULL)
			return false;
	}
	if (!check_wants_reason(check))
		return false;
	if (keyword->size == 0)
		return check_fail(
		    check, place, "can be nothing: the schema's enum is empty");
	return check_fail(check, place, "must be one of %s, not %s",
	    choices_text(check, keyword), check_show(check, instance));
}

bool
check_const(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	(void)schema;
	if (is_equal(check, keyword, instance))
		return true;
	return check_fail(check, place, "must be %s, not %s", check_show(check, keyword),
	    check_show(check, instance));
}

/* --- numbers ------------------------------------------------------------------------ */

bool
check_multiple_of(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!is_json_number(keyword) || !is_json_number(instance) ||
	    number_is_multiple(instance, keyword))
		return true;
	return check_fail(check, place, "must be a multiple of %s, not %s",
	    check_show(check, keyword), check_show(check, instance));
}

/* True when both are numbers and instance stands to limit as sign says. */
static bool
stands(const struct value *instance, const struct value *limit, int sign)
{
	return is_json_number(instance) && is_json_number(limit) &&
	       number_compare(instance, limit) == sign;
}

bool
check_minimum(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!stands(instance, keyword, -1))
		return true;
	return check_fail(check, place, "must be at least %s, not %s",
	    check_show(check, keyword), check_show(check, instance));
}

bool
check_maximum(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!stands(instance, keyword, 1))
		return true;
	return check_fail(check, place, "must be at most %s, not %s",
	    check_show(check, keyword), check_show(check, instance));
}

bool
check_exclusive_minimum(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!stands(instance, keyword, -1) && !stands(instance, keyword, 0))
		return true;
	return check_fail(check, place, "must be more than %s, not %s",
	    check_show(check, keyword), check_show(check, instance));
}

bool
check_exclusive_maximum(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!stands(instance, keyword, 1) && !stands(instance, keyword, 0))
		return true;
	return check_fail(check, place, "must be less than %s, not %s",
	    check_show(check, keyword), check_show(check, instance));
}

/* --- strings ------------------------------------------------------------------------ */

/* Characters, not bytes: those that do not go on with one before. */
static int64_t
count_characters(const struct value *text)
{
	int64_t count = 0;
	size_t i;

	for (i = 0; i < text->size; i++)
		count += ((unsigned char)text->text[i] & 0xc0) != 0x80;
	return count;
}

bool
check_min_length(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	int64_t least = number_count(keyword);

	(void)schema;
	if (!value_is(instance, VALUE_STR))
		return true;
	if (!check_spend_on(check, instance))
		return false;
	if (count_characters(instance) >= least)
		return true;
	return check_fail(check, place, "must have at least %lld characters, not %lld",
	    (long long)least, (long long)count_characters(instance));
}

bool
check_max_length(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	int64_t most = number_count(keyword);

	(void)schema;
	if (most == -1 || !value_is(instance, VALUE_STR))
		return true;
	if (!check_spend_on(check, instance))
		return false;
	if (count_characters(instance) <= most)
		return true;
	return check_fail(check, place, "must have at most %lld characters, not %lld",
	    (long long)most, (long long)count_characters(instance));
}

bool
check_pattern(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!value_is(keyword, VALUE_STR) || !value_is(instance, VALUE_STR))
		return true;
	if (check_matches(check, keyword, instance))
		return true;
	return check_fail(check, place, "must match the pattern %s", keyword->text);
}
