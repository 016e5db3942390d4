/* openai_stream: puts a streamed answer of OpenAI's chat completions together again. */
#ifndef OPENAI_STREAM_H
#define OPENAI_STREAM_H

#include "fault.h"
#include "sse.h"
#include "value.h"

struct openai_stream_call;

struct openai_stream {
	struct arena *arena;
	const char *endpoint; /* for messages */
	/* Called with each piece of the answer's text; may be NULL. */
	void (*on_text)(void *arg, const char *text, size_t size);
	void *arg;

	struct sse sse;
	struct packet content, refusal;
	struct openai_stream_call *calls;
	size_t call_count;
	const struct value *head;          /* of the first event: id, model */
	const struct value *finish_reason; /* of the choice, once it is there */
	const struct value *usage;
	struct packet whole; /* a body that is no stream: a plain answer all the same */
	bool is_whole;
	bool begun;
	bool ended; /* no more will come */
	bool done;  /* the end was announced: what comes behind it does not matter */
	struct fault *fault;
};

/* Begins an answer; what is read is in arena. */
void openai_stream_init(
    struct openai_stream *stream, struct arena *arena, const char *endpoint);
void openai_stream_release(struct openai_stream *stream);

/* Takes in the next piece of the body. Returns 0, or -1 with stream->fault set. */
int openai_stream_feed(struct openai_stream *stream, const char *data, size_t size);

/* The body is over. Returns the AI message, or NULL with the reason in *fault_r: a stream
 * without its end is a connection that was cut. */
const struct value *openai_stream_end(
    struct openai_stream *stream, struct fault **fault_r);

#endif
