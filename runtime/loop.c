#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>
#include <zmq.h>

#include "fiber.h"
#include "bounds.h"
#include "memory.h"
#include "socket_call.h"

#define SLEEP_MS_MAX 3600000 /* nobody's timer is hurt, and no sum overflows */
#define GAP_MS (UINT64_C(2) * HEARTBEAT_MS)
#define LAG_WINDOW_MS 5000u
#define LOOKUPS_WAIT_US 1000000u

struct flush {
	void (*fn)(void *arg); /* NULL: removed */
	void *arg;
};

struct loop {
	uv_loop_t uv;
	uv_prepare_t
	    keeper; /* without any active handle libuv's timeout is 0: a busy loop */
	struct fibers *fibers;
	struct loop_reader **readers; /* NULL: removed, goes before the next sleep */
	struct pollfd *items;         /* libuv's descriptor, then the readers' */
	size_t reader_count;
	struct flush *flushes;
	size_t flush_count;
	uint64_t due_ms;                /* when the turn should have begun */
	uint64_t lag_ms, lag_before_ms; /* the longest turn of this window and the last */
	uint64_t lag_since_ms;          /* when this window began */
	struct loop_pulse pulse;
	uint64_t gap_ms;
	bool is_uv_ready;
	bool is_running;
	bool is_stopped;
};

struct timer {
	uv_timer_t uv;
	uint64_t repeat_ms;
	void (*fn)(void *arg);
	void *arg;
};

static void
on_prepare(uv_prepare_t *handle)
{
	(void)handle;
}

static void
take_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* libuv would stop us for one of ours there. */
void
loop_fill_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd != -1 && fd <= STDERR_FILENO);
	if (fd != -1)
		close(fd);
}

struct loop *
loop_new(void)
{
	struct loop *loop = xcalloc(1, sizeof *loop);

	loop_fill_descriptors();
	take_signals();
	if (uv_loop_init(&loop->uv) != 0) {
		free(loop);
		return NULL;
	}
	uv_prepare_init(&loop->uv, &loop->keeper);
	uv_prepare_start(&loop->keeper, on_prepare);
	loop->items = xcalloc(1, sizeof *loop->items);
	loop->fibers = fibers_new(loop);
	return loop;
}

static void
assert_closing(uv_handle_t *handle, void *arg)
{
	(void)arg;
	assert(uv_is_closing(handle)); /* somebody's handle outlives its owner */
}

/* Returns false when a thread still works for it: a lookup of a name cannot be taken back. */
static bool
close_uv(struct loop *loop)
{
	uint64_t until_us = loop_now_us() + LOOKUPS_WAIT_US;
	int left;

	uv_close((uv_handle_t *)&loop->keeper, NULL);
	uv_walk(&loop->uv, assert_closing, NULL);
	while (uv_run(&loop->uv, UV_RUN_NOWAIT) != 0) {
		if (loop_now_us() >= until_us)
			return false;
		poll(NULL, 0, 1);
	}
	left = uv_loop_close(&loop->uv);
	assert(left == 0);
	return true;
}

bool
loop_destroy(struct loop **loop_p)
{
	struct loop *loop = *loop_p;
	bool is_over;

	if (loop == NULL)
		return true;
	assert(!loop->is_running);
	for (size_t i = 0; i < loop->reader_count; i++)
		assert(loop->readers[i] == NULL);
	fibers_destroy(&loop->fibers);
	is_over = close_uv(loop);
	free(loop->readers);
	free(loop->items);
	free(loop->flushes);
	if (is_over)
		free(loop);
	*loop_p = NULL;
	return is_over;
}

/* --- the turn ----------------------------------------------------------------------- */

static void
note_time(struct loop *loop)
{
	uint64_t now;

	uv_update_time(&loop->uv);
	now = uv_now(&loop->uv);
	if (now > loop->due_ms + GAP_MS)
		loop->gap_ms = now;
}

static void
drain_readers(struct loop *loop)
{
	/* By index: a drain may add readers, and so move the array. */
	for (size_t i = 0; i < loop->reader_count; i++) {
		struct loop_reader *reader = loop->readers[i];

		if (reader == NULL || !reader->is_ready)
			continue;
		reader->is_ready = false;
		reader->drain(reader->arg);
	}
}

static void
run_uv(struct loop *loop)
{
	/* Timers fire in here: who expires peers must know of a gap by now. */
	note_time(loop);
	if (loop->is_uv_ready || uv_backend_timeout(&loop->uv) == 0)
		uv_run(&loop->uv, UV_RUN_NOWAIT);
	loop->is_uv_ready = false;
}

