/* Msgpack bytes from outside to values. */
#include <string.h>

#include "key_index.h"
#include "bounds.h"
#include "reader.h"
#include "utf8.h"
#include "value.h"

struct unpacker {
	struct reader reader;
	struct arena *arena;
	char *texts; /* where the next string goes, see value_unpack */
	size_t nodes;
};

static void unpack(struct unpacker *unpacker, struct value *value, unsigned depth);

static void
unpack_text(struct unpacker *unpacker, struct value *value, const struct token *token)
{
	value->text = unpacker->texts;
	memcpy(unpacker->texts, token->bytes, token->size);
	unpacker->texts[token->size] = '\0';
	unpacker->texts += token->size + 1;
}

static void
unpack_items(struct unpacker *unpacker, struct value *array, unsigned depth)
{
	struct value *items;
	const struct value **list;
	size_t i;

	items = arena_take(unpacker->arena, array->size * sizeof *items);
	list = arena_take(unpacker->arena, array->size * sizeof *list);
	array->items = list;
	for (i = 0; i < array->size && unpacker->reader.error == NULL; i++) {
		unpack(unpacker, &items[i], depth);
		list[i] = &items[i];
	}
}

/* True when key is among the count pairs; else the next pair must be key's. */
static bool
is_repeated(const struct value_pair *pairs, size_t count, const struct value *key,
    struct key_index *index)
{
	size_t i;

	if (index != NULL)
		return key_index_put(index, pairs, key, count) >= 0;
	for (i = 0; i < count; i++)
		if (pairs[i].key->size == key->size &&
		    memcmp(pairs[i].key->text, key->text, key->size) == 0)
			return true;
	return false;
}

static void
unpack_pairs(struct unpacker *unpacker, struct value *map, unsigned depth)
{
	struct reader *reader = &unpacker->reader;
	struct key_index *index = NULL;
	struct value_pair *pairs;
	struct value *values;
	size_t i;

	values = arena_take(unpacker->arena, (size_t)map->size * 2 * sizeof *values);
	pairs = arena_take(unpacker->arena, map->size * sizeof *pairs);
	map->pairs = pairs;
	if (map->size > KEY_INDEX_FROM)
		index = key_index_new(unpacker->arena, map->size);
	for (i = 0; i < map->size; i++) {
		unpack(unpacker, &values[2 * i], 0);
		if (reader->error == NULL && values[2 * i].type != VALUE_STR)
			reader_fail(reader, "a key is not a string");
		if (reader->error == NULL && is_repeated(pairs, i, &values[2 * i], index))
			reader_fail(reader, "a key is there twice");
		if (reader->error != NULL)
			return;
		pairs[i] = (struct value_pair){ &values[2 * i], &values[2 * i + 1] };
		unpack(unpacker, &values[2 * i + 1], depth);
	}
}

static void
unpack_container(struct unpacker *unpacker, struct value *value, unsigned depth)
{
	struct reader *reader = &unpacker->reader;

	unpacker->nodes += (size_t)value->size * (value->type == VALUE_MAP ? 2 : 1);
	if (unpacker->nodes > VALUE_NODES_MAX)
		reader_fail(reader, "too many values");
	else if (depth == 0)
		reader_fail(reader, "nested too deep, or a key is not a string");
	else if (value->type == VALUE_ARRAY)
		unpack_items(unpacker, value, depth - 1);
	else
		unpack_pairs(unpacker, value, depth - 1);
}

/* Fills value; after an error it may hold anything. depth is how many arrays and maps may still nest
 * here. */
static void
unpack(struct unpacker *unpacker, struct value *value, unsigned depth)
{
	struct reader *reader = &unpacker->reader;
	const uint8_t *start = reader->at;
	struct token token = reader_next(reader);

	if (reader->error != NULL)
		return;
	*value = (struct value){ .type = token.type, .size = token.size };
	switch (token.type) {
	case VALUE_STR:
		unpack_text(unpacker, value, &token);
		break;
	case VALUE_BIN:
		value->text = (const char *)token.bytes;
		break;
	case VALUE_ARRAY:
	case VALUE_MAP:
		unpack_container(unpacker, value, depth);
		value->packed = start;
		value->packed_size = (uint32_t)(reader->at - start);
		break;
	case VALUE_BOOL:
		value->boolean = token.boolean;
		break;
	case VALUE_FLOAT:
		value->real = token.real;
		break;
	case VALUE_INT:
		value->integer = token.integer;
		break;
	case VALUE_NIL:
		break;
	}
}

int
value_unpack(struct arena *arena, const void *data, size_t size,
    const struct value **value_r, const char **error_r)
{
	struct unpacker unpacker = { .arena = arena };
	struct value *value;
	char *texts;

	if (size >= UINT32_MAX) {
		*error_r = "too large";
		return -1;
	}
	/* A string's msgpack has a byte of header at least, its text a NUL: all strings
	 * with their NULs fit into as many bytes as came. */
	unpacker.texts = texts = arena_take(arena, size);
	reader_start(&unpacker.reader, arena_copy(arena, data, size), size);
	value = arena_take(arena, sizeof *value);
	unpack(&unpacker, value, PACKED_DEPTH_MAX);
	/* All at once is quicker; the NULs between them keep characters apart. */
	if (!utf8_valid(texts, (size_t)(unpacker.texts - texts)))
		reader_fail(&unpacker.reader, "a string is not UTF-8");
	if (reader_end(&unpacker.reader) == -1) {
		*error_r = unpacker.reader.error;
		return -1;
	}
	*value_r = value;
	return 0;
}
