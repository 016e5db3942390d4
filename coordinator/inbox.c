#include "inbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrival.h"
#include "children.h"
#include "coordinator.h"
#include "fiber.h"
#include "guard.h"
#include "log.h"
#include "nearest.h"
#include "retention.h"
#include "submission.h"

#define BLOCK_MS 1000u
#define ORPHAN_MS                                                                        \
	"3000" /* an entry its reader has not finished for so long is taken over */
#define ORPHANS_EVERY_MS 1000u
#define READER_IDLE_MS 60000u /* a reader that is silent for longer is forgotten */
#define TIDY_EVERY_MS 30000u
#define CLOSED_MS 20u
#define FULL_MS 300u /* without room for runs, what others have left is read so often */
#define REFUSED_KEPT "10000"

struct inbox {
	struct coordinator *coordinator;
	struct fiber *fiber;
	bool stopping, ended;
	bool holds_own;      /* entries that were read and are not moved yet */
	uint64_t orphans_at; /* when to look for orphans next */
	uint64_t tidy_at;
	uint64_t full_at;      /* when to read although there is no room */
	char orphans_from[48]; /* entry id */
};

/* Entries of one reading, moved by a fiber each. */
struct batch {
	struct inbox *inbox;
	struct arena *arena;
	struct fiber *waiting;
	size_t left;
	struct value_list done; /* ids of entries that can be deleted */
};

struct entry {
	struct batch *batch;
	const char *id;
	const struct value *fields; /* map of name -> VALUE_BIN */
};

/* --- one entry ---------------------------------------------------------------------- */

static enum store_status
keep_refused(struct store *store, struct arena *arena, const struct entry *entry,
    const struct submission *submission, const char *reason)
{
	const struct value *agent = value_get(entry->fields, "agent");
	const struct value *input = value_get(entry->fields, "input");
	const struct value *reply;

	if (redis_text(store_redis(store), arena, BLOCK_MS, &reply, "XADD", STORE_REFUSED,
		"MAXLEN", "~", REFUSED_KEPT, "*", "entry", entry->id, "run",
		submission->run, "reason", reason, "agent",
		agent != NULL ? redis_reply_text(agent) : "", "input",
		input != NULL && input->size < 4096 ? redis_reply_text(input) : "",
		NULL) == REDIS_OK)
		return STORE_OK;
	log_warnx("run=%s refused, but not yet kept in " STORE_REFUSED, submission->run);
	return STORE_FAILED;
}

static enum store_status
refuse(struct coordinator *coordinator, struct arena *arena, const struct entry *entry,
    const struct submission *submission, const char *reason)
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
		status = store_refuse(store, arena, submission->thread, submission->run,
		    "ValueError", reason,
		    value_map(arena, "agent",
			submission->agent != NULL ? value_str(arena, submission->agent)
						  : NULL,
			"entry", value_str(arena, entry->id), "usual_ttl",
			retention_usual(coordinator, arena), NULL));
	if (status == STORE_NONE)
		status =
		    store_unbind_run(store, arena, submission->run, submission->thread);
	return status == STORE_KNOWN ? STORE_OK : status;
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
	    "agent '%s' is not known%s%s%s; see `flotilla agents list`", name,
	    near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : "");
}

