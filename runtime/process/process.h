/* process: child programs on the loop: their own process group, pipes, a deadline,
 * limits, and an end that leaves nothing behind. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "value.h"

/* What a child may use. 0: as much as we may. All that it starts has the same limits. */
struct process_limits {
	uint64_t memory_bytes; /* of its own data (RLIMIT_DATA), each process */
	uint64_t cpu_seconds;  /* each process */
	uint64_t file_bytes;   /* each file it writes */
	uint64_t open_files;
	uint64_t processes;       /* of our user, all counted; root has no such limit */
	bool may_gain_privileges; /* by programs that are set-user-id; else they run as
				     they are called */
};

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
	struct process_limits limits;
	uint64_t timeout_ms; /* 0: none */
	uint64_t grace_ms;   /* between SIGTERM and SIGKILL. 0: TOOL_GRACE_MS */
	/* Gets what the child writes to PROCESS_STREAM_FD, line by line as it comes, lent and without its newline;
	 * empty lines and those of more than line_bytes_max are left out. NULL: the child has no such descriptor. */
	void (*on_line)(void *arg, const char *line, size_t size);
	void *line_arg;
	size_t line_bytes_max;
};

#define PROCESS_STREAM_FD 3
#define PROCESS_STREAM_FD_TEXT "3"

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

/* Runs a child to its end, on a fiber. When it is late, too loud or the fiber is cancelled
 * its process group gets SIGTERM, grace_ms later all that it ever started gets SIGKILL, be
 * it in a session of its own or not, and only then this returns: nothing of it is left
 * behind. A child that exits while others hold its pipes: they are killed after grace_ms;
 * whoever is left behind without them is killed at once. When this process dies, however
 * it does, its children and what they started are killed. (This needs /proc; without it
 * only the group is found.) The child gets no descriptor of ours but 0, 1, 2 and, with on_line, PROCESS_STREAM_FD,
 * which are pipes, no blocked and no ignored signal, and no right to leave a core file. */
void process_run(struct loop *loop, struct arena *arena,
    const struct process_options *options, struct process_result *result_r);

/* Children are started by a small process of ours (minder.h), which the first of them
 * brings about, or this, cheaper while the program is young: call it before it has much
 * memory. */
void process_open(void);
void process_close(void); /* ends it; safe without it */

#endif
