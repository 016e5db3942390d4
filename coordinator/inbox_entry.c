#include "inbox_entry.h"

#include <string.h>

#include "agents.h"
#include "arrival.h"
#include "children.h"
#include "coordinator.h"
#include "log.h"
#include "nearest.h"
#include "retention.h"
#include "run_trace.h"
#include "store_agents.h"
#include "submission.h"
#include "utf8.h"

#define INPUT_SHOWN_BYTES 4096u
#define TRIES 8u /* to use an agent as it is, while it is changed again and again */

static enum store_status
keep_refused(struct store *store, struct arena *arena, const struct inbox_entry *entry,
    const struct submission *submission, const char *reason)
{
	const struct value *nothing = value_str(arena, "");
	const struct value *agent = value_get(entry->fields, "agent");
	const struct value *input = value_get(entry->fields, "input");

	return store_keep_refused(store, arena,
	    &(struct store_refusal){
		.entry = entry->id,
		.run = submission->run,
		.reason = reason,
		.agent = agent != NULL ? agent : nothing,
		.input =
		    input != NULL && input->size < INPUT_SHOWN_BYTES ? input : nothing,
	    });
}

static enum store_status
store_refusal(struct coordinator *coordinator, struct arena *arena,
    const struct inbox_entry *entry, const struct submission *submission,
    const char *type, const char *reason)
{
	const struct value *agent =
	    submission->agent != NULL ? value_str(arena, submission->agent) : NULL;
	const struct value *more = run_options_record(arena, &submission->more);

	/* What could be read of who is to hear of its end, and how it is found. */
	return store_refuse(coordinator->store, arena, submission->thread,
	    submission->run, type, reason,
	    value_map(arena, "agent", agent, "entry", value_str(arena, entry->id), "ttl",
		submission->ttl != NULL ? value_str(arena, submission->ttl) : NULL,
		"usual_ttl", retention_usual(coordinator, arena), "webhook",
		value_get(more, "webhook"), "tenant", value_get(more, "tenant"),
		"metadata", value_get(more, "metadata"), "fingerprint",
		value_get(more, "fingerprint"), NULL));
}

/* Nothing is left of the run: neither is the name that it was just given. Should somebody have submitted it anew by now, it is
 * his. */
static enum store_status
let_go(struct store *store, struct arena *arena, const struct submission *submission)
{
	const char *thread = submission->thread, *run = submission->run, *other;
	const struct value *record;
	enum store_status status = store_unbind_run(store, arena, run, thread);

	if (status == STORE_OK)
		status = store_run(store, arena, thread, run, &record);
	if (status == STORE_OK)
		status = store_bind_run(store, arena, run, thread, &other);
	return status == STORE_NONE || status == STORE_KNOWN ? STORE_OK : status;
}

static enum store_status
refuse(struct coordinator *coordinator, struct arena *arena,
    const struct inbox_entry *entry, const struct submission *submission,
    const char *reason)
{
	struct store *store = coordinator->store;
	/* Kept before it is answered: who dies in between does both again, and an entry that
	 * is kept twice is better than one that is lost. */
	enum store_status status = keep_refused(store, arena, entry, submission, reason);
	const char *other;

	log_info("run=%s refused: %s", submission->run, reason);
	if (status == STORE_OK)
		status = store_bind_run(
		    store, arena, submission->run, submission->thread, &other);
	if (status == STORE_OK)
		status = store_refusal(
		    coordinator, arena, entry, submission, "ValueError", reason);
	if (status == STORE_NONE)
		status = let_go(store, arena, submission);
	return status == STORE_KNOWN || status == STORE_DAMAGED ? STORE_OK : status;
}

/* A key that the thread needs is of a wrong type: nobody can say until when, and what is submitted to others
 * must not wait for that. A run that has a record all the same is not refused: it goes on some day. */
static enum store_status
refuse_damaged(struct coordinator *coordinator, struct arena *arena,
    const struct inbox_entry *entry, const struct submission *submission)
{
	const char *reason =
	    arena_printf(arena, "what Redis has of thread '%s' is damaged: %s",
		submission->thread, store_error(coordinator->store));
	enum store_status status =
	    store_refusal(coordinator, arena, entry, submission, "RuntimeError", reason);

	if (status == STORE_NONE)
		return let_go(coordinator->store, arena, submission);
	if (status != STORE_OK && status != STORE_DAMAGED)
		return status == STORE_KNOWN ? STORE_OK : status;
	log_warnx("run=%s refused: %s", submission->run, reason);
	return keep_refused(coordinator->store, arena, entry, submission, reason);
}

