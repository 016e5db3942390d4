#include "call_words.h"

#include <ctype.h>

#include <czmq.h>

#include "bounds.h"
#include "providers.h"
#include "utf8.h"

#define SHORT_BYTES 9u /* exactly */
#define ITEM_BYTES 64u
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

static const struct value *
within(struct arena *arena, const struct value *id, size_t bytes_max)
{
	return id->size <= bytes_max ? id : digits_of(arena, "call_", id, DIGEST_BYTES);
}

const struct value *
call_id(struct arena *arena, const char *provider, const struct value *id)
{
	const struct known_provider *known = known_provider(provider);

	if (known == NULL || known->call_id_bytes == 0 || !value_is(id, VALUE_STR))
		return id;
	if (known->call_id_bytes == SHORT_BYTES)
		return is_short(id) ? id : digits_of(arena, "", id, SHORT_BYTES);
	return within(arena, id, known->call_id_bytes);
}

const struct value *
call_id_of_item(struct arena *arena, const char *provider, const struct value *id)
{
	const struct known_provider *known = known_provider(provider);

	if (known == NULL || known->call_id_bytes == 0 || !value_is(id, VALUE_STR))
		return id;
	return within(arena, id, ITEM_BYTES);
}

/* --- names --------------------------------------------------------------------------- */

static bool
is_fine(char byte, const char *also)
{
	return ((unsigned char)byte < 0x80 && isalnum((unsigned char)byte)) ||
	       byte == '_' || byte == '-' || (byte != '\0' && strchr(also, byte) != NULL);
}

const struct value *
call_name(struct arena *arena, const char *provider, const struct value *name)
{
	const struct known_provider *known = known_provider(provider);
	size_t size, fine = 0;
	char *mended;

	if (known == NULL || known->names_also == NULL || !value_is(name, VALUE_STR))
		return name;
	size = utf8_prefix(name->text, name->size, TOOL_NAME_BYTES_MAX);
	while (fine < size && is_fine(name->text[fine], known->names_also))
		fine++;
	if (fine == name->size)
		return name;
	mended = arena_copy(arena, name->text, size);
	for (; fine < size; fine++)
		if (!is_fine(mended[fine], known->names_also))
			mended[fine] = '_';
	return value_strn(arena, mended, size);
}
