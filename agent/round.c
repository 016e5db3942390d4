#include "round.h"

/* The round of a thread that stands; nobody is at it. NULL: there is none. */
static const struct value *
round_of(const struct value *head)
{
	const struct value *round = value_get(head, "round");

	return value_is(round, VALUE_MAP) &&
		       !value_text_is(value_get(head, "status"), "running")
		   ? round
		   : NULL;
}

static void
add_answers(struct value_list *list, const struct value *outcome)
{
	const struct value *commands = value_get(outcome, "commands"), *messages;
	size_t i;

	if (!value_is(commands, VALUE_ARRAY))
		return;
	for (i = 0; i < value_size(commands); i++) {
		messages =
		    value_get(value_get(value_at(commands, i), "update"), "messages");
		if (value_is(messages, VALUE_ARRAY))
			value_list_add_all(list, messages);
	}
}

const struct value *
round_messages(
    struct arena *arena, const struct value *head, const struct value *messages)
{
	const struct value *round = round_of(head);
	struct value_list list = { .arena = arena };
	size_t done, i;

	/* What a whole round writes, and which has failed for all that, does not fit. */
	if (round == NULL || messages == NULL || round_calls(head, &done) == done)
		return messages;
	value_list_add_all(&list, messages);
	for (i = 0; i < value_size(round); i++)
		add_answers(&list, value_get(round->pairs[i].value, "outcome"));
	return value_list_end(&list);
}

const struct value *
round_write(struct arena *arena, const struct value *fields, const struct value *written)
{
	const struct value *value;
	size_t i;

	for (i = 0; i < value_size(written); i++) {
		value = written->pairs[i].value;
		fields = value_map_with(arena, fields, value_text(written->pairs[i].key),
		    value_is_nil(value) ? NULL : value);
	}
	return fields;
}

const struct value *
round_fields(struct arena *arena, const struct value *head, const struct value *fields)
{
	const struct value *written = value_get(head, "written");

	return round_of(head) != NULL && value_is(written, VALUE_MAP)
		   ? round_write(arena, fields, written)
		   : fields;
}

size_t
round_calls(const struct value *head, size_t *done_r)
{
	const struct value *round = round_of(head);
	size_t i;

	*done_r = 0;
	for (i = 0; i < value_size(round); i++)
		*done_r += value_has(round->pairs[i].value, "outcome");
	return value_size(round);
}
