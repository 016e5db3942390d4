#include "companion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "fiber.h"
#include "launch.h"
#include "memory.h"
#include "minder.h"

#define START_AGAIN_MS 2u /* the starter has too much to do */
#define CHUNK_BYTES 65536
/* What it has not read yet; more keeps who reads nothing, and is written to all the time. */
#define UNREAD_BYTES_MAX (64u << 20)
#define UNREAD_PIECES_MAX 10000u
#define MUTE_MS 1000u             /* from the end of its output to its own end */
#define REST_BYTES_MAX (1u << 20) /* what a pipe may hold (fs.pipe-max-size) */

enum { INPUT, OUTPUT, ERRORS, CONTROL, HANDLES };

struct companion {
	struct companion_options options;
	uv_pipe_t handles[HANDLES]; /* our ends */
	unsigned open;              /* of these */
	struct packet news;         /* the minder's records */
	struct minder_record ended;
	unsigned unread; /* pieces that are not written */
	struct loop *loop;
	struct timer *mute; /* its output has ended, and it has not */
	bool is_mute;       /* it was killed for that */
	bool is_deaf;       /* it was killed, for it did not read them */
	bool is_over;       /* nothing is left of it */
	bool is_gone;       /* nor of what it wrote */
	bool is_destroyed;  /* by its owner */
};

static char chunk[CHUNK_BYTES]; /* read and used before the next is asked for */

/* One thing to be written; the bytes follow. */
struct writing {
	uv_write_t request;
	struct companion *companion;
	char data[];
};

static size_t count;

/* --- handles ------------------------------------------------------------------------ */

static void
free_when_closed(struct companion *companion)
{
	if (!companion->is_destroyed || companion->open > 0)
		return;
	packet_release(&companion->news);
	free(companion);
	count--;
}

static void
on_closed(uv_handle_t *handle)
{
	struct companion *companion = handle->data;

	companion->open--;
	free_when_closed(companion);
}

static void
close_handle(struct companion *companion, int which)
{
	uv_handle_t *handle = (uv_handle_t *)&companion->handles[which];

	if (handle->data == NULL || uv_is_closing(handle))
		return;
	uv_close(handle, on_closed);
}

/* Takes descriptor. */
static void
open_handle(struct companion *companion, struct loop *loop, int which, int descriptor)
{
	uv_pipe_t *handle = &companion->handles[which];

	uv_pipe_init(loop_uv(loop), handle, 0);
	handle->data = companion;
	companion->open++;
	uv_pipe_open(handle, descriptor);
}

/* --- the end of it ------------------------------------------------------------------ */

static void
tell_minder(struct companion *companion, char word)
{
	uv_os_fd_t control;

	if (!companion->is_over &&
	    uv_fileno((uv_handle_t *)&companion->handles[CONTROL], &control) == 0)
		send(control, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
companion_kill(struct companion *companion)
{
	tell_minder(companion, MINDER_KILL);
}

void
companion_ask_to_end(struct companion *companion)
{
	timer_stop(&companion->mute); /* who asks has his own time for it */
	close_handle(companion, INPUT);
	tell_minder(companion, MINDER_ASK_TO_END);
}

static void
tell_bytes(const struct companion *companion, int which, const char *data, size_t size)
{
	if (!companion->is_destroyed)
		companion->options.on_bytes(companion->options.arg,
		    which == OUTPUT ? COMPANION_OUTPUT : COMPANION_ERRORS, data, size);
}

/* All who wrote to it are dead: what lies in the pipe is the rest. Its end may never come: somebody
 * who is none of its own can hold it open, by /proc or because it was handed to him. */
static void
read_rest(struct companion *companion, int which)
{
	size_t left = REST_BYTES_MAX;
	ssize_t size;
	uv_os_fd_t pipe;

	if (uv_fileno((uv_handle_t *)&companion->handles[which], &pipe) != 0)
		return; /* it has come */
	while (left > 0 && (size = read(pipe, chunk, sizeof chunk)) > 0) {
		tell_bytes(companion, which, chunk, (size_t)size);
		left -= (size_t)size < left ? (size_t)size : left;
	}
	close_handle(companion, which);
}

static void
be_gone(struct companion *companion)
{
	companion->is_over = true;
	timer_stop(&companion->mute);
	read_rest(companion, OUTPUT);
	read_rest(companion, ERRORS);
	companion->is_gone = true;
	close_handle(companion, INPUT);
	if (!companion->is_destroyed)
		companion->options.on_gone(companion->options.arg);
}

/* What it started goes with it. */
static void
on_news(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct companion *companion = stream->data;
	struct packet *news = &companion->news;

	if (size >= 0) {
		packet_append(news, buf->base, (size_t)size);
		if (news->size < 2 * sizeof companion->ended)
			return;
		memcpy(&companion->ended, news->data + sizeof companion->ended,
		    sizeof companion->ended);
		companion_kill(companion);
		return;
	}
	close_handle(companion, CONTROL);
	be_gone(companion);
}

/* --- pipes -------------------------------------------------------------------------- */

static void
on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	(void)handle;
	(void)suggested;
	*buf = uv_buf_init(chunk, sizeof chunk);
}

static void
on_mute(void *arg)
{
	struct companion *companion = arg;

	timer_stop(&companion->mute);
	companion->is_mute = true;
	companion_kill(companion);
}

/* Nothing will come of it any more. It may be about to end, which tells more. */
static void
expect_end(struct companion *companion)
{
	if (!companion->is_over && !companion->is_destroyed &&
	    !uv_is_closing((uv_handle_t *)&companion->handles[INPUT]))
		companion->mute =
		    timer_start(companion->loop, MUTE_MS, 0, on_mute, companion);
}

static void
on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct companion *companion = stream->data;
	int which = (uv_pipe_t *)stream == &companion->handles[OUTPUT] ? OUTPUT : ERRORS;

	if (size < 0) {
		close_handle(companion, which);
		if (which == OUTPUT)
			expect_end(companion);
	} else if (size > 0) {
		tell_bytes(companion, which, buf->base, (size_t)size);
	}
}

