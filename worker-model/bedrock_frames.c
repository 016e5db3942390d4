#include "bedrock_frames.h"

#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "bounds.h"

#define PRELUDE_BYTES 12u /* both lengths, and their CRC */
#define CRC_BYTES 4u

/* Types of a header's value. */
enum {
	TYPE_TRUE,
	TYPE_FALSE,
	TYPE_BYTE,
	TYPE_SHORT,
	TYPE_INTEGER,
	TYPE_LONG,
	TYPE_BYTES,
	TYPE_TEXT,
	TYPE_TIME,
	TYPE_UUID,
	TYPES
};

/* How many bytes a value has; of those with a length of their own, how many that has. */
static const uint8_t value_bytes[TYPES] = {
	[TYPE_BYTE] = 1,
	[TYPE_SHORT] = 2,
	[TYPE_INTEGER] = 4,
	[TYPE_LONG] = 8,
	[TYPE_BYTES] = 2,
	[TYPE_TEXT] = 2,
	[TYPE_TIME] = 8,
	[TYPE_UUID] = 16,
};

static uint32_t
number(const char *data, size_t bytes)
{
	uint32_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | (unsigned char)data[i];
	return value;
}

static bool
is_whole(const char *data, size_t size)
{
	return crc32(0, (const unsigned char *)data, (unsigned)size) ==
	       number(data + size, CRC_BYTES);
}

/* --- headers ------------------------------------------------------------------------- */

struct header {
	const char *name, *value;
	size_t name_size, value_size;
	int type;
};

/* Takes the header at *data_p off the *size_p bytes there. Returns 0, or -1 when it does not end in them. */
static int
take_header(const char **data_p, size_t *size_p, struct header *header_r)
{
	const char *data = *data_p;
	size_t left = *size_p, name_size = (unsigned char)*data, size, length;
	int type;

	if (left < 1 + name_size + 1)
		return -1;
	type = (unsigned char)data[1 + name_size];
	left -= 1 + name_size + 1;
	if (type >= TYPES || left < value_bytes[type])
		return -1;
	*header_r = (struct header){ .name = data + 1,
		.name_size = name_size,
		.value = data + 1 + name_size + 1,
		.type = type };
	size = value_bytes[type];
	if (type == TYPE_BYTES || type == TYPE_TEXT) {
		length = number(header_r->value, size);
		if (left - size < length)
			return -1;
		header_r->value += size;
		header_r->value_size = length;
		size += length;
	}
	*data_p += 1 + name_size + 1 + size;
	*size_p = left - size;
	return 0;
}

static void
copy_text(char text_r[FRAME_TEXT_BYTES], const struct header *header)
{
	size_t size = header->value_size < FRAME_TEXT_BYTES - 1 ? header->value_size
								: FRAME_TEXT_BYTES - 1;

	memcpy(text_r, header->value, size);
	text_r[size] = '\0';
}

static bool
is_named(const struct header *header, const char *name)
{
	return header->name_size == strlen(name) &&
	       memcmp(header->name, name, header->name_size) == 0;
}

static void
note_header(struct bedrock_frame *frame, const struct header *header)
{
	if (header->type != TYPE_TEXT)
		return;
	if (is_named(header, ":message-type"))
		copy_text(frame->kind, header);
	else if (is_named(header, ":event-type") || is_named(header, ":exception-type") ||
		 is_named(header, ":error-code"))
		copy_text(frame->name, header);
	else if (is_named(header, ":error-message"))
		copy_text(frame->reason, header);
}

/* --- frames -------------------------------------------------------------------------- */

static int
refuse(struct bedrock_frames *frames, const char *error)
{
	frames->error = error;
	return -1;
}

/* The frame is there, and its lengths are right. */
static int
read_frame(struct bedrock_frames *frames, bedrock_frame_fn *on_frame, void *arg)
{
	const char *data = frames->pending.data;
	size_t size = frames->pending.size, headers = number(data + 4, 4);
	struct bedrock_frame frame = { 0 };
	struct header header;

	if (!is_whole(data, size - CRC_BYTES))
		return refuse(frames, "a frame of the stream is damaged");
	data += PRELUDE_BYTES;
	frame.payload = data + headers;
	frame.payload_size = size - PRELUDE_BYTES - headers - CRC_BYTES;
	while (headers > 0) {
		if (take_header(&data, &headers, &header) == -1)
			return refuse(frames, "a frame's headers are malformed");
		note_header(&frame, &header);
	}
	frames->pending.size = 0;
	return on_frame(arg, &frame);
}

/* Sets *wanted_r to how many bytes the pending frame has, as far as is known. Returns 0, or -1. */
static int
measure(struct bedrock_frames *frames, size_t *wanted_r)
{
	const char *data = frames->pending.data;
	size_t headers;

	*wanted_r = PRELUDE_BYTES;
	if (frames->pending.size < PRELUDE_BYTES)
		return 0;
	if (!is_whole(data, PRELUDE_BYTES - CRC_BYTES))
		return refuse(frames, "it is no stream of events");
	*wanted_r = number(data, 4);
	headers = number(data + 4, 4);
	if (*wanted_r > FRAME_BYTES_MAX)
		return refuse(frames, "a frame of the stream is too large");
	if (*wanted_r < PRELUDE_BYTES + CRC_BYTES ||
	    headers > *wanted_r - PRELUDE_BYTES - CRC_BYTES)
		return refuse(frames, "a frame's lengths do not fit");
	return 0;
}

int
bedrock_frames_feed(struct bedrock_frames *frames, const char *data, size_t size,
    bedrock_frame_fn *on_frame, void *arg)
{
	struct packet *pending = &frames->pending;

	while (size > 0) {
		size_t wanted, now;

		if (measure(frames, &wanted) == -1)
			return -1;
		now = wanted - pending->size;
		if (now > size)
			now = size;
		packet_append(pending, data, now);
		data += now;
		size -= now;
		if (measure(frames, &wanted) == -1)
			return -1;
		if (pending->size > PRELUDE_BYTES && pending->size == wanted &&
		    read_frame(frames, on_frame, arg) == -1)
			return -1;
	}
	return 0;
}

void
bedrock_frames_release(struct bedrock_frames *frames)
{
	packet_release(&frames->pending);
}
