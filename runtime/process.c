#include "process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fiber.h"
#include "bounds.h"

#define GRACE_MS 200
#define CHUNK_BYTES 65536

enum { INPUT, OUTPUT, ERRORS, PIPES };

struct child {
	struct loop *loop;
	struct fiber *fiber;
	const struct process_options *options;
	uv_process_t process;
	uv_pipe_t pipes[PIPES]; /* our ends */
	uv_write_t write;
	struct packet output;
	struct packet errors;
	struct timer *deadline;
	struct timer *grace;
	unsigned handles; /* not closed by libuv yet */
	unsigned readers; /* of the two pipes we read, those not at their end yet */
	int64_t status;
	int signal;
	enum process_end why; /* it was stopped */
	bool has_exited;
	bool is_stopped; /* the group was asked to end */
	bool is_killed;
};

/* --- handles ------------------------------------------------------------------------ */

static void
on_closed(uv_handle_t *handle)
{
	struct child *child = handle->data;

	child->handles--;
	fiber_wake(child->fiber);
}

static void
close_handle(void *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void
close_reader(struct child *child, uv_pipe_t *pipe)
{
	if (uv_is_closing((uv_handle_t *)pipe))
		return;
	child->readers--;
	close_handle(pipe);
}

/* --- the end of it ------------------------------------------------------------------ */

/* The group is named by the child's id, and its name is not given away while anyone is
 * left in it. */
static bool
signal_group(const struct child *child, int number)
{
	return kill(-child->process.pid, number) == 0;
}

static void
on_grace(void *arg)
{
	struct child *child = arg;

	fiber_wake(child->fiber);
	timer_stop(&child->grace);
	if (!child->is_killed) {
		child->is_killed = true;
		signal_group(child, SIGKILL);
		child->grace = timer_start(child->loop, GRACE_MS, 0, on_grace, child);
		return;
	}
	/* Only one who left the group can hold the pipes now. */
	close_reader(child, &child->pipes[OUTPUT]);
	close_reader(child, &child->pipes[ERRORS]);
}

static void
start_grace(struct child *child)
{
	timer_stop(&child->grace);
	child->grace = timer_start(child->loop, GRACE_MS, 0, on_grace, child);
}

static void
stop(struct child *child, enum process_end why)
{
	if (child->is_stopped)
		return;
	child->is_stopped = true;
	child->why = why;
	signal_group(child, SIGTERM);
	start_grace(child);
}

static void
on_deadline(void *arg)
{
	stop(arg, PROCESS_TIMEOUT);
}

static void
on_exit_of(uv_process_t *process, int64_t status, int number)
{
	struct child *child = process->data;

	child->has_exited = true;
	child->status = status;
	child->signal = number;
	timer_stop(&child->deadline); /* it was in time; what follows is our grace */
	if (!child->is_stopped)
		start_grace(child);
	fiber_wake(child->fiber);
}

static bool
is_over(const struct child *child)
{
	if (!child->has_exited || child->readers > 0)
		return false;
	return !child->is_stopped || child->is_killed || !signal_group(child, 0);
}

/* --- pipes -------------------------------------------------------------------------- */

static void
on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	static char chunk[CHUNK_BYTES]; /* read and copied before the next is asked for */

	(void)handle;
	(void)suggested;
	*buf = uv_buf_init(chunk, sizeof chunk);
}

static void
on_output(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct child *child = stream->data;
	size_t left = child->options->output_bytes_max - child->output.size;

	if (size < 0) {
		close_reader(child, (uv_pipe_t *)stream);
		return;
	}
	if ((size_t)size > left) {
		size = (ssize_t)left;
		stop(child, PROCESS_OUTPUT_LIMIT);
	}
	packet_append(&child->output, buf->base, (size_t)size);
}

static void
keep_last(struct packet *packet, size_t bytes)
{
	if (packet->size <= bytes)
		return;
	memmove(packet->data, packet->data + packet->size - bytes, bytes);
	packet->size = bytes;
}

