/* A shell and one command in it. */
#include "shell_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "log.h"
#include "shell_options.h"
#include "shell_policy.h"

#define KILL_WAIT_MS 10000u /* one that the kernel keeps, on a dead disk, dies later */
#define ERRORS_WAIT_MS 200u /* for the end of standard error, behind that of the output */

uint64_t
shell_time_ms(const struct shell_session *session, const char *name)
{
	return (uint64_t)(value_get_number(session->settings, name, 0) * 1000);
}

/* --- the shell ---------------------------------------------------------------------- */

static void
on_bytes(void *arg, enum companion_stream stream, const char *data, size_t size)
{
	struct shell_session *session = arg;

	if (session->output == NULL)
		return; /* of what runs on behind a command; nobody asked */
	shell_output_add(session->output, stream == COMPANION_OUTPUT ? 0 : 1, data, size);
	if (session->waiting != NULL && session->output->streams[0].has_ended)
		fiber_wake(session->waiting);
}

static void
on_gone(void *arg)
{
	struct shell_session *session = arg;

	if (session->waiting != NULL)
		fiber_wake(session->waiting);
}

/* Returns true when it is gone, false when the time is over. */
static bool
wait_until_gone(struct shell_session *session, uint64_t ms)
{
	uint64_t end_ms = loop_now_ms(session->loop) + ms, now_ms;
	struct fiber *before = session->waiting;

	session->waiting = fiber_current();
	while (!companion_is_gone(session->companion) &&
	       (now_ms = loop_now_ms(session->loop)) < end_ms)
		fiber_wait_ms(end_ms - now_ms);
	session->waiting = before;
	return companion_is_gone(session->companion);
}

void
shell_stop(struct shell_session *session, uint64_t grace_ms)
{
	if (session->companion == NULL)
		return;
	fiber_shield(true);
	if (grace_ms > 0) {
		companion_ask_to_end(session->companion);
		wait_until_gone(session, grace_ms);
	}
	companion_kill(session->companion);
	if (!wait_until_gone(session, KILL_WAIT_MS))
		log_warnx("shell=%s a process of it cannot be killed", session->id);
	companion_destroy(&session->companion);
	fiber_shield(false);
}

const char *
shell_told(
    const struct shell_session *session, struct arena *arena, struct shell_output *output)
{
	struct value_list matches = { .arena = arena };
	bool is_blocked;
	const char *text = shell_redact(arena, session->settings,
	    shell_output_lines(arena, output), &matches, &is_blocked);

	return is_blocked ? text : shell_output_finish(arena, output, text);
}

/* What a shell that did not come says of it: bwrap tells why on standard error. */
static const char *
no_answer(struct shell_session *session, struct arena *arena, enum shell_end end,
    struct shell_output *output, const char *reason)
{
	const char *program =
	    shell_policy_is_sandbox(session->settings)
		? "bubblewrap (bwrap)"
		: value_text(value_at(shell_command_of(session->settings), 0));

	if (end == SHELL_TIMED_OUT)
		reason = "did not answer within startup_timeout";
	return arena_printf(arena, "%s %s: %s", program,
	    reason == NULL ? "failed" : reason, shell_told(session, arena, output));
}

int
shell_start(struct shell_session *session, struct arena *arena, const char **reason_r)
{
	struct shell_launch launch;
	struct companion_options options = {
		.on_bytes = on_bytes, .on_gone = on_gone, .arg = session
	};
	struct shell_output output;
	enum shell_end end;

	shell_policy_launch(arena, session->settings, session->folder, &launch);
	options.argv = launch.argv;
	options.env = launch.env;
	options.directory = launch.directory;
	options.limits = launch.limits;
	session->companion = companion_start(session->loop, arena, &options, reason_r);
	if (session->companion == NULL)
		return -1;
	end = shell_command(session, arena, ":",
	    shell_time_ms(session, "startup_timeout"), &output, reason_r);
	if (end != SHELL_DONE && *reason_r != NULL)
		*reason_r = no_answer(session, arena, end, &output, *reason_r);
	shell_output_release(&output);
	if (end == SHELL_DONE)
		return 0;
	shell_stop(session, 0);
	return -1;
}

/* --- a command ---------------------------------------------------------------------- */