static const char *
unknown_agent(struct store *store, struct arena *arena, const char *name)
{
	const struct value *agents;
	const char **names, *near = NULL;
	size_t i;

	if (store_agents(store, arena, &agents) == STORE_OK) {
		names = arena_alloc(arena, (value_size(agents) + 1) * sizeof *names);
		for (i = 0; i < value_size(agents); i++)
			names[i] = value_text(agents->pairs[i].key);
		near = nearest_name(name, names, value_size(agents));
	}
	return arena_printf(arena,
	    "agent '%s' is not known%s%s%s; see `flotilla agents list`",
	    utf8_shown(arena, name, ID_BYTES_MAX), near != NULL ? ", did you mean '" : "",
	    near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* Of a run that has a parent, and brings no trace: its parent's. */
static const struct value *
traceparent_of(struct coordinator *coordinator, struct arena *arena,
    const struct submission *submission)
{
	return coordinator->trace == NULL || submission->parent == NULL ||
		       submission->more.traceparent != NULL
		   ? NULL
		   : run_trace_of_parent(coordinator, arena, submission->parent);
}

static enum store_status
queue(struct coordinator *coordinator, struct arena *arena,
    const struct inbox_entry *entry, const struct submission *submission,
    const char *version, const char **why_r)
{
	struct store_newcomer comer = { submission->thread, submission->run, NULL };
	const struct value *fields;
	enum store_status status;

	fields = value_map(arena, "agent", value_str(arena, submission->agent), "version",
	    value_str(arena, version), "multitask",
	    submission->multitask != NULL ? value_str(arena, submission->multitask)
					  : NULL,
	    "ttl", submission->ttl != NULL ? value_str(arena, submission->ttl) : NULL,
	    "usual_ttl", retention_usual(coordinator, arena), "parent",
	    submission->parent != NULL ? value_str(arena, submission->parent) : NULL,
	    "input",
	    submission->input != NULL ? value_freeze(arena, submission->input) : NULL,
	    "options", value_freeze(arena, submission->options), "traceparent",
	    traceparent_of(coordinator, arena, submission), "entry",
	    value_str(arena, entry->id), NULL);
	comer.fields =
	    value_map_merge(arena, fields, run_options_record(arena, &submission->more));
	/* A child begins when its parent knows of it. */
	status = (submission->parent == NULL ? arrival_submit : arrival_queue)(
	    coordinator, arena, &comer, why_r);
	/* The run's record is the other's: only fl:refused can tell. */
	if (status != STORE_TAKEN)
		return status;
	*why_r = arena_printf(
	    arena, "run '%s' belongs to thread '%s' already", submission->run, *why_r);
	return STORE_REJECTED;
}

/* Whether submission names a parent that nobody knows. */
static bool
lacks_parent(struct store *store, struct arena *arena,
    const struct submission *submission, enum store_status *status)
{
	const char *thread;

	if (*status != STORE_OK || submission->parent == NULL)
		return false;
	*status = store_run_thread(store, arena, submission->parent, &thread);
	return *status == STORE_NONE;
}

/* The parent learns of a run that is queued. One that was known before may be so from a time
 * without that parent: then it has none now. */
static enum store_status
adopt(struct coordinator *coordinator, struct arena *arena,
    const struct submission *submission, enum store_status queued)
{
	const struct value *record = NULL;
	enum store_status status = queued;

	if (submission->parent == NULL || (queued != STORE_OK && queued != STORE_KNOWN))
		return queued;
	if (queued == STORE_KNOWN) {
		status = store_run(coordinator->store, arena, submission->thread,
		    submission->run, &record);
		if (status != STORE_OK ||
		    !value_text_is(value_get(record, "parent"), submission->parent))
			return status;
	}
	status = children_adopt(
	    coordinator, arena, submission->parent, submission->run, submission->thread);
	if (status != STORE_DAMAGED)
		return status;
	log_warnx("run=%s: its parent '%s' does not know of it: %s", submission->run,
	    submission->parent, store_error(coordinator->store));
	return STORE_OK;
}

/* inbox_entry_move. STORE_OUTDATED: it has not used the agent as it is now, and will. */
static enum store_status
move(
    struct coordinator *coordinator, struct arena *arena, const struct inbox_entry *entry)
{
	struct store *store = coordinator->store;
	struct submission submission;
	const char *version, *why = NULL;
	enum store_status status;

	submission_read(arena, entry->id, entry->fields, &submission);
	if (entry->fault != NULL)
		submission.error = entry->fault;
	if (submission.error != NULL)
		return refuse(coordinator, arena, entry, &submission, submission.error);
	status = agents_version(coordinator->agents, arena, submission.agent, &version);
	if (status == STORE_NONE)
		return refuse(coordinator, arena, entry, &submission,
		    unknown_agent(store, arena, submission.agent));
	if (lacks_parent(store, arena, &submission, &status))
		return refuse(coordinator, arena, entry, &submission,
		    arena_printf(
			arena, "parent: run '%s' is not known", submission.parent));
	if (status == STORE_OK) {
		status = queue(coordinator, arena, entry, &submission, version, &why);
		if (status == STORE_DAMAGED)
			return refuse_damaged(coordinator, arena, entry, &submission);
		if (status == STORE_OUTDATED)
			agents_forget(coordinator->agents, submission.agent);
	}
	if (status == STORE_NONE)
		return let_go(store, arena, &submission);
	if (status == STORE_REJECTED) {
		log_info("run=%s refused: %s", submission.run, why);
		return keep_refused(store, arena, entry, &submission, why);
	}
	status = adopt(coordinator, arena, &submission, status);
	if (status == STORE_OK && submission.parent != NULL)
		coordinator_claim(coordinator, submission.thread);
	return status == STORE_KNOWN ? STORE_OK : status;
}

enum store_status
inbox_entry_move(
    struct coordinator *coordinator, struct arena *arena, const struct inbox_entry *entry)
{
	enum store_status status;
	unsigned tries = 0;

	do
		status = move(coordinator, arena, entry);
	while (status == STORE_OUTDATED && ++tries < TRIES);
	return status;
}
