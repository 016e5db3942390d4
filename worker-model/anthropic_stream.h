/* anthropic_stream: puts a streamed answer of Anthropic's Messages API together again:
 * message_start, the blocks (content_block_start, _delta, _stop), message_delta, message_stop; ping
 * and what is unknown are passed over, error ends it. */
#ifndef ANTHROPIC_STREAM_H
#define ANTHROPIC_STREAM_H

#include "fault.h"
#include "sse.h"
#include "value.h"

struct anthropic_stream_block;

struct anthropic_stream {
	struct arena *arena;
	const char *endpoint; /* for messages */
	/* Called with each piece of the answer's text; may be NULL. */
	void (*on_text)(void *arg, const char *text, size_t size);
	void *arg;

	struct sse sse;
	struct anthropic_stream_block *blocks;
	size_t block_count, block_room;
	size_t event_size; /* of the event that is read */
	size_t gathered;   /* bytes kept so far */
	const struct value
	    *head; /* message_start's message, then with what message_delta says */
	const struct value *usage; /* by all that was said so far */
	bool has_reason;           /* to stop */
	bool ended;                /* no more will come */
	bool done; /* the end was announced: what comes behind it does not matter */
	struct fault *fault;
};

/* Begins an answer; what is read is in arena. */
void anthropic_stream_init(
    struct anthropic_stream *stream, struct arena *arena, const char *endpoint);
void anthropic_stream_release(struct anthropic_stream *stream);

/* Takes in the next piece of the body. Returns 0, or -1 with stream->fault set. */
int anthropic_stream_feed(struct anthropic_stream *stream, const char *data, size_t size);

/* The body is over. Returns the AI message, or NULL with the reason in *fault_r: a stream
 * without its end is a connection that was cut. */
const struct value *anthropic_stream_end(
    struct anthropic_stream *stream, struct fault **fault_r);

#endif