static enum store_status
queue(struct coordinator *coordinator, struct arena *arena, const struct entry *entry,
    const struct submission *submission, const char *version, const char **why_r)
{
	struct store *store = coordinator->store;
	struct store_newcomer comer = { submission->thread, submission->run, NULL };
	const struct value *fields;
	const char *other = NULL;
	int64_t before;
	enum store_status status =
	    store_bind_run(store, arena, submission->run, submission->thread, &other);

	/* The run's record is the other's: only fl:refused can tell. */
	if (status == STORE_KNOWN)
		return keep_refused(store, arena, entry, submission,
		    arena_printf(arena, "run '%s' belongs to thread '%s' already",
			submission->run, other));
	if (status != STORE_OK)
		return status;
	fields = value_map(arena, "agent", value_str(arena, submission->agent), "version",
	    value_str(arena, version), "multitask",
	    submission->multitask != NULL ? value_str(arena, submission->multitask)
					  : NULL,
	    "ttl", submission->ttl != NULL ? value_str(arena, submission->ttl) : NULL,
	    "usual_ttl", retention_usual(coordinator, arena), "parent",
	    submission->parent != NULL ? value_str(arena, submission->parent) : NULL,
	    "input",
	    submission->input != NULL ? value_freeze(arena, submission->input) : NULL,
	    "options", value_freeze(arena, submission->options), "entry",
	    value_str(arena, entry->id), NULL);
	comer.fields =
	    value_map_merge(arena, fields, run_options_record(arena, &submission->more));
	/* A child begins when its parent knows of it. */
	if (submission->parent == NULL)
		return arrival_submit(coordinator, arena, &comer, why_r);
	status =
	    store_submit(store, arena, comer.thread, comer.run, comer.fields, &before);
	*why_r = arena_strdup(arena, store_error(store));
	return status;
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
	return children_adopt(
	    coordinator, arena, submission->parent, submission->run, submission->thread);
}

/* Returns STORE_OK when the entry is dealt with and may be deleted. */
static enum store_status
move(struct coordinator *coordinator, struct arena *arena, const struct entry *entry)
{
	struct store *store = coordinator->store;
	struct submission submission;
	const char *version, *why = NULL;
	enum store_status status;

	submission_read(arena, entry->id, entry->fields, &submission);
	if (submission.error != NULL)
		return refuse(coordinator, arena, entry, &submission, submission.error);
	status = store_agent_version(store, arena, submission.agent, &version);
	if (status == STORE_NONE)
		return refuse(coordinator, arena, entry, &submission,
		    unknown_agent(store, arena, submission.agent));
	if (lacks_parent(store, arena, &submission, &status))
		return refuse(coordinator, arena, entry, &submission,
		    arena_printf(
			arena, "parent: run '%s' is not known", submission.parent));
	if (status == STORE_OK)
		status = queue(coordinator, arena, entry, &submission, version, &why);
	/* Nothing is left of the run: neither is the name it was just given. */
	if (status == STORE_NONE)
		return store_unbind_run(store, arena, submission.run, submission.thread);
	if (status == STORE_REJECTED) {
		log_info("run=%s refused: %s", submission.run, why);
		return keep_refused(store, arena, entry, &submission, why);
	}
	status = adopt(coordinator, arena, &submission, status);
	if (status == STORE_OK && submission.parent != NULL)
		coordinator_claim(coordinator, submission.thread);
	return status == STORE_KNOWN ? STORE_OK : status;
}

static void
entry_main(void *arg)
{
	struct entry *entry = arg;
	struct batch *batch = entry->batch;
	struct arena *arena = arena_new();

	if (move(batch->inbox->coordinator, arena, entry) == STORE_OK)
		value_list_add(&batch->done, value_str(batch->arena, entry->id));
	else
		log_warnx("entry=%s stays in the inbox: %s", entry->id,
		    store_error(batch->inbox->coordinator->store));
	arena_destroy(&arena);
	batch->left--;
	fiber_wake(batch->waiting);
}

/* --- batches ------------------------------------------------------------------------ */

static void
delete_done(struct batch *batch)
{
	/* Whoever dies between the two leaves an entry that is pending and gone: XAUTOCLAIM
	 * drops it. The other way round it would lie in the stream for ever; so nothing is
	 * acknowledged that may not be deleted, and it is moved again, which does no harm. */
	static const char *const verbs[2][3] = { { "XDEL", STORE_INBOX, NULL },
		{ "XACK", STORE_INBOX, STORE_INBOX_GROUP } };
	size_t count = batch->done.count, verb, i;

	for (verb = 0; verb < 2 && count > 0; verb++) {
		struct redis_arg *args =
		    arena_alloc(batch->arena, (count + 3) * sizeof *args);
		const struct value *reply;
		size_t n = 0;

		for (i = 0; i < 3 && verbs[verb][i] != NULL; i++)
			args[n++] =
			    (struct redis_arg){ verbs[verb][i], strlen(verbs[verb][i]) };
		for (i = 0; i < count; i++)
			args[n++] = (struct redis_arg){ batch->done.items[i]->text,
				batch->done.items[i]->size };
		if (redis_call(batch->inbox->coordinator->redis, batch->arena, BLOCK_MS,
			args, n, &reply) != REDIS_OK)
			return;
	}
}