static const char *
new_marker(struct arena *arena)
{
	unsigned char bytes[SHELL_MARKER_BYTES];
	char text[2 * SHELL_MARKER_BYTES + 1];
	size_t i;

	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		arena_exhausted(); /* it does not fail for so few */
	for (i = 0; i < sizeof bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return arena_printf(arena, SHELL_MARKER_PREFIX "%s", text);
}

/* command as one word of a shell. */
static void
append_quoted(struct packet *script, const char *command)
{
	const char *stop;

	packet_append(script, "'", 1);
	for (; (stop = strchr(command, '\'')) != NULL; command = stop + 1) {
		packet_append(script, command, (size_t)(stop - command));
		packet_append(script, "'\\''", 4);
	}
	packet_append(script, command, strlen(command));
	packet_append(script, "'", 1);
}

/* The command is run by eval, so that what it sets stays; its standard input is empty, for ours is
 * what the shell reads its commands from; `command` keeps a shell alive that would end at an error
 * of syntax. */
static void
send_command(struct shell_session *session, struct arena *arena, const char *command,
    const char *marker)
{
	static const char head[] = "command eval ", tail[] = " </dev/null\n";
	struct packet script = { 0 };
	const char *end = arena_printf(arena,
	    "command printf '\\n%%s:%%s\\n' '%s' \"$?\"\n"
	    "command printf '\\n%%s:\\n' '%s' >&2\n",
	    marker, marker);

	packet_append(&script, head, sizeof head - 1);
	append_quoted(&script, command);
	packet_append(&script, tail, sizeof tail - 1);
	packet_append(&script, end, strlen(end));
	companion_write(session->companion, script.data, script.size);
	packet_release(&script);
}

/* Waits for the end of the command's standard output. */
static enum shell_end
wait_for_end(
    struct shell_session *session, const struct shell_output *output, uint64_t timeout_ms)
{
	uint64_t end_ms = loop_now_ms(session->loop) + timeout_ms, now_ms;

	while (!output->streams[0].has_ended) {
		now_ms = loop_now_ms(session->loop);
		if (companion_is_gone(session->companion))
			return SHELL_EXITED;
		if (now_ms >= end_ms)
			return SHELL_TIMED_OUT;
		if (fiber_wait_ms(end_ms - now_ms) == -1)
			return SHELL_BROKEN;
	}
	return SHELL_DONE;
}

/* That of standard error comes on a pipe of its own; who has closed it does not send it. */
static void
wait_for_errors(struct shell_session *session, const struct shell_output *output)
{
	uint64_t end_ms = loop_now_ms(session->loop) + ERRORS_WAIT_MS, now_ms;

	while (!output->streams[1].has_ended && !companion_is_gone(session->companion) &&
	       (now_ms = loop_now_ms(session->loop)) < end_ms)
		if (fiber_wait_ms(end_ms - now_ms) == -1)
			return;
}

static void
set_up(struct shell_session *session, struct arena *arena, struct shell_output *output)
{
	const struct value *bytes = value_get(session->settings, "max_output_bytes");

	*output = (struct shell_output){
		.marker = new_marker(arena),
		.stale = session->marker[0] == '\0'
			     ? NULL
			     : arena_printf(arena, "%s", session->marker),
		.lines_max =
		    (uint64_t)value_get_int(session->settings, "max_output_lines", 100),
		.bytes_max =
		    value_is_nil(bytes) ? UINT64_MAX : (uint64_t)value_whole(bytes, 0),
		.is_whole =
		    value_size(value_get(session->settings, "redaction_rules")) > 0,
	};
	snprintf(session->marker, sizeof session->marker, "%s", output->marker);
}

enum shell_end
shell_command(struct shell_session *session, struct arena *arena, const char *command,
    uint64_t timeout_ms, struct shell_output *output, const char **reason_r)
{
	enum shell_end end;

	set_up(session, arena, output);
	session->output = output;
	session->waiting = fiber_current();
	send_command(session, arena, command, output->marker);
	end = wait_for_end(session, output, timeout_ms);
	if (end == SHELL_DONE)
		wait_for_errors(session, output);
	shell_output_end(output);
	session->output = NULL;
	session->waiting = NULL;
	*reason_r = end == SHELL_BROKEN ? NULL : "";
	if (end == SHELL_EXITED)
		*reason_r =
		    arena_printf(arena, "%s", companion_end_text(session->companion));
	return end;
}
