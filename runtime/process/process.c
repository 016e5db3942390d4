#include "process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "fiber.h"
#include "bounds.h"
#include "launch.h"
#include "line_cutter.h"
#include "minder.h"

#define START_AGAIN_MS 2u /* the starter has too much to do */
#define CHUNK_BYTES 65536

enum { INPUT, OUTPUT, ERRORS, STREAM = PROCESS_STREAM_FD, PIPES };

struct child {
	struct loop *loop;
	struct fiber *fiber;
	const struct process_options *options;
	uv_pipe_t control;      /* to its minder */
	struct packet news;     /* its records: MINDER_BEGINS, and how the child ended */
	uv_pipe_t pipes[PIPES]; /* our ends */
	uv_write_t write;
	struct packet output;
	struct packet errors;
	struct line_cutter lines;
	struct timer *deadline;
	struct timer *grace;
	unsigned handles;           /* not closed by libuv yet */
	unsigned readers;           /* of the pipes we read, those not at their end yet */
	struct minder_record ended; /* how, once has_ended */
	enum process_end why;       /* it was stopped */
	bool has_ended;
	bool is_stopped; /* the group was asked to end */
	bool is_killed;
	bool is_gone; /* with all that it ever started */
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
	if (pipe->data == NULL || uv_is_closing((uv_handle_t *)pipe))
		return;
	child->readers--;
	close_handle(pipe);
}

/* Hands a descriptor over to libuv, which closes it. */
static void
open_handle(struct child *child, uv_pipe_t *handle, int descriptor)
{
	int failure;

	uv_pipe_init(loop_uv(child->loop), handle, 0);
	handle->data = child;
	failure = uv_pipe_open(handle, descriptor);
	assert(failure == 0); /* a fresh one of ours */
	child->handles++;
}

/* --- the end of it ------------------------------------------------------------------ */