static void
on_written(uv_write_t *request, int status)
{
	struct writing *writing = (struct writing *)(void *)request;

	(void)status; /* it need not read */
	writing->companion->unread--;
	free(writing);
}

/* Whether there is room for another piece, which may be a large one. */
static bool
reads(struct companion *companion)
{
	const uv_stream_t *input = (uv_stream_t *)&companion->handles[INPUT];

	if (companion->unread < UNREAD_PIECES_MAX &&
	    uv_stream_get_write_queue_size(input) <= UNREAD_BYTES_MAX)
		return true;
	companion->is_deaf = true;
	companion_kill(companion);
	return false;
}

void
companion_write(struct companion *companion, const char *data, size_t size)
{
	uv_pipe_t *input = &companion->handles[INPUT];
	struct writing *writing;
	uv_buf_t buf;

	if (uv_is_closing((uv_handle_t *)input) || companion->is_deaf ||
	    !reads(companion))
		return;
	writing = xcalloc(1, sizeof *writing + size);
	writing->companion = companion;
	memcpy(writing->data, data, size);
	buf = uv_buf_init(writing->data, (unsigned)size);
	if (uv_write(&writing->request, (uv_stream_t *)input, &buf, 1, on_written) == 0)
		companion->unread++;
	else
		free(writing);
}

/* --- its life ----------------------------------------------------------------------- */

static void
close_ends(int ends[3])
{
	for (unsigned i = 0; i < 3; i++)
		if (ends[i] != -1)
			close(ends[i]);
}

static int
open_ends(int ours[3], int theirs[3])
{
	for (unsigned i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) == -1)
			return -errno;
		ours[i] = ends[i == INPUT ? 1 : 0];
		theirs[i] = ends[i == INPUT ? 0 : 1];
	}
	return 0;
}

/* Returns our end of the control, or minus an errno; -ECANCELED when the fiber was. */
static int
launch_in_turn(const struct companion_options *options, const int theirs[3])
{
	const struct process_options how = {
		.argv = options->argv,
		.env = options->env,
		.directory = options->directory,
		.limits = options->limits,
	};
	const int all[] = { theirs[0], theirs[1], theirs[2], -1 };
	int control;

	while ((control = launch(&how, all)) == -EAGAIN)
		if (fiber_sleep(START_AGAIN_MS) == -1)
			return -ECANCELED;
	return control;
}

struct companion *
companion_start(struct loop *loop, struct arena *arena,
    const struct companion_options *options, const char **reason_r)
{
	int ours[3] = { -1, -1, -1 }, theirs[3] = { -1, -1, -1 };
	int control = open_ends(ours, theirs);
	struct companion *companion;

	if (control == 0)
		control = launch_in_turn(options, theirs);
	close_ends(theirs);
	if (control < 0) {
		close_ends(ours);
		*reason_r = control == -ECANCELED
				? NULL
				: arena_printf(arena, "cannot run %s: %s",
				      options->argv[0], uv_strerror(control));
		return NULL;
	}
	companion = xcalloc(1, sizeof *companion);
	count++;
	companion->options = *options;
	companion->loop = loop;
	open_handle(companion, loop, CONTROL, control);
	for (int i = INPUT; i <= ERRORS; i++)
		open_handle(companion, loop, i, ours[i]);
	uv_read_start((uv_stream_t *)&companion->handles[CONTROL], on_alloc, on_news);
	uv_read_start((uv_stream_t *)&companion->handles[OUTPUT], on_alloc, on_read);
	uv_read_start((uv_stream_t *)&companion->handles[ERRORS], on_alloc, on_read);
	return companion;
}

void
companion_destroy(struct companion **companion_p)
{
	struct companion *companion = *companion_p;

	if (companion == NULL)
		return;
	*companion_p = NULL;
	companion->is_destroyed = true;
	timer_stop(&companion->mute);
	companion_kill(companion);
	/* The control stays until the minder says that nothing is left, or we end. */
	close_handle(companion, INPUT);
	close_handle(companion, OUTPUT);
	close_handle(companion, ERRORS);
	free_when_closed(companion);
}

bool
companion_is_gone(const struct companion *companion)
{
	return companion->is_gone;
}

const char *
companion_end_text(const struct companion *companion)
{
	static char text[128];
	int number = companion->ended.number;

	if (companion->is_deaf)
		return "was killed, for it does not read what it is sent";
	if (companion->is_mute)
		return "was killed, for it has closed its standard output";
	switch (companion->ended.word) {
	case MINDER_NOT_STARTED:
		snprintf(text, sizeof text, "could not be run: %s", strerror(number));
		break;
	case MINDER_EXITED:
		snprintf(text, sizeof text, "ended with status %d", number);
		break;
	case MINDER_SIGNALLED:
		snprintf(text, sizeof text, "was ended by signal %d (%s)", number,
		    strsignal(number));
		break;
	default:
		snprintf(text, sizeof text, "was killed");
		break;
	}
	return text;
}

size_t
companion_count(void)
{
	return count;
}