static void
run_flushes(struct loop *loop)
{
	size_t kept = 0;

	for (size_t i = 0; i < loop->flush_count; i++) {
		if (loop->flushes[i].fn != NULL)
			loop->flushes[i].fn(loop->flushes[i].arg);
	}
	for (size_t i = 0; i < loop->flush_count; i++) {
		if (loop->flushes[i].fn != NULL)
			loop->flushes[kept++] = loop->flushes[i];
	}
	loop->flush_count = kept;
}

static void
note_lag(struct loop *loop, uint64_t lag_ms)
{
	uint64_t now = uv_now(&loop->uv);

	if (now >= loop->lag_since_ms + LAG_WINDOW_MS) {
		loop->lag_before_ms =
		    now < loop->lag_since_ms + UINT64_C(2) * LAG_WINDOW_MS ? loop->lag_ms
									   : 0;
		loop->lag_ms = 0;
		loop->lag_since_ms = now;
	}
	if (lag_ms > loop->lag_ms)
		loop->lag_ms = lag_ms;
}

static void
begin(struct loop *loop, const char *part)
{
	atomic_store_explicit(&loop->pulse.doing, part, memory_order_relaxed);
}

static void
beat(struct loop *loop)
{
	atomic_fetch_add_explicit(&loop->pulse.turns, 1, memory_order_relaxed);
}

static void
work(struct loop *loop)
{
	uint64_t now = uv_now(&loop->uv), due = loop->due_ms;
	uint64_t begun_ms = now < due ? now : due;

	beat(loop);
	begin(loop, "sockets");
	drain_readers(loop);
	begin(loop, "timers and descriptors");
	run_uv(loop);
	begin(loop, "fibers");
	fiber_run_ready(loop);
	begin(loop, "what is flushed");
	run_flushes(loop);
	note_time(loop);
	note_lag(loop, uv_now(&loop->uv) - begun_ms);
	beat(loop);
}

/* libuv answers 0 as well when it wants to tell the kernel of new descriptors. */
static int
sleep_ms(const struct loop *loop)
{
	int ms;

	if (fibers_are_ready(loop->fibers))
		return 0;
	ms = uv_backend_timeout(&loop->uv);
	return ms < 0 || ms > SLEEP_MS_MAX ? SLEEP_MS_MAX : ms;
}

/* libzmq's descriptor says once that something has happened, and every call on the socket
 * may be the one that takes notice of it, a send as well: after any of them it must be asked
 * before we sleep. Asking costs two system calls, so nobody is asked without need. */
static bool
has_input(struct loop_reader *reader)
{
	if (reader->is_touched && !reader->is_ready)
		reader->is_ready = (socket_call_events(reader->socket) & ZMQ_POLLIN) != 0;
	reader->is_touched = false;
	return reader->is_ready;
}

/* Returns whether some reader is ready without any sleep. */
static bool
list_items(struct loop *loop)
{
	bool is_ready = false;
	size_t kept = 0;

	loop->items[0] = (struct pollfd){
		.fd = uv_backend_fd(&loop->uv),
		.events = POLLIN,
	};
	for (size_t i = 0; i < loop->reader_count; i++) {
		struct loop_reader *reader = loop->readers[i];

		if (reader == NULL)
			continue;
		loop->readers[kept++] = reader;
		loop->items[kept] = (struct pollfd){ .fd = reader->fd, .events = POLLIN };
		is_ready = has_input(reader) || is_ready;
	}
	loop->reader_count = kept;
	return is_ready;
}

static void
sleep_until_ready(struct loop *loop)
{
	int ms = list_items(loop) ? 0 : sleep_ms(loop);
	bool failed;

	loop->due_ms = uv_now(&loop->uv) + (uint64_t)ms;
	failed = poll(loop->items, loop->reader_count + 1, ms) == -1;
	/* A signal: libuv's handler wrote to its pipe, the next poll sees it. */
	assert(!failed || errno == EINTR);
	note_time(loop);
	loop->is_uv_ready = !failed && loop->items[0].revents != 0;
	for (size_t i = 0; i < loop->reader_count; i++) {
		if (!failed && loop->items[i + 1].revents != 0)
			loop->readers[i]->is_ready = true;
	}
}

