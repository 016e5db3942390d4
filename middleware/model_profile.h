/* model_profile: what can be said of a model, by the names that LangChain's model profiles have:
 *
 *	structured_output   gives it by itself; except_with_tools: not in a request that offers tools
 *	tool_calling        calls tools
 *	image_inputs, audio_inputs, video_inputs, pdf_inputs
 *	                    takes such
 *	max_input_tokens    of a request; max_output_tokens: of an answer
 *	cost                {input, output, cache_read?, cache_write?, cache_write_1h?}: US dollars for
 *	                    a million tokens
 *
 * Any of them may be absent: it is not known. In an agent's `model_profile`, for each pattern of a
 * --models file, and in the table of ours (models.h). */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include "value.h"

/* Returns what is wrong with given, in arena, or NULL. *key_r: the key it is about, or "". */
const char *model_profile_flaw(
    struct arena *arena, const struct value *given, const char **key_r);

/* What first says of a model, and what it leaves open as second says it. Either may be NULL. A cost
 * is one thing, and so are structured_output and except_with_tools. */
const struct value *model_profile_over(
    struct arena *arena, const struct value *first, const struct value *second);

/* True when profile says that the model gives structured output by itself, with_tools: in a
 * request that offers tools. */
bool model_profile_gives_output(const struct value *profile, bool with_tools);

#endif
