/* The fleet's life once more, write by write, as Redis has kept it: what holds in the end may
 * have been broken on the way. Writes of one function are one transaction; what must hold
 * after each step is looked at where it ends. */
#include "checker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aof.h"
#include "id_table.h"
#include "memory.h"

#define ID_BYTES 160
#define GATE_BYTES (3 * ID_BYTES)
#define TOUCHED_MAX 256u

/* A thread as it is at this point of the history. */
struct thread {
	struct id_key by_name; /* "fl:{s17}:t:<thread>" without its ":t:" */
	const char *prefix;    /* "fl:{s17}:" */
	char run[ID_BYTES], owner[ID_BYTES];
	char commit[GATE_BYTES], look[GATE_BYTES]; /* the last one; the field as it is */
	long long epoch, version, checkpoints, claimed_ms;
	long waiting;
	bool due;
};

/* As the library keeps it: "until length". */
struct lease {
	long long until_ms, length_ms;
};

/* A run, a lease, an owner or a commit id. */
struct item {
	struct id_key by_name;
	struct lease lease;
	bool ended;      /* of a run */
	bool cancelling; /* of a run: somebody wants it ended */
	unsigned steps;  /* of a run, committed although it was cancelling */
	const char *who; /* of an owner: the coordinator's name */
};

struct history {
	struct check *check;
	struct arena *arena;
	struct id_table *threads, *runs, *leases, *commits;
	struct thread *touched[TOUCHED_MAX];
	size_t touched_count;
	bool inside; /* a transaction */
	/* What the transaction has said so far. */
	struct lease lease; /* that it gave */
	struct thread *claimed;
	bool claim_was_live;
	char claimed_from[ID_BYTES];
};

static const char *
text_of(struct history *history, const struct aof_argument *argument)
{
	return arena_copy(history->arena, argument->text, argument->size);
}

static struct item *
item_of(struct history *history, struct id_table *table, const char *name, bool *is_new_r)
{
	struct item *item = id_table_get(table, name);

	*is_new_r = item == NULL;
	if (item != NULL)
		return item;
	item = arena_alloc(history->arena, sizeof *item);
	id_table_put(table, &item->by_name, arena_strdup(history->arena, name), item);
	return item;
}

static struct thread *
thread_of(struct history *history, const char *prefix, const char *id)
{
	char name[ID_BYTES * 2];
	struct thread *thread;

	snprintf(name, sizeof name, "%s%s", prefix, id);
	thread = id_table_get(history->threads, name);
	if (thread == NULL) {
		thread = arena_alloc(history->arena, sizeof *thread);
		thread->prefix = arena_strdup(history->arena, prefix);
		id_table_put(history->threads, &thread->by_name,
		    arena_strdup(history->arena, name), thread);
	}
	if (history->touched_count < TOUCHED_MAX)
		history->touched[history->touched_count++] = thread;
	return thread;
}

/* --- writes to a thread ---------------------------------------------------------------------- */

static void
set_epoch(struct history *history, struct thread *thread, long long epoch)
{
	tally(history->check->tally, HOLDS_EPOCHS_RISE, epoch > thread->epoch,
	    "%s: epoch %lld after %lld", (const char *)thread->by_name.bytes, epoch,
	    thread->epoch);
	thread->epoch = epoch;
}

/* gate: "owner epoch version id" (store/own.lua), with "!" in front where the next one has to look.
 * One that does not advance the version was done before, and its answer was lost: what is there is written once more; behind
 * an end that may be another's gate. */
static void
set_commit(
    struct history *history, struct thread *thread, const char *gate, bool advances)
{
	struct tally *t = history->check->tally;
	const char *name = thread->by_name.bytes, *id = gate[0] == '!' ? gate + 1 : gate;
	char expected[GATE_BYTES], commit[ID_BYTES * 2 + GATE_BYTES];
	bool is_new;

	if (!advances) {
		tally(t, HOLDS_NO_DOUBLE_COMMIT, strcmp(gate, thread->look) == 0,
		    "%s: commit %s after %s, and no new version", name, gate,
		    thread->look);
		return;
	}
	snprintf(thread->commit, sizeof thread->commit, "%s", id);
	/* Two threads that are claimed in one turn of Redis may have the same epoch. */
	snprintf(commit, sizeof commit, "%s %s", name, id);
	item_of(history, history->commits, commit, &is_new);
	tally(t, HOLDS_NO_DOUBLE_COMMIT, is_new, "%s: commit %s twice", name, id);
	snprintf(expected, sizeof expected, "%s %lld %lld ", thread->owner, thread->epoch,
	    thread->version);
	tally(t, HOLDS_EPOCHS_RISE, strncmp(id, expected, strlen(expected)) == 0,
	    "%s: commit %s, but the claim is %s", name, id, expected);
	history->check->commits++;
}

