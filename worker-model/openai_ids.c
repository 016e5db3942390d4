#include "openai_ids.h"

#include <ctype.h>

#include <czmq.h>

#include "providers.h"

#define SHORT_BYTES 9u

static bool
is_short(const struct value *id)
{
	uint32_t i;

	for (i = 0; i < id->size && isalnum((unsigned char)id->text[i]); i++)
		;
	return i == id->size && id->size == SHORT_BYTES;
}

const struct value *
openai_call_id(struct arena *arena, const char *provider, const struct value *id)
{
	const struct known_provider *known = known_provider(provider);
	const struct value *digits;
	zdigest_t *digest;

	if (known == NULL || known->takes_any_id || !value_is(id, VALUE_STR) ||
	    is_short(id))
		return id;
	digest = zdigest_new();
	if (digest == NULL)
		abort();
	zdigest_update(digest, (const byte *)id->text, id->size);
	digits = value_printf(arena, "%.*s", (int)SHORT_BYTES, zdigest_string(digest));
	zdigest_destroy(&digest);
	return digits;
}
