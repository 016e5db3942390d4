/* bedrock_stream: the streamed answers of Bedrock's Converse API: frames (bedrock_frames.h), and what their events mean. */
#ifndef BEDROCK_STREAM_H
#define BEDROCK_STREAM_H

#include "answer_stream.h"

extern const struct stream_type bedrock_stream;

#endif
