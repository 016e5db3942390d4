#include "supervisor_own.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "child_env.h"
#include "child_words.h"
#include "fiber.h"
#include "memory.h"
#include "session.h"
#include "watchdog.h"

#define RESTART_MS_MIN 100u
#define RESTART_MS_MAX 5000u
#define SETTLED_MS 10000u /* alive for so long: the next restart is quick again */
#define CRASHES_MAX 5u    /* so often in a row without that: only now and then */
#define RESTART_MS_SLOW 30000u
#define CHECK_MS 250u /* that the children move */
#define END_MS 2000u  /* of a child, behind the time that it has said it needs */

/* --- readiness and life --------------------------------------------------------------- */

/* A program that drains knows best how long that may take. */
static void
hear_drain(struct child *child, const char *text)
{
	const char *us = strstr(text, "EXTEND_TIMEOUT_USEC=");
	uint64_t now = loop_now_ms(child->supervisor->loop);

	if (us == NULL)
		return;
	child->drain_ms = strtoull(us + strlen("EXTEND_TIMEOUT_USEC="), NULL, 10) / 1000;
	if (child->end_ms < now + child->drain_ms + END_MS)
		child->end_ms = now + child->drain_ms + END_MS;
}

static void
hear(struct supervisor *supervisor, pid_t pid, const char *text)
{
	bool ready = strstr(text, "READY=1") != NULL;
	bool drains = strstr(text, "STOPPING=1") != NULL;
	struct child *child;

	if (!ready && !drains && strstr(text, "WATCHDOG=1") == NULL)
		return;
	for (child = supervisor->children; child != NULL; child = child->next) {
		if (!child->alive || child->process.pid != pid)
			continue;
		child->heard_ms = loop_now_ms(supervisor->loop);
		if (drains)
			hear_drain(child, text);
		if (ready)
			child->ready = child->was_ready = true;
	}
	if (ready && supervisor->waiting != NULL)
		fiber_wake(supervisor->waiting);
}

/* One that is stopped, or waits for ever for something. While we stood still ourselves
 * nobody could tell us anything. */
static void
check_child(struct supervisor *supervisor, struct child *child)
{
	uint64_t since = child->heard_ms, gap = loop_gap_ms(supervisor->loop);
	uint64_t most_ms = child->stuck_ms;

	/* The first time supervisor_start waits for it. */
	if (!child->alive || !child->was_ready || child->given_up || most_ms == 0)
		return;
	if (!child->ready && most_ms < child->ready_ms)
		most_ms = child->ready_ms;
	if (gap > since)
		since = gap;
	if (loop_now_ms(supervisor->loop) < since + most_ms)
		return;
	complain("%s does not move: no sign of life for %.1f s; killing it", child->name,
	    (double)most_ms / 1000);
	child->given_up = true;
	uv_process_kill(&child->process, SIGKILL);
}

static void
on_check(void *arg)
{
	struct supervisor *supervisor = arg;
	struct child *child;

	if (supervisor->stopping)
		return; /* supervisor_stop has its own time for each */
	for (child = supervisor->children; child != NULL; child = child->next)
		check_child(supervisor, child);
}

static void
on_notify(uv_poll_t *handle, int status, int events)
{
	struct supervisor *supervisor = handle->data;
	char text[4096], control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { text, sizeof text - 1 };
	struct msghdr message = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control };
	struct cmsghdr *header;
	struct ucred who = { 0 };
	ssize_t size = recvmsg(supervisor->notify_fd, &message, MSG_DONTWAIT);

	(void)status;
	(void)events;
	if (size <= 0)
		return;
	text[size] = '\0';
	for (header = CMSG_FIRSTHDR(&message); header != NULL;
	     header = CMSG_NXTHDR(&message, header))
		if (header->cmsg_level == SOL_SOCKET &&
		    header->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(header), sizeof who);
	hear(supervisor, who.pid, text);
}

