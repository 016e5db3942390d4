/* shim.so: preloaded into a process under test; gives it a slow disk and a wrong wall clock,
 * as parts/shim.h says. Does nothing without CHAOS_SHIM. */
#include "shim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct shim none;
static struct shim *shim = &none;
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_clock_gettime)(clockid_t, struct timespec *);

/* A function pointer cannot be had from dlsym by a cast in ISO C. */
static void
find(void *function_r, const char *name)
{
	*(void **)function_r = dlsym(RTLD_NEXT, name);
}

static void __attribute__((constructor)) shim_open(void)
{
	const char *path = getenv("CHAOS_SHIM");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	find(&real_fsync, "fsync");
	find(&real_fdatasync, "fdatasync");
	find(&real_clock_gettime, "clock_gettime");
	if (fd == -1)
		return;
	map = mmap(NULL, sizeof *shim, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		shim = map;
}

static void
be_slow(void)
{
	int64_t ms = atomic_load(&shim->fsync_ms);
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	if (ms > 0)
		nanosleep(&pause, NULL);
}

int
fsync(int fd)
{
	be_slow();
	return real_fsync(fd);
}

int
fdatasync(int fildes)
{
	be_slow();
	return real_fdatasync(fildes);
}

static void
shift(struct timespec *time)
{
	int64_t ms = atomic_load(&shim->clock_ms);
	int64_t ns = time->tv_nsec + ms % 1000 * 1000000;

	time->tv_sec += ms / 1000;
	if (ns < 0) {
		ns += 1000000000;
		time->tv_sec--;
	} else if (ns >= 1000000000) {
		ns -= 1000000000;
		time->tv_sec++;
	}
	time->tv_nsec = ns;
}

int
clock_gettime(clockid_t clock_id, struct timespec *tp)
{
	/* Somebody may ask before our constructor has run. */
	if (real_clock_gettime == NULL)
		find(&real_clock_gettime, "clock_gettime");
	if (real_clock_gettime(clock_id, tp) == -1)
		return -1;
	if (clock_id == CLOCK_REALTIME || clock_id == CLOCK_REALTIME_COARSE)
		shift(tp);
	return 0;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec now;

	(void)tz;
	if (clock_gettime(CLOCK_REALTIME, &now) == -1)
		return -1;
	tv->tv_sec = now.tv_sec;
	tv->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *timer)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) == -1)
		return -1;
	if (timer != NULL)
		*timer = now.tv_sec;
	return now.tv_sec;
}
