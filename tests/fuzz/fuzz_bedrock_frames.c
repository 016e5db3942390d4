/* The messages of a stream of frames are the same in whatever pieces it comes; bytes that are none are refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-model/bedrock_frames.h"

#include "scripted_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
append_text(struct packet *seen, const char text[FRAME_TEXT_BYTES])
{
	if (memchr(text, '\0', FRAME_TEXT_BYTES) == NULL)
		abort();
	packet_append(seen, text, strlen(text) + 1);
}

static int
note(void *arg, const struct bedrock_frame *frame)
{
	struct packet *seen = arg;

	append_text(seen, frame->kind);
	append_text(seen, frame->name);
	append_text(seen, frame->reason);
	packet_append(seen, frame->payload, frame->payload_size);
	packet_append(seen, "", 1);
	return 0;
}

/* Appends to seen what comes out of data in pieces of so many bytes, and how it ended. */
static void
read_in_pieces(struct packet *seen, const char *data, size_t size, size_t piece)
{
	struct bedrock_frames frames = { 0 };
	int fed = 0;

	while (size > 0 && fed == 0) {
		size_t now = size < piece ? size : piece;
		char *copy = malloc(now); /* so that a read behind its end is seen */

		memcpy(copy, data, now);
		fed = bedrock_frames_feed(&frames, copy, now, note, seen);
		free(copy);
		data += now;
		size -= now;
	}
	if (fed == -1 && frames.error == NULL)
		abort();
	packet_append(seen, fed == 0 ? "+" : "-", 1);
	bedrock_frames_release(&frames);
}

/* Makes a frame of what the fuzzer wrote: headers, a length in front, and the payload; as random bytes it would have the wrong
 * CRC for ever. */
static void
add_frame(struct packet *stream, const uint8_t *data, size_t size)
{
	size_t headers = size == 0 ? 0 : data[0] % size;
	char hex[2 * 255 + 2] = "\1";

	for (size_t i = 0; i < headers; i++)
		for (size_t j = 0; j < 2; j++)
			hex[1 + 2 * i + j] =
			    "0123456789abcdef"[data[1 + i] >> (j == 0 ? 4 : 0) & 15];
	hex[1 + 2 * headers] = '\0';
	scripted_frame_with(stream,
	    (const char *const[][2]){
		{ ":event-type", hex }, { ":message-type", "event" }, { NULL, NULL } },
	    (const char *)data + headers, size - headers);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet stream = { 0 }, whole = { 0 }, pieces = { 0 };
	size_t piece;

	if (size == 0)
		return 0;
	piece = data[0] % 16 + 1u;
	if (data[0] & 0x40)
		add_frame(&stream, data + 1, size - 1);
	if (data[0] & 0x20)
		scripted_frame(&stream, "event", "messageStop", "{}");
	if (data[0] & 0x80)
		packet_append(&stream, data + 1, size - 1);
	read_in_pieces(&whole, stream.data, stream.size, stream.size + 1);
	read_in_pieces(&pieces, stream.data, stream.size, piece);
	if (whole.size != pieces.size || memcmp(whole.data, pieces.data, whole.size) != 0)
		abort();
	packet_release(&stream);
	packet_release(&whole);
	packet_release(&pieces);
	return 0;
}
