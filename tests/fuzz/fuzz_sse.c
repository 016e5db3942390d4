/* The events of a stream are the same in whatever pieces it comes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
note(void *arg, const char *event, const char *data, size_t size)
{
	struct packet *seen = arg;

	if (data[size] != '\0')
		abort();
	packet_append(seen, event, strlen(event) + 1);
	packet_append(seen, data, size + 1);
	return 0;
}

/* Appends to seen what comes out of data in pieces of so many bytes. */
static void
read_in_pieces(struct packet *seen, const uint8_t *data, size_t size, size_t piece)
{
	struct sse sse;

	sse_init(&sse, note, seen);
	while (size > 0) {
		size_t now = size < piece ? size : piece;
		char *copy = malloc(now); /* so that a read behind its end is seen */

		memcpy(copy, data, now);
		if (sse_feed(&sse, copy, now) == -1)
			abort(); /* no input here is that large */
		free(copy);
		data += now;
		size -= now;
	}
	if (sse_end(&sse) == -1)
		abort();
	sse_release(&sse);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet whole = { 0 }, pieces = { 0 };
	size_t piece;

	if (size == 0)
		return 0;
	piece = data[0] % 16 + 1u;
	read_in_pieces(&whole, data + 1, size - 1, size);
	read_in_pieces(&pieces, data + 1, size - 1, piece);
	if (whole.size != pieces.size ||
	    (whole.size > 0 && memcmp(whole.data, pieces.data, whole.size) != 0))
		abort();
	packet_release(&whole);
	packet_release(&pieces);
	return 0;
}