static void
set_look(struct history *history, struct thread *thread, const char *gate, bool is_commit,
    bool advances)
{
	if (is_commit)
		set_commit(history, thread, gate, advances);
	snprintf(thread->look, sizeof thread->look, "%s", gate);
}

static void
set_field(struct history *history, struct thread *thread, const char *field,
    const struct aof_argument *value)
{
	if (strcmp(field, "epoch") == 0) {
		set_epoch(history, thread, aof_number(value));
		history->claimed = thread;
	} else if (strcmp(field, "version") == 0) {
		tally(history->check->tally, HOLDS_NO_DOUBLE_COMMIT,
		    aof_number(value) == thread->version + 1,
		    "%s: version %lld after %lld", (const char *)thread->by_name.bytes,
		    aof_number(value), thread->version);
		thread->version = aof_number(value);
	} else if (strcmp(field, "owner") == 0) {
		snprintf(thread->owner, sizeof thread->owner, "%.*s", (int)value->size,
		    value->text);
	}
}

/* The answer to a commit says that the run is wanted ended: one may have been under way, and
 * the next one is the end. */
static void
check_cancelling(struct history *history, const struct thread *thread)
{
	struct item *run = id_table_get(history->runs, thread->run);

	if (run == NULL || !run->cancelling)
		return;
	run->steps++;
	tally(history->check->tally, HOLDS_CANCEL, run->steps <= 1,
	    "%s made %u steps after it was cancelled", thread->run, run->steps);
}

/* The head comes in one command, of which the run is set last: a commit that ends the run
 * is still that run's. */
static void
write_thread(
    struct history *history, struct thread *thread, const struct aof_command *command)
{
	const struct aof_argument *run = NULL;
	bool commits = false;
	size_t i;

	snprintf(history->claimed_from, ID_BYTES, "%s", thread->owner);
	history->claim_was_live = thread->run[0] != '\0';
	for (i = 2; i + 1 < command->count; i += 2) {
		const char *field = text_of(history, &command->arguments[i]);
		const struct aof_argument *value = &command->arguments[i + 1];

		commits = commits || strcmp(field, "version") == 0;
		if (strcmp(field, "run") == 0)
			run = value;
		else if (strcmp(field, "look") == 0)
			set_look(history, thread, text_of(history, value),
			    commits || command->count == 4, commits);
		else
			set_field(history, thread, field, value);
	}
	if (commits && run == NULL)
		check_cancelling(history, thread);
	if (run != NULL)
		snprintf(
		    thread->run, sizeof thread->run, "%.*s", (int)run->size, run->text);
}

/* --- writes to a run --------------------------------------------------------------------------- */

static void
write_run(struct history *history, const char *name, const struct aof_command *command)
{
	struct tally *t = history->check->tally;
	bool is_new;
	struct item *run = item_of(history, history->runs, name, &is_new);
	const char *owner = NULL;
	size_t i;

	for (i = 2; i + 1 < command->count; i += 2) {
		const struct aof_argument *value = &command->arguments[i + 1];

		if (aof_is(&command->arguments[i], "owner"))
			owner = text_of(history, value);
		if (aof_is(&command->arguments[i], "coordinator") && owner != NULL)
			item_of(history, history->leases, owner, &is_new)->who =
			    text_of(history, value);
		if (aof_is(&command->arguments[i], "cancelling"))
			run->cancelling = true;
		if (!aof_is(&command->arguments[i], "status"))
			continue;
		tally(t, HOLDS_ATTEMPTS, !run->ended, "%s is %.*s after its end", name,
		    (int)value->size, value->text);
		run->ended = !aof_is(value, "queued") && !aof_is(value, "running");
	}
}

/* --- commands ------------------------------------------------------------------------------------ */

static struct lease
read_lease(const struct aof_argument *argument)
{
	struct lease lease = { 0 };
	char text[64];

	snprintf(text, sizeof text, "%.*s", (int)argument->size, argument->text);
	sscanf(text, "%lld %lld", &lease.until_ms, &lease.length_ms);
	return lease;
}

static void
write_leases(
    struct history *history, const char *prefix, const struct aof_command *command)
{
	bool sets = aof_is(&command->arguments[0], "HSET"), is_new;
	size_t i;

