#include "minder_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* As in minder.c: system calls and the stack alone. */

#define CANNOT_EXEC 127

static void
default_signals(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++)
		sigaction(number, &action, NULL); /* it refuses a few */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
take_descriptors(const int given[LAUNCH_DESCRIPTORS], bool has_stream)
{
	int i;

	if (close_range(PROCESS_STREAM_FD, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		return -1;
	for (i = 0; i < PROCESS_STREAM_FD; i++)
		if (dup2(given[LAUNCH_STDIN + i], i) == -1)
			return -1;
	if (!has_stream)
		return 0;
	/* It may be there already. */
	return dup2(given[LAUNCH_STREAM], PROCESS_STREAM_FD) == -1
		   ? -1
		   : fcntl(PROCESS_STREAM_FD, F_SETFD, 0);
}

/* Points into the texts of an image. Returns behind the last. */
static char *
list_texts(char *text, uint32_t count, char **list)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		list[i] = text;
		text += strlen(text) + 1;
	}
	list[count] = NULL;
	return text;
}

/* Returns the image in memory, or NULL with errno. */
static struct launch_image *
map_image(int file)
{
	off_t size = lseek(file, 0, SEEK_END);
	void *image;

	if (size < (off_t)sizeof(struct launch_image))
		return NULL;
	image = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	return image == MAP_FAILED ? NULL : image;
}

/* After SIGXCPU a program has a moment to say what it was at. */
#define CPU_GRACE_SECONDS 2u

static int
limit(__rlimit_resource_t resource, uint64_t most, uint64_t more)
{
	struct rlimit limits;

	if (most == 0)
		return 0;
	if (getrlimit(resource, &limits) == -1)
		return -1;
	if (most > limits.rlim_max)
		return 0; /* ours is less, and only root could lift it */
	limits.rlim_cur = most;
	if (most + more < limits.rlim_max)
		limits.rlim_max = most + more;
	return setrlimit(resource, &limits);
}

static int
take_limits(const struct process_limits *limits)
{
	const struct rlimit none = { 0, 0 };

	if (!limits->may_gain_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	if (setrlimit(RLIMIT_CORE, &none) == -1 ||
	    limit(RLIMIT_DATA, limits->memory_bytes, 0) == -1 ||
	    limit(RLIMIT_CPU, limits->cpu_seconds, CPU_GRACE_SECONDS) == -1 ||
	    limit(RLIMIT_FSIZE, limits->file_bytes, 0) == -1 ||
	    limit(RLIMIT_NOFILE, limits->open_files, 0) == -1)
		return -1;
	return limit(RLIMIT_NPROC, limits->processes, 0);
}

/* Runs the program. Returns only if that is not possible, with errno. */
static void
run_image(struct launch_image *image)
{
	size_t words = (size_t)image->arguments + image->variables + 2;
	char *directory = (char *)(image + 1), *text;
	char **list = mmap(NULL, words * sizeof *list, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (list == MAP_FAILED)
		return;
	text = list_texts(directory + strlen(directory) + 1, image->arguments, list);
	environ = list + image->arguments + 1;
	list_texts(text, image->variables, environ);
	if (*directory != '\0' && chdir(directory) == -1)
		return;
	if (take_limits(&image->limits) == 0 && list[0] != NULL)
		execvp(list[0], list); /* by the PATH of the new environment */
}

void
minder_child_become(pid_t minder, const int given[LAUNCH_DESCRIPTORS], int failed)
{
	struct launch_image *image = map_image(given[LAUNCH_IMAGE]);
	int failure;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != minder)
		_exit(CANNOT_EXEC);
	failed = fcntl(failed, F_DUPFD_CLOEXEC, PROCESS_STREAM_FD + 1);
	if (image != NULL && take_descriptors(given, image->has_stream) == 0) {
		default_signals();
		run_image(image);
	}
	failure = errno;
	while (write(failed, &failure, sizeof failure) == -1 && errno == EINTR)
		;
	_exit(CANNOT_EXEC);
}
