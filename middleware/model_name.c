#include "model_name.h"

#include <string.h>

#include "bodies.h"
#include "bounds.h"
#include "pointer.h"
#include "wire.h"

#define PROVIDER_BYTES_MAX (SERVICE_BYTES_MAX - (sizeof SERVICE_MODEL_PREFIX - 1))

static bool
has_control_character(const struct value *text)
{
	uint32_t i;

	for (i = 0; i < text->size; i++)
		if ((unsigned char)text->text[i] < ' ' || text->text[i] == 0x7f)
			return true;
	return false;
}

const char *
model_name_flaw(struct arena *arena, const struct value *given)
{
	const char *colon;

	if (!value_is(given, VALUE_STR))
		return arena_printf(arena,
		    "must be a model, as in \"openai:gpt-4o\", not %s",
		    value_article_name(given));
	if (given->size > ID_BYTES_MAX)
		return arena_printf(arena, "must be a model's name of at most %u bytes",
		    (unsigned)ID_BYTES_MAX);
	if (has_control_character(given))
		return "must be a model's name without control characters";
	colon = strchr(given->text, ':');
	if (colon == NULL || colon == given->text || colon[1] == '\0')
		return arena_printf(arena,
		    "must be provider:name, as in \"openai:gpt-4o\", not \"%s\"",
		    given->text);
	if (!wire_is_id(model_name_provider(arena, given->text), PROVIDER_BYTES_MAX))
		return arena_printf(arena,
		    "must name a provider of at most %zu printable ASCII characters "
		    "without spaces",
		    PROVIDER_BYTES_MAX);
	return NULL;
}

const char *
model_name_provider(struct arena *arena, const char *model)
{
	return arena_copy(arena, model, strcspn(model, ":"));
}

bool
model_name_same_provider(const char *one, const char *other)
{
	size_t size = strcspn(one, ":");

	return size == strcspn(other, ":") && strncmp(one, other, size) == 0;
}