void
loop_run_until(struct loop *loop, bool (*done)(void *arg), void *arg)
{
	assert(!loop->is_running && fiber_current() == NULL);
	loop->is_running = true;
	uv_update_time(&loop->uv);
	loop->due_ms = loop->lag_since_ms = uv_now(&loop->uv);
	while (!done(arg)) {
		work(loop);
		if (done(arg))
			break;
		sleep_until_ready(loop);
	}
	loop->is_running = false;
}

static bool
is_stopped(void *arg)
{
	const struct loop *loop = arg;

	return loop->is_stopped;
}

void
loop_run(struct loop *loop)
{
	loop_run_until(loop, is_stopped, loop);
	loop->is_stopped = false;
}

void
loop_stop(struct loop *loop)
{
	loop->is_stopped = true;
}

/* --- time --------------------------------------------------------------------------- */

uint64_t
loop_now_ms(const struct loop *loop)
{
	return uv_now(&loop->uv);
}

uint64_t
loop_now_us(void)
{
	return uv_hrtime() / 1000;
}

uint64_t
loop_gap_ms(const struct loop *loop)
{
	return loop->gap_ms;
}

uint64_t
loop_lag_ms(const struct loop *loop)
{
	return loop->lag_ms > loop->lag_before_ms ? loop->lag_ms : loop->lag_before_ms;
}

struct loop_pulse *
loop_pulse(struct loop *loop)
{
	return &loop->pulse;
}

void
loop_arm(uv_timer_t *timer, uint64_t delay_ms, uv_timer_cb fn)
{
	uint64_t now = uv_hrtime() / 1000000;
	uint64_t turn = uv_now(timer->loop);
	uint64_t behind = now > turn ? now - turn : 0;

	if (delay_ms == 0)
		delay_ms = 1;
	if (delay_ms > UINT64_MAX / 2)
		delay_ms = UINT64_MAX / 2;
	uv_timer_start(timer, fn, delay_ms + behind, 0);
}

static void
on_timer(uv_timer_t *uv)
{
	struct timer *timer = uv->data;

	/* Before the call: fn may stop the timer. */
	if (timer->repeat_ms != 0)
		loop_arm(uv, timer->repeat_ms, on_timer);
	timer->fn(timer->arg);
}

struct timer *
timer_start(struct loop *loop, uint64_t delay_ms, uint64_t repeat_ms,
    void (*fn)(void *arg), void *arg)
{
	struct timer *timer = xcalloc(1, sizeof *timer);

	timer->repeat_ms = repeat_ms;
	timer->fn = fn;
	timer->arg = arg;
	timer->uv.data = timer;
	uv_timer_init(&loop->uv, &timer->uv);
	loop_arm(&timer->uv, delay_ms, on_timer);
	return timer;
}

static void
on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void
timer_stop(struct timer **timer_p)
{
	struct timer *timer = *timer_p;

	if (timer == NULL)
		return;
	*timer_p = NULL;
	uv_close((uv_handle_t *)&timer->uv, on_timer_closed);
}

/* --- what takes part in a turn ------------------------------------------------------ */

void
loop_add_flush(struct loop *loop, void (*fn)(void *arg), void *arg)
{
	loop->flushes =
	    xreallocarray(loop->flushes, loop->flush_count + 1, sizeof *loop->flushes);
	loop->flushes[loop->flush_count++] = (struct flush){ fn, arg };
}

void
loop_remove_flush(struct loop *loop, void (*fn)(void *arg), void *arg)
{
	for (size_t i = 0; i < loop->flush_count; i++) {
		if (loop->flushes[i].fn == fn && loop->flushes[i].arg == arg)
			loop->flushes[i].fn = NULL;
	}
}

uv_loop_t *
loop_uv(struct loop *loop)
{
	return &loop->uv;
}

struct fibers *
loop_fibers(const struct loop *loop)
{
	return loop->fibers;
}

void
loop_add_reader(struct loop *loop, struct loop_reader *reader)
{
	size_t count = loop->reader_count + 1, size = sizeof reader->fd;

	/* Of an open socket it cannot fail. */
	zmq_getsockopt(reader->socket, ZMQ_FD, &reader->fd, &size);
	reader->is_ready = false;
	reader->is_touched = true;
	loop->readers = xreallocarray(loop->readers, count, sizeof *loop->readers);
	loop->items = xreallocarray(loop->items, count + 1, sizeof *loop->items);
	loop->readers[loop->reader_count++] = reader;
}

void
loop_remove_reader(struct loop *loop, const struct loop_reader *reader)
{
	for (size_t i = 0; i < loop->reader_count; i++) {
		if (loop->readers[i] == reader)
			loop->readers[i] = NULL;
	}
}
