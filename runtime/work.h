/* work: what cannot yield, such as a walk over a disk, on a thread of libuv's pool while its
 * fiber waits.
 *
 * The pool has four threads, and names are resolved there, too: so WORK_MAX of these run at a
 * time, the others wait for their turn. */
#ifndef WORK_H
#define WORK_H

#include <stdatomic.h>

#define WORK_MAX 2u

/* Runs fn(arg, stop) on another thread and waits for its end, on a fiber. stop becomes true when
 * the fiber is cancelled: fn looks at it now and then. fn may use an arena of arg's, which nobody
 * else touches until this returns; it destroys none. Returns 0, or -1 when the fiber was
 * cancelled: fn has ended, or was never begun. */
int work_run(void (*fn)(void *arg, const atomic_bool *stop), void *arg);

#endif
