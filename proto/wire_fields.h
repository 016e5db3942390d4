/* wire_fields: the tables behind wire.[ch], made from fields.def. Inside proto only. */
#ifndef WIRE_FIELDS_H
#define WIRE_FIELDS_H

#include "wire.h"

#define PREAMBLE_BYTES 8u
#define KEYS_MAX 64u /* keys of ours are below: one bit each tells which were there */

enum wire_kind {
	KIND_NONE,
	KIND_UINT,
	KIND_ID,
	KIND_TEXT,
	KIND_SESSION,
	KIND_SERVICES,
	KIND_CALLS,
};

enum wire_key {
#define FIELD(key, member, kind, max, text) KEY_##member = key,
#include "fields.def"
#undef FIELD
};

/* What a field is, where it lies in struct header, what to say when it is wrong. */
struct wire_field {
	enum wire_kind kind;
	size_t offset;
	uint64_t max;
	const char *refusal;
};

/* By key; KIND_NONE where there is no such field. */
extern const struct wire_field wire_fields[KEYS_MAX];

/* True when header has the field: it is not 0, NULL, "" or empty. */
bool wire_is_set(const struct header *header, const struct wire_field *field);

#endif
