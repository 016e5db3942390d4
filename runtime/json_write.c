/* Values to JSON text. */
#include "json.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* Not yajl's generator: it looks at each byte by itself (five times slower here), prints
 * doubles with all their noise and stops at its own depth. */
struct writer {
	struct packet *packet;
	bool pretty;
	unsigned depth;
	size_t enough; /* no more items behind so many bytes */
};

static void write_value(struct writer *writer, const struct value *value);

static void
write_byte(struct writer *writer, char byte)
{
	struct packet *packet = writer->packet;

	if (packet->size < packet->room)
		packet->data[packet->size++] = byte;
	else
		packet_append(packet, &byte, 1);
}

static void
write_text(struct writer *writer, const char *text)
{
	packet_append(writer->packet, text, strlen(text));
}

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

/* Not zero when a byte of word is zero. */
static uint64_t
zero_byte(uint64_t word)
{
	return (word - EACH_BYTE(0x01)) & ~word & EACH_BYTE(0x80);
}

#define C1_BEGIN 0xc2u /* the first byte of U+0080 to U+00bf */

/* What JSON wants escaped, and what else drives a terminal, where a text may be shown: DEL, and
 * U+0080 to U+009f. */
static bool
is_special(const char *text, size_t size)
{
	const uint8_t *byte = (const uint8_t *)text;

	return *byte == '"' || *byte == '\\' || *byte < 0x20 || *byte == 0x7f ||
	       (*byte == C1_BEGIN && size > 1 && byte[1] >= 0x80 && byte[1] < 0xa0);
}

/* Not zero when a byte of word may be special. */
static uint64_t
special_bytes(uint64_t word)
{
	return zero_byte(word ^ EACH_BYTE('"')) | zero_byte(word ^ EACH_BYTE('\\')) |
	       zero_byte(word & EACH_BYTE(0xe0)) | zero_byte(word ^ EACH_BYTE(0x7f)) |
	       zero_byte(word ^ EACH_BYTE(C1_BEGIN));
}

/* True when the last bytes of a text, 8 at most, stand for themselves; false when that is not
 * to be said at once. Bytes before them are looked at again rather than these one by one. */
static bool
ends_plain(const char *text, size_t size)
{
	uint64_t word;
	uint32_t first, last;

	if (size >= sizeof word) {
		memcpy(&word, text + size - sizeof word, sizeof word);
	} else if (size >= sizeof last) {
		memcpy(&first, text, sizeof first);
		memcpy(&last, text + size - sizeof last, sizeof last);
		word = (uint64_t)first << 32 | last;
	} else {
		return false;
	}
	return special_bytes(word) == 0;
}

/* Returns how many bytes from the start stand for themselves in a string. */
static size_t
plain_bytes(const char *text, size_t size)
{
	size_t at = 0, end;
	uint64_t word;

	while (at < size) {
		for (; size - at > sizeof word; at += sizeof word) {
			memcpy(&word, text + at, sizeof word);
			if (special_bytes(word) != 0)
				break;
		}
		if (size - at <= sizeof word && ends_plain(text, size))
			return size;
		end = size - at > sizeof word ? at + sizeof word : size;
		for (; at < end; at++)
			if (is_special(text + at, size - at))
				return at;
	}
	return at;
}

/* Returns how many bytes it has written. */
static size_t
write_escape(struct writer *writer, const char *text)
{
	static const char *const names[] = { ['"'] = "\\\"",
		['\\'] = "\\\\",
		['\n'] = "\\n",
		['\r'] = "\\r",
		['\t'] = "\\t",
		['\b'] = "\\b",
		['\f'] = "\\f" };
	const uint8_t byte = (uint8_t)*text;
	bool is_c1 = byte == C1_BEGIN;
	char unit[8];

	if (byte < sizeof names / sizeof *names && names[byte] != NULL) {
		write_text(writer, names[byte]);
		return 1;
	}
	snprintf(unit, sizeof unit, "\\u%04x", is_c1 ? (uint8_t)text[1] : byte);
	write_text(writer, unit);
	return is_c1 ? 2 : 1;
}

static void
write_string(struct writer *writer, const char *text, size_t size)
{
	struct packet *packet = writer->packet;
	size_t plain = plain_bytes(text, size), escaped;
	size_t room = packet->room - packet->size;

	if (plain == size && room > size && room - size >= 2) {
		packet->data[packet->size++] = '"';
		memcpy(packet->data + packet->size, text, size);
		packet->size += size;
		packet->data[packet->size++] = '"';
		return;
	}
	write_byte(writer, '"');
	for (;; plain = plain_bytes(text, size)) {
		packet_append(packet, text, plain);
		if (plain == size)
			break;
		escaped = write_escape(writer, text + plain);
		text += plain + escaped;
		size -= plain + escaped;
	}
	write_byte(writer, '"');
}

