#include "fiber.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <uv.h>

#include "bounds.h"
#include "memory.h"
#include "stack.h"

/* Ended fibers that keep their touched pages; those beyond give them back. */
#define WARM_MAX 256u

/* Fibers resumed in one turn: when thousands wake at once, heartbeats go on between. */
#define BATCH 256u

enum fiber_state {
	FIBER_READY, /* in the ready queue, or in the batch being run */
	FIBER_RUNNING,
	FIBER_WAITING,
	FIBER_ENDED, /* in the pool */
};

struct fiber {
	TAILQ_ENTRY(fiber) entry; /* of the ready queue or the pool */
	struct fibers *fibers;
	_Atomic(const char *) name;
	_Atomic char note[FIBER_NOTE_BYTES]; /* the watchdog may read it at any time */
	void (*fn)(void *arg);
	void *arg;
	void *data;
	enum fiber_state state;
	bool is_woken;  /* since the last wait returned */
	bool is_asleep; /* in fiber_sleep: a wake does not end it */
	bool stays;     /* its first frame waits for the next start */
	bool is_cancelled;
	unsigned shields;
	struct stack stack;
	uv_timer_t timer;
};

TAILQ_HEAD(fiber_queue, fiber);

struct fibers {
	struct loop *loop;
	struct fiber_queue ready;
	struct fiber_queue pool; /* warm ones first */
	size_t alive;
	size_t warm;
	struct stack stack; /* the loop's own */
};

static struct fiber *running; /* of the one thread; NULL on the loop's stack */

/* --- the pool ----------------------------------------------------------------------- */

static struct fiber *
new_fiber(struct fibers *fibers)
{
	struct fiber *fiber = xcalloc(1, sizeof *fiber);

	if (stack_map(&fiber->stack, FIBER_STACK_BYTES) == -1) {
		free(fiber);
		return NULL;
	}
	fiber->fibers = fibers;
	fiber->timer.data = fiber;
	uv_timer_init(loop_uv(fibers->loop), &fiber->timer);
	return fiber;
}

static struct fiber *
take_fiber(struct fibers *fibers)
{
	struct fiber *fiber = TAILQ_FIRST(&fibers->pool);

	if (fiber == NULL)
		return new_fiber(fibers);
	TAILQ_REMOVE(&fibers->pool, fiber, entry);
	if (fibers->warm > 0)
		fibers->warm--;
	return fiber;
}

/* Not on the fiber's own stack. */
static void
put_fiber(struct fibers *fibers, struct fiber *fiber)
{
	fibers->alive--;
	if (fiber->stays) {
		fibers->warm++;
		TAILQ_INSERT_HEAD(&fibers->pool, fiber, entry);
		return;
	}
	stack_cool(&fiber->stack);
	TAILQ_INSERT_TAIL(&fibers->pool, fiber, entry);
}

struct fibers *
fibers_new(struct loop *loop)
{
	struct fibers *fibers = xcalloc(1, sizeof *fibers);

	fibers->loop = loop;
	TAILQ_INIT(&fibers->ready);
	TAILQ_INIT(&fibers->pool);
	return fibers;
}

static void
on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void
fibers_destroy(struct fibers **fibers_p)
{
	struct fibers *fibers = *fibers_p;
	struct fiber *fiber;

	assert(fibers->alive == 0);
	while ((fiber = TAILQ_FIRST(&fibers->pool)) != NULL) {
		TAILQ_REMOVE(&fibers->pool, fiber, entry);
		stack_unmap(&fiber->stack);
		uv_close((uv_handle_t *)&fiber->timer, on_timer_closed);
	}
	free(fibers);
	*fibers_p = NULL;
}

/* --- switching ------------------------------------------------------------------- */

static void
suspend(struct fiber *fiber)
{
	int saved = errno;

	stack_switch(&fiber->stack, &fiber->fibers->stack,
	    fiber->state == FIBER_ENDED && !fiber->stays);
	errno = saved;
}

