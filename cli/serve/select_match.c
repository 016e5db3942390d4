/* select_match: whether an item has what a search asks for. */
#include "fiber.h"
#include "select.h"

#define STEPS_AT_ONCE 10000u /* names and values that are looked at in a turn */

/* An item that is looked through: of a long list for each of another, which takes its time. */
struct matching {
	size_t steps; /* in this turn */
	bool is_over; /* whoever asks is gone */
};

static bool matches(
    struct matching *matching, const struct value *there, const struct value *wanted);

/* Takes so many steps; others have their turn in between. */
static void
take(struct matching *matching, size_t steps)
{
	matching->steps += steps;
	if (matching->steps < STEPS_AT_ONCE || matching->is_over)
		return;
	matching->steps = 0;
	matching->is_over = fiber_yield() == -1;
}

static bool has(
    struct matching *matching, const struct value *there, const struct value *wanted);

static bool
has_item(struct matching *matching, const struct value *list, const struct value *wanted)
{
	size_t i;

	for (i = 0; i < value_size(list) && !matching->is_over; i++)
		if (has(matching, value_at(list, i), wanted))
			return true;
	return false;
}

/* Whether there has what is wanted, as select_matches says. */
static bool
has(struct matching *matching, const struct value *there, const struct value *wanted)
{
	size_t i;

	take(matching, 1);
	if (value_is(there, VALUE_MAP) && value_is(wanted, VALUE_MAP))
		return matches(matching, there, wanted);
	if (!value_is(there, VALUE_ARRAY) || !value_is(wanted, VALUE_ARRAY))
		return value_equal(there, wanted);
	for (i = 0; i < value_size(wanted); i++)
		if (!has_item(matching, there, value_at(wanted, i)))
			return false;
	return true;
}

static bool
matches(struct matching *matching, const struct value *there, const struct value *wanted)
{
	size_t i;

	for (i = 0; i < value_size(wanted); i++) {
		take(matching, value_size(there));
		if (!has(matching, value_get(there, value_text(wanted->pairs[i].key)),
			wanted->pairs[i].value))
			return false;
	}
	return true;
}

bool
select_matches(const struct value *there, const struct value *wanted)
{
	struct matching matching = { 0 };

	return matches(&matching, there, wanted) && !matching.is_over;
}
