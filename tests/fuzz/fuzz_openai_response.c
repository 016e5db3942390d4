/* Whatever OpenAI, or one of the many who speak as it does, answers becomes a message or a fault; and
 * what it answers to calls that are no chat. */
#include "../../worker-model/openai_embeddings.h"
#include "../../worker-model/openai_moderation.h"
#include "../../worker-model/openai_stream.h"

#include <stdlib.h>

#include "chat.h"
#include "json.h"
#include "response.h"
#include "vector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_embeddings(struct arena *arena, const struct value *body)
{
	const char *error = NULL;
	const struct value *message = openai_embeddings_answer(arena, body, &error);
	const struct value *vectors =
	    value_get(value_get(message, "additional_kwargs"), "embeddings");

	if (message == NULL && error == NULL)
		abort();
	for (size_t i = 0; i < value_size(vectors); i++)
		if (!vector_is(value_at(vectors, i)))
			abort();
}

static void
check_others(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *error = NULL;
	const struct value *body = json_parse(arena, (const char *)data, size, &error);
	const struct value *message;

	if (body != NULL) {
		check_embeddings(arena, body);
		error = NULL;
		message = openai_moderation_answer(arena, body, &error);
		if (message == NULL ? error == NULL : !chat_is(message, "ai"))
			abort();
	}
	arena_destroy(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		check_others(data + 1, size - 1);
	response_check(&openai_stream, data, size);
	return 0;
}