static int
open_notify(struct supervisor *supervisor)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int on = 1;

	if (strlen(supervisor->notify_path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(
	    address.sun_path, sizeof address.sun_path, "%s", supervisor->notify_path);
	supervisor->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (supervisor->notify_fd == -1 ||
	    setsockopt(supervisor->notify_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) ==
		-1 ||
	    bind(supervisor->notify_fd, (struct sockaddr *)&address, sizeof address) ==
		-1)
		return -1;
	return 0;
}

struct supervisor *
supervisor_new(struct loop *loop, const char *folder)
{
	struct supervisor *supervisor = xcalloc(1, sizeof *supervisor);

	supervisor->loop = loop;
	supervisor->notify_fd = -1;
	if (asprintf(&supervisor->notify_path, "%s/notify", folder) == -1)
		abort();
	if (open_notify(supervisor) == -1) {
		if (supervisor->notify_fd != -1)
			close(supervisor->notify_fd);
		free(supervisor->notify_path);
		free(supervisor);
		return NULL;
	}
	uv_poll_init(loop_uv(loop), &supervisor->notify, supervisor->notify_fd);
	supervisor->notify.data = supervisor;
	supervisor->handles++;
	uv_poll_start(&supervisor->notify, UV_READABLE, on_notify);
	supervisor->check = timer_start(loop, CHECK_MS, CHECK_MS, on_check, supervisor);
	return supervisor;
}

/* --- children ----------------------------------------------------------------------- */

static void
on_child_closed(uv_handle_t *handle)
{
	struct child *child = handle->data;

	child->closing = false;
	child->supervisor->handles--;
	if (child->supervisor->waiting != NULL)
		fiber_wake(child->supervisor->waiting);
}

static int spawn(struct child *child);

static void
on_restart(void *arg)
{
	struct child *child = arg;

	timer_stop(&child->restart);
	child->restarts++;
	if (!child->supervisor->stopping && spawn(child) == -1)
		child->restart = timer_start(
		    child->supervisor->loop, RESTART_MS_MAX, 0, on_restart, child);
}

/* How long to wait before the next start. */
static uint64_t
pause_ms(struct child *child)
{
	uint64_t now = loop_now_ms(child->supervisor->loop), pause = child->restart_ms;

	if (now - child->started_ms > SETTLED_MS) {
		pause = RESTART_MS_MIN;
		child->crashes = 0;
	}
	child->restart_ms = pause * 2 > RESTART_MS_MAX ? RESTART_MS_MAX : pause * 2;
	return ++child->crashes < CRASHES_MAX ? pause : RESTART_MS_SLOW;
}

static const char *
said_where(const struct child *child)
{
	return child->log != NULL ? child->log : "what it said above";
}

static void
say_end(const struct child *child, int status, int signal_number)
{
	if (signal_number != 0)
		complain("%s was killed by signal %d (%s)", child->name, signal_number,
		    strsignal(signal_number));
	else if (status == WATCHDOG_STATUS)
		complain(
		    "%s ended itself: it did not move (status %d)", child->name, status);
	else
		complain("%s ended with status %d", child->name, status);
}

static void
on_child_exit(uv_process_t *process, int64_t status, int signal_number)
{
	struct child *child = process->data;
	struct supervisor *supervisor = child->supervisor;
	uint64_t pause;

	child->alive = false;
	child->closing = true;
	uv_close((uv_handle_t *)process, on_child_closed);
	if (supervisor->stopping)
		return;
	say_end(child, (int)status, signal_number);
	if (!child->was_ready)
		return; /* supervisor_start gives up on it */
	pause = pause_ms(child);
	if (child->crashes >= CRASHES_MAX)
		complain("%s has ended %u times in a row soon after its start, see %s; "
			 "next try in %u s",
		    child->name, child->crashes, said_where(child),
		    (unsigned)(pause / 1000));
	else
		complain("%s is started again", child->name);
	child->restart = timer_start(supervisor->loop, pause, 0, on_restart, child);
}

static int
spawn(struct child *child)
{
	struct supervisor *supervisor = child->supervisor;
	const struct child_said said = { .notify_path = supervisor->notify_path,
		.restarts = child->restarts,
		.watchdog_us = (uint64_t)child->stuck_ms * 1000 };
	uv_stdio_container_t stdio[4] = { { .flags = UV_IGNORE },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
		{ .flags = UV_INHERIT_FD, .data.fd = child->keep } };
	uv_process_options_t options = { .exit_cb = on_child_exit,
		.file = child->argv[0],
		.args = child->argv,
		.env = child_env_new(child->withheld, &said),
		.stdio = stdio,
		.stdio_count = child->keep == -1 ? 3 : 4,
		/* A session of its own: Ctrl-C is for us, we end the children in order.
		 */
		.flags = UV_PROCESS_DETACHED };
	int error;

	child->ready = child->given_up = false;
	child->drain_ms = child->end_ms = 0;
	child->started_ms = child->heard_ms = loop_now_ms(supervisor->loop);
	error = uv_spawn(loop_uv(supervisor->loop), &child->process, &options);
	child->process.data = child;
	supervisor->handles++;
	child_env_free(options.env);
	if (error == 0) {
		child->alive = true;
		return 0;
	}
	complain("%s cannot be started: %s: %s", child->name, child->argv[0],
	    uv_strerror(error));
	child->closing = true;
	uv_close((uv_handle_t *)&child->process, on_child_closed);
	return -1;
}

static void
say_busy(const struct child *child, const char *busy)
{
	uint64_t since_ms = loop_now_ms(child->supervisor->loop) - child->started_ms;

	printf("waiting for %s: not ready after %.0f s; it may be %s, see %s\n",
	    child->name, (double)since_ms / 1000, busy, said_where(child));
	fflush(stdout);
}

/* Until child is ready, has ended, or is waited for no longer. */
static void
await_ready(struct child *child, const struct supervisor_program *program)
{
	struct supervisor *supervisor = child->supervisor;
	uint64_t now = child->started_ms, say_ms = now + program->busy_ms;
	uint64_t deadline = program->ready_ms == 0 ? UINT64_MAX : now + program->ready_ms;

	supervisor->waiting = fiber_current();
	while (!child->ready && child->alive && now < deadline) {
		if (fiber_wait_ms(100) == -1)
			break;
		now = loop_now_ms(supervisor->loop);
		if (program->busy == NULL || child->ready || now < say_ms)
			continue;
		say_busy(child, program->busy);
		say_ms = now + program->busy_ms;
	}
	supervisor->waiting = NULL;
}

int
supervisor_start(struct supervisor *supervisor, const struct supervisor_program *program)
{
	struct child *child = xcalloc(1, sizeof *child);
	bool has_said;

	child->supervisor = supervisor;
	child->name = xstrdup(program->name);
	child->log = program->log == NULL ? NULL : xstrdup(program->log);
	child->argv = child_words_supervised(program->argv);
	child->withheld = child_words_copy(program->withheld);
	child->stuck_ms = program->stuck_ms;
	child->ready_ms = program->ready_ms;
	child->keep = program->keep;
	child->group = program->group;
	child->orderly = program->orderly;
	child->restart_ms = RESTART_MS_MIN;
	child->next = supervisor->children;
	supervisor->children = child;
	if (spawn(child) == -1)
		return -1;
	await_ready(child, program);
	if (child->ready)
		return 0;
	has_said = !child->alive || child->log != NULL;
	if (!fiber_cancelled())
		complain("%s did not become ready%s%s", child->name,
		    has_said ? "; see " : "", has_said ? said_where(child) : "");
	return -1;
}

/* --- the end ------------------------------------------------------------------------ */

size_t
supervisor_alive(const struct supervisor *supervisor)
{
	const struct child *child;
	size_t count = 0;

	for (child = supervisor->children; child != NULL; child = child->next)
		count += child->alive;
	return count;
}

static void
on_notify_closed(uv_handle_t *handle)
{
	struct supervisor *supervisor = handle->data;

	close(supervisor->notify_fd);
	unlink(supervisor->notify_path);
	free(supervisor->notify_path);
	free(supervisor);
}

void
supervisor_destroy(struct supervisor **supervisor_p)
{
	struct supervisor *supervisor = *supervisor_p;
	struct child *child;

	if (supervisor == NULL)
		return;
	*supervisor_p = NULL;
	while ((child = supervisor->children) != NULL) {
		supervisor->children = child->next;
		child_words_free(child->argv);
		child_words_free(child->withheld);
		free(child->name);
		free(child->log);
		free(child);
	}
	timer_stop(&supervisor->check);
	uv_close((uv_handle_t *)&supervisor->notify, on_notify_closed);
}
