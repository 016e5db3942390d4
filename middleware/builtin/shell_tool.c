/* shell_tool: a shell that stays for the run, in one tool worker (semantics.md 6.16).
 *
 *	before_agent ── start_shell ──▶ a tool worker: session (shell_session.h)
 *	   state: shell_session_resources {id, worker, lost, left}
 *	model ── shell ──▶ that worker alone (struct tool, pin)
 *	after_agent ── stop_shell ──▶ that worker
 *
 * The field is stored: whoever takes the run over, or resumes it, finds the shell where it is. When
 * it is gone (its worker, idle_timeout, a command that was cancelled), the field says `lost`, and
 * the next one begins only when the model or the settings ask. A run that ends without after_agent
 * has stop_shell called all the same (struct tool, releases), and for what was taken for lost, too. */
#include "middleware.h"

#include <stdlib.h>
#include <string.h>

#include "shell_options.h"
#include "shell_session.h"
#include "shell_tool.h"

#define FIELD "shell_session_resources"

#define LOST                                                                             \
	"The shell is gone, and with it the folder it was in, its variables and the "    \
	"programs it had started. To begin a new one call the tool with restart: true."

const struct field shell_fields[] = {
	{ .name = FIELD,
	    .type = "object",
	    .reducer = REDUCE_MERGE,
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ 0 },
};

const char *const shell_reads[] = { FIELD, NULL };

/* --- what a call gives ---------------------------------------------------------------- */

/* An answer to the call that also says which session the run has: NULL: nothing of it. */
static struct tool_result *
answer(struct tool_request *request, const char *text, const char *status,
    const struct value *artifact, const struct value *resources)
{
	struct arena *arena = tool_arena(request);
	const struct value *message =
	    chat_tool(arena, text, tool_call_id(request), tool_name(request), status);

	if (artifact != NULL)
		message = value_map_with(arena, message, "artifact", artifact);
	return tool_command(
	    request, value_map(arena, "messages", value_array(arena, &message, 1), FIELD,
			 resources, NULL));
}

static const struct value *
resources_of(struct tool_request *request, const char *id)
{
	struct arena *arena = tool_arena(request);

	return value_map(arena, "id", value_str(arena, id), "worker",
	    value_str(arena, tool_worker(request)), "lost", value_bool(false), NULL);
}

static const struct value *
no_resources(struct arena *arena, bool lost)
{
	return value_map(arena, "id", value_nil(), "worker", value_nil(), "lost",
	    value_bool(lost), NULL);
}

/* What failed may have written anything: a startup command, for one. */
static struct tool_result *
answer_lost(struct tool_request *request, const char *why)
{
	struct arena *arena = tool_arena(request);
	struct value_list matches = { .arena = arena };
	bool is_blocked;

	why = shell_redact(arena, tool_settings_of(request), why, &matches, &is_blocked);
	return answer(request, arena_printf(arena, "Error: %s\n%s", why, LOST), "error",
	    NULL, no_resources(arena, true));
}

/* --- a command ------------------------------------------------------------------------ */

static const struct value *
artifact_of(struct arena *arena, enum shell_end end, const struct shell_output *output,
    const struct value *matches)
{
	return value_map(arena, "timed_out", value_bool(end == SHELL_TIMED_OUT),
	    "exit_code",
	    end == SHELL_DONE ? value_int(arena, output->status) : value_nil(),
	    "truncated_by_lines", value_bool(output->cut_by_lines), "truncated_by_bytes",
	    value_bool(output->cut_by_bytes), "total_lines",
	    value_int(arena, (int64_t)output->lines), "total_bytes",
	    value_int(arena, (int64_t)output->bytes), "redaction_matches", matches, NULL);
}

/* What is said of the shell, in front of or instead of the command's output. */
static const char *
text_of(struct tool_request *request, enum shell_end end, const char *text,
    const char *reason)
{
	struct arena *arena = tool_arena(request);

	if (end == SHELL_TIMED_OUT)
		return arena_printf(arena,
		    "Error: Command timed out %s.\nIt was killed with "
		    "its "
		    "shell. There is a new shell: the folder, variables and programs of "
		    "the "
		    "old one are gone. What it wrote:\n%s",
		    reason, text);
	if (end == SHELL_TOO_LATE)
		return "Error: This command was not begun: those before it took all the "
		       "time of its call. Call the tool again.";
	if (end == SHELL_EXITED)
		return arena_printf(arena,
		    "%s\n[The command ended its shell, which %s. There is a new shell: "
		    "the "
		    "folder, variables and programs of the old one are gone.]",
		    text, reason);
	return text;
}

