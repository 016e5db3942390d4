/* JSON text to values. */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "key_index.h"
#include "bounds.h"
#include "memory.h"
#include "place.h"
#include "utf8.h"

#define STACK_VALUES_AT_FIRST 64u /* as many as the allocator has at hand */
#define NUMBER_BYTES 64u
#define KEYS_KNOWN 64u /* a power of two */

/* Values that have no container yet lie on one stack; an open container knows where its
 * own begin. When it ends they move into the arena at their exact size. */
struct parser {
	struct arena *arena;
	const struct value **stack;
	size_t count, room;
	size_t starts[VALUE_DEPTH_MAX];
	size_t depth;
	size_t nodes;
	/* The last key of each slot: lists of maps have the same few keys again and
	 * again, and can share them. */
	const struct value *keys[KEYS_KNOWN];
	yajl_handle yajl;
	size_t end; /* behind the outermost value; the text's size while it has none */
	const char *error; /* ours; NULL: yajl's */
};

/* Returns 0, what tells yajl to stop. */
static int
refuse(struct parser *parser, const char *error)
{
	parser->error = error;
	return 0;
}

static int
push(struct parser *parser, const struct value *value)
{
	if (++parser->nodes > VALUE_NODES_MAX)
		return refuse(parser, "too many values");
	if (parser->count == parser->room) {
		parser->room =
		    parser->room == 0 ? STACK_VALUES_AT_FIRST : 2 * parser->room;
		parser->stack = xreallocarray(
		    parser->stack, parser->room, sizeof(const struct value *));
	}
	parser->stack[parser->count++] = value;
	if (parser->depth == 0)
		parser->end = yajl_get_bytes_consumed(parser->yajl);
	return 1;
}

static int
on_null(void *arg)
{
	return push(arg, value_nil());
}

static int
on_boolean(void *arg, int boolean)
{
	return push(arg, value_bool(boolean));
}

static int
on_number(void *arg, const char *text, size_t size)
{
	struct parser *parser = arg;
	char copy[NUMBER_BYTES];
	long long integer;
	double real;

	if (size < sizeof copy) {
		memcpy(copy, text, size);
		copy[size] = '\0';
		text = copy;
	} else {
		text = arena_copy(parser->arena, text, size);
	}
	if (strpbrk(text, ".eE") == NULL) {
		errno = 0;
		integer = strtoll(text, NULL, 10);
		if (errno == 0)
			return push(parser, value_int(parser->arena, integer));
	}
	real = strtod(text, NULL);
	if (isinf(real))
		return refuse(parser, "a number is out of range");
	return push(parser, value_float(parser->arena, real));
}

/* As value_strn, but for its check: the whole text was found to be UTF-8. */
static const struct value *
string_of(struct arena *arena, const unsigned char *text, size_t size)
{
	struct value *value = arena_take(arena, sizeof *value);

	*value = (struct value){ .type = VALUE_STR,
		.size = (uint32_t)size,
		.text = arena_copy(arena, text, size) };
	return value;
}

static int
on_string(void *arg, const unsigned char *text, size_t size)
{
	struct parser *parser = arg;

	return push(parser, string_of(parser->arena, text, size));
}

static int
on_key(void *arg, const unsigned char *text, size_t size)
{
	struct parser *parser = arg;
	const struct value **known = &parser->keys[0];

	if (size > 0)
		known = &parser->keys[(size * 8 + text[0] + text[size - 1]) % KEYS_KNOWN];
	if (*known == NULL || (*known)->size != size ||
	    memcmp((*known)->text, text, size) != 0)
		*known = string_of(parser->arena, text, size);
	return push(parser, *known);
}

static int
on_start(void *arg)
{
	struct parser *parser = arg;

	if (parser->depth == VALUE_DEPTH_MAX)
		return refuse(parser, "nested too deep");
	parser->starts[parser->depth++] = parser->count;
	return 1;
}

static int
on_end_array(void *arg)
{
	struct parser *parser = arg;
	size_t start = parser->starts[--parser->depth];
	size_t count = parser->count - start;

	parser->count = start;
	if (count == 0)
		return push(parser, value_empty_array());
	return push(parser, value_array(parser->arena, parser->stack + start, count));
}

/* Returns the position of key among count pairs, or -1. */
static long
find_key(const struct value_pair *pairs, size_t count, const struct value *key)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (pairs[i].key->size == key->size &&
		    memcmp(pairs[i].key->text, key->text, key->size) == 0)
			return (long)i;
	return -1;
}

/* Fills pairs from count keys and values in turn, the last of a repeated key winning in
 * the place of the first. Returns how many there are. */
static size_t
pair_up(struct arena *arena, struct value_pair *pairs, const struct value **stack,
    size_t count)
{
	struct key_index *index = NULL;
	size_t i, filled = 0;
	long at;

	if (count > KEY_INDEX_FROM)
		index = key_index_new(arena, count);
	for (i = 0; i < count; i++) {
		if (index != NULL)
			at = key_index_put(index, pairs, stack[2 * i], filled);
		else
			at = find_key(pairs, filled, stack[2 * i]);
		if (at < 0) {
			at = (long)filled++;
			pairs[at].key = stack[2 * i];
		}
		pairs[at].value = stack[2 * i + 1];
	}
	return filled;
}

