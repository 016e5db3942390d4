/* shell_private: one session inside. For shell_session.c and shell_command.c alone. */
#ifndef SHELL_PRIVATE_H
#define SHELL_PRIVATE_H

#include <sys/queue.h>

#include "companion.h"
#include "fiber.h"
#include "gate.h"
#include "shell_folder.h"
#include "shell_session.h"

#define SHELL_MARKER_PREFIX "__FLOTILLA_"
#define SHELL_MARKER_BYTES 16u /* random ones, behind it as hex digits */

struct shell_session {
	TAILQ_ENTRY(shell_session) link;
	struct loop *loop;
	struct arena *arena; /* of the session */
	const struct value *settings;
	const char *id, *thread;
	const char *folder;             /* where it begins */
	struct shell_folder own_folder; /* it, unless the settings name one */
	bool is_listed;                 /* it may be found */
	unsigned holders;
	struct timer *idle;

	struct gate gate; /* a command at a time */
	struct companion *companion;
	struct shell_output *output; /* of the command that runs, or NULL */
	char marker[sizeof SHELL_MARKER_PREFIX +
		    2 * SHELL_MARKER_BYTES]; /* the last one */
	struct fiber *waiting;               /* for its end */
};

/* Starts the shell, which must answer within the setting startup_timeout. Returns 0, or -1 with a
 * reason in arena; NULL: cancelled. */
int shell_start(
    struct shell_session *session, struct arena *arena, const char **reason_r);

/* Runs command for that long at most; nothing is done about how it ends. */
enum shell_end shell_command(struct shell_session *session, struct arena *arena,
    const char *command, uint64_t timeout_ms, struct shell_output *output,
    const char **reason_r);

/* What may be told of output: what is to be hidden is, and it is cut. In arena. */
const char *shell_told(const struct shell_session *session, struct arena *arena,
    struct shell_output *output);

/* Asks the shell to end, and after grace_ms kills it. Nothing is left of it when this returns, but what
 * the kernel itself cannot end, of which the log tells. */
void shell_stop(struct shell_session *session, uint64_t grace_ms);

/* A time of the settings, which are seconds, in milliseconds. */
uint64_t shell_time_ms(const struct shell_session *session, const char *name);

#endif
