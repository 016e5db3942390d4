/* Headers from outside. */
#include <string.h>

#include "reader.h"
#include "utf8.h"
#include "wire_fields.h"

#define SKIP_DEPTH 4u /* nesting of what we do not know */

static const struct requirement {
	enum message_type type;
	enum wire_key key;
	const char *refusal;
} requirements[] = {
#define REQUIRES(name, member)                                                           \
	{ MSG_##name, KEY_##member, #name " needs the field " #member },
#include "requires.def"
#undef REQUIRES
};

static bool
is_id(const char *text, size_t size, size_t max)
{
	size_t i;

	if (size == 0 || size > max)
		return false;
	for (i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

bool
wire_is_id(const char *text, size_t max)
{
	return text != NULL && is_id(text, strnlen(text, max + 1), max);
}

/* Redis has a run's events under its own key and ":e", and so on (docs/redis.md): an id that ends
 * so would be the key of another's part. */
static bool
names_a_part(const char *id)
{
	size_t size = strlen(id);

	return size >= 2 && id[size - 2] == ':' && id[size - 1] >= 'a' &&
	       id[size - 1] <= 'z';
}

bool
wire_is_run_id(const char *text)
{
	return wire_is_id(text, RUN_ID_BYTES_MAX) && strpbrk(text, "{}*?[]\\") == NULL &&
	       !names_a_part(text);
}

static bool
is_session(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (!((text[i] >= '0' && text[i] <= '9') ||
			(text[i] >= 'a' && text[i] <= 'f')))
			return false;
	return size == SESSION_BYTES;
}

struct decoder {
	struct reader reader;
	struct arena *arena;
	struct header header;
	uint64_t seen; /* a bit for each key */
	enum wire_code code;
};

/* Returns the text, or NULL and latches refusal. */
static const char *
decode_text(struct decoder *decoder, const struct wire_field *field)
{
	struct token token = reader_next(&decoder->reader);
	const char *text = (const char *)token.bytes;
	bool fits = token.type == VALUE_STR;

	if (fits && field->kind == KIND_SESSION)
		fits = is_session(text, token.size);
	else if (fits && field->kind == KIND_TEXT)
		fits = token.size <= field->max && utf8_valid(text, token.size);
	else if (fits)
		fits = is_id(text, token.size, field->max);
	if (fits)
		return arena_copy(decoder->arena, text, token.size);
	reader_fail(&decoder->reader, field->refusal);
	return NULL;
}

static uint64_t
decode_uint(struct decoder *decoder, const struct wire_field *field)
{
	struct token token = reader_next(&decoder->reader);

	if (token.type == VALUE_INT && token.integer >= 0 &&
	    (uint64_t)token.integer <= field->max)
		return (uint64_t)token.integer;
	reader_fail(&decoder->reader, field->refusal);
	return 0;
}

/* Reads the head of an array and returns how many items it has, at most field->max. */
static size_t
decode_count(struct decoder *decoder, const struct wire_field *field)
{
	struct token token = reader_next(&decoder->reader);

	if (token.type == VALUE_ARRAY && token.size <= field->max)
		return token.size;
	reader_fail(&decoder->reader, field->refusal);
	return 0;
}

/* Reads an id and a number to max, and how many items stand behind them. */
static const char *
decode_pair(struct decoder *decoder, const struct wire_field *array,
    const struct wire_field *id, uint64_t max, uint64_t *number_r, size_t *behind_r)
{
	const struct wire_field number = { KIND_UINT, 0, max, array->refusal };
	struct token token = reader_next(&decoder->reader);
	const char *text;

	*behind_r = 0;
	if (token.type != VALUE_ARRAY || token.size < 2) {
		reader_fail(&decoder->reader, array->refusal);
		return NULL;
	}
	text = decode_text(decoder, id);
	*number_r = decode_uint(decoder, &number);
	*behind_r = token.size - 2;
	return text;
}

/* What stands behind in an array is a later version's. */
static void
skip_behind(struct decoder *decoder, size_t count)
{
	for (; count > 0 && decoder->reader.error == NULL; count--)
		reader_skip(&decoder->reader, SKIP_DEPTH);
}

static void
decode_services(struct decoder *decoder, const struct wire_field *field)
{
	size_t count = decode_count(decoder, field), i;
	struct wire_service *services =
	    arena_alloc(decoder->arena, count * sizeof *services);
	uint64_t credit;
	size_t behind;

	for (i = 0; i < count && decoder->reader.error == NULL; i++) {
		services[i].name = decode_pair(decoder, field, &wire_fields[KEY_service],
		    CREDIT_MAX, &credit, &behind);
		skip_behind(decoder, behind);
		if (services[i].name != NULL)
			services[i].credit = (uint32_t)credit;
	}
	decoder->header.services = services;
	decoder->header.service_count = count;
}

static void
decode_calls(struct decoder *decoder, const struct wire_field *field)
{
	size_t count = decode_count(decoder, field), i;
	struct wire_call *calls = arena_alloc(decoder->arena, count * sizeof *calls);
	uint64_t state = 0;
	size_t behind;

	for (i = 0; i < count && decoder->reader.error == NULL; i++) {
		calls[i].call_id = decode_pair(decoder, field, &wire_fields[KEY_call_id],
		    CALL_ABSENT, &state, &behind);
		if (behind > 0) {
			calls[i].epoch = decode_uint(decoder, &wire_fields[KEY_epoch]);
			skip_behind(decoder, behind - 1);
		}
		if (state < CALL_RUNNING)
			reader_fail(&decoder->reader, field->refusal);
		calls[i].state = (enum wire_call_state)state;
	}
	decoder->header.calls = calls;
	decoder->header.call_count = count;
}

static void
decode_field(struct decoder *decoder, const struct wire_field *field)
{
	char *at = (char *)&decoder->header + field->offset;

	switch (field->kind) {
	case KIND_NONE:
		reader_skip(&decoder->reader, SKIP_DEPTH);
		break;
	case KIND_UINT:
		*(uint64_t *)(void *)at = decode_uint(decoder, field);
		break;
	case KIND_ID:
	case KIND_TEXT:
	case KIND_SESSION:
		*(const char **)(void *)at = decode_text(decoder, field);
		break;
	case KIND_SERVICES:
		decode_services(decoder, field);
		break;
	case KIND_CALLS:
		decode_calls(decoder, field);
		break;
	}
}

static void
decode_pairs(struct decoder *decoder)
{
	static const struct wire_field unknown = { .kind = KIND_NONE };
	struct reader *reader = &decoder->reader;
	struct token map = reader_next(reader), key;
	uint64_t bit;

	if (map.type != VALUE_MAP)
		reader_fail(reader, "the header is not a map");
	for (; map.size > 0 && reader->error == NULL; map.size--) {
		key = reader_next(reader);
		if (key.type != VALUE_INT || key.integer < 0) {
			reader_fail(reader, "a key is not a small integer");
		} else if (key.integer >= KEYS_MAX) {
			decode_field(decoder, &unknown);
		} else {
			bit = UINT64_C(1) << key.integer;
			if ((decoder->seen & bit) != 0)
				reader_fail(reader, "a key is there twice");
			decoder->seen |= bit;
			decode_field(decoder, &wire_fields[key.integer]);
		}
	}
}

/* What header lacks, or NULL. */
static const char *
lack_of(const struct header *header)
{
	const struct requirement *required = requirements;
	const struct requirement *end =
	    requirements + sizeof requirements / sizeof requirements[0];

	for (; required < end; required++)
		if (required->type == header->type &&
		    !wire_is_set(header, &wire_fields[required->key]))
			return required->refusal;
	return NULL;
}

static void
check_required(struct decoder *decoder)
{
	const char *lack = lack_of(&decoder->header);

	if (lack != NULL)
		reader_fail(&decoder->reader, lack);
}

static void
refuse(struct decoder *decoder, enum wire_code code, const char *reason)
{
	decoder->code = code;
	reader_fail(&decoder->reader, reason);
}

static void
decode_preamble(struct decoder *decoder, const uint8_t *bytes, size_t size)
{
	if (size > HEADER_BYTES_MAX)
		refuse(decoder, CODE_TOO_LARGE, "the header is too large");
	else if (size < PREAMBLE_BYTES)
		refuse(
		    decoder, CODE_MALFORMED, "the header is shorter than its preamble");
	else if (bytes[0] != 'F' || bytes[1] != 'L')
		refuse(decoder, CODE_MALFORMED, "the header does not begin with FL");
	else if (bytes[2] != WIRE_VERSION)
		refuse(decoder, CODE_VERSION, "a header of another protocol version");
	else if (!wire_message_known(bytes[3]))
		refuse(decoder, CODE_MALFORMED, "unknown message type");
	else if (bytes[5] != 0 || bytes[6] != 0 || bytes[7] != 0)
		refuse(decoder, CODE_MALFORMED, "reserved bytes are not zero");
	else
		decoder->header = (struct header){ .type = (enum message_type)bytes[3],
			.flags = bytes[4] };
}

int
wire_decode(struct arena *arena, const void *data, size_t size, struct header *header_r,
    enum wire_code *code_r, const char **reason_r)
{
	struct decoder decoder = { .arena = arena, .code = CODE_MALFORMED };

	decode_preamble(&decoder, data, size);
	if (decoder.reader.error == NULL) {
		reader_start(&decoder.reader, (const uint8_t *)data + PREAMBLE_BYTES,
		    size - PREAMBLE_BYTES);
		decode_pairs(&decoder);
		reader_end(&decoder.reader);
	}
	if (decoder.reader.error == NULL)
		check_required(&decoder);
	if (decoder.reader.error != NULL) {
		*code_r = decoder.code;
		*reason_r = decoder.reader.error;
		return -1;
	}
	*header_r = decoder.header;
	return 0;
}

/* --- before it is sent ---------------------------------------------------------------- */

static bool
is_in_bounds(const struct header *header, const struct wire_field *field)
{
	const void *at = (const char *)header + field->offset;
	const char *text;

	switch (field->kind) {
	case KIND_UINT:
		return *(const uint64_t *)at <= field->max;
	case KIND_ID:
	case KIND_SESSION:
		text = *(const char *const *)at;
		return field->kind == KIND_ID ? is_id(text, strlen(text), field->max)
					      : is_session(text, strlen(text));
	case KIND_NONE:
	case KIND_TEXT: /* is cut to what it may be */
	case KIND_SERVICES:
	case KIND_CALLS:
		break;
	}
	return true;
}

int
wire_check(const struct header *header, enum wire_code *code_r, const char **reason_r)
{
	size_t key;

	*code_r = CODE_MALFORMED;
	for (key = 1; key < KEYS_MAX; key++) {
		const struct wire_field *field = &wire_fields[key];

		if (wire_is_set(header, field) && !is_in_bounds(header, field)) {
			*reason_r = field->refusal;
			return -1;
		}
	}
	*reason_r = lack_of(header);
	return *reason_r == NULL ? 0 : -1;
}
