#include "caller.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "bodies.h"
#include "fiber.h"
#include "id_table.h"
#include "memory.h"
#include "settled.h"

#define LEAVE_CHECK_MS (RESEND_MS / 2)
/* After a call's deadline the broker says so; this is how long we wait for that. */
#define SILENCE_MS (EXPIRE_GRACE_MS + 2 * RESEND_MS)
#define FORGOTTEN_MAX 10000u

enum entry_state {
	ENTRY_CALLING,  /* a fiber waits */
	ENTRY_ANSWERED, /* its fiber has the outcome, which is not stored yet */
	ENTRY_LEAVING,  /* cancelled: nobody waits, CANCEL is sent until it ends */
};

/* On the stack of the fiber that waits. */
struct wait {
	struct fiber *fiber;
	struct entry *entry; /* NULL: taken away */
};

struct entry {
	struct id_key key;
	enum entry_state state;
	struct wait *wait;    /* CALLING */
	struct header header; /* of CALL; strings are ours, but for what the wait lends */
	struct parts bodies;  /* CALLING: sent by reference */
	uint64_t deadline_ms; /* absolute */
	uint64_t next_ms;     /* CALLING, not acked: when to send (again) */
	bool acked;           /* the broker has it, as long as the session lasts */
	bool answered;
	bool sent;   /* in this session, and not refused */
	bool unsure; /* some broker may know it: flag it when it is sent */
	enum wire_code code;
	char *reason;
	struct parts result;
	TAILQ_ENTRY(entry) link; /* of caller->entries */
	char *run, *service, *tenant, *idempotency_key;
	char id[];
};

/* Who waits for cancelled calls to end; on its fiber's stack. */
struct leaver {
	struct fiber *fiber;
	TAILQ_ENTRY(leaver) link;
};

struct caller {
	struct loop *loop;
	struct peer *peer;
	struct id_table *ids;
	TAILQ_HEAD(, entry) entries;
	TAILQ_HEAD(, leaver) leavers;
	struct settled *forgotten; /* their outcomes are for somebody else */
	struct timer *timer;       /* for those LEAVING */
};

/* --- entries -------------------------------------------------------------------------- */

static void
set_request(struct entry *entry, const struct call_request *request, uint64_t now_ms)
{
	entry->run = xstrdup(request->run);
	entry->service = xstrdup(request->service);
	entry->tenant = xstrdup(request->tenant);
	entry->idempotency_key = xstrdup(request->idempotency_key);
	entry->header = (struct header){
		.type = MSG_CALL,
		.call_id = entry->id,
		.run = entry->run,
		.step = request->step,
		.epoch = request->epoch,
		.service = entry->service,
		.priority = request->priority,
		.tenant = entry->tenant,
		.idempotency_key = entry->idempotency_key,
	};
	entry->header.flags = request->flags & ~(unsigned)WIRE_RESEND;
	entry->unsure = (request->flags & WIRE_RESEND) != 0;
	entry->deadline_ms =
	    now_ms + (request->deadline_ms > 0 ? request->deadline_ms : CALL_DEADLINE_MS);
}

static void
add_body(struct parts *parts, const struct value *value)
{
	struct packet packet = { 0 };

	value_pack(&packet, value);
	parts_add_packet(parts, &packet);
}

static struct entry *
entry_new(struct caller *caller, const struct call_request *request)
{
	size_t size = strlen(request->id) + 1;
	struct entry *entry = xcalloc(1, sizeof *entry + size);

	memcpy(entry->id, request->id, size);
	set_request(entry, request, loop_now_ms(caller->loop));
	add_body(&entry->bodies, request->profile);
	add_body(&entry->bodies, request->request);
	id_table_put(caller->ids, &entry->key, entry->id, entry);
	TAILQ_INSERT_TAIL(&caller->entries, entry, link);
	return entry;
}

static void
wake_leavers(struct caller *caller)
{
	struct leaver *leaver;

	TAILQ_FOREACH(leaver, &caller->leavers, link)
		fiber_wake(leaver->fiber);
}

