/* watchdog: ends the process when its loop has not turned for too long.
 *
 * A handler that blocks (a plugin that sleeps, a disk that does not answer, an endless loop)
 * leaves a process that looks alive and does nothing. A thread beside the loop sees it, says
 * in one line what was running, and ends the process with WATCHDOG_STATUS, so that its
 * supervisor starts it again. The thread takes no signal and no lock, and touches nothing of
 * ours but the loop's pulse. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include "loop.h"

/* The exit status of a process that stood still: EX_SOFTWARE of sysexits.h. */
#define WATCHDOG_STATUS 70

struct watchdog;

/* Returns new: watches loop from now on, on the thread that asks. The loop stands still when one turn of it takes
 * stuck_ms or up to a tenth longer. Time in which this process was stopped, or the machine
 * slept, does not count; nor does what its thread waited for a processor (schedstat, where the kernel has it): a machine with
 * too much to do is no bug of a handler. But a turn of ten times stuck_ms ends it, whatever kept it. NULL with
 * errno when there is no thread to be had. */
struct watchdog *watchdog_start(struct loop *loop, uint64_t stuck_ms);

/* Takes *watchdog_p, while the loop still is there. NULL is fine. */
void watchdog_stop(struct watchdog **watchdog_p);

/* Ends the process on the spot with WATCHDOG_STATUS: for who finds out in another way that
 * its work stands still. */
_Noreturn void watchdog_end(const char *why);

#endif
