/* value: the one kind of data: messages, state, settings, schemas.
 *
 * A value is immutable and lives in an arena. "Changing" a map or array makes a new one
 * that shares the rest. The same data model in memory, on the wire and in Redis
 * (msgpack), and at the edges JSON and YAML. Integers are int64; larger ones become
 * floats. Strings are UTF-8 with their size and also NUL-terminated (a NUL inside is
 * possible: use size where it matters). Map keys are strings, order is kept, no key
 * twice.
 *
 * A value must not outlive its arena, nor point into an arena that goes before its own:
 * value_copy() moves it. All look-ups accept NULL and wrong types and answer "absent". */
#ifndef VALUE_H
#define VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

enum value_type {
	VALUE_NIL,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_FLOAT,
	VALUE_STR,
	VALUE_BIN,
	VALUE_ARRAY,
	VALUE_MAP,
};

struct value;

struct value_pair {
	const struct value *key; /* VALUE_STR */
	const struct value *value;
};

struct value {
	enum value_type type;
	uint32_t
	    size; /* bytes of a string or binary, items of an array, pairs of a map */
	union {
		bool boolean;
		int64_t integer;
		double real;
		const char *text; /* VALUE_STR (NUL-terminated) and VALUE_BIN */
		const struct value *const *items; /* VALUE_ARRAY */
		const struct value_pair *pairs;   /* VALUE_MAP */
	};
	const uint8_t *packed; /* its msgpack bytes when known (value_freeze,
				  value_unpack), else NULL */
	uint32_t packed_size;
};

/* --- making ------------------------------------------------------------------------- */

/* Shared constants, never freed. */
const struct value *value_nil(void);
const struct value *value_bool(bool boolean);
const struct value *value_empty_map(void);
const struct value *value_empty_array(void);

const struct value *value_int(struct arena *arena, int64_t integer);
const struct value *value_float(struct arena *arena, double real);
/* text is copied; a byte that is not UTF-8 becomes U+FFFD, so that no peer refuses what
 * we made. NULL makes nil. */
const struct value *value_str(struct arena *arena, const char *text);
const struct value *value_strn(struct arena *arena, const char *text, size_t size);
const struct value *value_bin(struct arena *arena, const void *data, size_t size);
const struct value *value_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* value_map(arena, "type", t, "id", i, NULL): pairs up to the NULL; pairs whose value is
 * NULL are left out. Keys are copied, values shared. */
const struct value *value_map(struct arena *arena, ...);

/* A string that is the same each time, as a constant: no arena holds it. By way of a variable: where all of
 * an initializer is constants, clang 14 leaves such a string zero. */
#define VALUE_TEXT(literal)                                                              \
	__extension__({                                                                  \
		static const struct value constant_text = { .type = VALUE_STR,           \
			.size = sizeof(literal) - 1,                                     \
			.text = (literal) };                                             \
		const struct value *here = &constant_text;                               \
		here;                                                                    \
	})

/* Returns a map of the count pairs, without those whose value is NULL; keys (different ones) and
 * values are shared. For maps that are made often: value_map copies its keys. */
const struct value *value_map_of(
    struct arena *arena, const struct value_pair *pairs, size_t count);

/* Returns an array that shares the count items. items is copied. */
const struct value *value_array(
    struct arena *arena, const struct value *const *items, size_t count);

/* A list under construction; zero it but for the arena, add, end. */
struct value_list {
	struct arena *arena;
	const struct value **items;
	size_t count, room;
};
void value_list_add(struct value_list *list, const struct value *item);
void value_list_add_all(
    struct value_list *list, const struct value *array); /* NULL: none */
const struct value *value_list_end(struct value_list *list);

/* A map under construction, as the list. A key set again replaces the value in place;
 * value NULL changes nothing. Large maps are indexed: n pairs cost n. */
struct value_fields {
	struct arena *arena;
	struct value_pair *pairs;
	size_t count, room;
	struct key_index *index;
};
void value_fields_set(
    struct value_fields *fields, const char *key, const struct value *value);
/* Shares key, which is a string. */
void value_fields_put(
    struct value_fields *fields, const struct value *key, const struct value *value);
void value_fields_put_all(
    struct value_fields *fields, const struct value *map); /* NULL: none */
const struct value *value_fields_end(struct value_fields *fields);

/* --- changing: a new value that shares the rest ------------------------------------- */

/* map may be NULL (as empty). value NULL removes the key. */
const struct value *value_map_with(struct arena *arena, const struct value *map,
    const char *key, const struct value *value);
/* b's pairs over a's; either may be NULL. */
const struct value *value_map_merge(
    struct arena *arena, const struct value *a, const struct value *b);
