#include "stream.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

#define TRY_MS 20u
#define TRIES_MAX 500u

static struct sockaddr_in
loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

uint16_t
stream_free_port(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || bind(fd, (struct sockaddr *)&address, size) == -1 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) == -1)
		err(EXIT_FAILURE, "bind");
	close(fd);
	return ntohs(address.sin_port);
}

static struct stream *
open_at(const struct sockaddr *address, socklen_t size)
{
	const struct timespec pause = { .tv_nsec = TRY_MS * 1000000L };
	struct stream *stream = xcalloc(1, sizeof *stream);
	unsigned tries;

	stream->out = xcalloc(STREAM_BYTES, 1);
	stream->in = xcalloc(STREAM_BYTES, 1);
	for (tries = 0; tries < TRIES_MAX; tries++) {
		stream->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(stream->fd, address, size) == 0) {
			setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
			    sizeof(int));
			return stream;
		}
		close(stream->fd);
		nanosleep(&pause, NULL);
	}
	err(EXIT_FAILURE, "connect");
}

struct stream *
stream_open_port(uint16_t port)
{
	const struct sockaddr_in address = loopback(port);

	return open_at((const struct sockaddr *)&address, sizeof address);
}

struct stream *
stream_open_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	return open_at((const struct sockaddr *)&address, sizeof address);
}

void
stream_close(struct stream **stream_p)
{
	struct stream *stream = *stream_p;

	close(stream->fd);
	free(stream->out);
	free(stream->in);
	free(stream);
	*stream_p = NULL;
}

void
stream_add(struct stream *stream, const void *data, size_t size)
{
	if (stream->out_size + size > STREAM_BYTES)
		stream_flush(stream);
	memcpy(stream->out + stream->out_size, data, size);
	stream->out_size += size;
}

void
stream_flush(struct stream *stream)
{
	size_t done = 0;

	while (done < stream->out_size) {
		ssize_t size =
		    write(stream->fd, stream->out + done, stream->out_size - done);

		if (size == -1)
			err(EXIT_FAILURE, "write");
		done += (size_t)size;
	}
	stream->out_size = 0;
}

size_t
stream_ready(const struct stream *stream)
{
	return stream->in_end - stream->in_begin;
}

/* Reads what there is, at least a byte. */
static void
read_more(struct stream *stream)
{
	ssize_t size;

	memmove(stream->in, stream->in + stream->in_begin, stream_ready(stream));
	stream->in_end -= stream->in_begin;
	stream->in_begin = 0;
	size =
	    read(stream->fd, stream->in + stream->in_end, STREAM_BYTES - stream->in_end);
	if (size <= 0)
		err(EXIT_FAILURE, "read");
	stream->in_end += (size_t)size;
}

const char *
stream_peek(struct stream *stream, size_t size)
{
	while (stream_ready(stream) < size)
		read_more(stream);
	return stream->in + stream->in_begin;
}

void
stream_take(struct stream *stream, size_t size)
{
	stream->in_begin += size;
}

const char *
stream_line(struct stream *stream)
{
	char *end, *line;

	while ((end = memmem(stream->in + stream->in_begin, stream_ready(stream), "\r\n",
		    2)) == NULL)
		read_more(stream);
	*end = '\0';
	line = stream->in + stream->in_begin;
	stream_take(stream, (size_t)(end - line) + 2);
	return line;
}

void
stream_discard(struct stream *stream)
{
	while (recv(stream->fd, stream->in, STREAM_BYTES, MSG_DONTWAIT) > 0)
		continue;
	if (errno != EAGAIN)
		err(EXIT_FAILURE, "read");
}
