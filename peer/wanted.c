#include "wanted.h"

#include <stdlib.h>
#include <string.h>

void
wanted_forget(struct wanted *wanted)
{
	packet_release(&wanted->packed);
	arena_destroy(&wanted->arena);
	wanted->prefixes = NULL;
}

static bool
are_texts(const struct value *prefixes)
{
	size_t i;

	if (!value_is(prefixes, VALUE_ARRAY))
		return false;
	for (i = 0; i < value_size(prefixes); i++)
		if (value_text(value_at(prefixes, i)) == NULL)
			return false;
	return true;
}

void
wanted_learn(struct wanted *wanted, const struct parts *message)
{
	const struct value *prefixes;
	const void *data;
	const char *error;
	size_t size;

	if (message->count < 2)
		return;
	data = parts_data(message, 1);
	size = parts_size(message, 1);
	if (wanted->prefixes != NULL && size == wanted->packed.size &&
	    memcmp(data, wanted->packed.data, size) == 0)
		return;
	wanted_forget(wanted);
	wanted->arena = arena_new();
	if (value_unpack(wanted->arena, data, size, &prefixes, &error) == -1 ||
	    !are_texts(prefixes)) {
		wanted_forget(wanted);
		return;
	}
	packet_append(&wanted->packed, data, size);
	wanted->prefixes = prefixes;
}

bool
wanted_has(const struct wanted *wanted, const char *topic)
{
	size_t i;

	if (wanted->prefixes == NULL)
		return true;
	for (i = 0; i < value_size(wanted->prefixes); i++) {
		const char *prefix = value_text(value_at(wanted->prefixes, i));

		if (strncmp(topic, prefix, strlen(prefix)) == 0)
			return true;
	}
	return false;
}
