#include "minder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minder_child.h"

/* Everything here runs in a fork of a process that may have had threads: system calls and
 * the stack, nothing that could wait for a lock. And _Fork, not fork: libuv has a handler for
 * forks that closes descriptors by numbers which are ours by now. */

#define CHILDREN_BYTES 4096 /* of a list of ids; the rest is seen when those have gone */

/* --- children ----------------------------------------------------------------------- */

/* Calls visit for each child of this process; zombies count. Returns how many there were. */
static size_t
each_child(void (*visit)(pid_t child, void *arg), void *arg)
{
	char path[64], text[CHILDREN_BYTES + 1], *at = text, *end;
	size_t count = 0;
	ssize_t size;
	int file;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file == -1)
		return 0;
	size = read(file, text, CHILDREN_BYTES);
	close(file);
	text[size > 0 ? size : 0] = '\0';
	/* Each id ends with a space: one that was cut off is left for the next time. */
	while ((end = strchr(at, ' ')) != NULL) {
		visit((pid_t)strtol(at, NULL, 10), arg);
		at = end + 1;
		count++;
	}
	return count;
}

/* --- the minder --------------------------------------------------------------------- */

struct minder {
	pid_t child; /* a zombie from its end until ours: its group keeps its name */
	int control;
	int signals; /* SIGCHLD */
	bool has_exited;
	bool is_killing;
};

static void
tell(int control, enum minder_word word, int number)
{
	struct minder_record record = { .word = word, .number = number };

	send(control, &record, sizeof record, MSG_NOSIGNAL);
}

static int
open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void
drain_signals(int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof info) > 0)
		;
}

/* Waits until the child is the program, or has ended. Returns its pid, or -1. */
static pid_t
clone_child(struct minder_start *start)
{
	char **ours = environ;
	pid_t child = clone(minder_child_main, start->stack + start->stack_bytes,
	    CLONE_VM | CLONE_VFORK | SIGCHLD, start);

	environ = ours;
	return child;
}

/* Starts the child. Returns 0, or the errno of why it could not be. */
static int
start_child(struct minder *minder, const int given[LAUNCH_DESCRIPTORS])
{
	struct minder_start start = { .minder = getpid(), .given = given };
	int failed[2], failure;

	if (pipe2(failed, O_CLOEXEC) == -1)
		return errno;
	start.failed = failed[1];
	failure = minder_start_open(&start);
	if (failure == 0) {
		minder->child = clone_child(&start);
		failure = minder->child == -1 ? errno : 0;
	}
	close(failed[1]);
	/* Ends without a word when the program has taken over. */
	while (minder->child > 0 && read(failed[0], &failure, sizeof failure) == -1 &&
	       errno == EINTR)
		;
	close(failed[0]);
	minder_start_close(&start);
	return failure;
}

struct reaping {
	pid_t kept;
	size_t count;
};

static void
visit_to_reap(pid_t child, void *arg)
{
	struct reaping *reaping = arg;

	if (child != reaping->kept && waitpid(child, NULL, WNOHANG) == child)
		reaping->count++;
}

/* Behind those who go others come into sight, who are dead as well perhaps: no SIGCHLD is left that
 * would have us look again. */
static void
reap_all(pid_t kept)
{
	struct reaping reaping;

	do {
		reaping = (struct reaping){ .kept = kept };
		each_child(visit_to_reap, &reaping);
	} while (reaping.count > 0);
}

static void
visit_to_kill(pid_t child, void *arg)
{
	(void)arg;
	kill(child, SIGKILL);
}

static void
visit_to_count(pid_t child, void *arg)
{
	(void)child;
	(void)arg;
}

static void
look_at_child(struct minder *minder)
{
	siginfo_t info = { .si_pid = 0 };

	if (minder->has_exited ||
	    waitid(P_PID, (id_t)minder->child, &info, WEXITED | WNOHANG | WNOWAIT) ==
		-1 ||
	    info.si_pid == 0)
		return;
	minder->has_exited = true;
	if (info.si_code == CLD_EXITED)
		tell(minder->control, MINDER_EXITED, info.si_status);
	else
		tell(minder->control, MINDER_SIGNALLED, info.si_status);
}

static void
obey(struct minder *minder)
{
	char words[16];
	ssize_t size = recv(minder->control, words, sizeof words, MSG_DONTWAIT), i;

	if (size == 0 || (size == -1 && errno != EAGAIN && errno != EINTR))
		minder->is_killing = true; /* whom we work for is gone */
	for (i = 0; i < size; i++) {
		if (words[i] == MINDER_KILL)
			minder->is_killing = true;
		else
			kill(-minder->child, SIGTERM);
	}
}

/* Until the child's zombie is all that is left. Whoever is killed makes his children ours
 * before we hear of it, so that the last SIGCHLD finds nobody else. */
