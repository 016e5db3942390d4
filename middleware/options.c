#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "model_name.h"
#include "nearest.h"
#include "pointer.h"

#define OPTIONS_MAX 64u

/* One settings map on its way through a table. */
struct review {
	struct arena *arena;
	const char *owner;
	const char *path;
	const char *error;
};

const char *
option_type_text(enum option_type type)
{
	switch (type) {
	case OPTION_BOOL:
		return "true or false";
	case OPTION_INTEGER:
		return "an integer";
	case OPTION_NUMBER:
		return "a number";
	case OPTION_TEXT:
		return "a string";
	case OPTION_TEXTS:
		return "a list of strings";
	case OPTION_LIST:
		return "a list";
	case OPTION_MAP:
		return "a map";
	case OPTION_MODEL:
		return "a model";
	case OPTION_ANY:
		break;
	}
	return "any value";
}

/* --- one value ---------------------------------------------------------------------- */

/* Notes the reason; returns NULL for the caller to pass on. */
static const struct value *__attribute__((format(printf, 3, 4)))
refuse(struct review *review, const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	review->path = path;
	review->error = arena_vprintf(review->arena, format, args);
	va_end(args);
	return NULL;
}

/* "a, b or c" */
static const char *
choices_text(struct arena *arena, const char *const *choices)
{
	const char *text = choices[0];
	size_t i;

	for (i = 1; choices[i] != NULL; i++) {
		text = arena_printf(arena, "%s%s%s", text,
		    choices[i + 1] == NULL ? " or " : ", ", choices[i]);
	}
	return text;
}

static const struct value *
check_choice(struct review *review, const struct option *option, const char *path,
    const struct value *given)
{
	const char *near;
	size_t i;

	for (i = 0; option->choices[i] != NULL; i++) {
		if (value_text_is(given, option->choices[i]))
			return given;
	}
	near = nearest_name(given->text, option->choices, i);
	return refuse(review, path, "must be %s, not \"%s\"%s%s%s",
	    choices_text(review->arena, option->choices), given->text,
	    near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
	    near == NULL ? "" : "\"?");
}

static const struct value *
check_number(struct review *review, const struct option *option, const char *path,
    const struct value *given)
{
	double number = value_number(given, NAN);

	if (!isfinite(number))
		return refuse(review, path, "must be a finite number");
	if (option->type == OPTION_INTEGER && given->type == VALUE_FLOAT) {
		/* The bounds of int64 that a double can hold. */
		if (number != floor(number) || fabs(number) >= 0x1p63)
			return refuse(review, path, "must be an integer, not %g", number);
		given = value_int(review->arena, (int64_t)number);
	}
	if (option->min == 0 && option->max == 0)
		return given;
	if (number < option->min)
		return refuse(
		    review, path, "must be at least %g, not %g", option->min, number);
	if (number > option->max)
		return refuse(
		    review, path, "must be at most %g, not %g", option->max, number);
	return given;
}

static const struct value *
check_texts(struct review *review, const struct option *option, const char *path,
    const struct value *given)
{
	char index[24];
	size_t i;

	if (value_is(given, VALUE_STR))
		given = value_array(review->arena, &given, 1);
	for (i = 0; i < value_size(given); i++) {
		const char *at;

		snprintf(index, sizeof index, "%zu", i);
		at = pointer_add(review->arena, path, index);
		if (!value_is(value_at(given, i), VALUE_STR))
			return refuse(review, at, "must be a string, not %s",
			    value_article_name(value_at(given, i)));
		if (option->choices != NULL &&
		    check_choice(review, option, at, value_at(given, i)) == NULL)
			return NULL;
	}
	return given;
}

static const struct value *
check_model(struct review *review, const char *path, const struct value *given)
{
	const char *flaw = model_name_flaw(review->arena, given);

	return flaw == NULL ? given : refuse(review, path, "%s", flaw);
}

static bool
fits_type(enum option_type type, const struct value *given)
{
	switch (type) {
	case OPTION_BOOL:
		return value_is(given, VALUE_BOOL);
	case OPTION_INTEGER:
	case OPTION_NUMBER:
		return value_is_number(given);
	case OPTION_TEXT:
		return value_is(given, VALUE_STR);
	case OPTION_TEXTS:
		return value_is(given, VALUE_ARRAY) || value_is(given, VALUE_STR);
	case OPTION_LIST:
		return value_is(given, VALUE_ARRAY);
	case OPTION_MAP:
		return value_is(given, VALUE_MAP);
	case OPTION_MODEL: /* has a reason of its own */
	case OPTION_ANY:
		break;
	}
	return true;
}

