/* response: what must hold of whatever a provider answers, for the fuzzers of each. */
#ifndef RESPONSE_H
#define RESPONSE_H

#include <stdint.h>

#include "../../worker-model/answer_stream.h"

/* Plain or streamed in pieces, as the first byte says, it becomes a message that the rest can rely on and
 * that every provider can be sent, or a fault. */
void response_check(const struct stream_type *type, const uint8_t *data, size_t size);

#endif
