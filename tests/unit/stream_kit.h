/* stream_kit: streamed answers as a server may send them, for tests of their dialects. */
#ifndef STREAM_KIT_H
#define STREAM_KIT_H

#include "../../worker-model/answer_stream.h"

/* Returns text with " for ' (and \" for \') and the end of an event for ~. */
const char *stream_text(struct arena *arena, const char *text);

/* Reads a body in pieces of so many bytes, each a copy of its own size. Returns the message, or NULL with
 * *fault_r. *shown_r is the text as it was shown, "|" behind each piece, "/" before another block. */
const struct value *stream_read(const struct stream_type *type, struct arena *arena,
    const char *body, size_t piece, const char **shown_r, struct fault **fault_r);

/* Feeds event until the stream refuses it, but not for more than bytes of it. Returns why, or NULL. */
const struct fault *stream_refusal(const struct stream_type *type, struct arena *arena,
    const char *begin, const char *event, size_t bytes);

/* Returns before, so many x and behind, as stream_text. */
const char *stream_padded(
    struct arena *arena, const char *before, size_t size, const char *behind);

#endif
