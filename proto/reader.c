#include "reader.h"

#include <string.h>

/* The first bytes of what msgpack can say, see its specification. */
enum tag {
	TAG_FIXMAP = 0x80,
	TAG_FIXARRAY = 0x90,
	TAG_FIXSTR = 0xa0,
	TAG_NIL = 0xc0,
	TAG_FALSE = 0xc2,
	TAG_TRUE = 0xc3,
	TAG_BIN8 = 0xc4,
	TAG_BIN32 = 0xc6,
	TAG_FLOAT32 = 0xca,
	TAG_FLOAT64 = 0xcb,
	TAG_UINT8 = 0xcc,
	TAG_UINT64 = 0xcf,
	TAG_INT8 = 0xd0,
	TAG_INT64 = 0xd3,
	TAG_STR8 = 0xd9,
	TAG_STR32 = 0xdb,
	TAG_ARRAY16 = 0xdc,
	TAG_ARRAY32 = 0xdd,
	TAG_MAP16 = 0xde,
	TAG_MAP32 = 0xdf,
	TAG_NEGATIVE_FIXINT = 0xe0,
};

static size_t
left(const struct reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

void
reader_start(struct reader *reader, const void *data, size_t size)
{
	*reader = (struct reader){ .at = data, .owed = 1 };
	reader->end = reader->at + size;
}

void
reader_fail(struct reader *reader, const char *error)
{
	if (reader->error == NULL)
		reader->error = error;
	reader->at = reader->end;
}

static uint64_t
big_endian(struct reader *reader, size_t size)
{
	uint64_t number = 0;

	if (left(reader) < size) {
		reader_fail(reader, "cut short");
		return 0;
	}
	while (size-- > 0)
		number = number << 8 | *reader->at++;
	return number;
}

static struct token
bytes(struct reader *reader, enum value_type type, uint64_t size)
{
	struct token token = {
		.type = type, .size = (uint32_t)size, .bytes = reader->at
	};

	if (left(reader) < size)
		reader_fail(reader, "cut short");
	else
		reader->at += size;
	return token;
}

static struct token
container(struct reader *reader, enum value_type type, uint64_t count)
{
	reader->owed += (size_t)count * (type == VALUE_MAP ? 2 : 1);
	return (struct token){ .type = type, .size = (uint32_t)count };
}

static struct token
integer(int64_t number)
{
	return (struct token){ .type = VALUE_INT, .integer = number };
}

static struct token
unsigned_integer(struct reader *reader, size_t size)
{
	uint64_t number = big_endian(reader, size);

	if (number > INT64_MAX)
		return (struct token){ .type = VALUE_FLOAT, .real = (double)number };
	return integer((int64_t)number);
}

static struct token
signed_integer(struct reader *reader, size_t size)
{
	uint64_t number = big_endian(reader, size);

	switch (size) {
	case 1:
		return integer((int8_t)number);
	case 2:
		return integer((int16_t)number);
	case 4:
		return integer((int32_t)number);
	default:
		return integer((int64_t)number);
	}
}

static struct token
real(struct reader *reader, size_t size)
{
	struct token token = { .type = VALUE_FLOAT };
	uint64_t bits = big_endian(reader, size);
	uint32_t half = (uint32_t)bits;
	float narrow;

	if (size == sizeof narrow) {
		memcpy(&narrow, &half, sizeof narrow);
		token.real = (double)narrow;
	} else {
		memcpy(&token.real, &bits, sizeof bits);
	}
	return token;
}

static struct token
tagged(struct reader *reader, uint8_t tag)
{
	if (tag >= TAG_UINT8 && tag <= TAG_UINT64)
		return unsigned_integer(reader, 1u << (tag - TAG_UINT8));
	if (tag >= TAG_INT8 && tag <= TAG_INT64)
		return signed_integer(reader, 1u << (tag - TAG_INT8));
	if (tag >= TAG_STR8 && tag <= TAG_STR32)
		return bytes(
		    reader, VALUE_STR, big_endian(reader, 1u << (tag - TAG_STR8)));
	if (tag >= TAG_BIN8 && tag <= TAG_BIN32)
		return bytes(
		    reader, VALUE_BIN, big_endian(reader, 1u << (tag - TAG_BIN8)));
	switch (tag) {
	case TAG_NIL:
		return (struct token){ .type = VALUE_NIL };
	case TAG_FALSE:
	case TAG_TRUE:
		return (struct token){ .type = VALUE_BOOL, .boolean = tag == TAG_TRUE };
	case TAG_FLOAT32:
	case TAG_FLOAT64:
		return real(reader, tag == TAG_FLOAT32 ? 4 : 8);
	case TAG_ARRAY16:
	case TAG_ARRAY32:
		return container(
		    reader, VALUE_ARRAY, big_endian(reader, tag == TAG_ARRAY16 ? 2 : 4));
	case TAG_MAP16:
	case TAG_MAP32:
		return container(
		    reader, VALUE_MAP, big_endian(reader, tag == TAG_MAP16 ? 2 : 4));
	default:
		reader_fail(reader, "a msgpack type we do not use");
		return (struct token){ .type = VALUE_NIL };
	}
}

struct token
reader_next(struct reader *reader)
{
	struct token token;
	uint8_t tag;

	if (reader->error == NULL && (left(reader) == 0 || reader->owed == 0))
		reader_fail(reader, "cut short");
	if (reader->error != NULL)
		return (struct token){ .type = VALUE_NIL };
	reader->owed--;
	tag = *reader->at++;
	if (tag < TAG_FIXMAP)
		token = integer(tag);
	else if (tag >= TAG_NEGATIVE_FIXINT)
		token = integer((int8_t)tag);
	else if (tag < TAG_FIXARRAY)
		token = container(reader, VALUE_MAP, tag & 0x0fu);
	else if (tag < TAG_FIXSTR)
		token = container(reader, VALUE_ARRAY, tag & 0x0fu);
	else if (tag < TAG_NIL)
		token = bytes(reader, VALUE_STR, tag & 0x1fu);
	else
		token = tagged(reader, tag);
	if (reader->owed > left(reader))
		reader_fail(reader, "a count is larger than what follows");
	if (reader->error != NULL)
		return (struct token){ .type = VALUE_NIL };
	return token;
}

void
reader_skip(struct reader *reader, unsigned depth)
{
	struct token token = reader_next(reader);
	size_t owed_after = reader->owed;

	if (token.type != VALUE_ARRAY && token.type != VALUE_MAP)
		return;
	if (depth == 0) {
		reader_fail(reader, "nested too deep");
		return;
	}
	owed_after -= (size_t)token.size * (token.type == VALUE_MAP ? 2 : 1);
	while (reader->error == NULL && reader->owed > owed_after)
		reader_skip(reader, depth - 1);
}

int
reader_end(struct reader *reader)
{
	if (reader->error == NULL && reader->owed > 0)
		reader_fail(reader, "cut short");
	if (reader->error == NULL && reader->at != reader->end)
		reader_fail(reader, "bytes behind the end");
	return reader->error == NULL ? 0 : -1;
}