static int
on_end_map(void *arg)
{
	struct parser *parser = arg;
	size_t start = parser->starts[--parser->depth];
	size_t count = (parser->count - start) / 2;
	struct value_pair *pairs;
	struct value *map;

	parser->count = start;
	if (count == 0)
		return push(parser, value_empty_map());
	map = arena_take(parser->arena, sizeof *map);
	pairs = arena_take(parser->arena, count * sizeof *pairs);
	count = pair_up(parser->arena, pairs, parser->stack + start, count);
	*map =
	    (struct value){ .type = VALUE_MAP, .size = (uint32_t)count, .pairs = pairs };
	return push(parser, map);
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start,
	.yajl_end_array = on_end_array,
};

static bool
is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Returns the UTF-16 unit that the escape at at ("\uXXXX") writes, or -1 when none is
 * there. */
static long
escaped_unit(const char *at, const char *end)
{
	char digits[5] = { 0 };
	size_t i;

	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return -1;
	for (i = 0; i < 4; i++) {
		if (!is_hex(at[2 + i]))
			return -1;
		digits[i] = at[2 + i];
	}
	return strtol(digits, NULL, 16);
}

/* Returns where the next lone half of a surrogate pair is among the escapes from at on,
 * or NULL. */
static const char *
lone_surrogate(const char *at, const char *end)
{
	long unit;

	while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL && end - at >= 2) {
		unit = escaped_unit(at, end);
		if (unit < 0xd800 || unit > 0xdfff) {
			at += 2;
			continue;
		}
		if (unit > 0xdbff)
			return at;
		unit = escaped_unit(at + 6, end);
		if (unit < 0xdc00 || unit > 0xdfff)
			return at;
		at += 12;
	}
	return NULL;
}

/* yajl turns a lone surrogate into bytes that are not UTF-8, or into another character.
 * Returns text with U+FFFD for each, at the same offsets. */
static const char *
replace_surrogates(struct arena *arena, const char *text, size_t size)
{
	static const char replacement[] = "\\ufffd";
	const char *end = text + size;
	const char *at = lone_surrogate(text, end);
	char *copy;

	if (at == NULL)
		return text;
	copy = arena_copy(arena, text, size);
	for (; at != NULL; at = lone_surrogate(at + sizeof replacement - 1, end))
		memcpy(copy + (at - text), replacement, sizeof replacement - 1);
	return copy;
}

/* Returns reason with the line and column of the byte at offset, in arena. */
static const char *
placed(struct arena *arena, const char *text, size_t offset, const char *reason)
{
	struct place place = place_of(text, offset);

	return arena_printf(arena, "line %" PRIu32 ", column %" PRIu32 ": %s", place.line,
	    place.column, reason);
}

/* Returns yajl's reason in arena, without its class ("parse error: ") and newline. */
static const char *
yajl_reason(struct arena *arena, yajl_handle yajl)
{
	unsigned char *given = yajl_get_error(yajl, 0, NULL, 0);
	const char *text = (const char *)given, *colon;
	const char *reason = "not JSON";

	if (given == NULL)
		arena_exhausted();
	colon = strstr(text, ": ");
	if (colon != NULL)
		reason = arena_copy(arena, colon + 2, strcspn(colon + 2, "\n"));
	yajl_free_error(yajl, given);
	return reason;
}

/* Whether nothing but blanks follows the outermost value. yajl lets a string pass there
 * that begins and does not end. */
static bool
ends_there(struct parser *parser, const char *text, size_t size)
{
	while (parser->end < size && strchr(" \t\r\n", text[parser->end]) != NULL &&
	       text[parser->end] != '\0')
		parser->end++;
	if (parser->end == size)
		return true;
	parser->error = "trailing garbage";
	return false;
}

static const struct value *
parse(struct parser *parser, const char *text, size_t size, const char **error_r)
{
	yajl_handle yajl = yajl_alloc(&callbacks, NULL, parser);
	const struct value *value = NULL;
	yajl_status status;
	size_t at = size;

	if (yajl == NULL)
		arena_exhausted();
	parser->yajl = yajl;
	parser->end = size;
	yajl_config(yajl, yajl_dont_validate_strings, 1); /* it lets surrogates pass */
	status = yajl_parse(yajl, (const unsigned char *)text, size);
	if (status != yajl_status_ok)
		at = yajl_get_bytes_consumed(yajl);
	else if (!ends_there(parser, text, size))
		at = parser->end;
	else
		status = yajl_complete_parse(yajl);
	if (status == yajl_status_ok && parser->error == NULL)
		value = parser->stack[0];
	else if (parser->error != NULL)
		*error_r = placed(parser->arena, text, at, parser->error);
	else
		*error_r =
		    placed(parser->arena, text, at, yajl_reason(parser->arena, yajl));
	yajl_free(yajl);
	return value;
}

const struct value *
json_parse(struct arena *arena, const char *text, size_t size, const char **error_r)
{
	struct parser parser = { .arena = arena };
	const struct value *value;
	size_t valid;

	if (size > JSON_BYTES_MAX) {
		*error_r = arena_printf(arena, "larger than %u bytes", JSON_BYTES_MAX);
		return NULL;
	}
	valid = utf8_span(text, size);
	if (valid < size) {
		*error_r = placed(arena, text, valid, "not UTF-8");
		return NULL;
	}
	value = parse(&parser, replace_surrogates(arena, text, size), size, error_r);
	free(parser.stack);
	return value;
}
