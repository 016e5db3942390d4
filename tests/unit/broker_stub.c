#include "broker_stub.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

/* Returns as socket_send. */
static int
send_to_peer(struct broker_stub *stub, const struct header *header)
{
	struct packet packet = { 0 };
	struct parts parts = { .count = 0 };

	wire_encode(&packet, header);
	parts_add_frame(&parts, &stub->peer, 0);
	parts_add_packet(&parts, &packet);
	if (header->type == MSG_CALL) {
		parts_add(&parts, "\x80", 1);
		parts_add(&parts, "\x80", 1);
	}
	return socket_send(stub->router, &parts);
}

static void
welcome(struct broker_stub *stub)
{
	const struct header header = {
		.type = MSG_WELCOME,
		.session = stub->session,
		.protocol_max = WIRE_VERSION,
		.heartbeat_ms = 3600000,
		.liveness_ms = 3600000,
		.lists = 1,
	};

	/* Who greets behind a PING of no session has hung up, if he was told so already (peer.h). */
	if (send_to_peer(stub, &header) == -1)
		ck_assert_int_eq(errno, EHOSTUNREACH);
}

static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	struct broker_stub *stub = arg;
	struct header *header = &stub->heard[stub->count];
	enum wire_code code;
	const char *reason;

	ck_assert(!truncated);
	ck_assert_uint_lt(stub->count, BROKER_STUB_HEARD_MAX);
	ck_assert_int_eq(wire_decode(stub->arena, parts_data(parts, 1),
			     parts_size(parts, 1), header, &code, &reason),
	    0);
	stub->count++;
	parts_release(&stub->peer);
	parts_add_frame(&stub->peer, parts, 0);
	if (header->type == MSG_HELLO && stub->session != NULL)
		welcome(stub);
}

/* Not at a port, which another test's peer may still look for. */
void
broker_stub_open(struct broker_stub *stub, struct loop *loop)
{
	static unsigned number;
	char endpoint[64];
	const char *error;

	snprintf(endpoint, sizeof endpoint, "ipc://@flotilla-stub-%d-%u", (int)getpid(),
	    number++);

	*stub = (struct broker_stub){
		.loop = loop, .session = BROKER_STUB_SESSION, .arena = arena_new()
	};
	stub->router = socket_router(loop, endpoint, on_message, stub, &error);
	ck_assert_msg(stub->router != NULL, "%s", error);
}

void
broker_stub_close(struct broker_stub *stub)
{
	parts_release(&stub->peer);
	socket_close(&stub->router, 0);
	arena_destroy(&stub->arena);
}

const char *
broker_stub_endpoint(const struct broker_stub *stub)
{
	return socket_endpoint(stub->router);
}

void
broker_stub_send(struct broker_stub *stub, const struct header *header)
{
	ck_assert_msg(send_to_peer(stub, header) == 0, "%s: %s",
	    wire_message_name(header->type), zmq_strerror(errno));
}

unsigned
broker_stub_heard(const struct broker_stub *stub, enum message_type type, const char *id)
{
	unsigned count = 0;
	size_t i;

	for (i = 0; i < stub->count; i++)
		count += stub->heard[i].type == type &&
			 (id == NULL || (stub->heard[i].call_id != NULL &&
					    strcmp(stub->heard[i].call_id, id) == 0));
	return count;
}

struct awaited {
	struct broker_stub *stub;
	enum message_type type;
	const char *id;
	unsigned times;
};

static bool
is_heard(void *arg)
{
	struct awaited *awaited = arg;

	return broker_stub_heard(awaited->stub, awaited->type, awaited->id) >=
	       awaited->times;
}

void
broker_stub_await(
    struct broker_stub *stub, enum message_type type, const char *id, unsigned times)
{
	struct awaited awaited = { stub, type, id, times };

	loop_run_until(stub->loop, is_heard, &awaited);
}
