/* fleet_up: a fleet that `flotilla up` has started in a folder, as a user has it. */
#ifndef FLEET_UP_H
#define FLEET_UP_H

#include <sys/types.h>

#include "cli.h"
#include "value.h"

struct fleet_up {
	char *folder;      /* agents.yaml and tools.yaml lie in it */
	const char *redis; /* "unix://..." */
	struct child *up;
	struct arena *arena;
	struct cli flotilla; /* runs in the folder */
};

/* Writes the files and runs `flotilla up` on them; returns when it is ready. */
void fleet_up_start(struct fleet_up *fleet, const char *coordinators);
/* The same with these flags more (NULL-ended). */
void fleet_up_start_with(
    struct fleet_up *fleet, const char *coordinators, const char *const *flags);
/* What `up` and its children have said on stderr so far. */
const char *fleet_up_said(struct fleet_up *fleet);
/* Waits until they have said text. */
void fleet_up_wait_said(struct fleet_up *fleet, const char *text);
/* SIGTERM; status 0 is required. */
void fleet_up_stop(struct fleet_up *fleet);

/* The path of `flotilla`, beside the test. */
const char *fleet_up_program(struct arena *arena);

/* Parses what a command printed with --json; fails the test when it is none. */
const struct value *fleet_up_json(struct fleet_up *fleet, const char *text);

/* Runs a command with --json now and then until holds(what it said, arg). Fails the test
 * when it never does. */
void fleet_up_wait(struct fleet_up *fleet, const char *const argv[],
    int (*holds)(const struct value *said, void *arg), void *arg);

/* The pids of the children of `up`, at most max; returns how many there are. */
size_t fleet_up_children(struct fleet_up *fleet, pid_t *pids, size_t max);

/* The child with that word, its --name or its command, in its command line, or 0. */
pid_t fleet_up_pid_of(struct fleet_up *fleet, const char *name);

/* Writes a text file into the folder. */
void fleet_up_write(struct fleet_up *fleet, const char *name, const char *text);

/* True when the process is no more, or a zombie that nobody collects. */
int process_is_gone(pid_t pid);

/* Waits for a file of the folder and takes the number in it: tools write their pids. */
pid_t fleet_up_pid_in(struct fleet_up *fleet, const char *name);

#endif
