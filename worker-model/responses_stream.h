/* responses_stream: streamed answers of OpenAI's Responses API: response.created, the items (output_item.added, the
 * pieces of each, output_item.done), response.completed, .incomplete or .failed; error. What is unknown, or
 * only tells how far a tool is, is passed over.
 *
 * An item's `done` has all of it. Servers that leave it out, and the last event's list of all, have said it
 * in pieces. */
#ifndef RESPONSES_STREAM_H
#define RESPONSES_STREAM_H

#include "answer_stream.h"

extern const struct stream_type responses_stream;

#endif
