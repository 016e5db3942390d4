/* retry: what dead letters were to do, and runs that failed or were cancelled, once more. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "command.h"
#include "find.h"
#include "graph.h"
#include "store_agents.h"
#include "store_fleet.h"
#include "submit.h"
#include "submit_options.h"
#include "tame.h"
#include "wire.h"

#define FAILED_MAX 10000u /* that one command looks at */

struct retry_settings {
	struct common_settings common;
	const char *run, *failed_within, *agent;
	bool all;
};
static const struct setting retry_table[] = {
	COMMON_SETTINGS,
	{ "run-id", SETTING_TEXT, offsetof(struct retry_settings, run), NULL, 0, 0, NULL,
	    "the new run's id (default: a fresh one)", 0 },
	{ "all-dead", SETTING_BOOL, offsetof(struct retry_settings, all), NULL, 0, 0,
	    NULL, "all that `flotilla runs --dead` lists", 0 },
	{ "failed-within", SETTING_TEXT, offsetof(struct retry_settings, failed_within),
	    NULL, 0, 0, NULL,
	    "all that have failed since then, on whose threads nothing has happened "
	    "since: 30m, 8h",
	    0 },
	{ "agent", SETTING_TEXT, offsetof(struct retry_settings, agent), NULL, 0, 0, NULL,
	    "with --failed-within: only those of this agent", 0 },
	SETTINGS_END,
};

struct retrying {
	struct session *session;
	const char *new_run; /* or NULL: a fresh one each */
	bool is_picked; /* by us, so that one that cannot be retried is passed over */
	size_t passed;
	struct value_list done; /* [{run, retried}] */
};

/* The version of the agent that record names, as it is now: who mends an agent wants it used. */
static enum status
find_version(struct session *session, const char *run, const struct value *record,
    const char **version_r)
{
	const char *agent = value_get_text(record, "agent");
	enum store_status status = agent == NULL
				       ? STORE_NONE
				       : store_agent_version(session_store(session),
					     session_arena(session), agent, version_r);

	if (status == STORE_OK)
		return STATUS_OK;
	if (status != STORE_NONE)
		return (enum status)session_store_failed(session, status);
	complain(
	    "the agent of run '%s' is not known any more; `flotilla agents apply` it",
	    run);
	return STATUS_NOT_FOUND;
}

/* It goes on with what it had been told, but for where it was to begin. */
static const struct value *
options_behind(struct arena *arena, const struct value *record)
{
	static const char *const kept[] = { "context", "assistant_context", "stream",
		"interrupt_before", "interrupt_after", "recursion_limit",
		"max_concurrency" };
	const struct value *options = value_get(record, "options");
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < sizeof kept / sizeof *kept; i++)
		if (value_has(options, kept[i]))
			value_fields_set(&fields, kept[i], value_get(options, kept[i]));
	value_fields_set(&fields, "resume", value_nil());
	return value_fields_end(&fields);
}

/* Where the run of record has left its thread, if that is how it still is: it goes on there, or, if the thread has taken
 * nothing of it, begins again. */
static enum store_status
find_left(struct session *session, const struct value *record, struct store_retry *retry)
{
	struct arena *arena = session_arena(session);
	const struct value *thread, *head;
	int64_t version, final = value_get_int(record, "final", 0);
	enum store_status status =
	    store_thread_outline(session_store(session), arena, retry->thread, &thread);
	bool is_own, takes_nothing, is_at_end;

	if (status != STORE_OK)
		return status;
	head = value_get(thread, "head");
	version = value_get_int(thread, "version", 0);
	is_own = value_text_is(value_get(head, "run"), retry->run);
	/* One that ended while it was at it, as its agent could not be loaded any more, has left nothing of its round. */
	takes_nothing =
	    is_own ? !value_has(head, "next") ||
			 (value_text_is(value_get(head, "status"), "running") &&
			     value_has(record, "input"))
		   : version == final && value_get_int(record, "base", 0) + 1 == final;
	/* There the steps were too many, and nothing is left to do. */
	is_at_end = value_has(head, "next") && !graph_stands(head);
	if (is_own && (graph_has_failed(head) || is_at_end))
		retry->options = options_behind(arena, record);
	if (retry->options != NULL || takes_nothing)
		retry->left = (uint64_t)version;
	return STORE_OK;
}

static enum status
explain(struct retrying *retrying, enum store_status status,
    const struct store_retry *retry, const char *instead)
{
	if (status == STORE_KNOWN) {
		complain("--run-id '%s' is a run already; give another, or none",
		    retry->new_run);
		return STATUS_REFUSED;
	}
	if (status != STORE_NONE)
		return (enum status)session_store_failed(retrying->session, status);
	if (retrying->is_picked) {
		retrying->passed++;
		return STATUS_OK;
	}
	if (*instead != '\0')
		complain("run '%s' was retried already, as %s", retry->run, instead);
	else
		complain("run '%s' is no dead letter, and thread '%s' does not stand "
			 "where it failed, or is busy; "
			 "`flotilla history %s` shows what has come since",
		    retry->run, retry->thread, retry->thread);
	return STATUS_FAILED;
}

/* A fresh id; of a tenant's run one that is the tenant's, too: he knows no others. */
static const char *
new_id(struct arena *arena, const char *run)
{
	size_t size = strcspn(run, TENANT_MARK);
	bool is_owned = run[size] != '\0' && size <= TENANT_BYTES_MAX;

	return arena_printf(
	    arena, "%.*s%s", is_owned ? (int)size + 1 : 0, run, submit_run_id(arena));
}

