#include "parcel.h"

#include <stdlib.h>

#include "memory.h"

struct parcel {
	struct parts parts;
};

const struct value *
parcel_failed(struct arena *arena, const struct fault *fault)
{
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

struct parcel *
parcel_new(struct arena *arena, const struct value *body)
{
	struct parcel *parcel = xcalloc(1, sizeof *parcel);
	struct packet packet = { 0 };

	value_pack(&packet, body);
	if (packet.size > BODY_BYTES_MAX) {
		packet_release(&packet);
		value_pack(&packet,
		    parcel_failed(arena,
			fault_new(arena, "RuntimeError",
			    "the answer is larger than %u bytes", BODY_BYTES_MAX)));
	}
	parts_add_packet(&parcel->parts, &packet);
	return parcel;
}

void
parcel_free(struct parcel *parcel)
{
	parts_release(&parcel->parts);
	free(parcel);
}

size_t
parcel_bytes(const struct parcel *parcel)
{
	return parts_size(&parcel->parts, 0);
}

void
parcel_add(struct parcel *parcel, struct parts *parts)
{
	parts_add_frame(parts, &parcel->parts, 0);
}
