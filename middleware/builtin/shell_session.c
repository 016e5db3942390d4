#include "shell_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "shell_private.h"
#include "work.h"

#define KEPT_MS_MAX 2000u   /* of a call's time, for what comes behind its command */
#define COMMAND_MS_MIN 100u /* for less none is begun */

static TAILQ_HEAD(shell_list, shell_session) sessions = TAILQ_HEAD_INITIALIZER(sessions);
static size_t count;
static size_t ending;          /* fibers that end idle ones */
static struct fiber *sweeping; /* or NULL */

/* --- folders ------------------------------------------------------------------------ */

static int
make_folders(const char *path)
{
	char *copy = xstrdup(path), *slash = copy;
	int failed = 0;

	while (failed == 0 && (slash = strchr(slash + 1, '/')) != NULL) {
		*slash = '\0';
		if (mkdir(copy, 0777) == -1 && errno != EEXIST)
			failed = -1;
		*slash = '/';
	}
	if (failed == 0 && mkdir(copy, 0777) == -1 && errno != EEXIST)
		failed = -1;
	free(copy);
	return failed;
}

/* Makes the session's folder. Returns NULL, or why it cannot be, in arena. */
static const char *
make_folder(struct shell_session *session, struct arena *arena)
{
	const char *root = value_get_text(session->settings, "workspace_root");
	const char *reason;

	if (root != NULL) {
		session->folder = root;
		return make_folders(root) == 0
			   ? NULL
			   : arena_printf(
				 arena, "workspace_root %s: %s", root, strerror(errno));
	}
	reason = shell_folder_make(&session->own_folder, session->arena, arena);
	session->folder = session->own_folder.path;
	return reason;
}

/* --- being there -------------------------------------------------------------------- */

static struct shell_session *
find(const char *id, const char *thread)
{
	struct shell_session *session;

	TAILQ_FOREACH(session, &sessions, link)
		if (strcmp(session->id, id) == 0 && strcmp(session->thread, thread) == 0)
			return session;
	return NULL;
}

static void
unlist(struct shell_session *session)
{
	if (!session->is_listed)
		return;
	TAILQ_REMOVE(&sessions, session, link);
	session->is_listed = false;
	count--;
}

static void
free_unheld(struct shell_session *session)
{
	if (session->holders > 0 || session->is_listed)
		return;
	timer_stop(&session->idle);
	companion_destroy(&session->companion);
	arena_destroy(&session->arena);
	free(session);
}

static void
end_idle(void *arg)
{
	struct shell_session *session = arg;
	struct arena *arena = arena_new();

	shell_session_end(session, arena, false, NULL);
	arena_destroy(&arena);
	shell_session_release(&session);
	ending--;
}

static void
on_idle(void *arg)
{
	struct shell_session *session = arg;

	timer_stop(&session->idle);
	session->holders++;
	ending++;
	if (fiber_start(session->loop, "idle shell", end_idle, session) != NULL)
		return;
	ending--;
	shell_session_release(&session); /* no room for fibers: tries again */
}

static struct shell_session *
hold(struct shell_session *session)
{
	timer_stop(&session->idle);
	session->holders++;
	return session;
}

struct shell_session *
shell_session_hold(const char *id, const char *thread)
{
	struct shell_session *session =
	    id == NULL || thread == NULL ? NULL : find(id, thread);

	return session == NULL ? NULL : hold(session);
}

void
shell_session_release(struct shell_session **session_p)
{
	struct shell_session *session = *session_p;

	*session_p = NULL;
	if (session == NULL || --session->holders > 0)
		return;
	if (session->is_listed)
		session->idle = timer_start(session->loop,
		    shell_time_ms(session, "idle_timeout"), 0, on_idle, session);
	else
		free_unheld(session);
}

size_t
shell_session_count(void)
{
	return count;
}

/* --- its begin and its end ----------------------------------------------------------- */

/* The shell is gone: so is the session. Waits for the removal of its folder. */
static void
finish(struct shell_session *session)
{
	unlist(session);
	fiber_shield(true);
	work_run(shell_folder_remove, &session->own_folder);
	fiber_shield(false);
}

static int
run_startup_commands(
    struct shell_session *session, struct arena *arena, const char **reason_r)
{
	const struct value *commands = value_get(session->settings, "startup_commands");
	uint64_t timeout_ms = shell_time_ms(session, "startup_timeout");
	struct shell_output output;
	enum shell_end end = SHELL_DONE;
	size_t i;

