/* answer_stream: puts a provider's streamed answer together again: the body as it comes, the AI message at its
 * end. What the events mean is the dialect's (stream_type); that they come in any pieces, that the server may
 * say an error instead, that it may not stop talking, or that it answers a request for a stream with a plain
 * answer, is the same for all. */
#ifndef ANSWER_STREAM_H
#define ANSWER_STREAM_H

#include "fault.h"
#include "sse.h"
#include "value.h"

struct answer_stream;

/* What the streamed answers of a dialect are made of. */
struct stream_type {
	/* Of a struct that begins with a struct answer_stream, the rest zero. */
	size_t size;
	/* Takes in the next piece of a stream of another form, as answer_stream_feed, and gives each event to
	 * answer_stream_event. NULL: they are server-sent events. */
	int (*feed)(struct answer_stream *stream, const char *data, size_t size);
	/* Takes in an event's JSON, a map that is no error, lent for the call. Returns 0, or -1 with
	 * stream->fault set. */
	int (*take)(
	    struct answer_stream *stream, const char *event, const struct value *body);
	/* True when the stream may end here. */
	bool (*is_complete)(const struct answer_stream *stream);
	/* Returns the AI message of what was taken in, or NULL with stream->fault set. */
	const struct value *(*assemble)(struct answer_stream *stream);
	/* Returns the AI message of a plain answer's body, or NULL with a reason. */
	const struct value *(*answer)(
	    struct arena *arena, const struct value *body, const char **error_r);
	/* Frees what take has made. */
	void (*release)(struct answer_stream *stream);
};

struct answer_stream {
	const struct stream_type *type;
	struct arena *arena;
	const char *endpoint; /* for messages */
	/* Called with each piece of the answer's text; may be NULL. */
	void (*on_text)(void *arg, const char *text, size_t size);
	/* Called between two pieces that are of different blocks; may be NULL. */
	void (*on_break)(void *arg);
	void *arg;
	struct fault *fault;
	bool done; /* the end was announced: what comes behind it does not matter */

	/* for the dialects */
	size_t event_size; /* of the event that is read */
	size_t gathered;   /* bytes kept so far, by take's account */

	/* answer_stream.c's own */
	struct sse sse;
	struct packet whole; /* a body that is no stream */
	bool is_whole, begun;
	bool ended;     /* no more will come */
	bool has_shown; /* text of the present block */
};

/* Begins an answer. It, and what is read, is in arena; on_text may be set. */
struct answer_stream *answer_stream_open(
    const struct stream_type *type, struct arena *arena, const char *endpoint);
void answer_stream_close(struct answer_stream *stream);

/* Takes in the next piece of the body. Returns 0, or -1 with stream->fault set. */
int answer_stream_feed(struct answer_stream *stream, const char *data, size_t size);

/* The body is over. Returns the AI message, or NULL with the reason in *fault_r: a stream
 * without its end is a connection that was cut. */
const struct value *answer_stream_end(
    struct answer_stream *stream, struct fault **fault_r);

/* --- for the dialects ------------------------------------------------------------------ */

/* Takes in an event by its name. Returns 0, or -1 with stream->fault set. */
int answer_stream_event(
    struct answer_stream *stream, const char *event, const char *data, size_t size);

/* Sets stream->fault. Returns -1. */
int answer_stream_unreadable(struct answer_stream *stream, const char *reason);

/* Shows a piece of the answer's text; what is no string counts as nothing, here and below. */
void answer_stream_show(struct answer_stream *stream, const struct value *text);

/* What is shown from now on is another block of the message's content. */
void answer_stream_begin_text(struct answer_stream *stream);

/* Appends text to packet, and counts it as kept. */
void answer_stream_keep(
    struct answer_stream *stream, struct packet *packet, const struct value *text);

#endif
