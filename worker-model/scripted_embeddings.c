#include "scripted_embeddings.h"

#include <ctype.h>

#include "answer.h"
#include "chat.h"
#include "vector.h"

#define NUMBERS 256u

/* FNV-1a. */
#define HASH_BEGIN UINT32_C(2166136261)
#define HASH_PRIME UINT32_C(16777619)

static bool
is_of_word(unsigned char byte)
{
	return isalnum(byte) || byte >= 0x80;
}

static const struct value *
vector_of(struct arena *arena, const char *text)
{
	const struct value *numbers[NUMBERS];
	unsigned counts[NUMBERS] = { 0 };
	uint32_t hash = HASH_BEGIN;
	size_t i;

	counts[0] = 1; /* no text is without a direction */
	for (; *text != '\0'; text++) {
		if (!is_of_word((unsigned char)*text))
			continue;
		hash = (hash ^ (uint32_t)tolower((unsigned char)*text)) * HASH_PRIME;
		if (is_of_word((unsigned char)text[1]))
			continue;
		counts[1 + hash % (NUMBERS - 1)]++;
		hash = HASH_BEGIN;
	}
	for (i = 0; i < NUMBERS; i++)
		numbers[i] = value_int(arena, counts[i]);
	return vector_new(arena, value_array(arena, numbers, NUMBERS));
}

const struct value *
scripted_embeddings(const struct ask *ask)
{
	struct arena *arena = ask->arena;
	struct value_list vectors = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(ask->messages); i++)
		value_list_add(&vectors,
		    vector_of(arena, chat_text(arena, value_at(ask->messages, i))));
	return answer_message(&(struct answer){ .arena = arena,
	    .metadata =
		value_map(arena, "model_name", value_str(arena, ask->model), NULL),
	    .extra = value_map(arena, "embeddings", value_list_end(&vectors), NULL) });
}
