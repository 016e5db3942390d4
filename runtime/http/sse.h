/* sse: takes server-sent events out of a stream of bytes that comes in any pieces.
 *
 * As the standard has it: lines end with LF, CR or CRLF, a BOM in front is skipped, lines
 * of `data` add up, comments and unknown fields are passed over. Unlike the standard,
 * sse_end gives out an event that no blank line ended: some providers leave it out. */
#ifndef SSE_H
#define SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

/* Called for each event with data. event is "message" unless the stream named it. data is
 * NUL-terminated and lent for the call. Returns 0, or -1 to stop. */
typedef int sse_fn(void *arg, const char *event, const char *data, size_t size);

struct sse {
	sse_fn *on_event;
	void *arg;
	struct packet line;  /* the beginning of a line whose end is still to come */
	struct packet data;  /* of the event so far, an LF behind each line */
	struct packet event; /* its name */
	bool has_data;
	bool after_cr;  /* the next LF belongs to the last line's end */
	bool begun;     /* past the first line, where a BOM may be */
	bool too_large; /* why sse_feed failed: an event over SSE_EVENT_BYTES_MAX */
};

void sse_init(struct sse *sse, sse_fn *on_event, void *arg);
void sse_release(struct sse *sse);

/* Takes in the next piece. Returns 0, or -1 when on_event said so or an event is too
 * large; nothing may be fed after that. */
int sse_feed(struct sse *sse, const char *data, size_t size);

/* The stream is over: gives out what is pending. Returns as sse_feed; -1 behind one that was too large. */
int sse_end(struct sse *sse);

#endif
