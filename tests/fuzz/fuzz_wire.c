/* Decodes a header frame from outside; what is accepted is encoded and decoded again, and
 * must then be the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
decode_own(struct arena *arena, const struct packet *packet, struct header *header)
{
	enum wire_code code;
	const char *reason;

	if (wire_decode(arena, packet->data, packet->size, header, &code, &reason) == -1)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct packet once = { 0 }, twice = { 0 };
	enum wire_code code = CODE_OK;
	const char *reason = NULL;
	struct header header;

	if (wire_decode(arena, data, size, &header, &code, &reason) == 0) {
		wire_encode(&once, &header);
		decode_own(arena, &once, &header);
		wire_encode(&twice, &header);
		if (once.size != twice.size ||
		    memcmp(once.data, twice.data, once.size) != 0)
			abort();
	} else if (code == CODE_OK || reason == NULL) {
		abort();
	}
	packet_release(&once);
	packet_release(&twice);
	arena_destroy(&arena);
	return 0;
}
