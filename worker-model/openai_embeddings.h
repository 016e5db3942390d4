/* openai_embeddings: OpenAI's embeddings, and those of the servers that speak the same: what is asked, and
 * what is answered. A model call with the task "embeddings" (docs/protocol.md, "A model call") ends there
 * instead of at a chat. */
#ifndef OPENAI_EMBEDDINGS_H
#define OPENAI_EMBEDDINGS_H

#include "provider.h"

/* As a dialect has them (provider_exchange.h). The answer's message has
 * additional_kwargs {embeddings: [vector]}, in the order of the texts: the server may say them as bytes in base64, which
 * the first of these asks for since they are less to read, or as numbers. */
const struct value *openai_embeddings_request(
    const struct ask *ask, bool stream, const char **error_r);
const struct value *openai_embeddings_request_numbers(
    const struct ask *ask, bool stream, const char **error_r);
const struct value *openai_embeddings_answer(
    struct arena *arena, const struct value *body, const char **error_r);

#endif
