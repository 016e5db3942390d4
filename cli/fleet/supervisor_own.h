/* supervisor_own: what supervisor and supervisor_end share. */
#ifndef SUPERVISOR_OWN_H
#define SUPERVISOR_OWN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "supervisor.h"

struct child {
	struct child *next; /* the one started before */
	struct supervisor *supervisor;
	char *name;
	char *log; /* or NULL */
	char **argv;
	char **withheld; /* or NULL */
	uv_process_t process;
	bool alive, ready, closing;
	bool was_ready; /* once, since it was first started */
	uint64_t started_ms, restart_ms;
	uint64_t stuck_ms, ready_ms; /* see supervisor_program */
	uint64_t heard_ms;           /* READY=1 or WATCHDOG=1 came, or it was started */
	bool given_up;               /* killed: it has not ended yet */
	const char *group;           /* see supervisor_program */
	bool orderly;
	uint64_t drain_ms; /* what it has said that its end may take; 0: it has not */
	uint64_t end_ms;   /* it is ending, and is killed then; 0: it is not */
	int keep;
	unsigned restarts;
	unsigned crashes; /* in a row, each soon after its start */
	struct timer *restart;
};

struct supervisor {
	struct loop *loop;
	struct child *children; /* newest first */
	char *notify_path;
	int notify_fd;
	uv_poll_t notify;
	struct fiber *waiting;
	bool stopping;
	bool hurried; /* nothing is waited for */
	struct timer *check;
	size_t handles; /* open uv handles of ours */
};

#endif
