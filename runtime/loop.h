/* loop: the one event loop of a process: libuv, ZeroMQ beside it, and the fibers.
 *
 * One thread. Each turn: drain the sockets that are readable (a bounded batch each), let
 * libuv handle what is due, resume the fibers that are ready, run the flush hooks, sleep
 * in poll() over our ZeroMQ sockets' descriptors and libuv's. Sockets come before
 * timers, so that a peer is heard before it is expired. Signals are taken by this thread
 * alone, through libuv. Callbacks run on the loop's own stack and must not block or wait.
 */
#ifndef LOOP_H
#define LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct loop;
struct timer;
/* libuv's loop and timer. Not by <uv.h>: of most files that would be the half, and few call it. */
struct uv_loop_s;
struct uv_timer_s;

/* Returns a new loop; one a process. Ignores SIGPIPE and unblocks all signals: what a
 * supervisor or a shell had blocked for us would never arrive. Opens /dev/null for
 * whichever of the descriptors 0, 1 and 2 is closed. */
struct loop *loop_new(void);

/* That alone, for what is opened before: a socket that became number 2 would get the log. */
void loop_fill_descriptors(void);

/* Takes *loop_p; every fiber must have ended and every socket, timer be closed. Returns false when a
 * lookup of a name hangs on another thread, for which exit() would wait: then _exit. */
bool loop_destroy(struct loop **loop_p);

/* Runs until loop_stop; at once when that came before. Not from a callback. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* Runs turns until done(arg) is true, asked before each sleep; for start-up, shutdown and
 * tests. loop_stop does not end it. */
void loop_run_until(struct loop *loop, bool (*done)(void *arg), void *arg);

/* Milliseconds and microseconds of CLOCK_MONOTONIC; ms as of this turn. */
uint64_t loop_now_ms(const struct loop *loop);
uint64_t loop_now_us(void);

/* The last gap between two turns that was longer than 2 * HEARTBEAT_MS (we were stopped,
 * or a callback blocked): its end, in loop_now_ms; 0 never. Who expires peers gives grace
 * after it. */
uint64_t loop_gap_ms(const struct loop *loop);

/* The longest turn of the last 5 to 10 seconds, and how late it began: what everything that
 * waits for this loop may have waited longer than it had to. */
uint64_t loop_lag_ms(const struct loop *loop);

/* Returns new timer that calls fn(arg) after delay_ms, then every repeat_ms (0: once),
 * re-armed from now, never catching up. timer_stop frees it, takes *timer_p and sets it
 * to NULL; safe inside fn and on NULL. A one-shot timer that has fired still wants
 * timer_stop. */
struct timer *timer_start(struct loop *loop, uint64_t delay_ms, uint64_t repeat_ms,
    void (*fn)(void *arg), void *arg);
void timer_stop(struct timer **timer_p);

/* Calls fn(arg) at the end of each turn, before sleeping: where batches are flushed.
 * Removed by the same pair. */
void loop_add_flush(struct loop *loop, void (*fn)(void *arg), void *arg);
void loop_remove_flush(struct loop *loop, void (*fn)(void *arg), void *arg);

/* --- for runtime/ alone ------------------------------------------------------------- */

/* What another thread (the watchdog's) may read of the loop while that lives. */
struct loop_pulse {
	atomic_uint_least64_t turns;   /* odd while a turn goes on, even in the sleep */
	_Atomic(const char *) doing;   /* for ever lent: what part of the turn */
	_Atomic(struct fiber *) fiber; /* that runs, or NULL; see fiber_describe */
};
struct loop_pulse *loop_pulse(struct loop *loop);

/* Lends libuv's loop. */
struct uv_loop_s *loop_uv(struct loop *loop);

/* Lends the fibers of this loop. */
struct fibers *loop_fibers(const struct loop *loop);

/* A ZeroMQ socket on the loop, a member of its owner. */
struct loop_reader {
	void *socket;
	void (*drain)(void *arg); /* reads until there is nothing, or for long enough */
	void *arg;
	bool is_touched; /* set by the owner: see loop_add_reader */
	bool is_ready;   /* the loop's own, as is fd */
	int fd;
};

/* Calls reader->drain(arg) in each turn in which its socket may have something to read.
 * libzmq tells of it once, to whichever call on the socket comes first: who sends, leaves
 * something unread, or asks for ZMQ_EVENTS sets is_touched, and is called again if there is
 * more. reader is lent, with socket, drain and arg set, until it is removed. Both are safe
 * inside drain. */
void loop_add_reader(struct loop *loop, struct loop_reader *reader);
void loop_remove_reader(struct loop *loop, const struct loop_reader *reader);

/* uv_timer_start, but the delay counts from now, not from the begin of the turn, and is
 * at least 1 ms: a timer that arms itself again lets the turn end. */
void loop_arm(
    struct uv_timer_s *timer, uint64_t delay_ms, void (*fn)(struct uv_timer_s *timer));

#endif
