/* anthropic_stream: streamed answers of Anthropic's Messages API: message_start, the blocks
 * (content_block_start, _delta, _stop), message_delta, message_stop; ping and what is unknown are passed over. */
#ifndef ANTHROPIC_STREAM_H
#define ANTHROPIC_STREAM_H

#include "answer_stream.h"

extern const struct stream_type anthropic_stream;

#endif
