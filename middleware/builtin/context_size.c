#include "context_size.h"

#include <string.h>

#include "nearest.h"
#include "pointer.h"

static const char *const kinds[] = { "messages", "tokens", "fraction" };
#define KINDS (sizeof kinds / sizeof *kinds)

/* Where a reason goes. */
struct finding {
	struct arena *arena;
	int64_t window;
	const char *place, *error;
};

static const struct value *
refuse(struct finding *finding, const char *place, const char *error)
{
	finding->place = place;
	finding->error = error;
	return NULL;
}

static const struct value *
refuse_kind(struct finding *finding, const char *place, const char *kind)
{
	const char *near = nearest_name(kind, kinds, KINDS);

	return refuse(finding, place,
	    arena_printf(finding->arena,
		"a size is one of messages, tokens and fraction, not \"%s\"%s%s%s", kind,
		near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
		near != NULL ? "\"?" : ""));
}

/* Of the window; at least one token. */
static const struct value *
tokens_of_fraction(struct finding *finding, const char *place, const struct value *value)
{
	double fraction = value_number(value, 0);
	int64_t tokens;

	if (!value_is_number(value) || !(fraction > 0 && fraction <= 1))
		return refuse(finding, place,
		    "a fraction is a number greater than 0 and at most 1");
	if (finding->window <= 0)
		return refuse(finding, place,
		    "the model's profile does not say how many tokens it takes in "
		    "(max_input_tokens): give the size in tokens");
	tokens = (int64_t)((double)finding->window * fraction);
	return value_int(finding->arena, tokens > 0 ? tokens : 1);
}

/* Adds one size to clause; -1 when it is none. */
static int
add_size(struct finding *finding, struct value_fields *clause, const char *place,
    const char *kind, const struct value *value)
{
	bool is_fraction = strcmp(kind, "fraction") == 0;

	if (!is_fraction && strcmp(kind, "messages") != 0 &&
	    strcmp(kind, "tokens") != 0) {
		refuse_kind(finding, place, kind);
		return -1;
	}
	if (is_fraction) {
		value = tokens_of_fraction(finding, place, value);
		if (value == NULL)
			return -1;
		kind = "tokens";
	} else if (!value_is(value, VALUE_INT) || value->integer < 1) {
		refuse(finding, place,
		    arena_printf(
			finding->arena, "%s are a whole number from 1 on", kind));
		return -1;
	}
	/* Beside tokens a fraction is one more condition: both are met by the larger. */
	for (size_t i = 0; i < clause->count; i++)
		if (value_text_is(clause->pairs[i].key, kind) &&
		    clause->pairs[i].value->integer > value->integer)
			return 0;
	value_fields_set(clause, kind, value);
	return 0;
}

static bool
is_pair(const struct value *given)
{
	return value_is(given, VALUE_ARRAY) && value_is(value_at(given, 0), VALUE_STR);
}

/* [kind, value] or {kind: value, ...} as {messages?, tokens?}. */
static const struct value *
clause_of(struct finding *finding, const char *place, const struct value *given)
{
	struct value_fields clause = { .arena = finding->arena };
	size_t i;

	if (is_pair(given)) {
		if (given->size != 2)
			return refuse(finding, place,
			    "a size is [kind, value], as in [tokens, 4000]");
		return add_size(finding, &clause, place, given->items[0]->text,
			   given->items[1]) == 0
			   ? value_fields_end(&clause)
			   : NULL;
	}
	if (!value_is(given, VALUE_MAP) || given->size == 0)
		return refuse(finding, place,
		    arena_printf(finding->arena,
			"must be a size, as in [tokens, 4000] or {messages: 50}, not %s",
			value_is(given, VALUE_MAP) ? "an empty map"
						   : value_article_name(given)));
	for (i = 0; i < given->size; i++) {
		const struct value_pair *pair = &given->pairs[i];

		if (add_size(finding, &clause,
			pointer_add(finding->arena, place, pair->key->text),
			pair->key->text, pair->value) == -1)
			return NULL;
	}
	return value_fields_end(&clause);
}

static const struct value *
trigger_of(struct finding *finding, const struct value *given)
{
	struct value_list list = { .arena = finding->arena };
	const struct value *clause;
	size_t i;

	if (value_is_nil(given))
		return value_empty_array();
	if (is_pair(given) || !value_is(given, VALUE_ARRAY)) {
		clause = clause_of(finding, "", given);
		return clause == NULL ? NULL : value_array(finding->arena, &clause, 1);
	}
	for (i = 0; i < given->size; i++) {
		clause = clause_of(
		    finding, arena_printf(finding->arena, "/%zu", i), given->items[i]);
		if (clause == NULL)
			return NULL;
		value_list_add(&list, clause);
	}
	return value_list_end(&list);
}

const struct value *
context_trigger(struct arena *arena, const struct value *given, int64_t window,
    const char **place_r, const char **error_r)
{
	struct finding finding = { .arena = arena, .window = window };
	const struct value *trigger = trigger_of(&finding, given);

	if (trigger == NULL) {
		*place_r = finding.place;
		*error_r = finding.error;
	}
	return trigger;
}

const struct value *
context_size(struct arena *arena, const struct value *given, int64_t window,
    const char **place_r, const char **error_r)
{
	struct finding finding = { .arena = arena, .window = window };
	const struct value *size = clause_of(&finding, "", given);

	if (size != NULL && value_size(given) > 1 && value_is(given, VALUE_MAP)) {
		finding.place = "";
		finding.error = "must be one size, as in [messages, 20], not several";
		size = NULL;
	}
	if (size == NULL) {
		*place_r = finding.place;
		*error_r = finding.error;
	}
	return size;
}

bool
context_trigger_counts_tokens(const struct value *trigger)
{
	size_t i;

	for (i = 0; i < value_size(trigger); i++)
		if (value_has(value_at(trigger, i), "tokens"))
			return true;
	return false;
}

bool
context_trigger_met(const struct value *trigger, int64_t messages, int64_t tokens)
{
	size_t i;

	for (i = 0; i < value_size(trigger); i++) {
		const struct value *clause = value_at(trigger, i);

		if (messages >= value_get_int(clause, "messages", 0) &&
		    tokens >= value_get_int(clause, "tokens", 0))
			return true;
	}
	return false;
}