static void
on_errors(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct child *child = stream->data;
	size_t bytes_max = child->options->error_bytes_max;

	if (size < 0) {
		close_reader(child, (uv_pipe_t *)stream);
		return;
	}
	packet_append(&child->errors, buf->base, (size_t)size);
	if (child->errors.size / 2 > bytes_max) /* not at each chunk */
		keep_last(&child->errors, bytes_max);
}

/* A child need not read its input: no failure of ours. */
static void
on_written(uv_write_t *write, int status)
{
	struct child *child = write->data;

	(void)status;
	close_handle(&child->pipes[INPUT]);
}

/* --- starting ----------------------------------------------------------------------- */

static void
close_ends(int ends[PIPES])
{
	for (unsigned i = 0; i < PIPES; i++) {
		if (ends[i] != -1)
			close(ends[i]);
		ends[i] = -1;
	}
}

/* Pipes, not libuv's socket pairs: a script may open /dev/stderr. */
static int
open_ends(const struct child *child, int ours[PIPES], int theirs[PIPES])
{
	for (unsigned i = 0; i < PIPES; i++) {
		int ends[2];

		if (i == INPUT && child->options->input == NULL)
			continue;
		if (pipe2(ends, O_CLOEXEC) == -1)
			return -errno;
		ours[i] = ends[i == INPUT ? 1 : 0];
		theirs[i] = ends[i == INPUT ? 0 : 1];
	}
	return 0;
}

/* Libraries open descriptors without O_CLOEXEC: a tool must not find our connections. */
static void
keep_descriptors_ours(void)
{
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		uv_disable_stdio_inheritance();
}

static int
spawn(struct child *child, const int theirs[PIPES])
{
	static char *const empty[] = { NULL };
	const struct process_options *options = child->options;
	uv_stdio_container_t stdio[PIPES];
	uv_process_options_t uv = {
		.exit_cb = on_exit_of,
		.file = options->argv[0],
		.args = (char **)options->argv,
		.env =
		    (char **)(options->env == NULL ? (const void *)empty : options->env),
		.cwd = options->directory,
		.flags = UV_PROCESS_DETACHED, /* a session, and so a group, of its own */
		.stdio_count = PIPES,
		.stdio = stdio,
	};

	for (unsigned i = 0; i < PIPES; i++) {
		stdio[i].flags = theirs[i] == -1 ? UV_IGNORE : UV_INHERIT_FD;
		stdio[i].data.fd = theirs[i];
	}
	keep_descriptors_ours();
	child->process.data = child;
	child->handles++;
	return uv_spawn(loop_uv(child->loop), &child->process, &uv);
}

/* Hands the ends over to libuv, which closes them. */
static void
open_pipes(struct child *child, int ours[PIPES])
{
	for (unsigned i = 0; i < PIPES; i++) {
		int failure;

		if (ours[i] == -1)
			continue;
		uv_pipe_init(loop_uv(child->loop), &child->pipes[i], 0);
		child->pipes[i].data = child;
		failure = uv_pipe_open(&child->pipes[i], ours[i]);
		assert(failure == 0); /* a fresh pipe of ours */
		child->handles++;
		ours[i] = -1;
	}
	child->readers = 2;
	uv_read_start((uv_stream_t *)&child->pipes[OUTPUT], on_alloc, on_output);
	uv_read_start((uv_stream_t *)&child->pipes[ERRORS], on_alloc, on_errors);
}

static void
write_input(struct child *child)
{
	const struct process_options *options = child->options;
	uv_buf_t buf = { .base = (char *)options->input, .len = options->input_size };

	if (options->input == NULL)
		return;
	child->write.data = child;
	if (uv_write(&child->write, (uv_stream_t *)&child->pipes[INPUT], &buf, 1,
		on_written) != 0)
		close_handle(&child->pipes[INPUT]);
}

