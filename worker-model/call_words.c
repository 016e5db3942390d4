#include "call_words.h"

#include <ctype.h>

#include <czmq.h>

#include "bounds.h"
#include "chat.h"
#include "providers.h"
#include "utf8.h"

#define SHORT_BYTES 9u /* exactly */
#define DIGEST_BYTES 32u

/* --- ids ----------------------------------------------------------------------------- */

static bool
is_short(const struct value *id)
{
	uint32_t i;

	for (i = 0; i < id->size && isalnum((unsigned char)id->text[i]); i++)
		;
	return i == id->size && id->size == SHORT_BYTES;
}

/* The first size digits of id's digest, behind start. */
static const struct value *
digits_of(struct arena *arena, const char *start, const struct value *id, unsigned size)
{
	zdigest_t *digest = zdigest_new();
	const struct value *digits;

	if (digest == NULL)
		abort();
	zdigest_update(digest, (const byte *)id->text, id->size);
	digits = value_printf(arena, "%s%.*s", start, (int)size, zdigest_string(digest));
	zdigest_destroy(&digest);
	return digits;
}

static const struct known_provider *
rules_of(const struct ask *ask)
{
	return known_provider(ask->rules != NULL ? ask->rules : ask->provider);
}

static bool
is_own(const struct ask *ask, const struct value *message)
{
	return value_text_is(
	    value_get(value_get(message, "response_metadata"), "model_provider"),
	    ask->provider);
}

/* Whether the provider itself has made the call: at index, or the one that is answered there. */
static bool
has_made(const struct ask *ask, size_t index, const struct value *id)
{
	const struct value *message;

	do {
		message = value_at(ask->messages, index);
		if (chat_is(message, "ai") && chat_call(message, id) != NULL)
			return is_own(ask, message);
	} while (index-- > 0);
	return false;
}

const struct value *
call_id(const struct ask *ask, size_t index, const struct value *id)
{
	const struct known_provider *known = rules_of(ask);

	if (known == NULL || known->call_id_bytes == 0 || !value_is(id, VALUE_STR))
		return id;
	if (known->call_id_bytes == SHORT_BYTES)
		return is_short(id) ? id : digits_of(ask->arena, "", id, SHORT_BYTES);
	return id->size <= known->call_id_bytes || has_made(ask, index, id)
		   ? id
		   : digits_of(ask->arena, "call_", id, DIGEST_BYTES);
}

/* --- names --------------------------------------------------------------------------- */

static bool
is_fine(const struct value *name, size_t at, const char *also)
{
	unsigned char byte = (unsigned char)name->text[at];

	if (byte < 0x80 && isalpha(byte))
		return true;
	/* Where more is allowed, it is not in front. */
	if (at == 0 && *also != '\0')
		return byte == '_';
	return (byte < 0x80 && isdigit(byte)) || byte == '_' || byte == '-' ||
	       (byte != '\0' && strchr(also, byte) != NULL);
}

static bool
fits(const struct value *name, const char *also)
{
	size_t at = 0;

	while (at < name->size && is_fine(name, at, also))
		at++;
	return at == name->size && at <= TOOL_NAME_BYTES_MAX;
}

bool
call_names_fit(const struct ask *ask)
{
	const struct known_provider *known = rules_of(ask);

	for (size_t i = 0; i < value_size(ask->tools); i++) {
		const struct value *name = value_get(value_at(ask->tools, i), "name");

		if (known != NULL && known->names_also != NULL &&
		    value_is(name, VALUE_STR) && !fits(name, known->names_also))
			return false;
	}
	return true;
}

const struct value *
call_name(const struct ask *ask, const struct value *name)
{
	const struct known_provider *known = rules_of(ask);
	size_t size, at;
	char *mended;

	if (known == NULL || known->names_also == NULL || !value_is(name, VALUE_STR) ||
	    fits(name, known->names_also) || !call_names_fit(ask))
		return name;
	size = utf8_prefix(name->text, name->size, TOOL_NAME_BYTES_MAX);
	mended = arena_copy(ask->arena, name->text, size);
	for (at = 0; at < size; at++)
		if (!is_fine(name, at, known->names_also))
			mended[at] = '_';
	return value_strn(ask->arena, mended, size);
}
