/* minder: the processes between this one and its child programs.
 *
 *	this process ── starter ──┬── minder ── child ── whatever that starts
 *	                          └── minder ── child ...
 *
 * The starter is forked once, while this process is small, and forks a minder for each child:
 * starting one costs this process a message, whatever its memory. A minder is the subreaper of
 * its child: whoever loses his parent below it becomes the minder's, also behind setsid. So it
 * can end everything that a child ever started, and says so by ending itself.
 *
 * A minder and this process share a socket, the control. When this process dies, however,
 * the control closes and the minder kills at once; a child whose minder dies is killed by the
 * kernel, what it had started by the starter. */
#ifndef MINDER_H
#define MINDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process.h"

/* What a child is started with, as bytes in a file without a name (memfd): this, and behind
 * it NUL-ended texts: the directory ("": none), the arguments, the environment. */
struct launch_image {
	struct process_limits limits;
	uint32_t arguments, variables;
	bool has_stream; /* LAUNCH_STREAM becomes its PROCESS_STREAM_FD */
};

/* The descriptors that go with it, in this order; those of the child last. */
enum {
	LAUNCH_CONTROL,
	LAUNCH_IMAGE,
	LAUNCH_STDIN,
	LAUNCH_STDOUT,
	LAUNCH_STDERR,
	LAUNCH_STREAM, /* without has_stream: any, which it does not get */
	LAUNCH_DESCRIPTORS,
};

/* Records of the minder on the control. Its end of file: nothing is left of the child. */
enum minder_word {
	MINDER_BEGINS,      /* without this nothing was started, nor will be */
	MINDER_NOT_STARTED, /* number: errno */
	MINDER_EXITED,      /* number: the exit status */
	MINDER_SIGNALLED,   /* number: the signal */
};
struct minder_record {
	uint32_t word;
	int32_t number;
};

/* Bytes to the minder. */
#define MINDER_ASK_TO_END 'T' /* SIGTERM to the child's process group */
#define MINDER_KILL 'K'       /* SIGKILL to all there is, until nothing is left */

struct starter {
	pid_t pid;
	int socket; /* ours; close-on-exec, not blocking */
};

/* Forks the starter, which takes launches from the socket (one byte and the descriptors
 * each) until that closes. Returns 0, or -1 with errno. */
int minder_fork_starter(struct starter *starter_r);

#endif
