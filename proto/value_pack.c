/* Values to msgpack bytes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* Small and inline: a message is a thousand of these. Returns where size bytes go. */
static inline char *
extend(struct packet *packet, size_t size)
{
	char *at;

	if (size > packet->room - packet->size)
		grow(packet, size);
	at = packet->data + packet->size;
	packet->size += size;
	return at;
}

static inline void
append(struct packet *packet, const void *data, size_t size)
{
	if (size > 0)
		memcpy(extend(packet, size), data, size);
}

void
packet_append(struct packet *packet, const void *data, size_t size)
{
	append(packet, data, size);
}

void
packet_copy(struct packet *packet, const void *data, size_t size)
{
	assert(packet->data == NULL);
	if (size == 0)
		return;
	packet->data = malloc(size);
	if (packet->data == NULL)
		arena_exhausted();
	memcpy(packet->data, data, size);
	packet->size = packet->room = size;
}

void
packet_release(struct packet *packet)
{
	free(packet->data);
	*packet = (struct packet){ 0 };
}

/* --- the heads of msgpack's specification ---------------------------------------------- */

/* Appends tag and number's last bytes, the highest first. */
static inline void
put_tagged(struct packet *packet, uint8_t tag, uint64_t number, unsigned bytes)
{
	uint64_t swapped = __builtin_bswap64(number);
	char *at = extend(packet, 1 + bytes);

	at[0] = (char)tag;
	memcpy(at + 1, (const char *)&swapped + sizeof swapped - bytes, bytes);
}

/* How the sizes of one type are told: up to `most` in the tag `small` itself, else behind the tags
 * of 1, 2 and 4 bytes; wide[0] is 0 where there is none of 1. */
struct sizes {
	uint8_t small, most, wide[3];
};
static const struct sizes texts = { 0xa0, 31, { 0xd9, 0xda, 0xdb } };
static const struct sizes arrays = { 0x90, 15, { 0, 0xdc, 0xdd } };
static const struct sizes maps = { 0x80, 15, { 0, 0xde, 0xdf } };

static inline void
put_size(struct packet *packet, const struct sizes *sizes, size_t size)
{
	assert(size <= UINT32_MAX);
	if (size <= sizes->most)
		*extend(packet, 1) = (char)(sizes->small | size);
	else if (size <= UINT8_MAX && sizes->wide[0] != 0)
		put_tagged(packet, sizes->wide[0], size, 1);
	else if (size <= UINT16_MAX)
		put_tagged(packet, sizes->wide[1], size, 2);
	else
		put_tagged(packet, sizes->wide[2], size, 4);
}

static void
put_bin_size(struct packet *packet, size_t size)
{
	if (size <= UINT8_MAX)
		put_tagged(packet, 0xc4, size, 1);
	else if (size <= UINT16_MAX)
		put_tagged(packet, 0xc5, size, 2);
	else
		put_tagged(packet, 0xc6, size, 4);
}

/* In as few bytes as it fits. */
static void
put_int(struct packet *packet, int64_t integer)
{
	uint64_t number = (uint64_t)integer;

	if (integer >= -32 && integer <= INT8_MAX)
		*extend(packet, 1) = (char)integer;
	else if (integer >= 0 && integer <= UINT8_MAX)
		put_tagged(packet, 0xcc, number, 1);
	else if (integer >= 0 && integer <= UINT16_MAX)
		put_tagged(packet, 0xcd, number, 2);
	else if (integer >= 0 && integer <= UINT32_MAX)
		put_tagged(packet, 0xce, number, 4);
	else if (integer >= 0)
		put_tagged(packet, 0xcf, number, 8);
	else if (integer >= INT8_MIN)
		put_tagged(packet, 0xd0, number, 1);
	else if (integer >= INT16_MIN)
		put_tagged(packet, 0xd1, number, 2);
	else if (integer >= INT32_MIN)
		put_tagged(packet, 0xd2, number, 4);
	else
		put_tagged(packet, 0xd3, number, 8);
}

static inline void
put_text(struct packet *packet, const char *text, size_t size)
{
	put_size(packet, &texts, size);
	append(packet, text, size);
}

/* --- values ----------------------------------------------------------------------------- */