static void
entry_destroy(struct caller *caller, struct entry *entry)
{
	if (entry->state == ENTRY_LEAVING)
		wake_leavers(caller);
	if (entry->wait != NULL) {
		entry->wait->entry = NULL;
		fiber_wake(entry->wait->fiber);
	}
	id_table_remove(caller->ids, &entry->key);
	TAILQ_REMOVE(&caller->entries, entry, link);
	parts_release(&entry->bodies);
	parts_release(&entry->result);
	free(entry->run);
	free(entry->service);
	free(entry->tenant);
	free(entry->idempotency_key);
	free(entry->reason);
	free(entry);
}

struct caller *
caller_new(struct loop *loop, struct peer *peer)
{
	struct caller *caller = xcalloc(1, sizeof *caller);
	uint64_t seed = 0;

	if (getentropy(&seed, sizeof seed) == -1)
		seed = loop_now_us();
	caller->loop = loop;
	caller->peer = peer;
	caller->ids = id_table_new(seed);
	caller->forgotten = settled_new(seed, FORGOTTEN_MAX, SETTLED_KEEP_MS);
	TAILQ_INIT(&caller->entries);
	TAILQ_INIT(&caller->leavers);
	return caller;
}

void
caller_destroy(struct caller **caller_p)
{
	struct caller *caller = *caller_p;

	if (caller == NULL)
		return;
	timer_stop(&caller->timer);
	while (!TAILQ_EMPTY(&caller->entries)) {
		assert(TAILQ_FIRST(&caller->entries)->wait == NULL);
		entry_destroy(caller, TAILQ_FIRST(&caller->entries));
	}
	id_table_destroy(&caller->ids);
	settled_destroy(&caller->forgotten);
	free(caller);
	*caller_p = NULL;
}

size_t
caller_pending(const struct caller *caller)
{
	const struct entry *entry;
	size_t count = 0;

	TAILQ_FOREACH(entry, &caller->entries, link)
		count += entry->state != ENTRY_ANSWERED;
	return count;
}

/* --- sending -------------------------------------------------------------------------- */

static void
send_call(struct caller *caller, struct entry *entry, uint64_t now_ms)
{
	struct header header = entry->header;
	struct parts bodies = { .count = 0 };

	if (entry->unsure || entry->sent)
		header.flags |= WIRE_RESEND;
	header.deadline_ms =
	    entry->deadline_ms > now_ms ? entry->deadline_ms - now_ms : 1;
	if (header.deadline_ms > CALL_DEADLINE_MS_MAX)
		header.deadline_ms = CALL_DEADLINE_MS_MAX;
	parts_add_frame(&bodies, &entry->bodies, BODY_PROFILE);
	parts_add_frame(&bodies, &entry->bodies, BODY_REQUEST);
	if (peer_send(caller->peer, &header, &bodies) == 0)
		entry->sent = true;
	entry->next_ms = now_ms + RESEND_MS;
}

static void
send_about(struct caller *caller, enum message_type type, const struct header *call)
{
	const struct header header = {
		.type = type,
		.call_id = call->call_id,
		.run = call->run,
		.epoch = call->epoch,
	};

	peer_send(caller->peer, &header, NULL);
}

/* --- the peer's events ---------------------------------------------------------------- */

void
caller_up(struct caller *caller)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &caller->entries, link) {
		if (entry->state == ENTRY_LEAVING) {
			send_about(caller, MSG_CANCEL, &entry->header);
		} else if (entry->wait != NULL) {
			entry->next_ms = 0;
			fiber_wake(entry->wait->fiber);
		}
	}
}

/* What was sent may have arrived or not. */
void
caller_down(struct caller *caller)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &caller->entries, link) {
		entry->unsure = entry->unsure || entry->sent;
		entry->sent = entry->acked = false;
	}
}

static void
on_busy(struct caller *caller, struct entry *entry, const struct header *header)
{
	uint64_t pause_ms =
	    header->retry_after_ms > 0 ? header->retry_after_ms : RESEND_MS;

	entry->sent = entry->acked = false;
	entry->next_ms = loop_now_ms(caller->loop) + pause_ms;
	fiber_wake(entry->wait->fiber);
}