	for (i = 0; i < value_size(commands) && end == SHELL_DONE; i++) {
		end = shell_command(session, arena, value_text(value_at(commands, i)),
		    timeout_ms, &output, reason_r);
		if (end == SHELL_DONE && output.status != 0)
			end = SHELL_EXITED;
		if (end == SHELL_TIMED_OUT)
			*reason_r = arena_printf(arena,
			    "startup command %zu took longer than startup_timeout",
			    i + 1);
		else if (end == SHELL_EXITED)
			*reason_r = arena_printf(arena,
			    "startup command %zu failed with status %d: %s", i + 1,
			    output.status, shell_told(session, arena, &output));
		shell_output_release(&output);
	}
	if (end == SHELL_DONE)
		return 0;
	shell_stop(session, 0);
	return -1;
}

static struct shell_session *
session_new(const struct value *settings, const char *id, const char *thread)
{
	struct shell_session *session = xcalloc(1, sizeof *session);

	session->loop = fiber_loop();
	session->arena = arena_new();
	session->settings = value_copy(session->arena, settings);
	session->id = arena_printf(session->arena, "%s", id);
	session->thread = arena_printf(session->arena, "%s", thread);
	session->holders = 1;
	gate_init(&session->gate, 1);
	session->is_listed = true;
	TAILQ_INSERT_TAIL(&sessions, session, link);
	count++;
	return session;
}

struct shell_session *
shell_session_begin(struct arena *arena, const struct value *settings, const char *id,
    const char *thread, const char **reason_r)
{
	struct shell_session *session = find(id, thread);

	if (session != NULL)
		return hold(session);
	if (count >= SHELL_SESSIONS_MAX) {
		*reason_r = "this tool worker has as many shells as it can keep";
		return NULL;
	}
	session = session_new(settings, id, thread);
	gate_enter(&session->gate); /* it is the first */
	*reason_r = make_folder(session, arena);
	if (*reason_r == NULL && shell_start(session, arena, reason_r) == 0 &&
	    run_startup_commands(session, arena, reason_r) == 0) {
		gate_leave(&session->gate);
		return session;
	}
	finish(session);
	gate_leave(&session->gate);
	shell_session_release(&session);
	return NULL;
}

static void
add_note(struct arena *arena, const char **notes, const char *text)
{
	*notes = *notes == NULL ? text : arena_printf(arena, "%s\n%s", *notes, text);
}

static const char *
run_shutdown_commands(struct shell_session *session, struct arena *arena)
{
	const struct value *commands = value_get(session->settings, "shutdown_commands");
	uint64_t timeout_ms = shell_time_ms(session, "command_timeout");
	const char *notes = NULL, *reason;
	struct shell_output output;
	enum shell_end end = SHELL_DONE;
	size_t i;

	for (i = 0; i < value_size(commands) && end == SHELL_DONE; i++) {
		end = shell_command(session, arena, value_text(value_at(commands, i)),
		    timeout_ms, &output, &reason);
		if (end != SHELL_DONE)
			add_note(arena, &notes,
			    arena_printf(arena, "shutdown command %zu %s", i + 1,
				end == SHELL_TIMED_OUT ? "took too long"
						       : "ended the shell"));
		else if (output.status != 0)
			add_note(arena, &notes,
			    arena_printf(arena,
				"shutdown command %zu failed with status %d", i + 1,
				output.status));
		shell_output_release(&output);
	}
	return notes;
}

void
shell_session_end(struct shell_session *session, struct arena *arena, bool commands,
    const char **notes_r)
{
	const char *notes = NULL;

	unlist(session); /* nobody comes any more; those who are here come first */
	fiber_shield(true);
	gate_enter(&session->gate);
	fiber_shield(false);
	if (commands && session->companion != NULL)
		notes = run_shutdown_commands(session, arena);
	shell_stop(session, shell_time_ms(session, "termination_timeout"));
	finish(session);
	gate_leave(&session->gate);
	if (notes_r != NULL)
		*notes_r = notes;
}

/* --- using it ------------------------------------------------------------------------ */

