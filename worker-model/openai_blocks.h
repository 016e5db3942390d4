/* openai_blocks: what is read alike of content and calls that go to either of OpenAI's APIs. */
#ifndef OPENAI_BLOCKS_H
#define OPENAI_BLOCKS_H

#include "value.h"

#define OPENAI_BESIDE "extra_content" /* of a call; by its id in additional_kwargs */

/* Returns the bytes of an image, a file, a recording as base64: LangChain's blocks keep them as `base64`,
 * `data` in its older form. NULL: the block has none. */
const struct value *openai_block_data(const struct value *block);

/* The same as a data: URL, in arena; mime is for a block that does not say. */
const struct value *openai_data_url(
    struct arena *arena, const struct value *block, const char *mime);

/* True when provider, by its name, is OpenAI, and takes what other servers refuse. */
bool openai_itself(const char *provider);

/* Returns the arguments of a call as text, in arena. Those of a malformed one go back to OpenAI as they came; others
 * are sent an object in any case: there are no arguments then, and the call's answer says what was wrong with them. */
const struct value *openai_arguments(
    struct arena *arena, const struct value *call, const char *provider);

#endif