static void
resume(struct fiber *fiber)
{
	_Atomic(struct fiber *) *pulse = &loop_pulse(fiber->fibers->loop)->fiber;
	int saved = errno;

	fiber->state = FIBER_RUNNING;
	running = fiber;
	atomic_store_explicit(pulse, fiber, memory_order_release);
	stack_switch(&fiber->fibers->stack, &fiber->stack, false);
	atomic_store_explicit(pulse, NULL, memory_order_relaxed);
	running = NULL;
	errno = saved;
}

static void
make_ready(struct fiber *fiber)
{
	fiber->state = FIBER_READY;
	TAILQ_INSERT_TAIL(&fiber->fibers->ready, fiber, entry);
}

/* The first frame of each fiber. A warm one is resumed here by the next start; making its
 * context anew would ask the kernel for the signal mask, twice. */
static void
enter(void)
{
	struct fiber *fiber = running;

	stack_arrive(&fiber->stack, &fiber->fibers->stack);
	do {
		errno = 0;
		fiber->fn(fiber->arg);
		assert(fiber->shields == 0);
		fiber->state = FIBER_ENDED;
		fiber->stays = fiber->fibers->warm < WARM_MAX;
		suspend(fiber);
	} while (fiber->stays);
	abort();
}

struct fiber *
fiber_start(struct loop *loop, const char *name, void (*fn)(void *arg), void *arg)
{
	struct fibers *fibers = loop_fibers(loop);
	struct fiber *fiber = fibers->alive < FIBERS_MAX ? take_fiber(fibers) : NULL;

	if (fiber == NULL)
		return NULL;
	fibers->alive++;
	atomic_store_explicit(&fiber->name, name, memory_order_relaxed);
	atomic_store_explicit(&fiber->note[0], '\0', memory_order_relaxed);
	fiber->fn = fn;
	fiber->arg = arg;
	fiber->data = NULL;
	fiber->is_woken = fiber->is_cancelled = false;
	if (!fiber->stays)
		stack_begin(&fiber->stack, enter);
	make_ready(fiber);
	return fiber;
}

bool
fiber_run_ready(struct loop *loop)
{
	struct fibers *fibers = loop_fibers(loop);
	struct fiber_queue batch = TAILQ_HEAD_INITIALIZER(batch);
	struct fiber *fiber;

	TAILQ_CONCAT(&batch, &fibers->ready, entry);
	for (unsigned i = 0; i < BATCH && (fiber = TAILQ_FIRST(&batch)) != NULL; i++) {
		TAILQ_REMOVE(&batch, fiber, entry);
		resume(fiber);
		if (fiber->state == FIBER_ENDED)
			put_fiber(fibers, fiber);
	}
	/* Who became ready meanwhile goes behind the rest, into the next turn. */
	TAILQ_CONCAT(&batch, &fibers->ready, entry);
	TAILQ_CONCAT(&fibers->ready, &batch, entry);
	return fibers_are_ready(fibers);
}

bool
fibers_are_ready(const struct fibers *fibers)
{
	return !TAILQ_EMPTY(&fibers->ready);
}

/* --- waiting --------------------------------------------------------------------- */

static bool
fails(const struct fiber *fiber)
{
	return fiber->is_cancelled && fiber->shields == 0;
}

static struct fiber *
self(void)
{
	assert(running != NULL); /* the loop's own stack must not wait */
	return running;
}

static void
wait_for_wake(struct fiber *fiber)
{
	fiber->state = FIBER_WAITING;
	suspend(fiber);
}

static void
on_time(uv_timer_t *timer)
{
	struct fiber *fiber = timer->data;

	if (fiber->state == FIBER_WAITING)
		make_ready(fiber);
}

static void
wait_for_time(struct fiber *fiber, uint64_t ms)
{
	loop_arm(&fiber->timer, ms, on_time);
	wait_for_wake(fiber);
	uv_timer_stop(&fiber->timer);
}

static void
give_way(struct fiber *fiber)
{
	make_ready(fiber);
	suspend(fiber);
}

int
fiber_wait(void)
{
	struct fiber *fiber = self();

	if (!fiber->is_woken && !fails(fiber))
		wait_for_wake(fiber);
	if (fails(fiber))
		return -1;
	fiber->is_woken = false;
	return 0;
}