static enum status
retry_one(struct retrying *retrying, const char *run)
{
	struct session *session = retrying->session;
	struct arena *arena = session_arena(session);
	struct store_retry retry = { .run = run, .new_run = retrying->new_run };
	const struct value *record = NULL;
	const char *instead = "";
	enum store_status stored;
	enum status status = find_thread_of(session, run, &retry.thread);

	if (status != STATUS_OK)
		return status;
	stored = store_run(session_store(session), arena, retry.thread, run, &record);
	if (stored != STORE_OK && stored != STORE_NONE)
		return (enum status)session_store_failed(session, stored);
	status = find_version(session, run, record, &retry.version);
	if (status != STATUS_OK)
		return status;
	if (retry.new_run == NULL)
		retry.new_run = new_id(arena, run);
	stored = find_left(session, record, &retry);
	if (stored == STORE_OK)
		stored = store_retry(session_store(session), arena, &retry, &instead);
	if (stored != STORE_OK)
		return explain(retrying, stored, &retry, instead);
	value_list_add(
	    &retrying->done, value_map(arena, "run", value_str(arena, run), "retried",
				 value_str(arena, retry.new_run), NULL));
	if (!session_json(session))
		printf("%s\n", retry.new_run);
	return STATUS_OK;
}

/* --- which ---------------------------------------------------------------------------- */

/* Whether that is a run to go on behind. A subagent's is its parent's to retry. */
static bool
is_wanted(const struct value *run, int64_t since_ms, const char *agent)
{
	return value_get_int(run, "ended", 0) >= since_ms && !value_has(run, "task") &&
	       !value_has(run, "retried") &&
	       (agent == NULL || value_text_is(value_get(run, "agent"), agent));
}

static enum status
list(struct session *session, const struct retry_settings *settings, int64_t within_ms,
    const char *const **runs_r)
{
	struct arena *arena = session_arena(session);
	struct store *store = session_store(session);
	const struct value *runs = NULL;
	const char **ids;
	struct timespec now;
	int64_t since_ms;
	size_t i, count = 0;
	enum store_status status =
	    settings->all ? store_dead(store, arena, 0, &runs)
			  : store_runs(store, arena, FAILED_MAX, "error", &runs);

	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	clock_gettime(CLOCK_REALTIME, &now);
	since_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - within_ms;
	ids = arena_alloc(arena, (value_size(runs) + 1) * sizeof *ids);
	for (i = 0; i < value_size(runs); i++) {
		const struct value *run = value_at(runs, i);

		if (settings->all || is_wanted(run, since_ms, settings->agent))
			ids[count++] = value_get_text(run, "run");
	}
	ids[count] = NULL;
	*runs_r = ids;
	return STATUS_OK;
}

/* --- the command ---------------------------------------------------------------------- */

static enum status
check(struct arena *arena, const struct retry_settings *settings, const char *const *rest,
    int64_t *within_ms_r)
{
	bool picks = settings->all || settings->failed_within != NULL;
	const char *within;

	if (!picks && find_argument(rest[0], "RUN") != STATUS_OK)
		return STATUS_USAGE;
	if ((picks && rest[0] != NULL) ||
	    (settings->all && settings->failed_within != NULL)) {
		complain(
		    "--all-dead and --failed-within each mean all of theirs: name no "
		    "RUN beside them, and one of them");
		return STATUS_USAGE;
	}
	if (settings->run != NULL && (picks || rest[1] != NULL)) {
		complain("--run-id names one run: retry one at a time with it");
		return STATUS_USAGE;
	}
	if (settings->agent != NULL && settings->failed_within == NULL) {
		complain("--agent: only --failed-within picks by agent");
		return STATUS_USAGE;
	}
	if (settings->failed_within != NULL) {
		within = submit_duration(arena, "--failed-within",
		    settings->failed_within, 1, RUN_DEADLINE_MS_MAX);
		if (within == NULL)
			return STATUS_USAGE;
		*within_ms_r = strtoll(within, NULL, 10);
	}
	return submit_check_id("--run-id", settings->run) ? STATUS_OK : STATUS_USAGE;
}

static enum status
run_retry(struct session *session, const void *given, const char *const *rest)
{
	const struct retry_settings *settings = given;
	struct arena *arena = session_arena(session);
	struct retrying retrying = { .session = session,
		.new_run = settings->run,
		.is_picked = settings->failed_within != NULL,
		.done = { .arena = arena } };
	int64_t within_ms = 0;
	enum status status = check(arena, settings, rest, &within_ms), one;

	if (status != STATUS_OK)
		return status;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	if (settings->all || retrying.is_picked)
		status = list(session, settings, within_ms, &rest);
	for (; status != STATUS_UNREACHABLE && *rest != NULL; rest++) {
		one = retry_one(&retrying, *rest);
		status = status == STATUS_OK || one == STATUS_UNREACHABLE ? one : status;
	}
	if (retrying.passed > 0)
		complain("%zu left as they are: their threads do not stand where they "
			 "failed any more",
		    retrying.passed);
	if (session_json(session))
		printf("%s\n", tame_json(arena, value_list_end(&retrying.done)));
	return status;
}

const struct command command_retry = {
	.name = "retry",
	.usage = "RUN...",
	.summary = "goes on where runs have failed; submits dead letters again",
	.text = "Goes on where RUN has failed, or was cancelled, as a new run on the "
		"same thread, with its agent as it "
		"is now: what had ended is not done again. Where a later run has been, "
		"it is refused. Of a dead RUN "
		"its input is submitted again. Prints the new run's id; the old run "
		"keeps its record, which names the new one.",
	.table = retry_table,
	.settings_size = sizeof(struct retry_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_retry,
};
