#include "model_profile.h"

#include <math.h>
#include <string.h>

#include "middleware.h"
#include "nearest.h"
#include "pointer.h"

#define MILLION 1e6

/* --- what is wrong with it ----------------------------------------------------------- */

static const char *
bool_flaw(struct arena *arena, const struct value *given)
{
	return value_is(given, VALUE_BOOL)
		   ? NULL
		   : arena_printf(arena, "must be true or false, not %s",
			 value_article_name(given));
}

static const char *
tokens_flaw(struct arena *arena, const struct value *given)
{
	if (!value_is(given, VALUE_INT))
		return arena_printf(arena, "must be a number of tokens, not %s",
		    value_article_name(given));
	return given->integer > 0 ? NULL : "must be at least 1";
}

static const char *cost_flaw(struct arena *arena, const struct value *given);

/* What a key of a profile, or of a cost, must be. */
struct key {
	const char *name;
	const char *(*flaw)(struct arena *arena, const struct value *given);
};

static const char *
price_flaw(struct arena *arena, const struct value *given)
{
	double dollars = value_number(given, -1);

	if (!value_is_number(given))
		return arena_printf(arena,
		    "must be US dollars for a million tokens, not %s",
		    value_article_name(given));
	return isfinite(dollars) && dollars >= 0 ? NULL : "must be 0 or more";
}

static const struct key keys[] = {
	{ "structured_output", bool_flaw },
	{ "except_with_tools", bool_flaw },
	{ "tool_calling", bool_flaw },
	{ "max_input_tokens", tokens_flaw },
	{ "max_output_tokens", tokens_flaw },
	{ "image_inputs", bool_flaw },
	{ "audio_inputs", bool_flaw },
	{ "video_inputs", bool_flaw },
	{ "pdf_inputs", bool_flaw },
	{ "cost", cost_flaw },
	{ NULL, NULL },
};

static const struct key prices[] = {
	{ "input", price_flaw },
	{ "output", price_flaw },
	{ "cache_read", price_flaw },
	{ "cache_write", price_flaw },
	{ "cache_write_1h", price_flaw },
	{ NULL, NULL },
};

static const char *
unknown_key(
    struct arena *arena, const char *what, const char *name, const struct key *known)
{
	const char *names[16], *all = "", *near;
	size_t count = 0;

	for (; known[count].name != NULL; count++) {
		names[count] = known[count].name;
		all = arena_printf(
		    arena, "%s%s%s", all, count == 0 ? "" : ", ", names[count]);
	}
	near = nearest_name(name, names, count);
	return arena_printf(arena, "%s has no key \"%s\"%s", what, name,
	    near == NULL ? arena_printf(arena, "; it has %s", all)
			 : arena_printf(arena, "; did you mean \"%s\"?", near));
}

/* The flaw of the first pair that has one, NULL: none has. */
static const char *
pairs_flaw(struct arena *arena, const char *what, const struct value *given,
    const struct key *known, const char **key_r)
{
	size_t i, j;

	for (i = 0; i < given->size; i++) {
		const struct value_pair *pair = &given->pairs[i];
		const char *flaw;

		*key_r = pair->key->text;
		for (j = 0; known[j].name != NULL && strcmp(known[j].name, *key_r) != 0;
		     j++)
			;
		flaw = known[j].name == NULL ? unknown_key(arena, what, *key_r, known)
					     : known[j].flaw(arena, pair->value);
		if (flaw != NULL)
			return flaw;
	}
	*key_r = "";
	return NULL;
}

static const char *
cost_flaw(struct arena *arena, const struct value *given)
{
	const char *key, *flaw;

	if (!value_is(given, VALUE_MAP))
		return arena_printf(arena,
		    "must be a map, as in {input: 2.5, output: 10}, not %s",
		    value_article_name(given));
	flaw = pairs_flaw(arena, "a model's cost", given, prices, &key);
	if (flaw != NULL)
		return strncmp(flaw, "must", 4) == 0
			   ? arena_printf(arena, "%s %s", key, flaw)
			   : flaw;
	return value_has(given, "input") && value_has(given, "output")
		   ? NULL
		   : "needs both input and output";
}

const char *
model_profile_flaw(struct arena *arena, const struct value *given, const char **key_r)
{
	const char *flaw;

	*key_r = "";
	if (!value_is(given, VALUE_MAP))
		return arena_printf(arena,
		    "must be a map, as in {structured_output: true}, not %s",
		    value_article_name(given));
	flaw = pairs_flaw(arena, "a model's profile", given, keys, key_r);
	if (flaw != NULL)
		return flaw;
	return value_has(given, "except_with_tools") &&
		       !value_has(given, "structured_output")
		   ? "needs structured_output: true or false, beside except_with_tools"
		   : NULL;
}

/* --- what it says -------------------------------------------------------------------- */

const struct value *
model_profile_over(
    struct arena *arena, const struct value *first, const struct value *second)
{
	if (value_size(second) == 0)
		return first == NULL ? value_empty_map() : first;
	if (value_has(first, "structured_output"))
		second = value_map_with(arena, second, "except_with_tools", NULL);
	return value_map_merge(arena, second, first);
}

bool
model_profile_gives_output(const struct value *profile, bool with_tools)
{
	return value_get_bool(profile, "structured_output", false) &&
	       !(with_tools && value_get_bool(profile, "except_with_tools", false));
}

/* Tokens of a kind, which is a part of `input_tokens`; takes them from the rest. */
static double
part(const struct value *details, const char *kind, double *rest)
{
	double count = value_get_number(details, kind, 0);

	count = count > 0 ? fmin(count, *rest) : 0;
	*rest -= count;
	return count;
}

bool
model_profile_cost(
    const struct value *profile, const struct value *usage, double *dollars_r)
{
	const struct value *cost = value_get(profile, "cost");
	const struct value *details = value_get(usage, "input_token_details");
	double input = value_get_number(cost, "input", -1),
	       output = value_get_number(cost, "output", -1), write, sum;
	double rest = fmax(value_get_number(usage, "input_tokens", 0), 0);

	if (input < 0 || output < 0)
		return false;
	write = value_get_number(cost, "cache_write", input);
	sum = part(details, "cache_read", &rest) *
	      value_get_number(cost, "cache_read", input);
	sum += part(details, "ephemeral_1h_input_tokens", &rest) *
	       value_get_number(cost, "cache_write_1h", write);
	sum += part(details, "ephemeral_5m_input_tokens", &rest) * write;
	sum += part(details, "cache_creation", &rest) * write;
	sum += rest * input;
	sum += fmax(value_get_number(usage, "output_tokens", 0), 0) * output;
	*dollars_r = sum / MILLION;
	return true;
}
