/* bedrock_frames: takes messages out of a stream of AWS's frames (application/vnd.amazon.eventstream) that comes in any
 * pieces.
 *
 *	length of the frame, u32 | length of its headers, u32 | CRC-32 of these 8 bytes
 *	headers: length of the name, u8 | name | type, u8 | value, by the type
 *	payload
 *	CRC-32 of all before it
 *
 * all big-endian. Nothing is believed before its CRC is right, and no length beyond FRAME_BYTES_MAX. */
#ifndef BEDROCK_FRAMES_H
#define BEDROCK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

#define FRAME_TEXT_BYTES 256u /* of a header's text; what is longer is cut */

/* A message, lent for the call. */
struct bedrock_frame {
	char kind[FRAME_TEXT_BYTES];   /* :message-type: "event", "exception", "error" */
	char name[FRAME_TEXT_BYTES];   /* :event-type, :exception-type or :error-code */
	char reason[FRAME_TEXT_BYTES]; /* :error-message; "" */
	const char *payload;           /* mostly JSON */
	size_t payload_size;
};

/* Returns 0, or -1 to stop. */
typedef int bedrock_frame_fn(void *arg, const struct bedrock_frame *frame);

/* Zero it. */
struct bedrock_frames {
	struct packet pending; /* the beginning of a frame */
	const char *error;     /* why bedrock_frames_feed failed, unless on_frame did */
};

void bedrock_frames_release(struct bedrock_frames *frames);

/* Takes in the next piece. Returns 0, or -1 when on_frame said so or the stream is none; nothing may be fed after that. */
int bedrock_frames_feed(struct bedrock_frames *frames, const char *data, size_t size,
    bedrock_frame_fn *on_frame, void *arg);

#endif
