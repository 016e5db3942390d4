/* What was read and written reads back equal, and is then written the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_text(struct arena *arena, const struct value *value, const char *text)
{
	const char *error;
	const struct value *again = json_parse(arena, text, strlen(text), &error);

	if (again == NULL || !value_equal(again, value))
		abort();
}

/* What JSON lets in, msgpack lets through. */
static void
check_packed(struct arena *arena, const struct value *value)
{
	struct packet packet = { 0 };
	const struct value *again;
	const char *error;

	value_pack(&packet, value);
	if (value_unpack(arena, packet.data, packet.size, &again, &error) == -1 ||
	    !value_equal(again, value))
		abort();
	packet_release(&packet);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const struct value *value;
	const char *error = NULL;

	value = json_parse(arena, (const char *)data, size, &error);
	if (value == NULL && strncmp(error, "line ", 5) != 0)
		abort();
	if (value != NULL) {
		check_text(arena, value, json_text(arena, value));
		check_text(arena, value, json_pretty(arena, value));
		check_packed(arena, value);
	}
	arena_destroy(&arena);
	return 0;
}
