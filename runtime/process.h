/* process: child programs on the loop: their own process group, pipes, a deadline,
 * limits. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "value.h"

struct process_options {
	const char *const *argv; /* argv[0] is looked up in PATH unless it has a slash */
	const char *const
	    *env;              /* "NAME=value" lines, NULL-ended: the whole environment */
	const char *directory; /* or NULL: ours */
	const void *input;     /* written to stdin, then closed */
	size_t input_size;
	size_t output_bytes_max; /* of stdout; over it the child is killed */
	size_t error_bytes_max;  /* of stderr; what is over it is dropped, the last bytes
				    are kept */
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
	const char *reason;
	const char *output; /* NUL-terminated, in arena */
	size_t output_size;
	const char *error; /* stderr, NUL-terminated, in arena */
	size_t error_size;
};

/* Runs a child to its end, on a fiber. When it is late, too loud or the fiber is
 * cancelled its whole process group gets SIGTERM, 200 ms later SIGKILL, and only then
 * this returns: nothing of it is left behind. A child that exits while grandchildren hold
 * its pipes: the group is killed after 200 ms. */
void process_run(struct loop *loop, struct arena *arena,
    const struct process_options *options, struct process_result *result_r);

#endif
