/* update: writes to a thread as if one of its nodes had. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "find.h"
#include "json.h"
#include "submit.h"
#include "tame.h"

struct update_settings {
	struct submit_settings submit;
	const char *as;
	const char *agent;
	int64_t at;
};

#define SETTING(field) offsetof(struct update_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "as", SETTING_TEXT, SETTING(as), NULL, 0, 0, NULL,
	    "the node whose update it is, such as model; where its edge leads the thread "
	    "goes on",
	    0 },
	{ "at", SETTING_INTEGER, SETTING(at), NULL, 1, INT64_MAX, NULL,
	    "the version to change, as `flotilla history` shows it (default: the newest)",
	    0 },
	{ "agent", SETTING_TEXT, SETTING(agent), NULL, 0, 0, NULL,
	    "the agent of a thread that is new (default: the thread's)", 0 },
	{ "run-id", SETTING_TEXT, SETTING(submit.run), NULL, 0, 0, NULL,
	    "the id that the change has in the history (default: a fresh one)", 0 },
	SETTINGS_END,
};

static bool
check(const struct update_settings *settings, struct arena *arena, const char *update)
{
	const char *error;

	if (settings->as == NULL)
		complain(
		    "--as NODE: which node's update is it? `flotilla graph` draws them");
	else if (json_parse(arena, update, strlen(update), &error) == NULL)
		complain("'%s' is not valid JSON: %s", update, error);
	else
		return submit_check_id("--run-id", settings->submit.run);
	return false;
}

/* The agent that the thread is of. */
static enum status
find_agent(struct session *session, const struct update_settings *settings,
    const char *thread, const char **agent_r)
{
	const struct value *state = NULL;
	enum status status;

	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	*agent_r = settings->agent;
	if (settings->agent != NULL)
		return STATUS_OK;
	status = find_outcome(session,
	    store_thread(session_store(session), session_arena(session), thread, &state),
	    thread);
	*agent_r = value_get_text(value_get(state, "head"), "agent");
	if (status != STATUS_OK || *agent_r != NULL)
		return status;
	complain("thread '%s' has no agent yet: which one is it? --agent AGENT", thread);
	return STATUS_USAGE;
}

static void
print_change(struct session *session, const char *thread)
{
	struct arena *arena = session_arena(session);
	const struct value *state = NULL, *head;
	const char *next;

	if (store_thread(session_store(session), arena, thread, &state) != STORE_OK)
		return;
	head = value_get(state, "head");
	next = value_get_text(head, "next");
	if (session_json(session)) {
		printf("%s\n",
		    tame_json(arena,
			value_map(arena, "thread", value_str(arena, thread), "version",
			    value_get(state, "version"), "next", value_get(head, "next"),
			    "run", value_get(head, "run"), NULL)));
		return;
	}
	printf("%s: version %" PRId64 ", next %s\n", thread,
	    value_get_int(state, "version", 0),
	    next == NULL || strcmp(next, "__end__") == 0 ? "is the end" : next);
}

static enum status
run_update_command(struct session *session, const void *given, const char *const *rest)
{
	const struct update_settings *settings = given;
	struct submit_settings submit = settings->submit;
	struct arena *arena = session_arena(session);
	const char *thread = rest[0], *run, *agent;
	enum status status = find_argument(thread, "THREAD");

	if (status == STATUS_OK)
		status = find_argument(rest[1], "JSON");
	if (status != STATUS_OK || !check(settings, arena, rest[1]))
		return STATUS_USAGE;
	status = find_agent(session, settings, thread, &agent);
	if (status != STATUS_OK)
		return status;
	submit.silent = true;
	run = submit.run != NULL ? submit.run : submit_run_id(arena);
	status = submit_entry(session, &submit, run, thread,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, thread), "update",
		value_str(arena, rest[1]), "as", value_str(arena, settings->as),
		"checkpoint", submit_version(arena, settings->at), NULL));
	if (status == STATUS_OK)
		print_change(session, thread);
	return status;
}

const struct command command_update = {
	.name = "update",
	.usage = "THREAD JSON",
	.summary = "writes to a thread as if one of its nodes had",
	.text =
	    "Applies JSON, an object of messages and state fields, to a thread as the "
	    "update of a node; the thread then stands where that node's edge leads. "
	    "`flotilla resume` (a thread that waits) or `flotilla replay` goes on there.",
	.table = table,
	.settings_size = sizeof(struct update_settings),
	.arguments_max = 2,
	.run = run_update_command,
};
