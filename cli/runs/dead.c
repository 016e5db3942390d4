/* retry, discard: what becomes of dead letters, which `runs --dead` lists. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "find.h"
#include "json.h"
#include "submit.h"
#include "wire.h"

struct retry_settings {
	struct common_settings common;
	const char *run;
	bool all;
};
static const struct setting retry_table[] = {
	COMMON_SETTINGS,
	{ "run-id", SETTING_TEXT, offsetof(struct retry_settings, run), NULL, 0, 0, NULL,
	    "the new run's id (default: a fresh one)", 0 },
	{ "all-dead", SETTING_BOOL, offsetof(struct retry_settings, all), NULL, 0, 0,
	    NULL, "all that `flotilla runs --dead` lists", 0 },
	SETTINGS_END,
};

/* --- retry -------------------------------------------------------------------------- */

/* The version of the agent that run names, as it is now: who mends an agent wants it used. */
static enum status
find_version(
    struct session *session, const char *thread, const char *run, const char **version_r)
{
	struct store *store = session_store(session);
	struct arena *arena = session_arena(session);
	const struct value *record = NULL;
	const char *agent = NULL;
	enum store_status status = store_run(store, arena, thread, run, &record);

	if (status == STORE_OK)
		agent = value_get_text(record, "agent");
	if (agent != NULL)
		status = store_agent_version(store, arena, agent, version_r);
	if (status == STORE_OK && agent != NULL)
		return STATUS_OK;
	if (status != STORE_OK && status != STORE_NONE)
		return (enum status)session_store_failed(session, status);
	complain(
	    "the agent of run '%s' is not known any more; `flotilla agents apply` it",
	    run);
	return STATUS_NOT_FOUND;
}

static enum status
explain(struct session *session, enum store_status status, const char *run,
    const char *new_run, const char *instead)
{
	if (status == STORE_KNOWN) {
		complain(
		    "--run-id '%s' is a run already; give another, or none", new_run);
		return STATUS_REFUSED;
	}
	if (status != STORE_NONE)
		return (enum status)session_store_failed(session, status);
	if (*instead != '\0')
		complain("run '%s' was retried already, as %s", run, instead);
	else
		complain(
		    "run '%s' is no dead letter; `flotilla runs --dead` lists them", run);
	return STATUS_FAILED;
}

/* Adds {run, retried} to done. */
static enum status
retry(struct session *session, const char *run, const char *new_run,
    struct value_list *done)
{
	struct arena *arena = session_arena(session);
	const char *thread, *version = NULL, *instead = "";
	enum store_status stored;
	enum status status = find_thread_of(session, run, &thread);

	if (status == STATUS_OK)
		status = find_version(session, thread, run, &version);
	if (status != STATUS_OK)
		return status;
	if (new_run == NULL)
		new_run = submit_run_id(arena);
	stored = store_retry(
	    session_store(session), arena, thread, run, new_run, version, &instead);
	if (stored != STORE_OK)
		return explain(session, stored, run, new_run, instead);
	value_list_add(done, value_map(arena, "run", value_str(arena, run), "retried",
				 value_str(arena, new_run), NULL));
	if (!session_json(session))
		printf("%s\n", new_run);
	return STATUS_OK;
}

/* The ids of all dead letters, NULL-ended. */
static enum status
list_dead(struct session *session, const char *const **runs_r)
{
	struct arena *arena = session_arena(session);
	const struct value *runs;
	const char **ids;
	enum store_status status = store_dead(session_store(session), arena, 0, &runs);
	size_t i;

	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	ids = arena_alloc(arena, (value_size(runs) + 1) * sizeof *ids);
	for (i = 0; i < value_size(runs); i++)
		ids[i] = value_get_text(value_at(runs, i), "run");
	ids[i] = NULL;
	*runs_r = ids;
	return STATUS_OK;
}

static enum status
check_retry(const struct retry_settings *settings, const char *const *rest)
{
	if (!settings->all && find_argument(rest[0], "RUN") != STATUS_OK)
		return STATUS_USAGE;
	if (settings->all && rest[0] != NULL) {
		complain("--all-dead means all of them: name no RUN beside it");
		return STATUS_USAGE;
	}
	if (settings->run != NULL && (settings->all || rest[1] != NULL)) {
		complain("--run-id names one run: retry one at a time with it");
		return STATUS_USAGE;
	}
	return submit_check_id("--run-id", settings->run) ? STATUS_OK : STATUS_USAGE;
}

static enum status
run_retry(struct session *session, const void *given, const char *const *rest)
{
	const struct retry_settings *settings = given;
	struct arena *arena = session_arena(session);
	struct value_list done = { .arena = arena };
	enum status status = check_retry(settings, rest), one;

	if (status != STATUS_OK)
		return status;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	if (settings->all)
		status = list_dead(session, &rest);
	for (; status != STATUS_UNREACHABLE && *rest != NULL; rest++) {
		one = retry(session, *rest, settings->run, &done);
		status = status == STATUS_OK || one == STATUS_UNREACHABLE ? one : status;
	}
	if (session_json(session))
		printf("%s\n", json_text(arena, value_list_end(&done)));
	return status;
}

const struct command command_retry = {
	.name = "retry",
	.usage = "RUN...",
	.summary = "submits dead letters again",
	.text =
	    "Submits what a dead RUN was to do again, as a new run on the same thread, "
	    "with its agent as it is now, and prints the new run's id. The old run "
	    "keeps its record, which names the new one.",
	.table = retry_table,
	.settings_size = sizeof(struct retry_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_retry,
};

/* --- discard ------------------------------------------------------------------------ */

static enum status
discard(struct session *session, const char *run)
{
	const char *thread;
	enum status status = find_thread_of(session, run, &thread);
	enum store_status stored;

	if (status != STATUS_OK)
		return status;
	stored =
	    store_discard(session_store(session), session_arena(session), thread, run);
	return stored == STORE_OK ? STATUS_OK : explain(session, stored, run, run, "");
}

static enum status
run_discard(struct session *session, const void *settings, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	struct value_list done = { .arena = arena };
	enum status status = find_argument(rest[0], "RUN"), one;

	(void)settings;
	if (status != STATUS_OK)
		return status;
	for (; status != STATUS_UNREACHABLE && *rest != NULL; rest++) {
		one = discard(session, *rest);
		if (one == STATUS_OK)
			value_list_add(&done, value_str(arena, *rest));
		if (one == STATUS_OK && !session_json(session))
			printf("%s discarded\n", *rest);
		status = status == STATUS_OK || one == STATUS_UNREACHABLE ? one : status;
	}
	if (session_json(session))
		printf("%s\n", json_text(arena, value_list_end(&done)));
	return status;
}

const struct command command_discard = {
	.name = "discard",
	.usage = "RUN...",
	.summary = "takes runs out of the dead letters",
	.text =
	    "Takes RUN out of the dead letters: nobody will retry it. Its record, its "
	    "events and its thread stay.",
	.table = command_common_table,
	.settings_size = sizeof(struct common_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_discard,
};
