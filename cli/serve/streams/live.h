/* live: what is published of runs that somebody waits for. Who follows one has a subscription to all of it, one a run however many
 * follow; who waits for ends alone shares one to the ends of all runs: coordinators then need not make, nor brokers carry,
 * what happens before (docs/protocol.md, Status). */
#ifndef LIVE_H
#define LIVE_H

#include "session.h"

struct live;
struct live_ear;

/* Returns new; NULL after saying why. */
struct live *live_new(struct session *session);
/* Takes *live_p; nobody may listen any more. NULL is fine. */
void live_destroy(struct live **live_p);

/* Returns new: from now on heard(arg) gets, on the loop, what is published of run: the topic's last word, and the
 * body's bytes, lent for the call. Keeps run. */
struct live_ear *live_listen(struct live *live, const char *run,
    void (*heard)(void *arg, const char *kind, const void *body, size_t size), void *arg);
/* The same of run's end alone: the body is that of its event `finished`. */
struct live_ear *live_listen_end(struct live *live, const char *run,
    void (*heard)(void *arg, const char *kind, const void *body, size_t size), void *arg);
/* Takes *ear_p. NULL is fine. */
void live_unlisten(struct live_ear **ear_p);

#endif
