/* companion: a child program that stays: it is written to and read from while it lives. As
 * process.h's children it is started through a minder, so that nothing of it is left behind: not
 * when it ends, not when it is killed, not when this process dies. */
#ifndef COMPANION_H
#define COMPANION_H

#include "process.h"

struct companion;

enum companion_stream { COMPANION_OUTPUT, COMPANION_ERRORS };

struct companion_options {
	const char *const *argv; /* these four as process_options */
	const char *const *env;
	const char *directory;
	struct process_limits limits;

	/* On the loop's stack. */
	void (*on_bytes)(
	    void *arg, enum companion_stream stream, const char *data, size_t size);
	/* It has ended, with all that it ever started, and all that it wrote was read. */
	void (*on_gone)(void *arg);
	void *arg;
};

/* Starts one, on a fiber. Returns it, or NULL with a reason in arena; NULL as the reason: the fiber
 * was cancelled. That the program cannot be run is known only when it is gone. */
struct companion *companion_start(struct loop *loop, struct arena *arena,
    const struct companion_options *options, const char **reason_r);

/* Takes *companion_p, which is killed if it is not gone, and frees itself later: no callback comes
 * any more. NULL is fine. Before the loop is destroyed companion_count() must be 0. */
void companion_destroy(struct companion **companion_p);

/* Writes data to its standard input, which is copied. What it does not read is kept, but not without a
 * bound: one that reads nothing is killed. */
void companion_write(struct companion *companion, const char *data, size_t size);

/* Closes its standard input and asks its process group to end; it may not listen. */
void companion_ask_to_end(struct companion *companion);

/* Kills all that it ever started. */
void companion_kill(struct companion *companion);

bool companion_is_gone(const struct companion *companion);

/* How it ended, "ended with status 3", lent for ever or until the next call; of one that is gone. */
const char *companion_end_text(const struct companion *companion);

/* Companions that are there, destroyed ones that are not closed yet included. */
size_t companion_count(void);

#endif
