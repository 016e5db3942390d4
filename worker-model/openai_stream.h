/* openai_stream: streamed answers of OpenAI's chat completions. */
#ifndef OPENAI_STREAM_H
#define OPENAI_STREAM_H

#include "answer_stream.h"

extern const struct stream_type openai_stream;

#endif