static void
watch(struct minder *minder)
{
	struct pollfd news[] = {
		{ .fd = minder->control, .events = POLLIN },
		{ .fd = minder->signals, .events = POLLIN },
	};

	for (;;) {
		look_at_child(minder);
		reap_all(minder->child);
		if (minder->has_exited && each_child(visit_to_count, NULL) <= 1)
			return;
		if (minder->is_killing) {
			kill(-minder->child, SIGKILL);
			each_child(visit_to_kill, NULL);
			news[0].fd = -1;
		}
		poll(news, 2, -1);
		if (news[0].revents != 0)
			obey(minder);
		drain_signals(minder->signals);
	}
}

static void
mind(const int given[LAUNCH_DESCRIPTORS])
{
	struct minder minder = { .control = given[LAUNCH_CONTROL] };
	int failure, i;

	prctl(PR_SET_NAME, "minder");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	tell(minder.control, MINDER_BEGINS, 0);
	minder.signals = open_signals();
	failure = minder.signals == -1 ? errno : start_child(&minder, given);
	if (failure != 0) {
		tell(minder.control, MINDER_NOT_STARTED, failure);
		_exit(0);
	}
	for (i = LAUNCH_IMAGE; i < LAUNCH_DESCRIPTORS; i++)
		close(given[i]);
	watch(&minder);
	_exit(0);
}

/* --- the starter -------------------------------------------------------------------- */

/* Minders are of our group; their children have groups of their own. */
static void
visit_to_kill_strays(pid_t child, void *arg)
{
	(void)arg;
	if (getpgid(child) != getpgrp())
		kill(child, SIGKILL);
}

/* A minder that was killed leaves what its child had started to us. */
static void
reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	each_child(visit_to_kill_strays, NULL);
}

/* Receives a launch. Returns 1, 0 when there is none, -1 at the end. */
static int
receive(int from, int given[LAUNCH_DESCRIPTORS])
{
	char byte, space[CMSG_SPACE(LAUNCH_DESCRIPTORS * sizeof(int))] = { 0 };
	struct iovec vector = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof space,
	};
	ssize_t size = recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	if (size == -1)
		return errno == EAGAIN || errno == EINTR || errno == EMFILE ? 0 : -1;
	if (size == 0 || head == NULL ||
	    head->cmsg_len != CMSG_LEN(LAUNCH_DESCRIPTORS * sizeof(int)))
		return -1;
	memcpy(given, CMSG_DATA(head), LAUNCH_DESCRIPTORS * sizeof(int));
	return 1;
}

static void
launch(int from, int signals, const int given[LAUNCH_DESCRIPTORS])
{
	pid_t minder = _Fork();
	int failure, i;

	if (minder == 0) {
		/* Else nobody would notice that the starter is gone. */
		close(from);
		close(signals);
		mind(given);
	}
	if (minder == -1) {
		failure = errno;
		tell(given[LAUNCH_CONTROL], MINDER_BEGINS, 0); /* in its place */
		tell(given[LAUNCH_CONTROL], MINDER_NOT_STARTED, failure);
	}
	for (i = 0; i < LAUNCH_DESCRIPTORS; i++)
		close(given[i]);
}

/* A terminal's Ctrl-C and a group's SIGTERM are for whom we work for: we end with it. */
static void
settle(void)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
		SIGPIPE };
	sigset_t set;
	size_t i;

	prctl(PR_SET_NAME, "starter");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* It has the environment and the memory of whom we work for, and so have the minders, whom the
	 * programs find as their parents. */
	prctl(PR_SET_DUMPABLE, 0);
	setsid();
	for (i = 0; i < sizeof ours / sizeof ours[0]; i++)
		signal(ours[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

/* Nothing of whom we work for stays open here but stderr. */
static void
keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (socket > 3)
		close_range(3, (unsigned)socket - 1, 0);
	close_range((unsigned)socket + 1, ~0U, 0);
}

static void
start_on_demand(int from)
{
	struct pollfd news[] = {
		{ .fd = from, .events = POLLIN },
		{ .events = POLLIN },
	};
	int given[LAUNCH_DESCRIPTORS], received = 0;

	keep_only(from);
	news[1].fd = open_signals();
	while (received != -1) {
		poll(news, 2, -1);
		while ((received = receive(from, given)) == 1)
			launch(from, news[1].fd, given);
		drain_signals(news[1].fd);
		reap();
	}
	_exit(0);
}

int
minder_fork_starter(struct starter *starter_r)
{
	int ends[2];
	sigset_t all, before;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	    -1)
		return -1;
	/* A handler of ours must not run over there. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = _Fork();
	if (pid == 0) {
		settle();
		start_on_demand(ends[1]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	*starter_r = (struct starter){ .pid = pid, .socket = ends[0] };
	if (pid != -1)
		return 0;
	close(ends[0]);
	return -1;
}
