#include "work.h"

#include <stdbool.h>
#include <uv.h>

#include "fiber.h"
#include "gate.h"

struct work {
	uv_work_t request; /* first: libuv has the address of this, we of the whole */
	void (*fn)(void *arg, const atomic_bool *stop);
	void *arg;
	atomic_bool stop;
	/* Whose turn it is with all of this. libuv's queue orders both handovers as well, but
	 * ThreadSanitizer does not look into it (tests/tsan.supp). */
	atomic_bool is_threads;
	struct fiber *fiber;
	bool has_ended;
};

/* One loop a process. */
static struct gate gate;

static void
on_thread(uv_work_t *request)
{
	struct work *work = (struct work *)request;

	(void)atomic_load(&work->is_threads);
	work->fn(work->arg, &work->stop);
	atomic_store(&work->is_threads, false);
}

static void
on_ended(uv_work_t *request, int status)
{
	struct work *work = (struct work *)request;

	(void)status;
	work->has_ended = !atomic_load(&work->is_threads);
	fiber_wake(work->fiber);
}

/* work is on this stack: it must have ended, whatever happens to the fiber. */
static int
wait_for_end(struct work *work)
{
	int outcome = 0;

	while (outcome == 0 && !work->has_ended)
		outcome = fiber_wait();
	if (outcome == 0)
		return 0;
	atomic_store(&work->stop, true);
	fiber_shield(true);
	while (!work->has_ended)
		fiber_wait();
	fiber_shield(false);
	return -1;
}

int
work_run(void (*fn)(void *arg, const atomic_bool *stop), void *arg)
{
	struct work work = { .fn = fn, .arg = arg, .fiber = fiber_current() };
	int outcome;

	if (gate.room == 0)
		gate_init(&gate, WORK_MAX);
	if (fiber_cancelled() || gate_enter(&gate) == -1)
		return -1;
	atomic_store(&work.is_threads, true);
	uv_queue_work(loop_uv(fiber_loop()), &work.request, on_thread, on_ended);
	outcome = wait_for_end(&work);
	gate_leave(&gate);
	return outcome;
}