static const struct value *
check_value(struct review *review, const struct option *option, const struct value *given)
{
	const char *path = pointer_add(review->arena, "", option->name);

	if (value_is_nil(given)) {
		if (option->nullable || option->type == OPTION_ANY)
			return value_nil();
		return refuse(
		    review, path, "must be %s, not null", option_type_text(option->type));
	}
	if (!fits_type(option->type, given))
		return refuse(review, path, "must be %s, not %s",
		    option_type_text(option->type), value_article_name(given));
	if (option->type == OPTION_INTEGER || option->type == OPTION_NUMBER)
		return check_number(review, option, path, given);
	if (option->type == OPTION_TEXTS)
		return check_texts(review, option, path, given);
	if (option->type == OPTION_MODEL)
		return check_model(review, path, given);
	if (option->type == OPTION_TEXT && option->choices != NULL)
		return check_choice(review, option, path, given);
	return given;
}

/* --- the whole map ------------------------------------------------------------------ */

static const struct option *
find_option(const struct option *options, const char *name)
{
	for (; options != NULL && options->name != NULL; options++) {
		if (strcmp(options->name, name) == 0)
			return options;
	}
	return NULL;
}

static void
refuse_unknown(struct review *review, const struct option *options, const char *name)
{
	const char *names[OPTIONS_MAX], *near;
	size_t count = 0;

	for (; options != NULL && options->name != NULL && count < OPTIONS_MAX; options++)
		names[count++] = options->name;
	near = nearest_name(name, names, count);
	refuse(review, pointer_add(review->arena, "", name),
	    "%s has no setting \"%s\"%s%s%s", review->owner, name,
	    near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
	    near == NULL ? "" : "\"?");
}

static bool
has_only_known(
    struct review *review, const struct option *options, const struct value *settings)
{
	size_t i;

	for (i = 0; i < value_size(settings); i++) {
		const char *name = settings->pairs[i].key->text;

		if (find_option(options, name) == NULL) {
			refuse_unknown(review, options, name);
			return false;
		}
	}
	return true;
}

/* Sets fields' setting for option; false with the reason noted. */
static bool
settle_option(struct review *review, const struct option *option,
    const struct value *settings, struct value_fields *fields)
{
	const struct value *given = value_get(settings, option->name);

	if (given != NULL) {
		given = check_value(review, option, given);
		value_fields_set(fields, option->name, given);
		return given != NULL;
	}
	if (option->required) {
		refuse(review, pointer_add(review->arena, "", option->name),
		    "%s needs the setting \"%s\" (%s)", review->owner, option->name,
		    option_type_text(option->type));
		return false;
	}
	if (option->otherwise != NULL) {
		const char *error;

		value_fields_set(fields, option->name,
		    json_parse(review->arena, option->otherwise,
			strlen(option->otherwise), &error));
	}
	return true;
}

const struct value *
options_check(struct arena *arena, const char *owner, const struct option *options,
    const struct value *settings, const char **path_r, const char **error_r)
{
	struct review review = { .arena = arena, .owner = owner };
	struct value_fields fields = { .arena = arena };
	const struct option *option;
	bool fine = true;

	if (value_is_nil(settings))
		settings = value_empty_map();
	if (!value_is(settings, VALUE_MAP)) {
		refuse(&review, "", "the settings of %s must be a map, not %s", owner,
		    value_article_name(settings));
		fine = false;
	}
	fine = fine && has_only_known(&review, options, settings);
	for (option = options; fine && option != NULL && option->name != NULL; option++)
		fine = settle_option(&review, option, settings, &fields);
	if (!fine) {
		*path_r = review.path;
		*error_r = review.error;
		return NULL;
	}
	return value_fields_end(&fields);
}

/* --- the table ---------------------------------------------------------------------- */

static const char *
default_flaw(struct arena *arena, const struct option *option)
{
	struct review review = { .arena = arena };
	const char *error = NULL;
	const struct value *value =
	    json_parse(arena, option->otherwise, strlen(option->otherwise), &error);

	if (value == NULL)
		return arena_printf(
		    arena, "option %s: the default is not JSON: %s", option->name, error);
	if (check_value(&review, option, value) == NULL)
		return arena_printf(
		    arena, "option %s: its own default %s", option->name, review.error);
	return NULL;
}

const char *
options_flaw(struct arena *arena, const struct option *options)
{
	const struct option *option;

	for (option = options; option != NULL && option->name != NULL; option++) {
		const char *flaw = NULL;

		if (option - options >= (ptrdiff_t)OPTIONS_MAX)
			return "too many options";
		if (find_option(options, option->name) != option)
			return arena_printf(
			    arena, "option %s is there twice", option->name);
		if (option->min > option->max)
			return arena_printf(arena,
			    "option %s: the least is more than the most", option->name);
		if (option->required && option->otherwise != NULL)
			return arena_printf(arena,
			    "option %s is required and has a default", option->name);
		if (option->otherwise != NULL)
			flaw = default_flaw(arena, option);
		if (flaw != NULL)
			return flaw;
	}
	return NULL;
}
