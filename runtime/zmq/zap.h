/* zap: answers ZeroMQ's question whether a peer's key may come in (RFC 27, CURVE alone).
 *
 * libzmq asks once for each connection, before a byte of it reaches a socket of ours, from
 * its own thread; the answer is given in the loop's turn and never waits. While the loop
 * stands still a handshake does too, for 5 s at most, and the peer comes again. */
#ifndef ZAP_H
#define ZAP_H

#include "loop.h"

struct zap;

/* Answers whether the peer with this public key (Z85) may connect to a socket of domain. */
typedef bool zap_fn(void *arg, const char *domain, const char *key);

/* Returns new, or NULL with a reason lent for ever; one a process, before the sockets that
 * bind. A key that is let in is the User-Id of each frame that comes by its connection. */
struct zap *zap_new(
    struct loop *loop, zap_fn *may_connect, void *arg, const char **error_r);

/* Takes *zap_p: from now on nobody new comes in. NULL is fine. */
void zap_destroy(struct zap **zap_p);

#endif