static void
on_answer(struct entry *entry, const struct header *header, struct parts *bodies)
{
	if (entry->answered || header->code == CODE_UNKNOWN_CALL)
		return;
	entry->answered = true;
	entry->code = (enum wire_code)header->code;
	entry->reason = xstrdup(header->reason);
	parts_move(&entry->result, bodies, 0);
	fiber_wake(entry->wait->fiber);
}

/* Of a call that nobody here waits for: stored or cancelled long ago, its RESULT_ACK was
 * lost; or it was given up to another owner, who shall get it. */
static void
on_stray_result(struct caller *caller, const struct header *header)
{
	if (!settled_has(caller->forgotten, header->call_id))
		send_about(caller, MSG_RESULT_ACK, header);
}

static void
on_result(struct caller *caller, struct entry *entry, const struct header *header,
    struct parts *bodies)
{
	if (entry->state == ENTRY_CALLING) {
		on_answer(entry, header, bodies);
	} else if (entry->state == ENTRY_LEAVING) {
		send_about(caller, MSG_RESULT_ACK, &entry->header);
		entry_destroy(caller, entry);
	}
	/* else it comes again because it is not stored yet */
}

bool
caller_message(struct caller *caller, const struct header *header, struct parts *bodies)
{
	struct entry *entry =
	    header->call_id == NULL ? NULL : id_table_get(caller->ids, header->call_id);
	bool waits = entry != NULL && entry->state == ENTRY_CALLING;

	switch (header->type) {
	case MSG_CALL_ACK:
		if (waits)
			entry->acked = true;
		return true;
	case MSG_BUSY:
		if (waits && !entry->answered)
			on_busy(caller, entry, header);
		return true;
	case MSG_RESULT:
		if (entry == NULL)
			on_stray_result(caller, header);
		else
			on_result(caller, entry, header, bodies);
		return true;
	default:
		return false;
	}
}

/* --- calling -------------------------------------------------------------------------- */

/* Sends entry when it is due. Returns how long to wait for news. */
static uint64_t
tend(struct caller *caller, struct entry *entry, uint64_t end_ms)
{
	uint64_t now_ms = loop_now_ms(caller->loop);
	uint64_t until_ms = end_ms;

	if (!entry->acked && peer_is_up(caller->peer)) {
		if (now_ms >= entry->next_ms)
			send_call(caller, entry, now_ms);
		if (entry->next_ms < until_ms)
			until_ms = entry->next_ms;
	}
	return until_ms > now_ms ? until_ms - now_ms : 1;
}

/* Returns 0 with an answered entry, -1 cancelled or taken away. */
static int
wait_for_answer(struct caller *caller, struct wait *wait)
{
	uint64_t end_ms = wait->entry->deadline_ms + SILENCE_MS;

	while (wait->entry != NULL && !wait->entry->answered) {
		if (loop_now_ms(caller->loop) >= end_ms) {
			wait->entry->answered = true;
			wait->entry->code = CODE_EXPIRED;
			wait->entry->reason =
			    xstrdup("the broker did not answer in time");
		} else if (fiber_wait_ms(tend(caller, wait->entry, end_ms)) == -1) {
			return -1;
		}
	}
	return wait->entry == NULL ? -1 : 0;
}

static void
take_outcome(struct entry *entry, struct arena *arena, struct call_outcome *outcome)
{
	const char *error = NULL;

	*outcome = (struct call_outcome){ .code = entry->code };
	if (entry->reason != NULL)
		outcome->reason = arena_strdup(arena, entry->reason);
	if (entry->result.count > BODY_RESULT &&
	    value_unpack(arena, parts_data(&entry->result, BODY_RESULT),
		parts_size(&entry->result, BODY_RESULT), &outcome->body, &error) == -1)
		*outcome =
		    (struct call_outcome){ .code = CODE_MALFORMED, .reason = error };
	entry->state = ENTRY_ANSWERED;
	entry->wait = NULL;
	parts_release(&entry->bodies);
	parts_release(&entry->result);
}

static void
on_leave_check(void *arg)
{
	struct caller *caller = arg;
	uint64_t now_ms = loop_now_ms(caller->loop);
	struct entry *entry, *next;
	size_t left = 0;

	for (entry = TAILQ_FIRST(&caller->entries); entry != NULL; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (entry->state != ENTRY_LEAVING)
			continue;
		if (now_ms >= entry->deadline_ms) {
			entry_destroy(caller, entry);
			continue;
		}
		left++;
		if (now_ms >= entry->next_ms) {
			entry->next_ms = now_ms + RESEND_MS;
			send_about(caller, MSG_CANCEL, &entry->header);
		}
	}
	if (left == 0)
		timer_stop(&caller->timer);
}

