/* scripted_embeddings: vectors without a model, for demos and tests: texts are the more alike the more
 * words they share. Each word adds one to the number that its hash chooses. */
#ifndef SCRIPTED_EMBEDDINGS_H
#define SCRIPTED_EMBEDDINGS_H

#include "provider.h"

/* Returns a message like that of openai_embeddings. */
const struct value *scripted_embeddings(const struct ask *ask);

#endif
