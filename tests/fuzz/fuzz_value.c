/* Decodes msgpack from outside; what is accepted must survive encoding: from the bytes it
 * remembers, and encoded anew from its parts. */
#include <stdint.h>
#include <stdlib.h>

#include "value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns an equal value that remembers no bytes. */
static const struct value *
rebuilt(struct arena *arena, const struct value *value)
{
	struct value_fields fields = { .arena = arena };
	struct value_list list = { .arena = arena };
	size_t i;

	switch (value->type) {
	case VALUE_ARRAY:
		for (i = 0; i < value->size; i++)
			value_list_add(&list, rebuilt(arena, value->items[i]));
		return value_list_end(&list);
	case VALUE_MAP:
		for (i = 0; i < value->size; i++)
			value_fields_put(&fields, value->pairs[i].key,
			    rebuilt(arena, value->pairs[i].value));
		return value_fields_end(&fields);
	default:
		return value;
	}
}

static void
check_round_trip(struct arena *arena, const struct value *value)
{
	struct packet packet = { 0 };
	const struct value *back;
	const char *error;

	value_pack(&packet, value);
	if (value_unpack(arena, packet.data, packet.size, &back, &error) == -1 ||
	    !value_equal(value, back))
		abort();
	packet_release(&packet);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const struct value *value;
	const char *error = NULL;

	if (value_unpack(arena, data, size, &value, &error) == 0) {
		check_round_trip(arena, value);
		check_round_trip(arena, rebuilt(arena, value));
		check_round_trip(arena, value_copy(arena, value));
	} else if (error == NULL) {
		abort();
	}
	arena_destroy(&arena);
	return 0;
}
