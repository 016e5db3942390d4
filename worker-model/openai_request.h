/* openai_request: a model request in the words of OpenAI's chat completions. */
#ifndef OPENAI_REQUEST_H
#define OPENAI_REQUEST_H

#include "provider.h"

/* Returns the request's body in ask->arena, or NULL with a reason there: a message that a
 * model cannot be sent. */
const struct value *openai_request(
    const struct ask *ask, bool stream, const char **error_r);

#endif
