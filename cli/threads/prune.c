/* prune: forgets a thread's past, or the thread. */
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "find.h"
#include "show.h"
#include "tame.h"

#define TRIES_MAX 5 /* when the thread changes at the same time */

struct prune_settings {
	struct common_settings common;
	int64_t keep;
	bool all, force;
};

#define SETTING(field) offsetof(struct prune_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "keep-latest", SETTING_INTEGER, SETTING(keep), NULL, 1, INT64_MAX, NULL,
	    "how many checkpoints to keep, the newest (default: 1)", 'n' },
	{ "delete", SETTING_BOOL, SETTING(all), NULL, 0, 0, NULL,
	    "delete the threads with all their runs", 0 },
	{ "force", SETTING_BOOL, SETTING(force), NULL, 0, 0, NULL,
	    "also threads that wait for an answer", 0 },
	SETTINGS_END,
};

static enum status
refused(struct session *session, enum store_status status, const char *thread,
    const struct store_pruned *pruned)
{
	switch (status) {
	case STORE_BUSY:
		if (pruned->busy == NULL)
			complain(
			    "thread '%s' is to be put back to what it was before a run "
			    "that was rolled back, which its next run does: prune it "
			    "then; --delete deletes it now",
			    thread);
		else
			complain(
			    "thread '%s' is not free: run '%s' goes on, waits, or has an "
			    "end that a webhook is still to tell or children that are "
			    "still to be cancelled; cancel it, or wait",
			    thread, pruned->busy);
		return STATUS_REFUSED;
	case STORE_WAITS:
		complain(
		    "thread '%s' waits for an answer and is kept; --force prunes it all "
		    "the same",
		    thread);
		return STATUS_REFUSED;
	case STORE_STALE:
		complain("thread '%s' changes all the time; nothing was pruned", thread);
		return STATUS_FAILED;
	default:
		return find_outcome(session, status, thread);
	}
}

static void
tell(struct session *session, const struct prune_settings *settings, const char *thread,
    const struct store_pruned *pruned)
{
	struct arena *arena = session_arena(session);

	if (session_json(session))
		printf("%s\n",
		    tame_json(arena,
			value_map(arena, "thread", value_str(arena, thread), "deleted",
			    value_bool(settings->all), "checkpoints",
			    value_int(arena, (int64_t)pruned->checkpoints), "messages",
			    value_int(arena, (int64_t)pruned->messages), "runs",
			    value_int(arena, (int64_t)pruned->runs), NULL)));
	else if (settings->all)
		printf(
		    "%s deleted, %s\n", thread, show_count(arena, pruned->runs, "run"));
	else
		printf("%s: %s, %s, %s pruned\n", thread,
		    show_count(arena, pruned->checkpoints, "checkpoint"),
		    show_count(arena, pruned->messages, "message"),
		    show_count(arena, pruned->runs, "run"));
}

static enum status
prune_one(
    struct session *session, const struct prune_settings *settings, const char *thread)
{
	struct store *store = session_store(session);
	struct arena *arena = session_arena(session);
	struct store_pruned pruned = { 0 };
	enum store_status status = STORE_STALE;
	unsigned tries;

	for (tries = 0; status == STORE_STALE && tries < TRIES_MAX; tries++)
		status = settings->all
			     ? store_erase(store, arena, thread, settings->force, &pruned)
			     : store_prune(store, arena, thread,
				   settings->keep == 0 ? 1 : (uint64_t)settings->keep,
				   settings->force, &pruned);
	if (status != STORE_OK)
		return refused(session, status, thread, &pruned);
	tell(session, settings, thread, &pruned);
	return STATUS_OK;
}

static enum status
run_prune(struct session *session, const void *given, const char *const *rest)
{
	const struct prune_settings *settings = given;
	enum status status = STATUS_OK, one;

	if (find_argument(rest[0], "THREAD") != STATUS_OK)
		return STATUS_USAGE;
	if (settings->all && settings->keep != 0) {
		complain("--delete and --keep-latest exclude each other");
		return STATUS_USAGE;
	}
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	for (; *rest != NULL; rest++) {
		one = prune_one(session, given, *rest);
		status = status == STATUS_OK ? one : status;
	}
	return status;
}

const struct command command_prune = {
	.name = "prune",
	.usage = "THREAD...",
	.summary = "forgets the past of threads, or the threads",
	.text =
	    "Keeps a thread's newest checkpoints and forgets those before, the messages "
	    "that only they have, and the runs that ended before. Threads whose runs "
	    "go on or wait are refused.",
	.table = table,
	.settings_size = sizeof(struct prune_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_prune,
};
