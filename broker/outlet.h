/* outlet: the broker's ROUTER and what goes out by it: peers as numbers, acknowledgements that wait
 * for other messages, and who turns out to be gone. */
#ifndef OUTLET_H
#define OUTLET_H

#include "body.h"
#include "wire.h"

struct outlet;

/* Returns new, bound to endpoint, whose messages go to fn; or NULL with a reason lent for ever. */
struct outlet *outlet_new(struct loop *loop, const char *endpoint, socket_fn *fn,
    void *arg, const char **error_r);

/* As socket_bind_inside. */
int outlet_bind_inside(struct outlet *outlet, const char *endpoint);

/* Sends what is gathered, closes; takes *outlet_p. NULL is fine. */
void outlet_destroy(struct outlet **outlet_p);

const char *outlet_endpoint(const struct outlet *outlet);

/* Returns the peer that a message came from, or 0 when it has chosen its routing id itself. */
uint64_t outlet_peer(const struct parts *message);

/* Sends header and body, or NULL. */
void outlet_send(
    struct outlet *outlet, uint64_t peer, const struct header *header, struct body *body);

/* The same to a peer that reads several acknowledgements in one (gathered.h). */
void outlet_gather(
    struct outlet *outlet, uint64_t peer, const struct header *header, struct body *body);

/* The same with a body that is taken and released. */
void outlet_send_packet(struct outlet *outlet, uint64_t peer, const struct header *header,
    struct packet *body);

/* The actions of a step are done: what their headers lend is gone. NULL is fine. */
void outlet_step_over(struct outlet *outlet);

/* --- peers that cannot be sent to any more --------------------------------------------- */

/* How many there are; 0, too, while what they said last may be unread. At the end of a turn: a peer
 * that is lost is found with the last of what is sent. */
size_t outlet_lost_count(const struct outlet *outlet);
uint64_t outlet_lost(const struct outlet *outlet, size_t index);
/* The first count of them are done with. */
void outlet_forget_lost(struct outlet *outlet, size_t count);

#endif
