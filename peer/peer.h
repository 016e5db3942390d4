/* peer: a session with a broker: HELLO and WELCOME, heartbeats both ways, reconnecting.
 *
 * What workers, coordinators and the command line have in common. Any frame counts as
 * life; a broker silent for the negotiated liveness is left and greeted anew (a new
 * DEALER socket: what the old one still held is dropped, owners send it again). After a
 * gap of our own loop the broker gets grace. The session id is made once a process.
 * A process has one of these for each broker: links.h. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>

#include "loop.h"
#include "socket.h"
#include "wire.h"

struct peer;

struct peer_options {
	const char *endpoint; /* the broker's ROUTER */
	const char *session;  /* 32 hex digits; NULL: new ones */
	enum wire_role role;
	const char *name;
	const struct wire_service *services; /* of a worker */
	size_t service_count;
	uint32_t capacity;           /* slots of a worker */
	const struct value *catalog; /* body of HELLO, or NULL; kept */

	/* On the loop's stack. The session is open (first or again): announce, send
	 * again. */
	void (*on_up)(void *arg);
	/* The session is lost; nothing sent is sure to have arrived. */
	void (*on_down)(void *arg, const char *reason);
	/* The broker goes within ms: no new calls, what it has still comes; then on_down. */
	void (*on_leaving)(void *arg, uint64_t ms);
	/* In a session every message but WELCOME, PING, PONG, WANTED, GOAWAY and ERROR
	 * NO_SESSION, acknowledgements one call at a time; without one ERROR alone. header and
	 * bodies are lent for the call; bodies may be moved out of. */
	void (*on_message)(void *arg, const struct header *header, struct parts *bodies);
	/* Called before each HELLO and PING: fills load, credit, capacity. May be NULL:
	 * then credit and capacity are those above. */
	void (*on_ping)(void *arg, struct header *header);
	void *arg;
};

/* Returns new; connects at once and for ever. Copies the options' strings and services,
 * keeps the catalog packed. NULL when endpoint is none. No callback comes from inside. */
struct peer *peer_new(struct loop *loop, const struct peer_options *options);

/* Says BYE, closes; takes *peer_p. */
void peer_destroy(struct peer **peer_p);

bool peer_is_up(const struct peer *peer);

/* Sends header and bodies (moved out, may be NULL). Returns 0, or -1 when it cannot go
 * out now: who owns the message sends it again later. */
int peer_send(struct peer *peer, const struct header *header, struct parts *bodies);

/* Changes what HELLO says; says it anew when the session is open, or else as soon as it is. */
void peer_set_services(struct peer *peer, const struct wire_service *services,
    size_t service_count, const struct value *catalog);

/* Whether somebody listens to topic at this broker, as far as it has told: what nobody wants
 * need not be made (wanted.h). False when the session is not open. */
bool peer_wants(const struct peer *peer, const char *topic);

/* Publishes value on the status channel (EVENT), unless nobody wants it: droppable. */
void peer_publish(struct peer *peer, const char *topic, const struct value *value);

#endif
