#include "model_usage.h"

#include "bounds.h"
#include "chat.h"
#include "token_count.h"

/* --- one call ----------------------------------------------------------------------- */

static const struct value *
estimate(struct arena *arena, const struct model_usage *call)
{
	double chars = token_chars(call->model);
	int64_t input = token_count_head(call->system_prompt, call->tools, chars) +
			token_count_messages(call->messages, chars);
	int64_t output = token_count_messages(call->answer, chars);

	return value_map(arena, "input_tokens", value_int(arena, input), "output_tokens",
	    value_int(arena, output), "total_tokens", value_int(arena, input + output),
	    NULL);
}

const struct value *
model_usage_entry(struct arena *arena, const struct model_usage *call, bool estimates)
{
	long last = chat_last_ai(call->answer);
	const struct value *usage =
	    last == -1
		? NULL
		: value_get(value_at(call->answer, (size_t)last), "usage_metadata");
	bool known = value_size(usage) > 0;

	return value_map(arena, "model", value_str(arena, call->model), "usage",
	    known       ? usage
	    : estimates ? estimate(arena, call)
			: NULL,
	    "estimated", known ? NULL : value_bool(true), NULL);
}

const struct value *
model_usage_of_wish(struct arena *arena, const char *model, const struct value *wish,
    const struct value *body, bool estimates)
{
	const struct model_usage call = {
		.model = model,
		.system_prompt = value_get_text(wish, "system_prompt"),
		.tools = value_get(wish, "tools"),
		.messages = value_get(wish, "messages"),
		.answer = value_get(body, "messages"),
	};

	return model == NULL || call.answer == NULL
		   ? NULL
		   : model_usage_entry(arena, &call, estimates);
}

/* --- sums --------------------------------------------------------------------------- */

/* Counts are from outside: a sum stays a number. */
static const struct value *
sum(struct arena *arena, const struct value *a, const struct value *b)
{
	int64_t total;

	if (!value_is(a, VALUE_INT) || !value_is(b, VALUE_INT) ||
	    __builtin_add_overflow(a->integer, b->integer, &total))
		return value_is(a, VALUE_INT) ? a : b;
	return value_int(arena, total);
}

/* Names are from outside, too: sums that are kept for as long as a thread must not grow with them. */
static bool
has_room(const struct value *totals, const char *name, size_t count)
{
	return count < USAGE_NAMES_MAX || value_has(totals, name);
}

/* Returns totals with the whole numbers of counts added, name by name. */
static const struct value *
add_counts(struct arena *arena, const struct value *totals, const struct value *counts)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	if (value_is(totals, VALUE_MAP))
		value_fields_put_all(&fields, totals);
	for (i = 0; value_is(counts, VALUE_MAP) && i < counts->size; i++) {
		const struct value *name = counts->pairs[i].key;
		const struct value *count = counts->pairs[i].value;

		if (value_is(count, VALUE_INT) && count->integer >= 0 &&
		    has_room(totals, name->text, fields.count))
			value_fields_put(&fields, name,
			    sum(arena, value_get(totals, name->text), count));
	}
	return value_fields_end(&fields);
}

static const struct value *
add_details(struct arena *arena, const struct value *totals, const struct value *usage,
    const char *name)
{
	const struct value *details = value_get(usage, name);

	return !value_is(details, VALUE_MAP) || details->size == 0
		   ? totals
		   : value_map_with(arena, totals, name,
			 add_counts(arena, value_get(totals, name), details));
}

const struct value *
model_usage_sum(struct arena *arena, const struct value *a, const struct value *b)
{
	a = add_counts(arena, a, b);
	a = add_details(arena, a, b, "input_token_details");
	return add_details(arena, a, b, "output_token_details");
}

static const struct value *
add_entry(struct arena *arena, const struct value *totals, const struct value *entry)
{
	const struct value *usage = value_get(entry, "usage");
	const struct value *once = value_int(arena, 1);

	totals = add_counts(arena, totals,
	    value_map(arena, "calls", once, "estimated",
		value_get_bool(entry, "estimated", false) ? once : NULL, NULL));
	return model_usage_sum(arena, totals, usage);
}

const struct value *
model_usage_add(struct arena *arena, const struct value *totals,
    const struct value *const *entries, size_t count)
{
	size_t i;

	/* A thread may be older than the field. */
	if (!value_is(totals, VALUE_MAP))
		totals = value_empty_map();
	for (i = 0; i < count; i++) {
		const char *model = value_get_text(entries[i], "model");

		if (model != NULL && has_room(totals, model, value_size(totals)))
			totals = value_map_with(arena, totals, model,
			    add_entry(arena, value_get(totals, model), entries[i]));
	}
	return totals;
}
