/* listeners: the status channels of all brokers, heard as one. What a run publishes comes by
 * the broker that it takes, and by another one when that is lost. */
#ifndef LISTENERS_H
#define LISTENERS_H

#include "session.h"

struct listeners;

/* Returns new, not subscribed to anything; fn gets the messages. NULL after saying why. */
struct listeners *listeners_new(struct session *session, socket_fn *fn, void *arg);

/* Takes *listeners_p. NULL is fine. */
void listeners_destroy(struct listeners **listeners_p);

/* Subscribes to the topics that begin so, at all brokers. */
void listeners_subscribe(struct listeners *listeners, const char *prefix);
/* Takes one subscription back. */
void listeners_unsubscribe(struct listeners *listeners, const char *prefix);

#endif
