/* beanstalkd, by its own protocol on a Unix socket: jobs in one tube, answers in another. The worker reserves one
 * job at a time; answer, deletion and the next reservation go out in one write. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "dispatch.h"
#include "stream.h"

#define COMMAND_BYTES 64u

static struct stream *jobs, *answers;

static void
add(struct stream *stream, const char *text)
{
	stream_add(stream, text, strlen(text));
}

static void
add_put(struct stream *stream, const char *data)
{
	char command[COMMAND_BYTES];

	snprintf(command, sizeof command, "put 0 0 60 %u\r\n", DISPATCH_BYTES);
	add(stream, command);
	stream_add(stream, data, DISPATCH_BYTES);
	add(stream, "\r\n");
}

static void
must_say(struct stream *stream, const char *begin)
{
	const char *line = stream_line(stream);

	if (strncmp(line, begin, strlen(begin)) != 0)
		errx(EXIT_FAILURE, "%s, not %s", line, begin);
}

/* Opens a connection that takes from one tube and puts into the other. */
static struct stream *
open_tubes(const char *path, const char *from, const char *to)
{
	struct stream *stream = stream_open_path(path);
	char commands[COMMAND_BYTES * 2];

	snprintf(commands, sizeof commands, "watch %s\r\nignore default\r\nuse %s\r\n",
	    from, to);
	add(stream, commands);
	stream_flush(stream);
	must_say(stream, "WATCHING 2");
	must_say(stream, "WATCHING 1");
	must_say(stream, "USING");
	return stream;
}

/* Waits for the answer to reserve; returns the job, to be taken with its line's end, and its id. */
static const char *
next_reserved(struct stream *stream, unsigned long *id_r)
{
	const char *line = stream_line(stream);
	size_t size;

	if (sscanf(line, "RESERVED %lu %zu", id_r, &size) != 2 || size != DISPATCH_BYTES)
		errx(EXIT_FAILURE, "%s, not RESERVED", line);
	return stream_peek(stream, DISPATCH_BYTES + 2);
}

static void
delete_and_reserve(struct stream *stream, unsigned long id)
{
	char commands[COMMAND_BYTES];

	stream_take(stream, DISPATCH_BYTES + 2);
	snprintf(commands, sizeof commands, "delete %lu\r\nreserve\r\n", id);
	add(stream, commands);
	stream_flush(stream);
}

static void
work(const char *endpoint)
{
	struct stream *stream = open_tubes(endpoint, "jobs", "answers");
	unsigned long id;

	add(stream, "reserve\r\n");
	stream_flush(stream);
	sd_notify(0, "READY=1");
	for (;;) {
		add_put(stream, next_reserved(stream, &id));
		delete_and_reserve(stream, id);
		must_say(stream, "INSERTED");
		must_say(stream, "DELETED");
	}
}

/* --- the client -------------------------------------------------------------------------- */

static void
start(const char *self, const char *build, const char *folder, struct child **queue_r,
    struct child **worker_r)
{
	char path[96], listen[112];

	(void)build;
	snprintf(path, sizeof path, "%s/queue", folder);
	snprintf(listen, sizeof listen, "unix:%s", path);
	*queue_r =
	    child_spawn((const char *[]){ "beanstalkd", "-l", listen, NULL }, NULL);
	jobs = open_tubes(path, "none", "jobs");
	answers = open_tubes(path, "answers", "none");
	*worker_r = child_start(
	    (const char *[]){ self, "worker", "beanstalkd", path, NULL }, NULL);
	add(answers, "reserve\r\n");
	stream_flush(answers);
}

static void
run(struct dispatch *dispatch)
{
	unsigned long id;
	size_t number;

	while (dispatch->answered < dispatch->jobs) {
		char job[DISPATCH_BYTES];

		while (dispatch_next(dispatch, &number)) {
			dispatch_job(job, number);
			add_put(jobs, job);
		}
		stream_flush(jobs);
		stream_discard(jobs); /* INSERTED */
		dispatch_answer(dispatch, next_reserved(answers, &id), DISPATCH_BYTES);
		delete_and_reserve(answers, id);
		must_say(answers, "DELETED");
	}
}

static void
stop(void)
{
	stream_close(&jobs);
	stream_close(&answers);
}

const struct dispatch_system dispatch_beanstalk = { "beanstalkd", start, run, stop,
	work };
