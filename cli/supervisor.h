/* supervisor: the child programs of `flotilla up`: started in order, ready by sd_notify,
 * started again when they die, ended in reverse order. Children get SIGTERM when we are
 * killed. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include "loop.h"
#include "value.h"

struct supervisor;

/* Returns new, with a notify socket in folder; NULL with errno. */
struct supervisor *supervisor_new(struct loop *loop, const char *folder);

/* Every child must have ended (supervisor_stop). */
void supervisor_destroy(struct supervisor **supervisor_p);

/* Starts a program and waits, on a fiber, until it says READY=1, at most ready_ms. argv
 * (NULL- ended) is copied; argv[0] is a path. Returns 0, or -1 after saying why. */
int supervisor_start(struct supervisor *supervisor, const char *name,
    const char *const *argv, uint64_t ready_ms);

/* Ends all, last started first: SIGTERM, and SIGKILL after kill_ms. Waits on a fiber,
 * even a cancelled one. */
void supervisor_stop(struct supervisor *supervisor, uint64_t kill_ms);

/* Children that are alive. */
size_t supervisor_alive(const struct supervisor *supervisor);

#endif
