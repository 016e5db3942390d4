/* stream: a connection to a queue, blocking; what is written is gathered until it is sent. What goes wrong ends
 * the program. */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_BYTES ((size_t)1 << 20)

struct stream {
	int fd;
	char *out, *in;
	size_t out_size, in_begin, in_end;
};

/* A port of loopback that nobody has now. */
uint16_t stream_free_port(void);

/* Connect, and wait for who is to listen there. */
struct stream *stream_open_port(uint16_t port);
struct stream *stream_open_path(const char *path);
void stream_close(struct stream **stream_p);

void stream_add(struct stream *stream, const void *data, size_t size);
void stream_flush(struct stream *stream);

/* How much has been read and not been taken. */
size_t stream_ready(const struct stream *stream);

/* Reads until size bytes are there; lends them until the next call. */
const char *stream_peek(struct stream *stream, size_t size);
void stream_take(struct stream *stream, size_t size);

/* Reads a line and takes it; lends it without its end until the next call. */
const char *stream_line(struct stream *stream);

/* Throws away what has come, without waiting. */
void stream_discard(struct stream *stream);

#endif