	for (i = 2; i + (sets ? 1 : 0) < command->count; i += sets ? 2 : 1) {
		const char *name = arena_printf(history->arena, "%s%.*s", prefix,
		    (int)command->arguments[i].size, command->arguments[i].text);

		item_of(history, history->leases, name, &is_new)->lease =
		    sets ? read_lease(&command->arguments[i + 1]) : (struct lease){ 0 };
	}
}

/* What follows the prefix in a key: a shard's own set, a thread or a run. */
static void
write_shard(struct history *history, const char *prefix, const char *rest,
    const struct aof_command *command)
{
	const struct aof_argument *verb = &command->arguments[0];
	size_t i;

	if (strcmp(rest, "leases") == 0) {
		/* A claim's lease is checked against what was there before it. */
		if (aof_is(verb, "HSET"))
			history->lease =
			    read_lease(&command->arguments[command->count - 1]);
		if (history->claimed == NULL)
			write_leases(history, prefix, command);
	} else if (strcmp(rest, "due") == 0) {
		bool adds = aof_is(verb, "ZADD");

		for (i = adds ? command->count - 1 : 2; i < command->count; i++)
			thread_of(
			    history, prefix, text_of(history, &command->arguments[i]))
			    ->due = adds;
	}
}

/* Keys behind a thread's or a run's own: ":q", ":c". */
static void
write_list(struct history *history, const char *prefix, char *id, const char *list,
    const struct aof_command *command)
{
	const struct aof_argument *verb = &command->arguments[0];
	struct thread *thread = thread_of(history, prefix, id);

	if (strcmp(list, ":c") == 0) {
		thread->checkpoints += aof_is(verb, "RPUSH") ? 1 : 0;
	} else if (strcmp(list, ":q") == 0) {
		if (aof_is(verb, "RPUSH"))
			thread->waiting += (long)command->count - 2;
		else if (aof_is(verb, "LPOP") || aof_is(verb, "LREM"))
			thread->waiting--;
		else if (aof_is(verb, "LTRIM")) /* from its number on */
			thread->waiting -= aof_number(&command->arguments[2]);
	}
}

/* What was deleted: its name is another's from now on. kind: 't' or 'r'; list: NULL for a hash. */
static void
forget(struct history *history, const char *prefix, char kind, const char *id,
    const char *list)
{
	struct thread *thread = kind == 't' ? thread_of(history, prefix, id) : NULL;
	struct item *run =
	    kind == 'r' && list == NULL ? id_table_get(history->runs, id) : NULL;

	if (run != NULL) {
		run->ended = run->cancelling = false;
		run->steps = 0;
	} else if (thread != NULL && list == NULL) {
		thread->run[0] = thread->owner[0] = thread->commit[0] = thread->look[0] =
		    '\0';
		thread->epoch = thread->version = 0;
	} else if (thread != NULL && strcmp(list, ":c") == 0) {
		thread->checkpoints = 0;
	} else if (thread != NULL && strcmp(list, ":q") == 0) {
		thread->waiting = 0;
	}
}

static void
write_key(struct history *history, const char *key, const struct aof_command *command)
{
	const char *end = strstr(key, "}:"), *list;
	const struct aof_argument *verb = &command->arguments[0];
	char prefix[32], id[ID_BYTES];

	if (strncmp(key, "fl:{s", 5) != 0 || end == NULL)
		return;
	snprintf(prefix, sizeof prefix, "%.*s", (int)(end + 2 - key), key);
	end += 2;
	if (strncmp(end, "t:", 2) != 0 && strncmp(end, "r:", 2) != 0) {
		write_shard(history, prefix, end, command);
		return;
	}
	list = strchr(end + 2, ':'); /* our ids have no colon */
	snprintf(id, sizeof id, "%.*s",
	    list != NULL ? (int)(list - end - 2) : (int)strlen(end + 2), end + 2);
	if (aof_is(verb, "DEL"))
		forget(history, prefix, end[0], id, list);
	else if (list != NULL && end[0] == 't')
		write_list(history, prefix, id, list, command);
	else if (list == NULL && end[0] == 't' && aof_is(verb, "HSET"))
		write_thread(history, thread_of(history, prefix, id), command);
	else if (list == NULL && end[0] == 'r' && aof_is(verb, "HSET"))
		write_run(history, id, command);
}

/* --- transactions ---------------------------------------------------------------------------------- */

/* By the rule of store/fleet.lua (lease_end): one that lasts for more than twice its length was made before
 * the clock was set back. */
static bool
is_alive(const struct lease *lease, long long now_ms)
{
	return lease->until_ms > now_ms &&
	       lease->until_ms - now_ms <= 2 * lease->length_ms;
}

