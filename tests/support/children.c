#include "children.h"

#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child {
	pid_t pid;
	int notify_fd;
	char *folder; /* holds the notify socket; until READY=1 has come */
	char *program;
};

/* Ends the test. abort() and not check's own macros: harnesses without check use this, too. */
static void __attribute__((format(printf, 2, 3)))
must(bool holds, const char *format, ...)
{
	va_list args;

	if (holds)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

static long
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *
folder_new(void)
{
	char *path = strdup("/tmp/fl-XXXXXX");

	must(mkdtemp(path) != NULL, "mkdtemp: %s", strerror(errno));
	return path;
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void
folder_remove(char **path_p)
{
	if (*path_p == NULL)
		return;
	nftw(*path_p, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(*path_p);
	*path_p = NULL;
}

/* Binds the socket the child will say READY=1 on. */
static void
notify_open(struct child *child, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof address->sun_path, "%s/notify", child->folder);
	child->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must(child->notify_fd >= 0, "socket: %s", strerror(errno));
	must(bind(child->notify_fd, (struct sockaddr *)address, sizeof *address) == 0,
	    "bind: %s", strerror(errno));
}

/* Whether one of lines, "NAME=value", is of the same name. */
static bool
is_set(const char *const lines[], const char *line)
{
	size_t size = strcspn(line, "=") + 1;

	for (; lines != NULL && *lines != NULL; lines++)
		if (strncmp(*lines, line, size) == 0)
			return true;
	return false;
}

/* Ours, but what env and notify say otherwise. The caller frees it; the lines stay whose they are. */
static const char **
environment(const char *const env[], const char *notify)
{
	const char *const first[] = { notify, NULL };
	const char **all;
	size_t count = 0, room = 2, i;

	for (i = 0; environ[i] != NULL; i++)
		room++;
	for (i = 0; env != NULL && env[i] != NULL; i++)
		room++;
	all = calloc(room, sizeof *all);
	must(all != NULL, "calloc");
	all[count++] = notify;
	for (i = 0; env != NULL && env[i] != NULL; i++)
		all[count++] = env[i];
	for (i = 0; environ[i] != NULL; i++)
		if (!is_set(env, environ[i]) && !is_set(first, environ[i]))
			all[count++] = environ[i];
	return all;
}

/* The test may have blocked signals (loop_new does): the program starts with none
 * blocked. All memory is still the test's, which waits for the new program: nothing here may wait for a lock,
 * or leave anything behind. Does not return, which AddressSanitizer is not told: it would forget the test's own frames. */
static void
become(const char *const argv[], const char *const env[], pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	execvpe(argv[0], (char *const *)argv, (char *const *)env);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

struct child *
child_spawn(const char *const argv[], const char *const env[])
{
	struct child *child = calloc(1, sizeof *child);
	struct sockaddr_un address;
	pid_t parent = getpid();
	char notify[sizeof address.sun_path + 32];
	const char **all;

	child->folder = folder_new();
	child->program = strdup(argv[0]);
	notify_open(child, &address);
	snprintf(notify, sizeof notify, "NOTIFY_SOCKET=%s", address.sun_path);
	all = environment(env, notify);
	/* fork() copies the tables of all of the test's pages, and exec drops them. */
	child->pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
	must(child->pid != -1, "vfork: %s", strerror(errno));
	if (child->pid == 0)
		become(argv, all, parent);
	free(all);
	return child;
}

static void
child_release(struct child **child_p)
{
	struct child *child = *child_p;

	close(child->notify_fd);
	folder_remove(&child->folder);
	free(child->program);
	free(child);
	*child_p = NULL;
}

/* True when a READY=1 came within wait_ms. Nothing is left then, however the test ends. */
static bool
notified(struct child *child, int wait_ms)
{
	struct pollfd item = { .fd = child->notify_fd, .events = POLLIN };
	char text[1024];
	ssize_t size;

	if (poll(&item, 1, wait_ms) != 1)
		return false;
	size = recv(child->notify_fd, text, sizeof text - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	if (strstr(text, "READY=1") == NULL)
		return false;
	folder_remove(&child->folder);
	return true;
}

void
child_ready(struct child *child)
{
	long end_ms = now_ms() + CHILD_WAIT_MS;
	int status;

	while (!notified(child, 50)) {
		if (waitpid(child->pid, &status, WNOHANG) == child->pid)
			must(false, "%s ended before it was ready, status 0x%x",
			    child->program, (unsigned)status);
		must(now_ms() < end_ms, "%s never said READY=1", child->program);
	}
}

bool
child_said_ready(struct child *child)
{
	return notified(child, 0);
}

bool
child_has_ended(struct child **child_p, int *status_r)
{
	if (waitpid((*child_p)->pid, status_r, WNOHANG) != (*child_p)->pid)
		return false;
	child_release(child_p);
	return true;
}

struct child *
child_start(const char *const argv[], const char *const env[])
{
	struct child *child = child_spawn(argv, env);

	child_ready(child);
	return child;
}

pid_t
child_pid(const struct child *child)
{
	return child->pid;
}

/* Waits for the end without the risk of waiting for ever: a program that hangs in its
 * shutdown is killed and fails the test. */
static int
wait_or_kill(struct child *child)
{
	struct timespec pause = { .tv_nsec = 2000000 };
	long end_ms = now_ms() + CHILD_WAIT_MS;
	int status = 0;

	while (waitpid(child->pid, &status, WNOHANG) == 0) {
		if (now_ms() > end_ms) {
			kill(child->pid, SIGKILL);
			waitpid(child->pid, &status, 0);
			must(false, "%s (pid %d) did not end in %ld ms", child->program,
			    (int)child->pid, CHILD_WAIT_MS);
		}
		nanosleep(&pause, NULL);
	}
	return status;
}

int
child_wait(struct child **child_p)
{
	int status = wait_or_kill(*child_p);

	child_release(child_p);
	return status;
}

void
child_stop(struct child **child_p)
{
	struct child *child = *child_p;
	int status;

	if (child == NULL)
		return;
	kill(child->pid, SIGTERM);
	status = wait_or_kill(child);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "%s (pid %d) ended with status 0x%x after SIGTERM", child->program,
	    (int)child->pid, (unsigned)status);
	child_release(child_p);
}

void
child_kill(struct child **child_p)
{
	struct child *child = *child_p;

	if (child == NULL)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, &(int){ 0 }, 0);
	child_release(child_p);
}
