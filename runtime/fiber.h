/* fiber: what waits in direct style. ucontext, reused stacks with a guard page, one
 * thread.
 *
 * A fiber runs until it waits; the loop resumes it when it was woken. Everything a fiber
 * can wait for goes through fiber_wait, so that all of it can be cancelled: every waiting
 * call (redis_call, http_request, broker calls, fiber_sleep, ...) may return -1 because
 * of it, and every caller lets that through (fiber_cancelled() tells). ASan is told about
 * each switch. */
#ifndef FIBER_H
#define FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"

struct fiber;

/* Starts fn(arg) on a new fiber; it first runs in the loop's next batch of ready fibers,
 * not inside this call. The fiber frees itself when fn returns; fn runs even when it was
 * cancelled before. name is lent for ever: debuggers and the watchdog show it. Returns it, lent until it ends, or NULL
 * when FIBERS_MAX are alive or the kernel gives no stack. */
struct fiber *fiber_start(
    struct loop *loop, const char *name, void (*fn)(void *arg), void *arg);

/* The running fiber; NULL on the loop's own stack. */
struct fiber *fiber_current(void);

/* The loop of the running fiber. */
struct loop *fiber_loop(void);

/* Suspends the running fiber until fiber_wake. Returns 0, or -1 when it was cancelled (at
 * once if the cancel came before). A wake that came before the wait is not lost. Callers
 * loop on their own condition: wakes may be spurious. */
int fiber_wait(void);

/* Makes fiber ready; from the loop or another fiber. Cheap; repeated wakes are one. It
 * does not end a fiber_sleep, and is kept for the wait behind it. */
void fiber_wake(struct fiber *fiber);

/* As fiber_wait, for at most ms. Returns 0 woken, 1 time is over, -1 cancelled. */
int fiber_wait_ms(uint64_t ms);

/* Returns 0 after ms, -1 when cancelled. */
int fiber_sleep(uint64_t ms);

/* Gives back the pages of the stack that only deeper calls than this had touched: for a fiber
 * that has waited for long, and goes on waiting. One system call. */
void fiber_rest(void);

/* Lets others run. Returns 0, -1 when cancelled. */
int fiber_yield(void);

/* The number of the loop's turn in which the running fiber runs; 0 on the loop's own stack. */
uint64_t fiber_turn(void);

/* Asks fiber to end: its present and all further waits return -1. */
void fiber_cancel(struct fiber *fiber);
/* Of the running one: true when its waits fail. False in a shield and on the loop's
 * stack. */
bool fiber_cancelled(void);

/* Runs a bounded clean-up that must wait although the fiber is cancelled: between
 * shield(true) and shield(false) waits do not fail. */
void fiber_shield(bool on);

/* Says what the running fiber works on ("tool:search", "r1.2.0"), for the watchdog's last
 * words. Both are copied, cut to FIBER_NOTE_BYTES together; either may be NULL. */
#define FIBER_NOTE_BYTES 96u
void fiber_note(const char *what, const char *which);

/* Gives and reads one pointer of the fiber's owner (its job). */
void fiber_set_data(struct fiber *fiber, void *data);
void *fiber_data(const struct fiber *fiber);

/* Fibers alive. */
size_t fiber_count(const struct loop *loop);

/* --- used by watchdog.c ------------------------------------------------------------- */

/* Writes name and note of fiber to text, from any thread, also while it runs: "call
 * tool:search r1.2.0". The fibers of the loop must not be destroyed meanwhile. */
void fiber_describe(const struct fiber *fiber, char *text, size_t size);

/* --- used by loop.c ----------------------------------------------------------------- */

struct fibers;

/* Returns new: the fibers of loop, none yet. */
struct fibers *fibers_new(struct loop *loop);

/* Takes *fibers_p; every fiber must have ended. libuv's loop closes what is left of them
 * in its next run. */
void fibers_destroy(struct fibers **fibers_p);

/* Resumes fibers that are ready, up to a batch; true when some are ready still. */
bool fiber_run_ready(struct loop *loop);
bool fibers_are_ready(const struct fibers *fibers);

#endif
