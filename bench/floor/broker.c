#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>
#include <zmq.h>

#include "floor.h"

#define WORKERS_MAX 16

struct worker {
	char id[FLOOR_ID_BYTES];
	enum floor_service service;
	size_t calls; /* that it has */
};

struct broker {
	void *socket;
	struct worker workers[WORKERS_MAX];
	size_t count;
};

static void
pass_on(struct broker *broker, const char *to, zmq_msg_t *body)
{
	if (zmq_send(broker->socket, to, FLOOR_ID_BYTES, ZMQ_SNDMORE) == -1 ||
	    zmq_msg_send(body, broker->socket, 0) == -1)
		errx(EXIT_FAILURE, "send: %s", zmq_strerror(zmq_errno()));
}

static void
on_hello(struct broker *broker, const char *from, zmq_msg_t *body)
{
	const struct floor_envelope *envelope = zmq_msg_data(body);
	struct worker *worker = &broker->workers[broker->count++];

	if (broker->count == WORKERS_MAX)
		errx(EXIT_FAILURE, "no room for more workers");
	memcpy(worker->id, from, FLOOR_ID_BYTES);
	worker->service = envelope->service;
	pass_on(broker, from, body);
}

/* To the worker of the service that has least to do. */
static void
on_call(struct broker *broker, const char *from, zmq_msg_t *body)
{
	struct floor_envelope *envelope = zmq_msg_data(body);
	struct worker *best = NULL, *worker = broker->workers;

	for (; worker < broker->workers + broker->count; worker++)
		if (worker->service == envelope->service &&
		    (best == NULL || worker->calls < best->calls))
			best = worker;
	if (best == NULL)
		errx(EXIT_FAILURE, "nobody serves %u", envelope->service);
	best->calls++;
	memcpy(envelope->caller, from, FLOOR_ID_BYTES);
	pass_on(broker, best->id, body);
}

static void
on_result(struct broker *broker, const char *from, zmq_msg_t *body)
{
	const struct floor_envelope *envelope = zmq_msg_data(body);
	struct worker *worker = broker->workers;
	char caller[FLOOR_ID_BYTES];

	while (memcmp(worker->id, from, FLOOR_ID_BYTES) != 0)
		worker++;
	worker->calls--;
	memcpy(caller, envelope->caller, FLOOR_ID_BYTES);
	pass_on(broker, caller, body);
}

static void
serve(struct broker *broker)
{
	static void (*const handlers[])(struct broker *, const char *, zmq_msg_t *) = {
		[FLOOR_HELLO] = on_hello,
		[FLOOR_CALL] = on_call,
		[FLOOR_RESULT] = on_result,
	};
	char from[FLOOR_ID_BYTES];
	zmq_msg_t body;

	zmq_msg_init(&body);
	for (;;) {
		if (zmq_recv(broker->socket, from, sizeof from, 0) == -1 ||
		    zmq_msg_recv(&body, broker->socket, 0) == -1)
			errx(EXIT_FAILURE, "recv: %s", zmq_strerror(zmq_errno()));
		handlers[((const struct floor_envelope *)zmq_msg_data(&body))->kind](
		    broker, from, &body);
	}
}

int
floor_broker(const char *endpoint)
{
	struct broker broker = { .socket = zmq_socket(zmq_ctx_new(), ZMQ_ROUTER) };
	int no_limit = 0, on = 1;

	if (broker.socket == NULL ||
	    zmq_setsockopt(broker.socket, ZMQ_SNDHWM, &no_limit, sizeof no_limit) == -1 ||
	    zmq_setsockopt(broker.socket, ZMQ_RCVHWM, &no_limit, sizeof no_limit) == -1 ||
	    zmq_setsockopt(broker.socket, ZMQ_ROUTER_MANDATORY, &on, sizeof on) == -1 ||
	    zmq_bind(broker.socket, endpoint) == -1)
		errx(EXIT_FAILURE, "%s: %s", endpoint, zmq_strerror(zmq_errno()));
	sd_notify(0, "READY=1");
	serve(&broker);
	return EXIT_SUCCESS;
}