/* When the coordinator of that session was killed, while it had the thread; 0: it was not. */
static long long
death_of(const struct history *history, const char *session, const struct thread *thread,
    long long before_ms)
{
	const struct nemesis *nemesis = history->check->nemesis;
	const struct item *owner = id_table_get(history->leases, session);
	size_t i;

	for (i = 0; owner != NULL && owner->who != NULL && i < nemesis->death_count; i++)
		if (strcmp(nemesis->deaths[i].name, owner->who) == 0 &&
		    nemesis->deaths[i].at_ms > thread->claimed_ms &&
		    nemesis->deaths[i].at_ms <= before_ms)
			return nemesis->deaths[i].at_ms;
	return 0;
}

static struct item *
lease_of(struct history *history, const struct thread *thread, const char *owner)
{
	char name[ID_BYTES * 2];
	bool is_new;

	snprintf(name, sizeof name, "%s%s", thread->prefix, owner);
	return item_of(history, history->leases, name, &is_new);
}

/* The owner before must have had no lease any more, by the clock that gave the new one. */
static void
end_claim(struct history *history)
{
	struct check *check = history->check;
	struct thread *thread = history->claimed;
	const char *from = history->claimed_from;
	const struct lease *before = &lease_of(history, thread, from)->lease;
	long long now_ms = history->lease.until_ms - history->lease.length_ms;

	check->claims++;
	if (history->claim_was_live && from[0] != '\0' &&
	    strcmp(from, thread->owner) != 0) {
		long long died_ms = death_of(history, from, thread, now_ms);

		check->takeovers++;
		tally(check->tally, HOLDS_ONE_LEASE, !is_alive(before, now_ms),
		    "%s was claimed %lld ms before the lease of its owner ended",
		    (const char *)thread->by_name.bytes, before->until_ms - now_ms);
		if (died_ms > 0 &&
		    nemesis_clock_was_right(check->nemesis, died_ms, now_ms))
			times_add(&check->takeover, now_ms - died_ms);
	}
	thread->claimed_ms = now_ms;
	lease_of(history, thread, thread->owner)->lease = history->lease;
}

static void
end_transaction(struct history *history)
{
	size_t i;

	if (history->claimed != NULL && history->lease.length_ms > 0)
		end_claim(history);
	for (i = 0; i < history->touched_count; i++) {
		const struct thread *thread = history->touched[i];
		bool live = thread->run[0] != '\0' || thread->waiting > 0;

		tally(history->check->tally, HOLDS_ALWAYS_FOUND, !live || thread->due,
		    "%s: run '%s', %ld waiting, and it is not due",
		    (const char *)thread->by_name.bytes, thread->run, thread->waiting);
		tally(history->check->tally, HOLDS_NO_DOUBLE_COMMIT,
		    thread->checkpoints == thread->version,
		    "%s: %lld checkpoints at version %lld",
		    (const char *)thread->by_name.bytes, thread->checkpoints,
		    thread->version);
	}
	history->touched_count = 0;
	history->claimed = NULL;
	history->lease = (struct lease){ 0 };
}

static void
read_command(struct history *history, const struct aof_command *command)
{
	size_t keys = aof_is(&command->arguments[0], "DEL") ? command->count : 2, i;

	if (aof_is(&command->arguments[0], "MULTI")) {
		history->inside = true;
		return;
	}
	if (aof_is(&command->arguments[0], "EXEC"))
		history->inside = false;
	for (i = 1; i < keys && i < command->count; i++)
		write_key(history, text_of(history, &command->arguments[i]), command);
	if (!history->inside)
		end_transaction(history);
}

void
check_history(struct check *check)
{
	struct history history = { .check = check, .arena = arena_new() };
	struct aof_command *command = xcalloc(1, sizeof *command);
	struct aof *aof = aof_open(check->fleet->data);
	int more = -1;

	history.threads = id_table_new(1);
	history.runs = id_table_new(2);
	history.leases = id_table_new(3);
	history.commits = id_table_new(4);
	while (aof != NULL && (more = aof_next(aof, command)) == 1)
		read_command(&history, command);
	tally(check->tally, HOLDS_NO_DOUBLE_COMMIT, aof != NULL && more == 0,
	    "Redis's file cannot be read: %s", strerror(errno));
	tally(check->tally, HOLDS_NO_DOUBLE_COMMIT, check->commits > 0,
	    "Redis's file has no commit");
	if (aof != NULL)
		aof_close(&aof);
	free(command);
	id_table_destroy(&history.threads);
	id_table_destroy(&history.runs);
	id_table_destroy(&history.leases);
	id_table_destroy(&history.commits);
	arena_destroy(&history.arena);
}
