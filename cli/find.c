#include "find.h"

#include <inttypes.h>

#include "fiber.h"
#include "store_fleet.h"
#include "store_past.h"

#define TAKEN_WAIT_MS 2000u /* until a submission must have been taken from the inbox */
#define LOOK_MS 20u

enum status
find_argument(const char *argument, const char *what)
{
	if (argument != NULL)
		return STATUS_OK;
	complain("which %s?", what);
	return STATUS_USAGE;
}

/* How many submissions no coordinator has taken yet; 0 when nobody can tell. */
static int64_t
count_inbox(struct session *session)
{
	const struct value *counts = NULL;

	store_counts(session_store(session), session_arena(session), &counts);
	return value_get_int(counts, "inbox", 0);
}

static enum status
say_unknown(const char *run, int64_t inbox)
{
	if (inbox == 0)
		complain("run '%s' is not known; `flotilla runs` lists the newest", run);
	else
		complain("run '%s' is not known; it may be among the %" PRId64
			 " in the inbox, which no coordinator has taken yet: `flotilla "
			 "top` says why",
		    run, inbox);
	return STATUS_NOT_FOUND;
}

enum status
find_thread_of(struct session *session, const char *run, const char **thread_r)
{
	uint64_t deadline = loop_now_ms(session_loop(session)) + TAKEN_WAIT_MS;
	enum store_status status;
	int64_t inbox = 1; /* one look more behind the one that finds it empty */

	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	while ((status = store_run_thread(session_store(session), session_arena(session),
		    run, thread_r)) == STORE_NONE) {
		if (inbox == 0 || loop_now_ms(session_loop(session)) > deadline)
			return say_unknown(run, inbox);
		inbox = count_inbox(session);
		if (inbox > 0 && fiber_sleep(LOOK_MS) == -1)
			return STATUS_FAILED;
	}
	return status == STORE_OK ? STATUS_OK
				  : (enum status)session_store_failed(session, status);
}

/* What a subagent asks is asked by its parent's run, which waits for it there. */
static enum status
check_own(struct session *session, const char *thread, const struct value *state)
{
	const struct value *head = value_get(state, "head"), *record = NULL;
	const char *run = value_get_text(head, "run"), *parent;

	if (run == NULL || !value_text_is(value_get(head, "status"), "interrupted"))
		return STATUS_OK;
	store_run(session_store(session), session_arena(session), thread, run, &record);
	parent = value_get_text(record, "parent");
	if (parent == NULL || !value_has(record, "task"))
		return STATUS_OK;
	complain("thread '%s' works for run '%s', whose question this is: answer it "
		 "there; `flotilla approvals` lists what waits",
	    thread, parent);
	return STATUS_REFUSED;
}

enum status
find_pause_of(struct session *session, const char *name, const char **thread_r,
    const struct value **state_r)
{
	struct store *store = session_store(session);
	struct arena *arena = session_arena(session);
	enum store_status found;

	*thread_r = name;
	found = store_thread(store, arena, name, state_r);
	if (found == STORE_NONE &&
	    store_run_thread(store, arena, name, thread_r) == STORE_OK)
		found = store_thread(store, arena, *thread_r, state_r);
	if (found == STORE_OK)
		return check_own(session, *thread_r, *state_r);
	if (found != STORE_NONE)
		return (enum status)session_store_failed(session, found);
	complain("no thread and no run '%s' is known", name);
	return STATUS_NOT_FOUND;
}

enum status
find_outcome(struct session *session, enum store_status status, const char *thread)
{
	if (status == STORE_OK)
		return STATUS_OK;
	if (status != STORE_NONE)
		return (enum status)session_store_failed(session, status);
	complain("thread '%s' is not known; `flotilla runs` lists the newest", thread);
	return STATUS_NOT_FOUND;
}

enum status
find_no_checkpoint(const char *thread, int64_t at)
{
	complain("thread '%s' has no checkpoint %" PRId64
		 "; `flotilla history %s` lists those it has",
	    thread, at, thread);
	return STATUS_NOT_FOUND;
}

enum status
find_checkpoint(
    struct session *session, const char *thread, int64_t at, struct store_past *past_r)
{
	struct arena *arena = session_arena(session);
	const struct value *history = NULL;
	const char *damage;
	enum status status = STATUS_UNREACHABLE;

	if (session_store(session) != NULL)
		status = find_outcome(session,
		    store_history(session_store(session), arena, thread, &history),
		    thread);
	if (status != STATUS_OK)
		return status;
	if (at == 0)
		at = value_get_int(
		    value_at(history, value_size(history) - 1), "version", 0);
	if (at > 0 && store_past_of(arena, history, (uint64_t)at, past_r) == 0)
		return STATUS_OK;
	damage = store_history_damage(arena, thread, history);
	if (damage == NULL)
		return find_no_checkpoint(thread, at);
	complain("%s", damage);
	return STATUS_FAILED;
}
