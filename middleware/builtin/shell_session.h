/* shell_session: the shells that this process keeps for runs, and commands in them.
 *
 * Who owns what. A session is a shell (runtime/process/companion.h) and its folder, in the memory of one tool
 * worker: of shell_tool it is the one thing that lives in a process, and the run's state says which
 * (struct tool, pin). Its id is the id of the call that began it, its thread the only one that may
 * use it. Commands of one session run one after the other. It ends when the run ends, when nobody
 * has used it for its idle_timeout, with its worker; then nothing of it is left, nor of what it
 * started. A session that ended is not begun anew by itself, but for a command that was stopped:
 * the answer says so.
 *
 * All functions that wait run on a fiber. Settings are those of shell_tool, checked. */
#ifndef SHELL_SESSION_H
#define SHELL_SESSION_H

#include "shell_output.h"

struct loop;
struct shell_session;

#define SHELL_SESSIONS_MAX 256u /* in one worker */

/* Before the first: removes the folders that processes which died left over, on a fiber. Without it
 * they stay. */
void shell_sessions_open(struct loop *loop);

/* Begins the session id: its folder, the shell, the setting startup_commands. Returns it, held, or
 * NULL with a reason in arena; with NULL as the reason the fiber was cancelled. One of that id that
 * is there already is returned. */
struct shell_session *shell_session_begin(struct arena *arena,
    const struct value *settings, const char *id, const char *thread,
    const char **reason_r);

/* Returns the session of that id and thread, held, or NULL: it has ended, or never was here. */
struct shell_session *shell_session_hold(const char *id, const char *thread);
void shell_session_release(struct shell_session **session_p);

enum shell_end {
	SHELL_DONE,      /* output->status is the command's */
	SHELL_TIMED_OUT, /* its shell was killed, reason says after what time; there is a
			    new one */
	SHELL_EXITED, /* the command ended its shell, reason says how; there is a new one */
	SHELL_TOO_LATE, /* nothing was begun: those before it took all the time */
	SHELL_BROKEN,   /* there is no shell and none can be started, or the fiber was
			    cancelled: the session has ended; reason may be NULL */
};

/* Runs command, when those before it have ended, so that an answer can be given within left_ms.
 * output is set up here; shell_output_release it. */
enum shell_end shell_session_run(struct shell_session *session, struct arena *arena,
    const char *command, uint64_t left_ms, struct shell_output *output,
    const char **reason_r);

/* Ends the shell, begins another one and runs the startup_commands. Returns 0, or -1 with a reason:
 * then the session has ended. */
int shell_session_restart(
    struct shell_session *session, struct arena *arena, const char **reason_r);

/* Ends the session: with `commands` set its shutdown_commands run first. What failed of them is in
 * *notes_r, a text in arena, or NULL. Nothing is left when it returns. */
void shell_session_end(struct shell_session *session, struct arena *arena, bool commands,
    const char **notes_r);

/* Ends all sessions of the process, before the loop goes; no fiber holds one. */
void shell_sessions_close(struct loop *loop);

size_t shell_session_count(void);

#endif
