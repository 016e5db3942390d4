/* broker_stub: a broker's socket in the loop of the test: greets who says HELLO, notes what it hears,
 * and says what it is told to. */
#ifndef BROKER_STUB_H
#define BROKER_STUB_H

#include "socket.h"
#include "wire.h"

#define BROKER_STUB_HEARD_MAX 64u

struct broker_stub {
	struct loop *loop;
	struct socket *router;
	const char *session; /* its own, in WELCOME; NULL: it does not answer */
	struct arena *arena; /* of what it heard */
	struct parts peer;   /* who spoke last: the routing id */
	struct header heard[BROKER_STUB_HEARD_MAX];
	size_t count;
};

#define BROKER_STUB_SESSION "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0"

void broker_stub_open(struct broker_stub *stub, struct loop *loop);
void broker_stub_close(struct broker_stub *stub);
const char *broker_stub_endpoint(const struct broker_stub *stub);

/* Sends header to who spoke last, with two empty maps as bodies when it is a CALL. */
void broker_stub_send(struct broker_stub *stub, const struct header *header);

/* How often it heard type, about id unless that is NULL. */
unsigned broker_stub_heard(
    const struct broker_stub *stub, enum message_type type, const char *id);

/* Runs the loop until it has heard that so often. */
void broker_stub_await(
    struct broker_stub *stub, enum message_type type, const char *id, unsigned times);

#endif
