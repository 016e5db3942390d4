/* supervisor: the child programs of `flotilla up`: started in order, ready by sd_notify,
 * started again when they die or do not move, ended in reverse order. Children get SIGTERM
 * when we are killed. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include "loop.h"
#include "value.h"

struct supervisor;

/* Returns new, with a notify socket in folder; NULL with errno. */
struct supervisor *supervisor_new(struct loop *loop, const char *folder);

/* Every child must have ended (supervisor_stop). */
void supervisor_destroy(struct supervisor **supervisor_p);

struct supervisor_program {
	const char *name;        /* for people */
	const char *const *argv; /* NULL-ended, copied; argv[0] is a path */
	uint64_t ready_ms; /* READY=1 is waited for so long; 0: as long as it lives */
	const char *
	    busy; /* what it may be doing until then, "reading its data": said on stdout every busy_ms; or NULL */
	uint64_t busy_ms;
	uint64_t stuck_ms; /* without WATCHDOG=1 for so long it is stuck: it is killed and
			      started again; 0: it says no such thing */
	const char *log;   /* file that it writes its log to, copied; NULL: our stderr */
	const char *const
	    *withheld; /* variables of our environment that it does not get: names,
					NULL-ended, copied; or NULL */
	const char *
	    group; /* neighbours of the same one are ended together; static, or NULL: it has none */
	bool orderly; /* it has data, and is not killed in a hurry */
	int keep; /* a descriptor that the program keeps open as its number 3, or -1 */
};

/* Starts a program and waits, on a fiber, until it is ready. Returns 0, or -1 after saying
 * why. From then on it is started again whenever it ends, at once at first, ever later when it
 * ends soon after its start; FLOTILLA_RESTARTS tells it how often that was. */
int supervisor_start(
    struct supervisor *supervisor, const struct supervisor_program *program);

/* Ends all, last started first: SIGTERM, and SIGKILL after kill_ms, or a little after the time that the
 * child itself asks for when it begins to end (EXTEND_TIMEOUT_USEC of sd_notify). An end that takes longer
 * than a moment is told on stdout. Waits on a fiber, even a cancelled one. */
void supervisor_stop(struct supervisor *supervisor, uint64_t kill_ms);

/* Kills all but the orderly ones, and starts none again: for supervisor_stop, which may be under way and
 * then has nothing else to wait for. */
void supervisor_hurry(struct supervisor *supervisor);

/* Children that are alive. */
size_t supervisor_alive(const struct supervisor *supervisor);

#endif
