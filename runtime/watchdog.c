#include "watchdog.h"

#include <errno.h>
#include <fcntl.h>
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
 * however long it was; what the thread waited for a processor meanwhile is more of them. */
#define LOOKS 10u
#define LOOKS_MAX (10 * LOOKS) /* then it ends, whatever kept it */
#define SCHEDSTAT_BYTES 96

struct watchdog {
	struct loop_pulse *pulse;
	uint64_t stuck_ms;
	int wake;      /* an eventfd: end */
	int schedstat; /* of the loop's thread, or -1: there is none to be had */
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

/* How long the loop's thread has waited for a processor so far, in ms: "<ns at work> <ns in wait> <slices>". */
static uint64_t
starved_ms(const struct watchdog *watchdog)
{
	char text[SCHEDSTAT_BYTES], *at;
	ssize_t size = pread(watchdog->schedstat, text, sizeof text - 1, 0);

	if (size <= 0)
		return 0;
	text[size] = '\0';
	strtoull(text, &at, 10);
	return strtoull(at, NULL, 10) / 1000000;
}

static void *
watch(void *arg)
{
	const struct watchdog *watchdog = arg;
	struct pollfd wake = { .fd = watchdog->wake, .events = POLLIN };
	uint64_t pause_ms = watchdog->stuck_ms / LOOKS, seen = 0, turns, before = 0;
	unsigned looks = 0;

	while (poll(&wake, 1, (int)pause_ms) == 0) {
		turns =
		    atomic_load_explicit(&watchdog->pulse->turns, memory_order_relaxed);
		if (turns % 2 == 0 || turns != seen) {
			looks = 0;
			before = starved_ms(watchdog);
		} else if (++looks >= LOOKS_MAX ||
			   looks * pause_ms >=
			       LOOKS * pause_ms + starved_ms(watchdog) - before) {
			end(watchdog);
		}
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

static void
dismiss(struct watchdog *watchdog)
{
	if (watchdog->schedstat != -1)
		close(watchdog->schedstat);
	if (watchdog->wake != -1)
		close(watchdog->wake);
	free(watchdog);
}

struct watchdog *
watchdog_start(struct loop *loop, uint64_t stuck_ms)
{
	struct watchdog *watchdog = xcalloc(1, sizeof *watchdog);
	char path[64];
	int error;

	watchdog->pulse = loop_pulse(loop);
	watchdog->stuck_ms = stuck_ms < LOOKS ? LOOKS : stuck_ms;
	watchdog->wake = eventfd(0, EFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)gettid());
	watchdog->schedstat = open(path, O_RDONLY | O_CLOEXEC);
	error = watchdog->wake == -1 ? errno : start_thread(watchdog);
	if (error == 0)
		return watchdog;
	dismiss(watchdog);
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
	dismiss(watchdog);
}