static struct tool_result *
run_in(struct tool_request *request, struct shell_session *session, const char *command,
    const char *notice, const struct value *resources)
{
	struct arena *arena = tool_arena(request);
	struct value_list matches = { .arena = arena };
	struct shell_output output;
	struct tool_result *result;
	const char *reason, *text;
	bool is_blocked;
	enum shell_end end = shell_session_run(
	    session, arena, command, tool_left_ms(request), &output, &reason);

	text = shell_redact(arena, tool_settings_of(request),
	    shell_output_lines(arena, &output), &matches, &is_blocked);
	if (!is_blocked)
		text = shell_output_finish(arena, &output, text);
	if (end == SHELL_BROKEN && reason == NULL)
		result = tool_fail(request, fault_cancelled(arena));
	else if (end == SHELL_BROKEN)
		result = answer_lost(request,
		    arena_printf(arena,
			"the shell ended, and no other could be begun: %s", reason));
	else
		result = answer(request,
		    arena_printf(
			arena, "%s%s", notice, text_of(request, end, text, reason)),
		    end == SHELL_DONE && output.status == 0 && !is_blocked ? "success"
									   : "error",
		    artifact_of(arena, end, &output, value_list_end(&matches)),
		    resources);
	shell_output_release(&output);
	return result;
}

/* --- the tool ------------------------------------------------------------------------- */

static struct shell_session *
begin(struct tool_request *request, const char **reason_r)
{
	return shell_session_begin(tool_arena(request), tool_settings_of(request),
	    tool_idempotency_key(request), tool_thread(request), reason_r);
}

static struct tool_result *
not_begun(struct tool_request *request, const char *reason)
{
	struct arena *arena = tool_arena(request);

	if (reason == NULL)
		return tool_fail(request, fault_cancelled(arena));
	return answer_lost(
	    request, arena_printf(arena, "no new shell could be begun: %s", reason));
}

/* A session for this call: the run's, or, when that is gone and asked is true, a new one, of which
 * *resources_r tells. NULL: *result_r is the answer. */
static struct shell_session *
session_for(struct tool_request *request, bool asked, const struct value **resources_r,
    struct tool_result **result_r)
{
	const struct value *resources = tool_state(request, FIELD);
	struct shell_session *session = NULL;
	const char *reason;

	/* One that was taken for lost may be here all the same: the model was told that it is gone. */
	if (!value_get_bool(resources, "lost", false))
		session = shell_session_hold(
		    value_get_text(resources, "id"), tool_thread(request));
	*resources_r = NULL;
	if (session != NULL)
		return session;
	if (!asked) {
		*result_r = answer_lost(request, "there is no shell any more.");
		return NULL;
	}
	session = begin(request, &reason);
	if (session == NULL)
		*result_r = not_begun(request, reason);
	else
		*resources_r = resources_of(request, tool_idempotency_key(request));
	return session;
}

static struct tool_result *
restart(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const struct value *resources;
	struct tool_result *result;
	const char *reason = "";
	struct shell_session *session = session_for(request, true, &resources, &result);

	if (session == NULL)
		return result;
	if (resources == NULL && shell_session_restart(session, arena, &reason) == -1)
		result = not_begun(request, reason);
	else
		result = answer(
		    request, "Shell session restarted.", "success", NULL, resources);
	shell_session_release(&session);
	return result;
}

static struct tool_result *
run_command(struct tool_request *request, const char *command)
{
	bool asked = value_get_bool(tool_settings_of(request), "restart_lost", false);
	const struct value *resources;
	struct tool_result *result;
	struct shell_session *session = session_for(request, asked, &resources, &result);

	if (session == NULL)
		return result;
	result = run_in(request, session, command,
	    resources == NULL ? ""
			      : "[The shell was gone, with its folder, variables and "
				"programs: this is a new one.]\n",
	    resources);
	shell_session_release(&session);
	return result;
}

static struct tool_result *
run_shell(struct tool_request *request)
{
	const struct value *args = tool_args(request);
	const char *command = value_get_text(args, "command");
	bool wants_restart = value_get_bool(args, "restart", false);

	if ((command != NULL && command[0] != '\0') == wants_restart)
		return tool_answer(request,
		    "Error: give either a command, or restart: true, and not both.",
		    "error");
	if (command != NULL && strlen(command) != value_get(args, "command")->size)
		return tool_answer(request,
		    "Error: the command has a NUL character in it, which no shell can "
		    "read.",
		    "error");
	return wants_restart ? restart(request) : run_command(request, command);
}