/* The command was stopped, or ended its shell: there is another one. */
static enum shell_end
begin_anew(struct shell_session *session, struct arena *arena, enum shell_end end,
    const char **reason_r)
{
	const char *reason;

	shell_stop(session, 0);
	if (end != SHELL_BROKEN && shell_start(session, arena, &reason) == 0)
		return end;
	if (end != SHELL_BROKEN)
		*reason_r = reason;
	finish(session);
	return SHELL_BROKEN;
}

/* How long a command may take: not longer than its call, of which some is kept, to end the command and
 * to answer. 0: there is no time for one. */
static uint64_t
time_for(const struct shell_session *session, uint64_t begun_ms, uint64_t left_ms)
{
	uint64_t most_ms = shell_time_ms(session, "command_timeout");
	uint64_t waited_ms = loop_now_ms(session->loop) - begun_ms, kept_ms;

	left_ms -= waited_ms < left_ms ? waited_ms : left_ms;
	kept_ms = left_ms / 8 < KEPT_MS_MAX ? left_ms / 8 : KEPT_MS_MAX;
	left_ms -= kept_ms;
	if (left_ms < COMMAND_MS_MIN)
		return 0;
	return left_ms < most_ms ? left_ms : most_ms;
}

/* The session's place is taken, its shell is there. */
static enum shell_end
run_in_turn(struct shell_session *session, struct arena *arena, const char *command,
    uint64_t time_ms, struct shell_output *output, const char **reason_r)
{
	enum shell_end end =
	    shell_command(session, arena, command, time_ms, output, reason_r);

	if (end == SHELL_TIMED_OUT)
		*reason_r =
		    arena_printf(arena, "after %.1f seconds%s", (double)time_ms / 1000,
			time_ms < shell_time_ms(session, "command_timeout")
			    ? ", when its call had no more time"
			    : "");
	return end == SHELL_DONE ? end : begin_anew(session, arena, end, reason_r);
}

enum shell_end
shell_session_run(struct shell_session *session, struct arena *arena, const char *command,
    uint64_t left_ms, struct shell_output *output, const char **reason_r)
{
	uint64_t begun_ms = loop_now_ms(session->loop), time_ms;
	enum shell_end end = SHELL_BROKEN;

	*output = (struct shell_output){ .marker = "" };
	*reason_r = NULL;
	if (gate_enter(&session->gate) == -1)
		return SHELL_BROKEN; /* others go on with it */
	time_ms = time_for(session, begun_ms, left_ms);
	*reason_r = "it has ended meanwhile";
	if (session->companion != NULL && time_ms == 0)
		end = SHELL_TOO_LATE;
	else if (session->companion != NULL)
		end = run_in_turn(session, arena, command, time_ms, output, reason_r);
	gate_leave(&session->gate);
	return end;
}

int
shell_session_restart(
    struct shell_session *session, struct arena *arena, const char **reason_r)
{
	int failed = -1;

	*reason_r = NULL;
	if (gate_enter(&session->gate) == -1)
		return -1;
	*reason_r = "it has ended meanwhile";
	if (session->companion != NULL) {
		shell_stop(session, shell_time_ms(session, "termination_timeout"));
		failed = shell_start(session, arena, reason_r);
		if (failed == 0)
			failed = run_startup_commands(session, arena, reason_r);
		if (failed == -1)
			finish(session);
	}
	gate_leave(&session->gate);
	return failed;
}

/* --- the process ---------------------------------------------------------------------- */

static void
sweep(void *arg)
{
	(void)arg;
	work_run(shell_folders_sweep, NULL);
	sweeping = NULL;
}

void
shell_sessions_open(struct loop *loop)
{
	sweeping = fiber_start(loop, "old shell folders", sweep, NULL);
}

static bool
are_gone(void *arg)
{
	(void)arg;
	return companion_count() == 0 && ending == 0 && sweeping == NULL;
}

void
shell_sessions_close(struct loop *loop)
{
	struct shell_session *session;

	if (sweeping != NULL)
		fiber_cancel(sweeping);
	TAILQ_FOREACH(session, &sessions, link)
		companion_destroy(&session->companion);
	loop_run_until(loop, are_gone, NULL);
	while ((session = TAILQ_FIRST(&sessions)) != NULL) {
		unlist(session);
		shell_folder_remove(&session->own_folder, NULL);
		free_unheld(session);
	}
}
