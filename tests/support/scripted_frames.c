#include "scripted_frames.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

static void
add_number(struct packet *packet, uint32_t number, size_t bytes)
{
	while (bytes-- > 0)
		packet_append(packet, &(char){ (char)(number >> 8 * bytes) }, 1);
}

static void
add_hex(struct packet *packet, const char *hex)
{
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		packet_append(packet, &(char){ (char)byte }, 1);
}

static void
add_header(struct packet *packet, const char *name, const char *value)
{
	add_number(packet, (uint32_t)strlen(name), 1);
	packet_append(packet, name, strlen(name));
	if (*value == '\1') {
		add_hex(packet, value + 1);
		return;
	}
	add_number(packet, 7, 1);
	add_number(packet, (uint32_t)strlen(value), 2);
	packet_append(packet, value, strlen(value));
}

static uint32_t
crc_of(const struct packet *packet, size_t from)
{
	return (uint32_t)crc32(0, (const unsigned char *)packet->data + from,
	    (unsigned)(packet->size - from));
}

void
scripted_frame_with(struct packet *packet, const char *const headers[][2],
    const char *payload, size_t size)
{
	size_t from = packet->size;
	struct packet head = { 0 };

	for (; (*headers)[0] != NULL; headers++)
		add_header(&head, (*headers)[0], (*headers)[1]);
	add_number(packet, (uint32_t)(12 + head.size + size + 4), 4);
	add_number(packet, (uint32_t)head.size, 4);
	add_number(packet, crc_of(packet, from), 4);
	packet_append(packet, head.data == NULL ? "" : head.data, head.size);
	packet_append(packet, payload, size);
	add_number(packet, crc_of(packet, from), 4);
	packet_release(&head);
}

void
scripted_frame(
    struct packet *packet, const char *kind, const char *name, const char *payload)
{
	bool failed = strcmp(kind, "exception") == 0;

	scripted_frame_with(packet,
	    (const char *const[][2]){
		{ failed ? ":exception-type" : ":event-type", name },
		{ ":content-type", "application/json" }, { ":message-type", kind },
		{ NULL, NULL } },
	    payload, strlen(payload));
}