static const struct tool shell = {
	.name = SHELL_TOOL_NAME,
	.description =
	    "Runs a command in a shell that stays: the folder it is in, its variables "
	    "and "
	    "what it has started are there for the next command. Commands run one after "
	    "the "
	    "other, each for a limited time; what is long goes into the background. "
	    "Standard "
	    "input is empty. Long output is cut: filter it, or write it to a file and "
	    "look at "
	    "parts.\n\n"
	    "Lines of standard error are marked with [stderr]. restart: true, instead of "
	    "a "
	    "command, ends the shell and begins a new one, as when it hangs or is gone.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"command\": {\"type\": [\"string\", \"null\"], \"description\": \"What to "
	    "run; may have several lines\"},"
	    "\"restart\": {\"type\": [\"boolean\", \"null\"], \"description\": \"true: "
	    "begin "
	    "a new shell\"}}}",
	.once = true,
	.pin = FIELD,
	.lost = LOST,
	.run = run_shell,
};

/* --- for the hooks --------------------------------------------------------------------- */

static struct tool_result *
run_start_shell(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const char *reason;
	struct shell_session *session = begin(request, &reason);

	if (session == NULL && reason == NULL)
		return tool_fail(request, fault_cancelled(arena));
	if (session == NULL)
		return tool_fail(request, fault_new(arena, "RuntimeError", "%s", reason));
	shell_session_release(&session);
	return answer(request, "", "success", NULL,
	    resources_of(request, tool_idempotency_key(request)));
}

static const struct tool start_shell = {
	.name = "start_shell",
	.description = "",
	.internal = true,
	.run = run_start_shell,
};

/* Of a run that ended otherwise nothing is run any more. */
static struct tool_result *
run_stop_shell(struct tool_request *request)
{
	const struct value *resources = tool_state(request, FIELD);
	struct shell_session *session =
	    shell_session_hold(value_get_text(resources, "id"), tool_thread(request));
	const char *notes = NULL;

	if (session != NULL)
		shell_session_end(session, tool_arena(request),
		    !value_get_bool(tool_args(request), "ended", false), &notes);
	shell_session_release(&session);
	return tool_answer(request, notes == NULL ? "" : notes, "success");
}

static const struct tool stop_shell = {
	.name = "stop_shell",
	.description = "",
	.internal = true,
	.pin = FIELD,
	.releases = true,
	.run = run_stop_shell,
};

const struct tool *const shell_tools[] = { &shell, &start_shell, &stop_shell, NULL };

/* --- hooks ---------------------------------------------------------------------------- */

static const struct value *
update_of(const struct value *body)
{
	return value_get(value_at(value_get(body, "commands"), 0), "update");
}

const struct value *
shell_before_agent(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	const struct value *body = turn_call_tool(turn, "start_shell", value_empty_map());
	const struct value *resources;
	const struct fault *fault;

	if (body == NULL)
		return NULL;
	if (value_has(body, "fault")) {
		fault = fault_from_value(arena, value_get(body, "fault"));
		return turn_fail(turn, fault->type,
		    "%s: the shell could not be begun: %s", turn_middleware(turn),
		    fault->message);
	}
	resources = value_get(update_of(body), FIELD);
	return value_map(arena, FIELD,
	    value_map_with(arena, resources, "left", value_empty_array()), NULL);
}

const struct value *
shell_after_agent(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	const struct value *body, *message;

	if (value_get_text(turn_get(turn, FIELD), "worker") == NULL)
		return NULL;
	body = turn_call_tool(turn, "stop_shell", value_empty_map());
	if (body == NULL)
		return NULL;
	message = value_at(value_get(update_of(body), "messages"), 0);
	if (value_has(body, "fault")) {
		turn_note(turn, "the shell was gone before its end: %s",
		    fault_from_value(arena, value_get(body, "fault"))->message);
		return NULL; /* if it could only not be seen, the run's end tells it */
	}
	if (chat_text(arena, message)[0] != '\0')
		turn_note(turn, "%s", chat_text(arena, message));
	return value_map(arena, FIELD, no_resources(arena, false), NULL);
}

const struct middleware middleware_shell_tool = {
	.abi = MIDDLEWARE_ABI,
	.name = "shell_tool",
	.summary = "gives the model a shell that stays for the run",
	.options = shell_options,
	.fields = shell_fields,
	.tools = shell_tools,
	.reads = shell_reads,
	.configure = shell_configure,
	.before_agent = shell_before_agent,
	.after_agent = shell_after_agent,
};
