/* children: real programs as children of a test: ready means ready, and the exit status
 * is part of the test.
 *
 * Readiness is sd_notify's READY=1 on a datagram socket of our own (our programs and
 * `redis-server --supervised systemd` both say it): no sleeps. What goes wrong ends the
 * test with a message that names the program. A child dies with the test's process. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#include "patience.h"

/* For READY, and for the end after SIGTERM: finds what hangs, and is no measure of a slow machine. */
#define CHILD_WAIT_MS (60000L * PATIENCE)

struct child;

/* Returns a new child that has said READY=1. argv is NULL-ended; argv[0] is looked up in
 * PATH unless it has a slash. env: NULL-ended "NAME=value" lines on top of our own
 * environment, or NULL. */
struct child *child_start(const char *const argv[], const char *const env[]);

/* As child_start, without waiting: for programs that do not say READY=1. */
struct child *child_spawn(const char *const argv[], const char *const env[]);

/* Waits for READY=1 of a child_spawn that will say it: to start several at once. */
void child_ready(struct child *child);

/* Of a child_spawn, without waiting: true once READY=1 has come. Asks once; after true it is
 * not to be asked again. */
bool child_said_ready(struct child *child);

/* Without waiting: when the child has ended, takes *child_p, fills *status_r as waitpid does
 * and returns true. */
bool child_has_ended(struct child **child_p, int *status_r);

pid_t child_pid(const struct child *child);

/* Takes *child_p: SIGTERM, waits, requires exit status 0. NULL is fine. */
void child_stop(struct child **child_p);

/* Takes *child_p: SIGKILL, waits. NULL is fine. */
void child_kill(struct child **child_p);

/* Takes *child_p: waits until it ends by itself; returns the status as waitpid gives it.
 */
int child_wait(struct child **child_p);

/* Returns a new empty folder with a path short enough for ipc:// endpoints in it (free
 * and remove with folder_remove). */
char *folder_new(void);

/* Takes *path_p; removes the folder with all that is in it. NULL is fine. */
void folder_remove(char **path_p);

#endif
