/* process: child programs on the loop: their own process group, pipes, a deadline,
 * limits. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "value.h"

struct process_options {
	const char *const *argv; /* argv[0] is looked up in env's PATH (/bin and /usr/bin
				    without one) unless it has a slash */
	const char *const
	    *env; /* "NAME=value" lines, NULL-ended: the whole environment; NULL: empty */
	const char *directory; /* or NULL: ours */
	const void *input; /* written to stdin, then closed; borrowed. NULL: /dev/null */
	size_t input_size;
	size_t output_bytes_max; /* of stdout; over it the child is killed. 0:
				    TOOL_OUTPUT_BYTES_MAX */
	size_t error_bytes_max;  /* of stderr; what is over it is dropped, the last bytes
				    are kept. 0: TOOL_STDERR_BYTES_MAX */
	uint64_t timeout_ms;     /* 0: none */
};

enum process_end {
	PROCESS_EXITED,    /* status is the exit status */
	PROCESS_SIGNALLED, /* status is the signal */
	PROCESS_TIMEOUT,
	PROCESS_OUTPUT_LIMIT,
	PROCESS_CANCELLED,   /* the fiber was cancelled */
	PROCESS_NOT_STARTED, /* reason tells */
};

struct process_result {
	enum process_end end;
	int status;
	const char *reason; /* of NOT_STARTED, in arena; else "" */
	const char *output; /* NUL-terminated, in arena */
	size_t output_size;
	const char *error; /* stderr, NUL-terminated, in arena */
	size_t error_size;
};

/* Runs a child to its end, on a fiber. When it is late, too loud or the fiber is
 * cancelled its whole process group gets SIGTERM, 200 ms later SIGKILL, and only then
 * this returns: nothing of it is left behind. A child that exits while grandchildren hold
 * its pipes: the group is killed after 200 ms; whoever of it is left behind without them
 * is killed at once. (A grandchild that left the group by setsid is not found.) The child
 * gets no descriptor of ours but 0, 1 and 2, which are pipes, no blocked and no ignored
 * signal. */
void process_run(struct loop *loop, struct arena *arena,
    const struct process_options *options, struct process_result *result_r);

#endif