int
fiber_wait_ms(uint64_t ms)
{
	struct fiber *fiber = self();

	if (!fiber->is_woken && !fails(fiber)) {
		if (ms == 0)
			give_way(fiber);
		else
			wait_for_time(fiber, ms);
	}
	if (fails(fiber))
		return -1;
	if (!fiber->is_woken)
		return 1;
	fiber->is_woken = false;
	return 0;
}

int
fiber_sleep(uint64_t ms)
{
	struct fiber *fiber = self();

	if (ms == 0)
		return fiber_yield();
	if (fails(fiber))
		return -1;
	fiber->is_asleep = true;
	wait_for_time(fiber, ms);
	fiber->is_asleep = false;
	return fails(fiber) ? -1 : 0;
}

void
fiber_rest(void)
{
	stack_rest(&self()->stack);
}

int
fiber_yield(void)
{
	struct fiber *fiber = self();

	if (!fails(fiber))
		give_way(fiber);
	return fails(fiber) ? -1 : 0;
}

uint64_t
fiber_turn(void)
{
	struct loop_pulse *pulse;

	if (running == NULL)
		return 0;
	pulse = loop_pulse(running->fibers->loop);
	/* Two for each turn, odd while it goes on. */
	return (atomic_load_explicit(&pulse->turns, memory_order_relaxed) + 1) / 2;
}

void
fiber_wake(struct fiber *fiber)
{
	assert(fiber->state != FIBER_ENDED);
	fiber->is_woken = true;
	if (fiber->state == FIBER_WAITING && !fiber->is_asleep)
		make_ready(fiber);
}

void
fiber_cancel(struct fiber *fiber)
{
	assert(fiber->state != FIBER_ENDED);
	fiber->is_cancelled = true;
	if (fiber->state == FIBER_WAITING && fails(fiber))
		make_ready(fiber);
}

bool
fiber_cancelled(void)
{
	return running != NULL && fails(running);
}

void
fiber_shield(bool on)
{
	struct fiber *fiber = self();

	assert(on || fiber->shields > 0);
	if (on)
		fiber->shields++;
	else
		fiber->shields--;
}

struct fiber *
fiber_current(void)
{
	return running;
}

struct loop *
fiber_loop(void)
{
	return self()->fibers->loop;
}

/* Writes text behind size bytes. Returns how many there are then. */
static size_t
add_note(struct fiber *fiber, size_t size, const char *text)
{
	for (; *text != '\0' && size + 1 < FIBER_NOTE_BYTES; text++)
		atomic_store_explicit(&fiber->note[size++], *text, memory_order_relaxed);
	return size;
}

void
fiber_note(const char *what, const char *which)
{
	struct fiber *fiber = self();
	size_t size = 0;

	size = add_note(fiber, size, what == NULL ? "-" : what);
	size = add_note(fiber, size, " ");
	size = add_note(fiber, size, which == NULL ? "" : which);
	atomic_store_explicit(&fiber->note[size], '\0', memory_order_relaxed);
}

/* The note may be half of one and half of another: it is for people, and for a fiber that
 * stands still. */
void
fiber_describe(const struct fiber *fiber, char *text, size_t size)
{
	char note[FIBER_NOTE_BYTES] = "";
	size_t i;

	for (i = 0; i + 1 < FIBER_NOTE_BYTES; i++) {
		note[i] = atomic_load_explicit(&fiber->note[i], memory_order_relaxed);
		if (note[i] == '\0')
			break;
	}
	snprintf(text, size, "%s%s%s",
	    atomic_load_explicit(&fiber->name, memory_order_relaxed),
	    note[0] == '\0' ? "" : " ", note);
}

void
fiber_set_data(struct fiber *fiber, void *data)
{
	fiber->data = data;
}

void *
fiber_data(const struct fiber *fiber)
{
	return fiber->data;
}

size_t
fiber_count(const struct loop *loop)
{
	return loop_fibers(loop)->alive;
}
