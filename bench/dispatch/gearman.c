/* gearmand, by its own protocol over TCP on loopback: a worker that grabs one job after the other and sleeps when
 * there is none, a client that has many foreground jobs under way on one connection. */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "dispatch.h"
#include "stream.h"

#define HEAD_BYTES 12u
#define FUNCTION "echo"

/* Of the protocol. */
enum packet {
	CAN_DO = 1,
	PRE_SLEEP = 4,
	NOOP = 6,
	SUBMIT_JOB = 7,
	JOB_CREATED = 8,
	GRAB_JOB = 9,
	NO_JOB = 10,
	JOB_ASSIGN = 11,
	WORK_COMPLETE = 13,
};

static struct stream *server;

static void
add_head(struct stream *stream, enum packet packet, size_t size)
{
	char head[HEAD_BYTES] = { 0, 'R', 'E', 'Q' };
	uint32_t numbers[] = { htonl(packet), htonl((uint32_t)size) };

	memcpy(head + 4, numbers, sizeof numbers);
	stream_add(stream, head, sizeof head);
}

/* Returns the next packet's body, lent until it is taken. */
static const char *
next_packet(struct stream *stream, enum packet *packet_r, size_t *size_r)
{
	uint32_t numbers[2];

	memcpy(numbers, stream_peek(stream, HEAD_BYTES) + 4, sizeof numbers);
	*packet_r = ntohl(numbers[0]);
	*size_r = ntohl(numbers[1]);
	return stream_peek(stream, HEAD_BYTES + *size_r) + HEAD_BYTES;
}

/* --- the worker -------------------------------------------------------------------------- */

/* The body is handle, function, job, with a NUL behind the first two. */
static void
answer(struct stream *stream, const char *body, size_t size)
{
	size_t handle = strlen(body) + 1, before = handle + strlen(body + handle) + 1;

	add_head(stream, WORK_COMPLETE, handle + size - before);
	stream_add(stream, body, handle);
	stream_add(stream, body + before, size - before);
}

static void
work(const char *endpoint)
{
	struct stream *stream = stream_open_port((uint16_t)atoi(endpoint));
	enum packet packet;
	size_t size;

	add_head(stream, CAN_DO, sizeof FUNCTION - 1);
	stream_add(stream, FUNCTION, sizeof FUNCTION - 1);
	add_head(stream, GRAB_JOB, 0);
	stream_flush(stream);
	sd_notify(0, "READY=1");
	for (;;) {
		const char *body = next_packet(stream, &packet, &size);

		if (packet == JOB_ASSIGN)
			answer(stream, body, size);
		else if (packet != NO_JOB && packet != NOOP)
			errx(EXIT_FAILURE, "packet %d", (int)packet);
		add_head(stream, packet == NO_JOB ? PRE_SLEEP : GRAB_JOB, 0);
		stream_take(stream, HEAD_BYTES + size);
		stream_flush(stream);
	}
}

/* --- the client -------------------------------------------------------------------------- */

static void
start(const char *self, const char *build, const char *folder, struct child **queue_r,
    struct child **worker_r)
{
	uint16_t port = stream_free_port();
	char text[8], log[128];

	(void)build;
	snprintf(text, sizeof text, "%u", port);
	snprintf(log, sizeof log, "%s/log", folder);
	*queue_r = child_spawn((const char *[]){ "gearmand", "--listen", "127.0.0.1",
				   "--port", text, "--log-file", log, NULL },
	    NULL);
	server = stream_open_port(port);
	*worker_r =
	    child_start((const char *[]){ self, "worker", "gearmand", text, NULL }, NULL);
}

static void
submit(size_t number)
{
	char job[DISPATCH_BYTES];

	dispatch_job(job, number);
	add_head(server, SUBMIT_JOB, sizeof FUNCTION + 1 + sizeof job);
	stream_add(server, FUNCTION "\0", sizeof FUNCTION + 1); /* no unique id */
	stream_add(server, job, sizeof job);
}

static void
take_packet(struct dispatch *dispatch)
{
	enum packet packet;
	size_t size, handle;
	const char *body = next_packet(server, &packet, &size);

	if (packet == WORK_COMPLETE) {
		handle = strlen(body) + 1;
		dispatch_answer(dispatch, body + handle, size - handle);
	} else if (packet != JOB_CREATED) {
		errx(EXIT_FAILURE, "packet %d", (int)packet);
	}
	stream_take(server, HEAD_BYTES + size);
}

static void
run(struct dispatch *dispatch)
{
	size_t number;

	while (dispatch->answered < dispatch->jobs) {
		while (dispatch_next(dispatch, &number))
			submit(number);
		stream_flush(server);
		do
			take_packet(dispatch);
		while (stream_ready(server) > 0);
	}
}

static void
stop(void)
{
	stream_close(&server);
}

const struct dispatch_system dispatch_gearman = { "gearmand", start, run, stop, work };