/* Moves entries ([[id, [name, text, ...]], ...]); returns when all are dealt with. */
static void
move_all(struct inbox *inbox, struct arena *arena, const struct value *entries)
{
	struct batch batch = {
		.inbox = inbox, .arena = arena, .waiting = fiber_current()
	};
	size_t count = value_size(entries), i, j;
	struct entry *all = arena_alloc(arena, (count + 1) * sizeof *all);

	batch.done.arena = arena;
	for (i = 0; i < count; i++) {
		const struct value *one = value_at(entries, i);
		const struct value *flat = value_at(one, 1);
		struct value_fields fields = { .arena = arena };

		if (value_is_nil(flat)) { /* deleted, but not acknowledged */
			value_list_add(&batch.done, value_at(one, 0));
			continue;
		}
		for (j = 0; j + 1 < value_size(flat); j += 2)
			value_fields_set(&fields, redis_reply_text(value_at(flat, j)),
			    value_at(flat, j + 1));
		all[i] = (struct entry){ &batch, redis_reply_text(value_at(one, 0)),
			value_fields_end(&fields) };
		batch.left++;
		if (fiber_start(inbox->coordinator->loop, "entry", entry_main, &all[i]) ==
		    NULL)
			batch.left--; /* it stays pending and is taken over later */
	}
	fiber_shield(true);
	while (batch.left > 0)
		fiber_wait();
	delete_done(&batch);
	fiber_shield(false);
}

