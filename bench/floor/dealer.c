#include <err.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>
#include <zmq.h>

#include "floor.h"

void *
floor_dealer(const char *endpoint, const char id[FLOOR_ID_BYTES])
{
	void *socket = zmq_socket(zmq_ctx_new(), ZMQ_DEALER);
	int no_limit = 0;

	if (socket == NULL ||
	    zmq_setsockopt(socket, ZMQ_ROUTING_ID, id, FLOOR_ID_BYTES) == -1 ||
	    zmq_setsockopt(socket, ZMQ_SNDHWM, &no_limit, sizeof no_limit) == -1 ||
	    zmq_setsockopt(socket, ZMQ_RCVHWM, &no_limit, sizeof no_limit) == -1 ||
	    zmq_connect(socket, endpoint) == -1)
		errx(EXIT_FAILURE, "%s: %s", endpoint, zmq_strerror(zmq_errno()));
	return socket;
}

void
floor_send(
    void *socket, const struct floor_envelope *envelope, const void *body, size_t size)
{
	zmq_msg_t message;

	zmq_msg_init_size(&message, sizeof *envelope + size);
	memcpy(zmq_msg_data(&message), envelope, sizeof *envelope);
	if (size > 0)
		memcpy((char *)zmq_msg_data(&message) + sizeof *envelope, body, size);
	if (zmq_msg_send(&message, socket, 0) == -1)
		errx(EXIT_FAILURE, "send: %s", zmq_strerror(zmq_errno()));
}

void
floor_hello(void *socket, enum floor_service service)
{
	const struct floor_envelope hello = { .kind = FLOOR_HELLO,
		.service = (uint8_t)service };
	char echo[sizeof hello];

	floor_send(socket, &hello, NULL, 0);
	if (zmq_recv(socket, echo, sizeof echo, 0) == -1)
		errx(EXIT_FAILURE, "hello: %s", zmq_strerror(zmq_errno()));
	sd_notify(0, "READY=1");
}