static void pack(struct packet *packet, const struct value *value);

static void
pack_float(struct packet *packet, double real)
{
	uint64_t bits;

	memcpy(&bits, &real, sizeof bits);
	put_tagged(packet, 0xcb, bits, sizeof bits);
}

static void
pack_known(struct packet *packet, const struct value *value)
{
	size_t i;

	switch (value->type) {
	case VALUE_NIL:
		*extend(packet, 1) = (char)0xc0;
		break;
	case VALUE_BOOL:
		*extend(packet, 1) = (char)(value->boolean ? 0xc3 : 0xc2);
		break;
	case VALUE_INT:
		put_int(packet, value->integer);
		break;
	case VALUE_FLOAT:
		pack_float(packet, value->real);
		break;
	case VALUE_STR:
		put_text(packet, value->text, value->size);
		break;
	case VALUE_BIN:
		put_bin_size(packet, value->size);
		append(packet, value->text, value->size);
		break;
	case VALUE_ARRAY:
		put_size(packet, &arrays, value->size);
		for (i = 0; i < value->size; i++)
			pack(packet, value->items[i]);
		break;
	case VALUE_MAP:
		put_size(packet, &maps, value->size);
		for (i = 0; i < value->size; i++) {
			const struct value *key = value->pairs[i].key;

			put_text(packet, key->text, key->size);
			pack(packet, value->pairs[i].value);
		}
		break;
	}
}

static void
pack(struct packet *packet, const struct value *value)
{
	if (value->packed != NULL)
		append(packet, value->packed, value->packed_size);
	else
		pack_known(packet, value);
}

void
value_pack(struct packet *packet, const struct value *value)
{
	pack(packet, value == NULL ? value_nil() : value);
}

void
value_pack_array(struct packet *packet, size_t count)
{
	put_size(packet, &arrays, count);
}

void
value_pack_map(struct packet *packet, size_t count)
{
	put_size(packet, &maps, count);
}

void
value_pack_text(struct packet *packet, const char *text)
{
	put_text(packet, text, strlen(text));
}

void
value_pack_textn(struct packet *packet, const char *text, size_t size)
{
	put_text(packet, text, size);
}

void
value_pack_int(struct packet *packet, int64_t integer)
{
	put_int(packet, integer);
}

/* --- freezing --------------------------------------------------------------------------- */

/* Values are frozen one at a time: each is packed here and copied where it stays. Of each
 * thread. */
static _Thread_local struct packet bench;
#define BENCH_KEPT (64u << 10)

/* Returns value with what lies on the bench as its bytes. */
static const struct value *
with_bytes(struct arena *arena, const struct value *value)
{
	struct value *frozen = arena_take(arena, sizeof *frozen);

	assert(bench.size < UINT32_MAX);
	*frozen = *value;
	frozen->packed = (const uint8_t *)arena_copy(arena, bench.data, bench.size);
	frozen->packed_size = (uint32_t)bench.size;
	if (bench.room > BENCH_KEPT)
		packet_release(&bench);
	return frozen;
}

const struct value *
value_freeze(struct arena *arena, const struct value *value)
{
	if (value == NULL)
		value = value_nil();
	if (value->packed != NULL)
		return value;
	bench.size = 0;
	pack_known(&bench, value);
	return with_bytes(arena, value);
}

/* How many bytes of a packed map stand before its first key. */
static size_t
map_head_bytes(const uint8_t *packed)
{
	if (*packed == 0xde)
		return 3;
	return *packed == 0xdf ? 5 : 1;
}

const struct value *
value_freeze_with(struct arena *arena, const struct value *map, const char *key,
    const struct value *value)
{
	const struct value *whole = value_map_with(arena, map, key, value);
	size_t head;

	if (!value_is(map, VALUE_MAP) || map->packed == NULL ||
	    whole->size != map->size + 1)
		return value_freeze(arena, whole);
	head = map_head_bytes(map->packed);
	bench.size = 0;
	put_size(&bench, &maps, whole->size);
	append(&bench, map->packed + head, map->packed_size - head);
	put_text(&bench, key, strlen(key));
	pack(&bench, value);
	return with_bytes(arena, whole);
}
