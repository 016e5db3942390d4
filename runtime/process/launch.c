#include "launch.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minder.h"

static struct starter starter = { .pid = -1, .socket = -1 };

void
process_open(void)
{
	if (starter.pid != -1)
		return;
	loop_fill_descriptors();
	if (minder_fork_starter(&starter) == -1)
		starter.pid = -1; /* the next launch tries again, and says why not */
}

void
process_close(void)
{
	if (starter.pid == -1)
		return;
	close(starter.socket);
	while (waitpid(starter.pid, NULL, 0) == -1 && errno == EINTR)
		;
	starter.pid = -1;
}

/* --- the image ---------------------------------------------------------------------- */

static uint32_t
add_texts(struct packet *packet, const char *const *texts)
{
	uint32_t count = 0;

	for (; texts != NULL && texts[count] != NULL; count++)
		packet_append(packet, texts[count], strlen(texts[count]) + 1);
	return count;
}

static int
write_all(int file, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t written = write(file, data, size);

		if (written == -1 && errno != EINTR)
			return -1;
		if (written > 0) {
			data += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

/* Returns a file that holds it, or -1 with errno. */
static int
write_image(const struct process_options *options, bool has_stream)
{
	const char *directory = options->directory == NULL ? "" : options->directory;
	struct launch_image image = { .limits = options->limits,
		.has_stream = has_stream };
	struct packet packet = { 0 };
	int file = memfd_create("launch", MFD_CLOEXEC);

	packet_append(&packet, (const char *)&image, sizeof image);
	packet_append(&packet, directory, strlen(directory) + 1);
	image.arguments = add_texts(&packet, options->argv);
	image.variables = add_texts(&packet, options->env);
	memcpy(packet.data, &image, sizeof image);
	if (file != -1 && write_all(file, packet.data, packet.size) == -1) {
		close(file);
		file = -1;
	}
	packet_release(&packet);
	return file;
}

/* --- sending ------------------------------------------------------------------------ */

/* ETOOMANYREFS: more descriptors are on their way than this process may have open. The starter takes
 * them soon, as it does of a queue that is full. */
static int
failure_of(int error)
{
	return error == ETOOMANYREFS ? -EAGAIN : -error;
}

static int
send_to_starter(const int given[LAUNCH_DESCRIPTORS])
{
	char byte = 0, space[CMSG_SPACE(LAUNCH_DESCRIPTORS * sizeof(int))] = { 0 };
	struct iovec vector = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof space,
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(LAUNCH_DESCRIPTORS * sizeof(int));
	memcpy(CMSG_DATA(head), given, LAUNCH_DESCRIPTORS * sizeof(int));
	process_open();
	return starter.pid == -1 || sendmsg(starter.socket, &message,
					MSG_NOSIGNAL | MSG_DONTWAIT) == -1
		   ? failure_of(errno)
		   : 0;
}

static int
send_launch(const int given[LAUNCH_DESCRIPTORS])
{
	int failure = send_to_starter(given);

	if (failure != -EPIPE && failure != -ECONNRESET)
		return failure;
	process_close(); /* somebody killed it */
	return send_to_starter(given);
}

int
launch(const struct process_options *options, const int theirs[PROCESS_STREAM_FD + 1])
{
	const bool has_stream = theirs[PROCESS_STREAM_FD] != -1;
	int control[2], given[LAUNCH_DESCRIPTORS], failure;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == -1)
		return -errno;
	given[LAUNCH_CONTROL] = control[1];
	given[LAUNCH_IMAGE] = write_image(options, has_stream);
	memcpy(&given[LAUNCH_STDIN], theirs, 3 * sizeof *theirs);
	given[LAUNCH_STREAM] = theirs[has_stream ? PROCESS_STREAM_FD : 2];
	failure = given[LAUNCH_IMAGE] == -1 ? -errno : send_launch(given);
	if (given[LAUNCH_IMAGE] != -1)
		close(given[LAUNCH_IMAGE]);
	close(control[1]);
	if (failure == 0)
		return control[0];
	close(control[0]);
	return failure;
}