/* Nobody waits any more. What no broker ever saw is simply forgotten. */
static void
leave(struct caller *caller, struct entry *entry)
{
	uint64_t now_ms = loop_now_ms(caller->loop);

	entry->wait = NULL;
	if (entry->answered)
		send_about(caller, MSG_RESULT_ACK, &entry->header);
	if (entry->answered || (!entry->sent && !entry->unsure)) {
		entry_destroy(caller, entry);
		return;
	}
	entry->state = ENTRY_LEAVING;
	entry->deadline_ms = now_ms + CANCEL_WAIT_MS;
	entry->next_ms = now_ms + RESEND_MS;
	parts_release(&entry->bodies);
	send_about(caller, MSG_CANCEL, &entry->header);
	if (caller->timer == NULL)
		caller->timer = timer_start(
		    caller->loop, LEAVE_CHECK_MS, LEAVE_CHECK_MS, on_leave_check, caller);
}

/* An id that is here already was called before and not stored: some broker may know it. */
static bool
drop_previous(struct caller *caller, const char *id)
{
	struct entry *entry = id_table_get(caller->ids, id);

	if (entry == NULL)
		return false;
	entry_destroy(caller, entry);
	return true;
}

int
caller_call(struct caller *caller, struct arena *arena,
    const struct call_request *request, struct call_outcome *outcome_r)
{
	struct wait wait = { .fiber = fiber_current() };
	struct entry *entry;
	bool known;

	assert(wait.fiber != NULL);
	if (fiber_cancelled())
		return -1;
	known = drop_previous(caller, request->id);
	entry = wait.entry = entry_new(caller, request);
	entry->wait = &wait;
	entry->unsure = entry->unsure || known;
	settled_remove(caller->forgotten, request->id);
	if (wait_for_answer(caller, &wait) == 0) {
		take_outcome(wait.entry, arena, outcome_r);
		return 0;
	}
	if (wait.entry != NULL)
		leave(caller, wait.entry);
	return -1;
}

static bool
is_leaving(const struct caller *caller, const char *run)
{
	const struct entry *entry;

	TAILQ_FOREACH(entry, &caller->entries, link)
		if (entry->state == ENTRY_LEAVING && entry->run != NULL &&
		    strcmp(entry->run, run) == 0)
			return true;
	return false;
}

int
caller_wait_left(struct caller *caller, const char *run)
{
	struct leaver leaver = { .fiber = fiber_current() };
	int result = 0;

	TAILQ_INSERT_TAIL(&caller->leavers, &leaver, link);
	while (result == 0 && is_leaving(caller, run))
		result = fiber_wait();
	TAILQ_REMOVE(&caller->leavers, &leaver, link);
	return result;
}

void
caller_stored(struct caller *caller, const char *id)
{
	struct entry *entry = id_table_get(caller->ids, id);

	if (entry == NULL) {
		/* Disowned while it was being stored: it is stored all the same. */
		send_about(caller, MSG_RESULT_ACK, &(struct header){ .call_id = id });
		return;
	}
	if (entry->state != ENTRY_ANSWERED)
		return;
	send_about(caller, MSG_RESULT_ACK, &entry->header);
	entry_destroy(caller, entry);
}

void
caller_forget(struct caller *caller, const char *id)
{
	struct entry *entry = id_table_get(caller->ids, id);
	uint64_t now_ms = loop_now_ms(caller->loop);

	settled_expire(caller->forgotten, now_ms);
	settled_add(caller->forgotten, id, now_ms);
	if (entry != NULL)
		entry_destroy(caller, entry);
}

void
caller_disown(struct caller *caller, const char *run)
{
	struct entry *entry, *next;

	for (entry = TAILQ_FIRST(&caller->entries); entry != NULL; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (entry->run != NULL && strcmp(entry->run, run) == 0)
			caller_forget(caller, entry->id);
	}
}
