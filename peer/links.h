/* links: a session with each of several brokers, named by its index in the list of
 * endpoints. All brokers serve at once and know nothing of each other; the process says the
 * same HELLO to all, under one session id. What belongs to a run takes one link, the same
 * for everybody (rendezvous.h), until that is down. */
#ifndef LINKS_H
#define LINKS_H

#include <stdbool.h>

#include "peer.h"
#include "rendezvous.h"

struct links;

struct links_options {
	const char *const *endpoints; /* the brokers' ROUTERs, NULL-ended */
	enum wire_role role;
	const char *name;
	const char *session;                 /* 32 hex digits; NULL: a new one */
	const struct wire_service *services; /* of a worker */
	size_t service_count;
	uint32_t capacity;           /* slots of a worker, shared by all links */
	const struct value *catalog; /* body of HELLO, or NULL; kept */

	/* On the loop's stack; as peer.h has them, and which link. */
	void (*on_up)(void *arg, uint32_t link);
	void (*on_down)(void *arg, uint32_t link, const char *reason);
	void (*on_leaving)(void *arg, uint32_t link, uint64_t ms);
	void (*on_message)(
	    void *arg, uint32_t link, const struct header *header, struct parts *bodies);
	void (*on_ping)(void *arg, struct header *header); /* may be NULL */
	void *arg;
};

/* Returns new; connects at once and for ever. Copies the options' strings and services,
 * keeps the catalog packed. NULL when the list is wrong: then *wrong_r is the entry (or
 * "") and *allowed_r what must be there, lent as the options are. No callback comes from
 * inside. */
struct links *links_new(struct loop *loop, const struct links_options *options,
    const char **wrong_r, const char **allowed_r);

/* Says BYE on all, closes; takes *links_p. */
void links_destroy(struct links **links_p);

uint32_t links_count(const struct links *links);
/* Lends the identity of each (rendezvous_identity). */
const uint64_t *links_identities(const struct links *links);
const char *links_endpoint(const struct links *links, uint32_t link);
bool links_is_up(const struct links *links, uint32_t link);
/* Logs that the broker of link is lost: a warning, unless it is the one of our own process (inproc://, a hub), which
 * goes when we go. */
void links_log_lost(const struct links *links, uint32_t link, const char *reason);

/* As peer_send. LINK_NONE: -1. */
int links_send(struct links *links, uint32_t link, const struct header *header,
    struct parts *bodies);

/* Changes what HELLO says, on all links. */
void links_set_services(struct links *links, const struct wire_service *services,
    size_t service_count, const struct value *catalog);

/* As peer_wants. LINK_NONE: false. */
bool links_wants(const struct links *links, uint32_t link, const char *topic);

/* Publishes value on the status channel of run's broker (of any, when run is NULL), unless
 * nobody wants it: droppable. */
void links_publish(
    struct links *links, const char *run, const char *topic, const struct value *value);

/* The link that carries what run publishes now, or LINK_NONE. */
uint32_t links_of_run(const struct links *links, const char *run);

#endif
