/* responses_request: a model request in the words of OpenAI's Responses API. */
#ifndef RESPONSES_REQUEST_H
#define RESPONSES_REQUEST_H

#include "provider.h"

/* Returns the request's body in ask->arena, or NULL with a reason there: a message that a model cannot be sent.
 *
 * With `use_previous_response_id` in the settings only the messages behind the provider's last answer are
 * sent, and its id. With `store: false` models that think are asked for their thoughts in the form that
 * goes back (`include`). */
const struct value *responses_request(
    const struct ask *ask, bool stream, const char **error_r);

#endif
