#include "fiber.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <ucontext.h>
#include <unistd.h>

#include "limits.h"
#include "memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

/* Ended fibers that keep their touched pages; those beyond give them back. */
#define WARM_MAX 256u

enum fiber_state {
	FIBER_READY, /* in the ready queue, or in the batch being run */
	FIBER_RUNNING,
	FIBER_WAITING,
	FIBER_ENDED, /* in the pool */
};

struct fiber {
	TAILQ_ENTRY(fiber) entry; /* of the ready queue or the pool */
	struct fibers *fibers;
	const char *name;
	void (*fn)(void *arg);
	void *arg;
	void *data;
	enum fiber_state state;
	bool is_woken;  /* since the last wait returned */
	bool is_asleep; /* in fiber_sleep: a wake does not end it */
	bool is_cancelled;
	unsigned shields;
	ucontext_t context;
	char *stack; /* its lowest byte; the guard page is below */
	uv_timer_t timer;
	void *fake_stack; /* ASan's */
};

TAILQ_HEAD(fiber_queue, fiber);

struct fibers {
	struct loop *loop;
	struct fiber_queue ready;
	struct fiber_queue pool; /* warm ones first */
	size_t alive;
	size_t warm;
	ucontext_t context; /* of the loop's own stack */
	const void *stack;  /* the same for ASan: filled by the first switch */
	size_t stack_bytes;
	void *fake_stack;
};

static struct fiber *running; /* of the one thread; NULL on the loop's stack */

/* --- what ASan and LSan must know -----------------------------------------------------
 */

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>

/* ASan's wrapper of swapcontext warns of itself and forgets the red zones of the whole
 * stack: these are its two halves. */
static void
switch_context(ucontext_t *from, const ucontext_t *to)
{
	volatile bool is_back = false;

	getcontext(from);
	if (is_back)
		return;
	is_back = true;
	setcontext(to);
}

static void
asan_before_resume(struct fiber *fiber)
{
	__sanitizer_start_switch_fiber(
	    &fiber->fibers->fake_stack, fiber->stack, FIBER_STACK_BYTES);
}

static void
asan_after_resume(struct fiber *fiber)
{
	__sanitizer_finish_switch_fiber(fiber->fibers->fake_stack, NULL, NULL);
}

static void
asan_before_suspend(struct fiber *fiber)
{
	void **save = fiber->state == FIBER_ENDED ? NULL : &fiber->fake_stack;

	__sanitizer_start_switch_fiber(
	    save, fiber->fibers->stack, fiber->fibers->stack_bytes);
}

static void
asan_arrived(struct fiber *fiber)
{
	__sanitizer_finish_switch_fiber(
	    fiber->fake_stack, &fiber->fibers->stack, &fiber->fibers->stack_bytes);
}

/* The last frames of an ended fiber never returned: their red zones are still there. */
static void
asan_clean(struct fiber *fiber)
{
	fiber->fake_stack = NULL;
	ASAN_UNPOISON_MEMORY_REGION(fiber->stack, FIBER_STACK_BYTES);
}

/* What only a suspended fiber points to is not leaked. */
static void
lsan_add_stack(const struct fiber *fiber)
{
	__lsan_register_root_region(fiber->stack, FIBER_STACK_BYTES);
}

static void
lsan_remove_stack(const struct fiber *fiber)
{
	__lsan_unregister_root_region(fiber->stack, FIBER_STACK_BYTES);
}
#else
#define switch_context(from, to) swapcontext(from, to)
#define asan_before_resume(fiber) ((void)(fiber))
#define asan_after_resume(fiber) ((void)(fiber))
#define asan_before_suspend(fiber) ((void)(fiber))
#define asan_arrived(fiber) ((void)(fiber))
#define asan_clean(fiber) ((void)(fiber))
#define lsan_add_stack(fiber) ((void)(fiber))
#define lsan_remove_stack(fiber) ((void)(fiber))
#endif

/* --- stacks and the pool --------------------------------------------------------------
 */

