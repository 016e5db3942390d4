#include "round.h"

#include <string.h>

#include "chat.h"

#define NEW_ID "__new__" /* of messages that have none, while they are laid over others */

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

/* Of a worker's: what is of no use as messages fails the run when the round is whole. */
static void
add_answers(struct value_list *list, const struct value *outcome)
{
	const struct value *commands = value_get(outcome, "commands"), *given, *messages;
	const char *error;
	size_t i;

	if (!value_is(commands, VALUE_ARRAY))
		return;
	for (i = 0; i < value_size(commands); i++) {
		given = value_get(value_get(value_at(commands, i), "update"), "messages");
		messages = value_is_nil(given)
			       ? NULL
			       : chat_normalise(list->arena, given, &error);
		if (messages != NULL)
			value_list_add_all(list, messages);
	}
}

static const struct value *
new_id(void *arg, struct arena *arena)
{
	size_t *count = arg;

	return value_printf(arena, NEW_ID "%zu", (*count)++);
}

static bool
is_new(const struct value *message)
{
	const char *id = value_get_text(message, "id");

	return id != NULL && strncmp(id, NEW_ID, strlen(NEW_ID)) == 0;
}

const struct value *
round_messages(
    struct arena *arena, const struct value *head, const struct value *messages)
{
	const struct value *round = round_of(head), *laid;
	struct value_list answers = { .arena = arena }, list = { .arena = arena };
	size_t done, i, new_count = 0;
	const char *error;

	/* What a whole round writes, and which has failed for all that, does not fit. */
	if (round == NULL || messages == NULL || round_calls(head, &done) == done)
		return messages;
	for (i = 0; i < value_size(round); i++)
		add_answers(&answers, value_get(round->pairs[i].value, "outcome"));
	laid = chat_add_messages(
	    arena, messages, value_list_end(&answers), new_id, &new_count, &error);
	if (laid == NULL)
		return messages;
	for (i = 0; i < value_size(laid); i++)
		value_list_add(
		    &list, is_new(value_at(laid, i))
			       ? value_map_with(arena, value_at(laid, i), "id", NULL)
			       : value_at(laid, i));
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
