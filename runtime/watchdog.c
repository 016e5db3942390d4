#include "watchdog.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fiber.h"
#include "log.h"
#include "memory.h"

/* The turn must be the same at so many looks in a row. A stop of the process costs one look,
 * however long it was. */
#define LOOKS 10u

struct watchdog {
	struct loop_pulse *pulse;
	uint64_t stuck_ms;
	int wake; /* an eventfd: end */
	pthread_t thread;
};

_Noreturn void
watchdog_end(const char *why)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* Nobody may read our stderr: that may be what blocks the loop. */
	if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0)
		log_error("ends at once: %s", why);
	_exit(WATCHDOG_STATUS);
}

static _Noreturn void
end(const struct watchdog *watchdog)
{
	struct fiber *fiber =
	    atomic_load_explicit(&watchdog->pulse->fiber, memory_order_acquire);
	char what[FIBER_NOTE_BYTES + 64], why[FIBER_NOTE_BYTES + 160];

	if (fiber != NULL)
		fiber_describe(fiber, what, sizeof what);
	else
		snprintf(what, sizeof what, "%s",
		    atomic_load_explicit(&watchdog->pulse->doing, memory_order_relaxed));
	snprintf(why, sizeof why, "the loop has not turned for %llu ms, busy with %s%s",
	    (unsigned long long)watchdog->stuck_ms, fiber != NULL ? "fiber " : "", what);
	watchdog_end(why);
}

static void *
watch(void *arg)
{
	const struct watchdog *watchdog = arg;
	struct pollfd wake = { .fd = watchdog->wake, .events = POLLIN };
	uint64_t seen = 0, turns;
	unsigned looks = 0;
	int pause_ms = (int)(watchdog->stuck_ms / LOOKS);

	while (poll(&wake, 1, pause_ms) == 0) {
		turns =
		    atomic_load_explicit(&watchdog->pulse->turns, memory_order_relaxed);
		if (turns % 2 == 0 || turns != seen)
			looks = 0;
		else if (++looks >= LOOKS)
			end(watchdog);
		seen = turns;
	}
	return NULL;
}

/* Signals are for the loop's thread alone. */
static int
start_thread(struct watchdog *watchdog)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&watchdog->thread, NULL, watch, watchdog);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct watchdog *
watchdog_start(struct loop *loop, uint64_t stuck_ms)
{
	struct watchdog *watchdog = xcalloc(1, sizeof *watchdog);
	int error;

	watchdog->pulse = loop_pulse(loop);
	watchdog->stuck_ms = stuck_ms < LOOKS ? LOOKS : stuck_ms;
	watchdog->wake = eventfd(0, EFD_CLOEXEC);
	error = watchdog->wake == -1 ? errno : start_thread(watchdog);
	if (error == 0)
		return watchdog;
	if (watchdog->wake != -1)
		close(watchdog->wake);
	free(watchdog);
	errno = error;
	return NULL;
}

void
watchdog_stop(struct watchdog **watchdog_p)
{
	struct watchdog *watchdog = *watchdog_p;

	if (watchdog == NULL)
		return;
	*watchdog_p = NULL;
	eventfd_write(watchdog->wake, 1);
	pthread_join(watchdog->thread, NULL);
	close(watchdog->wake);
	free(watchdog);
}