static void
make_group(struct inbox *inbox, struct arena *arena)
{
	const struct value *reply;

	redis_text(inbox->coordinator->redis, arena, BLOCK_MS, &reply, "XGROUP", "CREATE",
	    STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM", NULL);
}

/* Entries whose reader died between reading and deleting. */
static void
take_orphans(struct inbox *inbox, struct arena *arena)
{
	struct coordinator *coordinator = inbox->coordinator;
	const struct value *reply;

	if (loop_now_ms(coordinator->loop) < inbox->orphans_at)
		return;
	inbox->orphans_at = loop_now_ms(coordinator->loop) + ORPHANS_EVERY_MS;
	if (redis_text(coordinator->redis, arena, BLOCK_MS, &reply, "XAUTOCLAIM",
		STORE_INBOX, STORE_INBOX_GROUP, coordinator->settings->common.name,
		ORPHAN_MS, inbox->orphans_from, "COUNT", "128", NULL) != REDIS_OK)
		return;
	/* A call looks at a part of what is pending: the next one goes on behind it. */
	snprintf(inbox->orphans_from, sizeof inbox->orphans_from, "%s",
	    redis_reply_text(value_at(reply, 0)));
	move_all(inbox, arena, value_at(reply, 1));
}

/* Entries that were read under our name and never finished: by us, or by a process of that name
 * before us. */
static void
finish_own(struct inbox *inbox, struct arena *arena)
{
	struct coordinator *coordinator = inbox->coordinator;
	const struct value *reply;

	if (redis_text(coordinator->redis, arena, BLOCK_MS, &reply, "XREADGROUP", "GROUP",
		STORE_INBOX_GROUP, coordinator->settings->common.name, "COUNT", "128",
		"STREAMS", STORE_INBOX, "0", NULL) != REDIS_OK)
		return;
	inbox->holds_own = false;
	move_all(inbox, arena, value_at(value_at(reply, 0), 1));
}

/* Forgets readers that have gone. */
static void
tidy(struct inbox *inbox, struct arena *arena)
{
	uint64_t now_ms = loop_now_ms(inbox->coordinator->loop);

	if (now_ms < inbox->tidy_at)
		return;
	inbox->tidy_at = now_ms + TIDY_EVERY_MS;
	store_tidy_inbox(inbox->coordinator->store, arena, "", READER_IDLE_MS);
}

/* Leaves nothing behind. The connection goes first: a read that blocks in it could still be given
 * an entry. */
static void
leave(struct inbox *inbox)
{
	struct coordinator *coordinator = inbox->coordinator;
	struct arena *arena = arena_new();

	redis_destroy(&coordinator->inbox_redis);
	fiber_shield(true);
	if (redis_is_up(coordinator->redis) &&
	    redis_refusal(coordinator->redis) == NULL) {
		finish_own(inbox, arena);
		store_tidy_inbox(coordinator->store, arena,
		    coordinator->settings->common.name, READER_IDLE_MS);
	}
	fiber_shield(false);
	arena_destroy(&arena);
}

/* block: how long Redis may wait for entries, "1" at least: ms as text. */
static void
read_some(struct inbox *inbox, struct arena *arena, const char *block)
{
	struct coordinator *coordinator = inbox->coordinator;
	const struct value *reply;

	switch (redis_text(coordinator->inbox_redis, arena, BLOCK_MS, &reply,
	    "XREADGROUP", "GROUP", STORE_INBOX_GROUP, coordinator->settings->common.name,
	    "COUNT", "128", "BLOCK", block, "STREAMS", STORE_INBOX, ">", NULL)) {
	case REDIS_OK:
		/* A read that was under way when the inbox was closed has got something. */
		inbox->holds_own = !guard_admits(coordinator->guard);
		if (!inbox->holds_own)
			move_all(inbox, arena, value_at(value_at(reply, 0), 1));
		break;
	case REDIS_ERROR:
		make_group(inbox, arena); /* a Redis that lost everything has no group */
		fiber_sleep(100);
		break;
	default:
		fiber_sleep(100);
	}
}

static bool
has_room(const struct coordinator *coordinator)
{
	return zhashx_size(coordinator->runs) < (size_t)coordinator->settings->slots;
}

/* Runs that wait are in the order of their priorities; those in the inbox are not. So it is read
 * without room for runs, too, but leaves those who have some the time to be first. */
static bool
reads_when_full(struct inbox *inbox)
{
	uint64_t now_ms = loop_now_ms(inbox->coordinator->loop);

	if (now_ms < inbox->full_at)
		return false;
	inbox->full_at = now_ms + FULL_MS;
	return true;
}

static void
inbox_main(void *arg)
{
	struct inbox *inbox = arg;
	struct arena *arena = arena_new();
	bool room;

	while (!guard_admits(inbox->coordinator->guard) && fiber_sleep(CLOSED_MS) == 0)
		continue;
	make_group(inbox, arena);
	finish_own(inbox, arena);
	arena_destroy(&arena);
	while (!inbox->stopping && !fiber_cancelled()) {
		arena = arena_new();
		room = has_room(inbox->coordinator);
		if (guard_admits(inbox->coordinator->guard) &&
		    (room || reads_when_full(inbox))) {
			if (inbox->holds_own)
				finish_own(inbox, arena);
			take_orphans(inbox, arena);
			tidy(inbox, arena);
			read_some(inbox, arena, room ? "1000" : "1");
		} else {
			fiber_sleep(CLOSED_MS);
		}
		arena_destroy(&arena);
	}
	leave(inbox);
	inbox->ended = true;
}

struct inbox *
inbox_new(struct coordinator *coordinator)
{
	struct inbox *inbox = calloc(1, sizeof *inbox);

	if (inbox == NULL)
		abort();
	inbox->coordinator = coordinator;
	strcpy(inbox->orphans_from, "0-0");
	inbox->fiber = fiber_start(coordinator->loop, "inbox", inbox_main, inbox);
	return inbox;
}

void
inbox_stop(struct inbox *inbox)
{
	inbox->stopping = true;
	if (!inbox->ended)
		fiber_cancel(inbox->fiber);
}

int
inbox_idle(const struct inbox *inbox)
{
	return inbox->ended;
}

void
inbox_destroy(struct inbox **inbox_p)
{
	free(*inbox_p);
	*inbox_p = NULL;
}