static size_t
page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns the lowest byte above a guard page, or NULL. */
static char *
map_stack(void)
{
	size_t guard = page_bytes();
	char *map = mmap(NULL, guard + FIBER_STACK_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	if (mprotect(map, guard, PROT_NONE) == -1) {
		munmap(map, guard + FIBER_STACK_BYTES);
		return NULL;
	}
	return map + guard;
}

static void
unmap_stack(char *stack)
{
	munmap(stack - page_bytes(), page_bytes() + FIBER_STACK_BYTES);
}

static struct fiber *
new_fiber(struct fibers *fibers)
{
	char *stack = map_stack();
	struct fiber *fiber;

	if (stack == NULL)
		return NULL;
	fiber = xcalloc(1, sizeof *fiber);
	fiber->fibers = fibers;
	fiber->stack = stack;
	fiber->timer.data = fiber;
	uv_timer_init(loop_uv(fibers->loop), &fiber->timer);
	lsan_add_stack(fiber);
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
	asan_clean(fiber);
	fibers->alive--;
	if (fibers->warm < WARM_MAX) {
		fibers->warm++;
		TAILQ_INSERT_HEAD(&fibers->pool, fiber, entry);
		return;
	}
	madvise(fiber->stack, FIBER_STACK_BYTES, MADV_DONTNEED);
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
		lsan_remove_stack(fiber);
		unmap_stack(fiber->stack);
		uv_close((uv_handle_t *)&fiber->timer, on_timer_closed);
	}
	free(fibers);
	*fibers_p = NULL;
}

/* --- switching ------------------------------------------------------------------------
 */

static void
suspend(struct fiber *fiber)
{
	int saved = errno;

	asan_before_suspend(fiber);
	switch_context(&fiber->context, &fiber->fibers->context);
	asan_arrived(fiber);
	errno = saved;
}

static void
resume(struct fiber *fiber)
{
	int saved = errno;

	fiber->state = FIBER_RUNNING;
	running = fiber;
	asan_before_resume(fiber);
	switch_context(&fiber->fibers->context, &fiber->context);
	asan_after_resume(fiber);
	running = NULL;
	errno = saved;
}

static void
make_ready(struct fiber *fiber)
{
	fiber->state = FIBER_READY;
	TAILQ_INSERT_TAIL(&fiber->fibers->ready, fiber, entry);
}

/* The first frame of each fiber. Nobody resumes it once it has ended. */
static void
enter(void)
{
	struct fiber *fiber = running;

	asan_arrived(fiber);
	errno = 0;
	fiber->fn(fiber->arg);
	assert(fiber->shields == 0);
	fiber->state = FIBER_ENDED;
	suspend(fiber);
	abort();
}

/* On its own: getcontext returns twice, for all the compiler knows. */
static void
lay_out(struct fiber *fiber)
{
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = FIBER_STACK_BYTES;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, enter, 0);
}

struct fiber *
fiber_start(struct loop *loop, const char *name, void (*fn)(void *arg), void *arg)
{
	struct fibers *fibers = loop_fibers(loop);
	struct fiber *fiber = fibers->alive < FIBERS_MAX ? take_fiber(fibers) : NULL;

	if (fiber == NULL)
		return NULL;
	fibers->alive++;
	fiber->name = name;
	fiber->fn = fn;
	fiber->arg = arg;
	fiber->data = NULL;
	fiber->is_woken = fiber->is_cancelled = false;
	lay_out(fiber);
	make_ready(fiber);
	return fiber;
}

bool
fiber_run_ready(struct loop *loop)
{
	struct fibers *fibers = loop_fibers(loop);
	struct fiber_queue batch = TAILQ_HEAD_INITIALIZER(batch);
	struct fiber *fiber;

	/* Who becomes ready meanwhile runs in the next turn, behind the sockets. */
	TAILQ_CONCAT(&batch, &fibers->ready, entry);
	while ((fiber = TAILQ_FIRST(&batch)) != NULL) {
		TAILQ_REMOVE(&batch, fiber, entry);
		resume(fiber);
		if (fiber->state == FIBER_ENDED)
			put_fiber(fibers, fiber);
	}
	return fibers_are_ready(fibers);
}

bool
fibers_are_ready(const struct fibers *fibers)
{
	return !TAILQ_EMPTY(&fibers->ready);
}

/* --- waiting --------------------------------------------------------------------------
 */

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

int
fiber_yield(void)
{
	struct fiber *fiber = self();

	if (!fails(fiber))
		give_way(fiber);
	return fails(fiber) ? -1 : 0;
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