/* What json_written makes has these as its packed bytes. */
static const uint8_t packed_nil[] = { 0xc0 };

const struct value *
json_written(struct arena *arena, const char *text, size_t size)
{
	struct value *value = arena_alloc(arena, sizeof *value);

	assert(size < UINT32_MAX);
	*value = (struct value){ .type = VALUE_BIN,
		.size = (uint32_t)size,
		.text = text,
		.packed = packed_nil,
		.packed_size = sizeof packed_nil };
	return value;
}

static void
write_binary(struct writer *writer, const struct value *value)
{
	struct arena *arena = arena_new();
	size_t size;
	const char *text = utf8_repair(arena, value->text, value->size, &size);

	write_string(writer, text, size);
	arena_destroy(&arena);
}

/* The fewest digits that read back as the same double. */
static void
write_float(struct writer *writer, double real)
{
	char text[40];
	int digits;

	if (!isfinite(real)) {
		write_text(writer, "null");
		return;
	}
	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, real);
		if (strtod(text, NULL) == real)
			break;
	}
	write_text(writer, text);
	if (strpbrk(text, ".e") == NULL)
		write_text(writer, ".0");
}

static void
write_integer(struct writer *writer, int64_t integer)
{
	char text[24], *at = text + sizeof text;
	uint64_t number = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	if (integer < 0)
		*--at = '-';
	packet_append(writer->packet, at, (size_t)(text + sizeof text - at));
}

/* Goes to the next line, where items are on lines of their own. */
static void
write_break(struct writer *writer)
{
	unsigned i;

	if (!writer->pretty)
		return;
	write_text(writer, "\n");
	for (i = 0; i < writer->depth; i++)
		write_text(writer, "  ");
}

static bool
goes_on(const struct writer *writer)
{
	return writer->packet->size < writer->enough;
}

static void
write_array(struct writer *writer, const struct value *array)
{
	size_t i;

	write_byte(writer, '[');
	writer->depth++;
	for (i = 0; i < array->size && goes_on(writer); i++) {
		if (i > 0)
			write_byte(writer, ',');
		write_break(writer);
		write_value(writer, array->items[i]);
	}
	writer->depth--;
	if (array->size > 0)
		write_break(writer);
	write_byte(writer, ']');
}

static void
write_map(struct writer *writer, const struct value *map)
{
	const struct value_pair *pair;
	size_t i;

	write_byte(writer, '{');
	writer->depth++;
	for (i = 0; i < map->size && goes_on(writer); i++) {
		pair = &map->pairs[i];
		if (i > 0)
			write_byte(writer, ',');
		write_break(writer);
		write_string(writer, pair->key->text, pair->key->size);
		write_text(writer, writer->pretty ? ": " : ":");
		write_value(writer, pair->value);
	}
	writer->depth--;
	if (map->size > 0)
		write_break(writer);
	write_byte(writer, '}');
}

static void
write_value(struct writer *writer, const struct value *value)
{
	switch (value->type) {
	case VALUE_NIL:
		write_text(writer, "null");
		break;
	case VALUE_BOOL:
		write_text(writer, value->boolean ? "true" : "false");
		break;
	case VALUE_INT:
		write_integer(writer, value->integer);
		break;
	case VALUE_FLOAT:
		write_float(writer, value->real);
		break;
	case VALUE_STR:
		write_string(writer, value->text, value->size);
		break;
	case VALUE_BIN:
		if (value->packed == packed_nil)
			packet_append(writer->packet, value->text, value->size);
		else
			write_binary(writer, value);
		break;
	case VALUE_ARRAY:
		write_array(writer, value);
		break;
	case VALUE_MAP:
		write_map(writer, value);
		break;
	}
}

void
json_write(struct packet *packet, const struct value *value)
{
	struct writer writer = { .packet = packet, .enough = SIZE_MAX };

	write_value(&writer, value == NULL ? value_nil() : value);
}

static const char *
text_of(struct arena *arena, const struct value *value, bool pretty, size_t enough)
{
	struct packet packet = { 0 };
	struct writer writer = { .packet = &packet, .pretty = pretty, .enough = enough };
	const char *text;

	write_value(&writer, value == NULL ? value_nil() : value);
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

const char *
json_text(struct arena *arena, const struct value *value)
{
	return text_of(arena, value, false, SIZE_MAX);
}

const char *
json_beginning(struct arena *arena, const struct value *value, size_t enough)
{
	return text_of(arena, value, false, enough);
}

const char *
json_pretty(struct arena *arena, const struct value *value)
{
	return text_of(arena, value, true, SIZE_MAX);
}