/* Either may be NULL (as empty). */
const struct value *value_array_concat(
    struct arena *arena, const struct value *a, const struct value *b);
/* Items from (inclusive) to (exclusive), clamped. */
const struct value *value_array_slice(
    struct arena *arena, const struct value *array, size_t from, size_t to);
const struct value *value_array_add(
    struct arena *arena, const struct value *array, const struct value *item);

/* Returns a deep copy in arena, packed bytes included. */
const struct value *value_copy(struct arena *arena, const struct value *value);

/* --- looking: NULL and wrong types answer "absent" ---------------------------------- */

bool value_is(const struct value *value, enum value_type type); /* false for NULL */
bool value_is_nil(const struct value *value);                   /* true for NULL too */
bool value_is_number(const struct value *value);
/* Truth as in Python: nil, false, 0, "", [], {} and NULL are false. */
bool value_truthy(const struct value *value);
/* Items of an array, pairs of a map, bytes of a string, else 0. */
size_t value_size(const struct value *value);
/* Nesting of arrays and maps, counted up to most: 0 for other values. */
unsigned value_depth(const struct value *value, unsigned most);
const struct value *value_at(const struct value *array, size_t index);   /* or NULL */
const struct value *value_get(const struct value *map, const char *key); /* or NULL */
bool value_has(const struct value *map, const char *key);
/* Many keys of one map (or NULL), one after the other: a large one is indexed in arena, and n looks cost n. */
struct value_lookup {
	const struct value *map;
	struct arena *arena;
	struct key_index *index; /* 0 at first */
};
const struct value *value_look(
    struct value_lookup *lookup, const struct value *key); /* or NULL */
const char *value_text(const struct value *value);         /* or NULL */
bool value_text_is(const struct value *value, const char *text);
const char *value_get_text(const struct value *map, const char *key); /* or NULL */
int64_t value_get_int(const struct value *map, const char *key, int64_t otherwise);
double value_get_number(const struct value *map, const char *key, double otherwise);
double value_number(const struct value *value, double otherwise);
/* The same without what is behind its point; beyond 2^53, which a double counts to, that. */
int64_t value_whole(const struct value *value, int64_t otherwise);
bool value_get_bool(const struct value *map, const char *key, bool otherwise);
bool value_contains(
    const struct value *array, const char *text); /* a string among the items */
/* Deep equality. Numbers compare by value (1 == 1.0); map order does not matter. */
bool value_equal(const struct value *a, const struct value *b);
const char *value_type_name(
    enum value_type type); /* JSON's names: "string", "integer", ... */

/* --- msgpack ------------------------------------------------------------------------ */

/* Bytes under construction. data is the caller's to read until the next append;
 * packet_release frees. Zero-initialise. */
struct packet {
	char *data;
	size_t size, room;
};
void packet_append(struct packet *packet, const void *data, size_t size);
/* Makes an empty packet hold these bytes, and room for no more: for bytes that are kept for long. */
void packet_copy(struct packet *packet, const void *data, size_t size);
void packet_release(struct packet *packet); /* frees and zeroes; safe on a zeroed one */

/* Appends value's msgpack bytes. NULL is packed as nil. Uses ->packed where known. */
void value_pack(struct packet *packet, const struct value *value);
/* Appends an array header: for writing a list whose items are packed one by one. */
void value_pack_array(struct packet *packet, size_t count);
void value_pack_map(struct packet *packet, size_t count);
void value_pack_text(struct packet *packet, const char *text);
void value_pack_textn(struct packet *packet, const char *text, size_t size);
void value_pack_int(struct packet *packet, int64_t integer);

/* Returns an equal value that knows its packed bytes (both in arena), so that packing it
 * again is a copy: for what travels more than once. */
const struct value *value_freeze(struct arena *arena, const struct value *value);
/* value_freeze of value_map_with. The bytes of a map that knows its own are copied, not made again, where
 * key is a new one. */
const struct value *value_freeze_with(struct arena *arena, const struct value *map,
    const char *key, const struct value *value);

/* Decodes exactly one value that fills size bytes. Checks before it believes: counts
 * against the bytes left, depth against PACKED_DEPTH_MAX, nodes against VALUE_NODES_MAX,
 * string keys without repeats, valid UTF-8 in strings; ext types are refused. Arrays and
 * maps remember their packed bytes (the bytes are copied into arena once). Returns 0, or
 * -1 with a reason lent for ever. */
int value_unpack(struct arena *arena, const void *data, size_t size,
    const struct value **value_r, const char **error_r);

#endif
