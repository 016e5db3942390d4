/* socket_watch: says why a socket that connects is not let in. Part of socket.
 *
 * To a refused peer ZeroMQ says nothing at all: the data socket stays silent for ever. Its
 * monitor knows; each reason is one line of the log, said again when it changes, after a
 * connection was let in between, and at most once a minute. */
#ifndef SOCKET_WATCH_H
#define SOCKET_WATCH_H

#include "loop.h"

struct socket_watch;

/* Watches zmq, a new socket in context that will connect to endpoint. Returns new, or NULL
 * where there are no descriptors for it: the socket works all the same. */
struct socket_watch *socket_watch_new(
    struct loop *loop, void *context, void *zmq, const char *endpoint);

/* Takes *watch_p, before zmq is closed. NULL is fine. */
void socket_watch_destroy(struct socket_watch **watch_p);

/* True when whoever listens at endpoint did not let us in the last time, which has been said. */
bool socket_watch_refused(const char *endpoint);

#endif
