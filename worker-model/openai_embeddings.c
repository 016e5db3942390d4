#include "openai_embeddings.h"

#include <sodium.h>

#include "answer.h"
#include "chat.h"
#include "vector.h"

const struct value *
openai_embeddings_request_numbers(
    const struct ask *ask, bool stream, const char **error_r)
{
	struct arena *arena = ask->arena;
	struct value_list texts = { .arena = arena };
	size_t i;

	(void)stream;
	(void)error_r;
	for (i = 0; i < value_size(ask->messages); i++)
		value_list_add(&texts, chat_said(arena, value_at(ask->messages, i)));
	return value_map(arena, "model", value_str(arena, ask->model), "input",
	    value_list_end(&texts), NULL);
}

const struct value *
openai_embeddings_request(const struct ask *ask, bool stream, const char **error_r)
{
	return value_map_with(ask->arena,
	    openai_embeddings_request_numbers(ask, stream, error_r), "encoding_format",
	    VALUE_TEXT("base64"));
}

/* Of an entry: numbers, or their bytes as vectors have them; NULL for anything else. */
static const struct value *
vector_of(struct arena *arena, const struct value *embedding)
{
	const size_t room = value_is(embedding, VALUE_STR) ? embedding->size : 0;
	unsigned char *bytes;
	size_t size;

	if (!value_is(embedding, VALUE_STR))
		return vector_new(arena, embedding);
	bytes = arena_alloc(arena, room + 1);
	if (sodium_base642bin(bytes, room, embedding->text, embedding->size, NULL, &size,
		NULL, sodium_base64_VARIANT_ORIGINAL) == -1)
		return NULL;
	return vector_checked(arena, bytes, size);
}

/* Returns which text entry is of; as the entries stand, where none says so. */
static size_t
index_of(const struct value *entry, size_t otherwise)
{
	const struct value *index = value_get(entry, "index");

	return value_is(index, VALUE_INT) && index->integer >= 0 ? (size_t)index->integer
								 : otherwise;
}

static const struct value *
usage_of(struct arena *arena, const struct value *usage)
{
	int64_t tokens = answer_tokens(usage, "prompt_tokens", 0);

	if (!value_is(usage, VALUE_MAP))
		return NULL;
	return value_map(arena, "input_tokens", value_int(arena, tokens), "output_tokens",
	    value_int(arena, 0), "total_tokens",
	    value_int(arena, answer_tokens(usage, "total_tokens", tokens)), NULL);
}

static const struct value *
text_or_null(const struct value *value)
{
	return value_is(value, VALUE_STR) ? value : NULL;
}

const struct value *
openai_embeddings_answer(
    struct arena *arena, const struct value *body, const char **error_r)
{
	const struct value *data = value_get(body, "data"), **vectors;
	size_t count = value_size(data), i, index;

	if (!value_is(data, VALUE_ARRAY)) {
		*error_r = "it has no list of embeddings";
		return NULL;
	}
	vectors = arena_alloc(arena, (count + 1) * sizeof *vectors);
	for (i = 0; i < count; i++)
		vectors[i] = NULL;
	for (i = 0; i < count; i++) {
		const struct value *entry = value_at(data, i);
		const struct value *vector =
		    vector_of(arena, value_get(entry, "embedding"));

		index = index_of(entry, i);
		if (vector == NULL || index >= count || vectors[index] != NULL) {
			*error_r = "an embedding of it is no list of numbers, or is "
				   "nobody's";
			return NULL;
		}
		vectors[index] = vector;
	}
	return answer_message(&(struct answer){ .arena = arena,
	    .usage = usage_of(arena, value_get(body, "usage")),
	    .metadata = value_map(
		arena, "model_name", text_or_null(value_get(body, "model")), NULL),
	    .extra = value_map(
		arena, "embeddings", value_array(arena, vectors, count), NULL) });
}