static int
start(struct child *child)
{
	int ours[PIPES] = { -1, -1, -1 }, theirs[PIPES] = { -1, -1, -1 };
	int failure = open_ends(child, ours, theirs);

	if (failure == 0)
		failure = spawn(child, theirs);
	close_ends(theirs);
	if (failure == 0) {
		open_pipes(child, ours);
		write_input(child);
		if (child->options->timeout_ms != 0)
			child->deadline = timer_start(child->loop,
			    child->options->timeout_ms, 0, on_deadline, child);
	}
	close_ends(ours);
	return failure;
}

/* --- waiting ------------------------------------------------------------------------ */

/* Once cancelled the waits behind it must not fail: the child has to be gone first. */
static void
wait_for_end(struct child *child)
{
	while (!is_over(child)) {
		if (fiber_wait() == 0)
			continue;
		stop(child, PROCESS_CANCELLED);
		fiber_shield(true);
		while (!is_over(child))
			fiber_wait();
		fiber_shield(false);
	}
}

/* Whoever is left of the group dies, and has died when this returns; but where nobody
 * reaps orphans their zombies stay, and would keep us for ever. */
static void
sweep(struct child *child)
{
	fiber_shield(true);
	for (unsigned ms = 0; ms < GRACE_MS && signal_group(child, SIGKILL); ms++)
		fiber_sleep(1);
	fiber_shield(false);
}

static void
close_all(struct child *child)
{
	timer_stop(&child->deadline);
	timer_stop(&child->grace);
	if (child->process.data != NULL)
		close_handle(&child->process);
	for (unsigned i = 0; i < PIPES; i++) {
		if (child->pipes[i].data != NULL)
			close_handle(&child->pipes[i]);
	}
	fiber_shield(true);
	while (child->handles > 0)
		fiber_wait();
	fiber_shield(false);
}

static const char *
move_text(struct arena *arena, struct packet *packet)
{
	const char *text =
	    packet->size == 0 ? "" : arena_copy(arena, packet->data, packet->size);

	packet_release(packet);
	return text;
}

static void
fill_result(struct child *child, struct arena *arena, struct process_result *result)
{
	keep_last(&child->errors, child->options->error_bytes_max);
	if (child->is_stopped)
		result->end = child->why;
	else
		result->end = child->signal != 0 ? PROCESS_SIGNALLED : PROCESS_EXITED;
	if (result->end == PROCESS_EXITED)
		result->status = (int)child->status;
	if (result->end == PROCESS_SIGNALLED)
		result->status = child->signal;
	result->output_size = child->output.size;
	result->output = move_text(arena, &child->output);
	result->error_size = child->errors.size;
	result->error = move_text(arena, &child->errors);
}

static struct process_options
with_defaults(const struct process_options *given)
{
	struct process_options options = *given;

	if (options.output_bytes_max == 0)
		options.output_bytes_max = TOOL_OUTPUT_BYTES_MAX;
	if (options.error_bytes_max == 0)
		options.error_bytes_max = TOOL_STDERR_BYTES_MAX;
	return options;
}

static const char *
tell(struct arena *arena, const struct process_options *options, int failure)
{
	if (options->directory == NULL)
		return arena_printf(
		    arena, "cannot run %s: %s", options->argv[0], uv_strerror(failure));
	return arena_printf(arena, "cannot run %s in %s: %s", options->argv[0],
	    options->directory, uv_strerror(failure));
}

void
process_run(struct loop *loop, struct arena *arena, const struct process_options *options,
    struct process_result *result_r)
{
	const struct process_options bounded = with_defaults(options);
	struct child child = {
		.loop = loop,
		.fiber = fiber_current(),
		.options = &bounded,
	};
	int failure;

	*result_r = (struct process_result){ .reason = "", .output = "", .error = "" };
	result_r->end = PROCESS_CANCELLED;
	if (fiber_cancelled())
		return;
	failure = start(&child);
	if (failure == 0) {
		wait_for_end(&child);
		sweep(&child);
	}
	close_all(&child);
	if (failure == 0) {
		fill_result(&child, arena, result_r);
		return;
	}
	result_r->end = PROCESS_NOT_STARTED;
	result_r->reason = tell(arena, &bounded, failure);
}
