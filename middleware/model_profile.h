/* model_profile: what can be said of a model: {structured_output: bool, except_with_tools:
 * bool}. In an agent's `model_profile`, and for each pattern of a model worker's --models. */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include "value.h"

/* Returns what is wrong with given, in arena, or NULL. *key_r: the key it is about, or "". */
const char *model_profile_flaw(
    struct arena *arena, const struct value *given, const char **key_r);

/* True when profile says that the model gives structured output by itself, with_tools: in a
 * request that offers tools. */
bool model_profile_gives_output(const struct value *profile, bool with_tools);

#endif