static void
tell_minder(struct child *child, char word)
{
	uv_os_fd_t control;

	/* Should the minder be gone, so is the child. */
	if (!child->is_gone && uv_fileno((uv_handle_t *)&child->control, &control) == 0)
		send(control, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
kill_all(struct child *child)
{
	if (!child->is_killed)
		tell_minder(child, MINDER_KILL);
	child->is_killed = true;
}

static void
on_grace(void *arg)
{
	struct child *child = arg;

	timer_stop(&child->grace);
	kill_all(child);
	if (!child->is_gone)
		return;
	/* Somebody who is none of its own holds the pipes. */
	for (unsigned i = OUTPUT; i < PIPES; i++)
		close_reader(child, &child->pipes[i]);
}

static void
start_grace(struct child *child)
{
	timer_stop(&child->grace);
	child->grace =
	    timer_start(child->loop, child->options->grace_ms, 0, on_grace, child);
}

static void
stop(struct child *child, enum process_end why)
{
	if (child->is_stopped)
		return;
	child->is_stopped = true;
	child->why = why;
	tell_minder(child, MINDER_ASK_TO_END);
	start_grace(child);
}

static void
on_deadline(void *arg)
{
	stop(arg, PROCESS_TIMEOUT);
}

static void
on_ended(struct child *child, const struct minder_record *record)
{
	child->has_ended = true;
	child->ended = *record;
	timer_stop(&child->deadline); /* it was in time; what follows is our grace */
	if (!child->is_stopped)
		start_grace(child);
	fiber_wake(child->fiber);
}

static void
on_gone(struct child *child)
{
	static const struct minder_record unseen = { MINDER_SIGNALLED, SIGKILL };

	close_handle(&child->control);
	child->is_gone = true;
	if (!child->has_ended) /* its minder was killed, and the child with it */
		on_ended(child, &unseen);
	start_grace(child);
	fiber_wake(child->fiber);
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

static void
on_stream(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct child *child = stream->data;

	if (size < 0)
		close_reader(child, (uv_pipe_t *)stream);
	else
		line_cutter_add(&child->lines, buf->base, (size_t)size);
}

static void
on_news(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct child *child = stream->data;
	struct minder_record record;

	if (size < 0) {
		on_gone(child);
		return;
	}
	packet_append(&child->news, buf->base, (size_t)size);
	if (child->has_ended || child->news.size < 2 * sizeof record)
		return;
	memcpy(&record, child->news.data + sizeof record, sizeof record);
	on_ended(child, &record);
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
	for (unsigned i = 0; i < PIPES; ends[i++] = -1)
		if (ends[i] != -1)
			close(ends[i]);
}

/* Pipes, not socket pairs: a script may open /dev/stderr. */
static int
open_ends(const struct child *child, int ours[PIPES], int theirs[PIPES])
{
	for (unsigned i = 0; i < PIPES; i++) {
		int ends[2];

		if (i == STREAM && child->options->on_line == NULL)
			continue;
		if (i == INPUT && child->options->input == NULL) {
			theirs[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
			if (theirs[i] == -1)
				return -errno;
			continue;
		}
		if (pipe2(ends, O_CLOEXEC) == -1)
			return -errno;
		ours[i] = ends[i == INPUT ? 1 : 0];
		theirs[i] = ends[i == INPUT ? 0 : 1];
	}
	return 0;
}

static void
open_pipes(struct child *child, int ours[PIPES])
{
	static const uv_read_cb readers[PIPES] = { NULL, on_output, on_errors,
		on_stream };

	for (unsigned i = 0; i < PIPES; i++) {
		if (ours[i] == -1)
			continue;
		open_handle(child, &child->pipes[i], ours[i]);
		ours[i] = -1;
		if (readers[i] == NULL)
			continue;
		uv_read_start((uv_stream_t *)&child->pipes[i], on_alloc, readers[i]);
		child->readers++;
	}
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

/* Returns our end of the control, or minus an errno; -ECANCELED when the fiber was. */
static int
launch_in_turn(const struct process_options *options, const int theirs[PIPES])
{
	int control;

	while ((control = launch(options, theirs)) == -EAGAIN)
		if (fiber_sleep(START_AGAIN_MS) == -1)
			return -ECANCELED;
	return control;
}

/* Returns 0, or minus an errno. */
static int
start(struct child *child)
{
	int ours[PIPES] = { -1, -1, -1, -1 }, theirs[PIPES] = { -1, -1, -1, -1 };
	int failure = open_ends(child, ours, theirs), control = -1;

	if (failure == 0)
		control = launch_in_turn(child->options, theirs);
	close_ends(theirs);
	if (control >= 0) {
		open_handle(child, &child->control, control);
		uv_read_start((uv_stream_t *)&child->control, on_alloc, on_news);
		open_pipes(child, ours);
		write_input(child);
		if (child->options->timeout_ms != 0)
			child->deadline = timer_start(child->loop,
			    child->options->timeout_ms, 0, on_deadline, child);
	}
	close_ends(ours);
	return failure != 0 ? failure : control >= 0 ? 0 : control;
}

/* --- waiting ------------------------------------------------------------------------ */

/* Nothing is left of it, and all it said has been read. Who ended by himself has no need for
 * whom he left behind. */
static bool
is_over(struct child *child)
{
	if (child->has_ended && child->readers == 0 && !child->is_stopped)
		kill_all(child);
	return child->is_gone && child->readers == 0;
}

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

static void
close_all(struct child *child)
{
	timer_stop(&child->deadline);
	timer_stop(&child->grace);
	for (unsigned i = 0; i < PIPES; i++)
		if (child->pipes[i].data != NULL)
			close_handle(&child->pipes[i]);
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

static const char *
tell(struct arena *arena, const struct process_options *options, int failure)
{
	const char *where = options->directory;

	return arena_printf(arena, "cannot run %s%s%s: %s", options->argv[0],
	    where == NULL ? "" : " in ", where == NULL ? "" : where,
	    uv_strerror(failure));
}

static void
fill_result(struct child *child, struct arena *arena, struct process_result *result)
{
	static const enum process_end ends[] = {
		[MINDER_NOT_STARTED] = PROCESS_NOT_STARTED,
		[MINDER_EXITED] = PROCESS_EXITED,
		[MINDER_SIGNALLED] = PROCESS_SIGNALLED,
	};

	keep_last(&child->errors, child->options->error_bytes_max);
	result->end = child->is_stopped ? child->why : ends[child->ended.word];
	if (result->end == PROCESS_NOT_STARTED)
		result->reason = tell(arena, child->options, -child->ended.number);
	else if (!child->is_stopped)
		result->status = child->ended.number;
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
	if (options.grace_ms == 0)
		options.grace_ms = TOOL_GRACE_MS;
	return options;
}

/* Returns false when the starter was killed before it had begun. */
static bool
run_once(struct loop *loop, struct arena *arena, const struct process_options *options,
    struct process_result *result)
{
	struct child child = {
		.loop = loop,
		.fiber = fiber_current(),
		.options = options,
		.lines = { options->on_line, options->line_arg, options->line_bytes_max },
	};
	int failure = start(&child);
	bool has_begun;

	if (failure == 0)
		wait_for_end(&child);
	close_all(&child);
	line_cutter_end(&child.lines);
	has_begun = failure != 0 || child.is_stopped || child.news.size > 0;
	packet_release(&child.news);
	if (failure == 0) {
		fill_result(&child, arena, result);
	} else if (failure != -ECANCELED) {
		result->end = PROCESS_NOT_STARTED;
		result->reason = tell(arena, options, failure);
	}
	return has_begun;
}

void
process_run(struct loop *loop, struct arena *arena, const struct process_options *options,
    struct process_result *result_r)
{
	const struct process_options bounded = with_defaults(options);
	bool has_begun = false;

	while (!has_begun) {
		*result_r = (struct process_result){
			.end = PROCESS_CANCELLED, .reason = "", .output = "", .error = ""
		};
		if (fiber_cancelled())
			return;
		has_begun = run_once(loop, arena, &bounded, result_r);
	}
}
