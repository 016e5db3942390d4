/* allow: the broker's allow list: read at the start, again whenever the file changes or
 * SIGHUP comes, and libzmq's questions answered from memory. */
#ifndef ALLOW_H
#define ALLOW_H

#include "loop.h"
#include "rights.h"

struct allow;

/* Called with each list that comes into force, the first one from inside allow_new; book is
 * lent until the next call of it has returned, or allow_destroy. watcher_lost: a key that
 * could look at the status channel no longer may. */
typedef void allow_fn(void *arg, struct rights_book *book, bool watcher_lost);

/* Returns new; from now on keys come in as the file at path says. NULL with the reason
 * ("file:line:column: ...") in arena. Later, a file that cannot be read or is wrong is said
 * in the log, and the list before stays in force. */
struct allow *allow_new(struct loop *loop, const char *path, allow_fn *changed, void *arg,
    struct arena *arena, const char **error_r);

/* Takes *allow_p, after the sockets that bind and the core. NULL is fine. */
void allow_destroy(struct allow **allow_p);

/* Reads the file now, changed or not. */
void allow_reload(struct allow *allow);

#endif
