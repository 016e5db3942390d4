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

/* As in minder.c: system calls and the stack alone. What the child writes, errno and environ too, is the minder's. */

#define CANNOT_EXEC 127
/* execvp has a path on it, and for a script the arguments again. */
#define STACK_BYTES ((size_t)256 << 10)

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

/* --- what the minder has ready -------------------------------------------------------- */

static void *
map(size_t bytes, int flags, int file)
{
	void *memory =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, file, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int
minder_start_open(struct minder_start *start)
{
	int file = start->given[LAUNCH_IMAGE];
	off_t size = lseek(file, 0, SEEK_END);
	size_t words;

	if (size < (off_t)sizeof(struct launch_image))
		return size == -1 ? errno : EINVAL;
	start->image = map((size_t)size, 0, file);
	if (start->image == NULL)
		return errno;
	start->image_bytes = (size_t)size;
	words = (size_t)start->image->arguments + start->image->variables + 2;
	start->texts_bytes = words * sizeof *start->texts;
	start->texts = map(start->texts_bytes, MAP_ANONYMOUS, -1);
	if (start->texts == NULL)
		return errno;
	start->stack_bytes = STACK_BYTES + (start->texts_bytes + 15) / 16 * 16;
	start->stack =
	    map(start->stack_bytes, MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1);
	return start->stack != NULL ? 0 : errno;
}

void
minder_start_close(struct minder_start *start)
{
	if (start->stack != NULL)
		munmap(start->stack, start->stack_bytes);
	if (start->texts != NULL)
		munmap(start->texts, start->texts_bytes);
	if (start->image != NULL)
		munmap(start->image, start->image_bytes);
}

/* --- the child -------------------------------------------------------------------------- */

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
run_image(struct launch_image *image, char **list)
{
	char *directory = (char *)(image + 1), *text;

	text = list_texts(directory + strlen(directory) + 1, image->arguments, list);
	environ = list + image->arguments + 1;
	list_texts(text, image->variables, environ);
	if (*directory != '\0' && chdir(directory) == -1)
		return;
	if (take_limits(&image->limits) == 0 && list[0] != NULL)
		execvp(list[0], list); /* by the PATH of the new environment */
}

int
minder_child_main(void *arg)
{
	const struct minder_start *start = arg;
	int failed, failure;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start->minder)
		_exit(CANNOT_EXEC);
	failed = fcntl(start->failed, F_DUPFD_CLOEXEC, PROCESS_STREAM_FD + 1);
	if (take_descriptors(start->given, start->image->has_stream) == 0) {
		default_signals();
		run_image(start->image, start->texts);
	}
	failure = errno;
	while (write(failed, &failure, sizeof failure) == -1 && errno == EINTR)
		;
	_exit(CANNOT_EXEC);
}
