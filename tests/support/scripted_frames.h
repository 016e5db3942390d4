/* scripted_frames: frames of AWS's event streams, for tests: worker-model/bedrock_frames.h reads them. */
#ifndef SCRIPTED_FRAMES_H
#define SCRIPTED_FRAMES_H

#include "value.h"

/* Appends a message with these headers, {name, value} each, NULL-ended. A value that begins with "\1" is not sent
 * as text, but as the header's type and value in bytes that stand behind it in hex: "\1" "0400000001". */
void scripted_frame_with(struct packet *packet, const char *const headers[][2],
    const char *payload, size_t size);

/* Appends an event, or an exception (kind "exception"), with JSON. */
void scripted_frame(
    struct packet *packet, const char *kind, const char *name, const char *payload);

#endif
