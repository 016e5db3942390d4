/* Values to msgpack bytes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack/pack.h>

#include "value.h"

#define PACKET_BYTES_AT_FIRST 512u

static void
grow(struct packet *packet, size_t size)
{
	size_t room = packet->room == 0 ? PACKET_BYTES_AT_FIRST : packet->room;
	char *grown;

	while (room - packet->size < size) {
		if (room > SIZE_MAX / 2)
			arena_exhausted();
		room *= 2;
	}
	grown = realloc(packet->data, room);
	if (grown == NULL)
		arena_exhausted();
	packet->data = grown;
	packet->room = room;
}

/* Small and inline: a message is a thousand of these. */
static inline void
append(struct packet *packet, const void *data, size_t size)
{
	if (size > packet->room - packet->size)
		grow(packet, size);
	if (size > 0)
		memcpy(packet->data + packet->size, data, size);
	packet->size += size;
}

void
packet_append(struct packet *packet, const void *data, size_t size)
{
	append(packet, data, size);
}

void
packet_release(struct packet *packet)
{
	free(packet->data);
	*packet = (struct packet){ 0 };
}

static int
write_packet(void *packet, const char *data, size_t size)
{
	append(packet, data, size);
	return 0;
}

static void pack(msgpack_packer *packer, const struct value *value);

static void
pack_items(msgpack_packer *packer, const struct value *array)
{
	size_t i;

	msgpack_pack_array(packer, array->size);
	for (i = 0; i < array->size; i++)
		pack(packer, array->items[i]);
}

static void
pack_pairs(msgpack_packer *packer, const struct value *map)
{
	size_t i;

	msgpack_pack_map(packer, map->size);
	for (i = 0; i < map->size; i++) {
		pack(packer, map->pairs[i].key);
		pack(packer, map->pairs[i].value);
	}
}

static void
pack_known(msgpack_packer *packer, const struct value *value)
{
	switch (value->type) {
	case VALUE_NIL:
		msgpack_pack_nil(packer);
		break;
	case VALUE_BOOL:
		if (value->boolean)
			msgpack_pack_true(packer);
		else
			msgpack_pack_false(packer);
		break;
	case VALUE_INT:
		msgpack_pack_int64(packer, value->integer);
		break;
	case VALUE_FLOAT:
		msgpack_pack_double(packer, value->real);
		break;
	case VALUE_STR:
		msgpack_pack_str_with_body(packer, value->text, value->size);
		break;
	case VALUE_BIN:
		msgpack_pack_bin_with_body(packer, value->text, value->size);
		break;
	case VALUE_ARRAY:
		pack_items(packer, value);
		break;
	case VALUE_MAP:
		pack_pairs(packer, value);
		break;
	}
}

static void
pack(msgpack_packer *packer, const struct value *value)
{
	if (value->packed != NULL)
		packet_append(packer->data, value->packed, value->packed_size);
	else
		pack_known(packer, value);
}

void
value_pack(struct packet *packet, const struct value *value)
{
	msgpack_packer packer = { .data = packet, .callback = write_packet };

	pack(&packer, value == NULL ? value_nil() : value);
}

void
value_pack_array(struct packet *packet, size_t count)
{
	msgpack_packer packer = { .data = packet, .callback = write_packet };

	msgpack_pack_array(&packer, count);
}

void
value_pack_map(struct packet *packet, size_t count)
{
	msgpack_packer packer = { .data = packet, .callback = write_packet };

	msgpack_pack_map(&packer, count);
}

void
value_pack_text(struct packet *packet, const char *text)
{
	value_pack_textn(packet, text, strlen(text));
}

void
value_pack_textn(struct packet *packet, const char *text, size_t size)
{
	msgpack_packer packer = { .data = packet, .callback = write_packet };

	msgpack_pack_str_with_body(&packer, text, size);
}

void
value_pack_int(struct packet *packet, int64_t integer)
{
	msgpack_packer packer = { .data = packet, .callback = write_packet };

	msgpack_pack_int64(&packer, integer);
}

const struct value *
value_freeze(struct arena *arena, const struct value *value)
{
	struct packet packet = { 0 };
	struct value *frozen;

	if (value == NULL)
		value = value_nil();
	if (value->packed != NULL)
		return value;
	value_pack(&packet, value);
	assert(packet.size < UINT32_MAX);
	frozen = arena_alloc(arena, sizeof *frozen);
	*frozen = *value;
	frozen->packed = (const uint8_t *)arena_copy(arena, packet.data, packet.size);
	frozen->packed_size = (uint32_t)packet.size;
	packet_release(&packet);
	return frozen;
}
