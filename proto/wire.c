#include "wire.h"

#include <assert.h>
#include <string.h>

#include "utf8.h"
#include "wire_fields.h"

const struct wire_field wire_fields[KEYS_MAX] = {
#define FIELD(key, member, kind, max, text)                                              \
	[key] = { KIND_##kind, offsetof(struct header, member), max,                     \
		"field " #member " has a wrong type or is out of bounds" },
#include "fields.def"
#undef FIELD
};

/* As large as the largest key wants. */
static const bool wire_fields_known[] = {
#define FIELD(key, member, kind, max, text) [key] = true,
#include "fields.def"
#undef FIELD
};

static const char *const message_names[] = {
#define MSG(name, number, way, text) [number] = #name,
#include "messages.def"
#undef MSG
};

static const struct {
	const char *name, *text;
	bool retry;
} codes[] = {
#define CODE(name, number, retry, text) [number] = { #name, text, retry },
#include "codes.def"
#undef CODE
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- names -------------------------------------------------------------------------- */

bool
wire_message_known(unsigned type)
{
	return type < COUNT(message_names) && message_names[type] != NULL;
}

const char *
wire_message_name(unsigned type)
{
	return wire_message_known(type) ? message_names[type] : "?";
}

static bool
code_known(unsigned code)
{
	return code < COUNT(codes) && codes[code].name != NULL;
}

const char *
wire_code_name(unsigned code)
{
	return code_known(code) ? codes[code].name : "?";
}

const char *
wire_code_text(unsigned code)
{
	return code_known(code) ? codes[code].text : "unknown error";
}

bool
wire_code_retry(unsigned code)
{
	return code_known(code) && codes[code].retry;
}

const char *
wire_role_name(unsigned role)
{
	static const char *const names[] = { "none", "coordinator", "worker", "client" };

	return role < COUNT(names) ? names[role] : "?";
}

/* --- encoding ----------------------------------------------------------------------- */

static const void *
member(const struct header *header, const struct wire_field *field)
{
	return (const char *)header + field->offset;
}

static uint64_t
number_of(const struct header *header, const struct wire_field *field)
{
	return *(const uint64_t *)member(header, field);
}

static const char *
text_of(const struct header *header, const struct wire_field *field)
{
	return *(const char *const *)member(header, field);
}

static inline bool
is_set(const struct header *header, const struct wire_field *field)
{
	const char *text;

	switch (field->kind) {
	case KIND_NONE:
		return false;
	case KIND_UINT:
		return number_of(header, field) != 0;
	case KIND_ID:
	case KIND_TEXT:
	case KIND_SESSION:
		text = text_of(header, field);
		return text != NULL && *text != '\0';
	case KIND_SERVICES:
		return header->service_count > 0;
	case KIND_CALLS:
		return header->call_count > 0;
	}
	return false;
}

bool
wire_is_set(const struct header *header, const struct wire_field *field)
{
	return is_set(header, field);
}

/* A reason may be anybody's text: what the peer would refuse is cut off. */
static void
encode_reason(struct packet *packet, const char *reason)
{
	size_t size = utf8_prefix(reason, strlen(reason), REASON_BYTES_MAX);

	value_pack_textn(packet, reason, utf8_span(reason, size));
}

static void
encode_services(struct packet *packet, const struct header *header)
{
	size_t i;

	assert(header->service_count <= SERVICES_MAX);
	value_pack_array(packet, header->service_count);
	for (i = 0; i < header->service_count; i++) {
		value_pack_array(packet, 2);
		value_pack_text(packet, header->services[i].name);
		value_pack_int(packet, header->services[i].credit);
	}
}

static void
encode_calls(struct packet *packet, const struct header *header)
{
	size_t i;

	assert(header->call_count <= ANNOUNCED_CALLS_MAX);
	value_pack_array(packet, header->call_count);
	for (i = 0; i < header->call_count; i++) {
		value_pack_array(packet, header->calls[i].epoch > 0 ? 3 : 2);
		value_pack_text(packet, header->calls[i].call_id);
		value_pack_int(packet, header->calls[i].state);
		if (header->calls[i].epoch > 0)
			value_pack_int(packet, (int64_t)header->calls[i].epoch);
	}
}

static void
encode_field(
    struct packet *packet, const struct header *header, const struct wire_field *field)
{
	switch (field->kind) {
	case KIND_NONE:
		break;
	case KIND_UINT:
		assert(number_of(header, field) <= INT64_MAX);
		value_pack_int(packet, (int64_t)number_of(header, field));
		break;
	case KIND_ID:
	case KIND_SESSION:
		value_pack_text(packet, text_of(header, field));
		break;
	case KIND_TEXT:
		encode_reason(packet, text_of(header, field));
		break;
	case KIND_SERVICES:
		encode_services(packet, header);
		break;
	case KIND_CALLS:
		encode_calls(packet, header);
		break;
	}
}

/* Keys of fields that header has, in their order. Returns how many. */
static size_t
keys_of(const struct header *header, uint8_t keys[KEYS_MAX])
{
	size_t count = 0, key;

	for (key = 1; key < COUNT(wire_fields_known); key++)
		if (is_set(header, &wire_fields[key]))
			keys[count++] = (uint8_t)key;
	return count;
}

void
wire_encode(struct packet *packet, const struct header *header)
{
	const uint8_t preamble[PREAMBLE_BYTES] = { 'F', 'L', WIRE_VERSION,
		(uint8_t)header->type, (uint8_t)header->flags };
	uint8_t set[KEYS_MAX];
	size_t count = keys_of(header, set), key;

	assert(wire_message_known(header->type));
	packet_append(packet, preamble, sizeof preamble);
	value_pack_map(packet, count);
	for (key = 0; key < count; key++) {
		value_pack_int(packet, set[key]);
		encode_field(packet, header, &wire_fields[set[key]]);
	}
}
