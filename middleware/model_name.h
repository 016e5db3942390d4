/* model_name: how models are named: "openai:gpt-4o", a provider that some worker serves and what
 * stands behind the colon for that. */
#ifndef MODEL_NAME_H
#define MODEL_NAME_H

#include "value.h"

/* Returns why given is not the name of a model ("must be ..."), in arena, or NULL. */
const char *model_name_flaw(struct arena *arena, const struct value *given);

/* "openai" of "openai:gpt-4o", in arena; model is one. */
const char *model_name_provider(struct arena *arena, const char *model);

/* Whether two models are of one provider. */
bool model_name_same_provider(const char *one, const char *other);

#endif
