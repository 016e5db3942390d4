/* notify: what a supervisor is told, over the datagram socket that systemd, `flotilla up` and
 * the like name in NOTIFY_SOCKET. */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

/* Sends "READY=1", "WATCHDOG=1", ... Never waits: sd_notify would, for a supervisor that has
 * stopped reading, and our loop with it. Returns 0, or -1 with errno when it did not go out
 * or nobody wants to know. */
int notify(const char *state);

/* How often the supervisor wants to hear WATCHDOG=1, in milliseconds, a third of the time after
 * which it acts; 0: not at all. */
uint64_t notify_watchdog_ms(void);

/* How often the supervisor has started this process again (FLOTILLA_RESTARTS); 0: never, or it
 * does not say. */
uint64_t notify_restarts(void);

#endif
