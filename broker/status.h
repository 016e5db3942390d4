/* status: the status channel's PUB socket, which knows what its readers want and can cut all
 * of them off.
 *
 * libzmq asks once whether a key may connect, and has no way to end one connection of a PUB:
 * when a key loses the right to look, the socket is closed and bound anew, and everybody
 * comes again. The channel may drop; readers miss what is published until then. */
#ifndef STATUS_H
#define STATUS_H

#include "socket.h"

struct body;
struct status;

/* Returns new, or NULL with a reason lent for ever. on_change(arg) is called at the end of a
 * turn when publishers are to be told anew what is wanted. */
struct status *status_new(struct loop *loop, const char *endpoint,
    void (*on_change)(void *arg), void *arg, const char **error_r);

/* Takes *status_p; what was sent last still goes out. NULL is fine. */
void status_destroy(struct status **status_p);

/* As bound. */
const char *status_endpoint(const struct status *status);

/* Publishes parts, the topic first, and empties it. Never waits for a slow reader. */
void status_send(struct status *status, struct parts *parts);

/* Lends the body of WANTED: prefixes of topics, or only whether anything is wanted. */
struct body *status_wanted(const struct status *status, bool whether);

/* Everybody off; whoever is still allowed to connects again by itself. */
void status_renew(struct status *status);

#endif
