#include "caller.h"

#include <string.h>

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "bodies.h"
#include "fiber.h"
#include "ledger.h"
#include "memory.h"

/* A CALL's bodies, shared by each time it is sent. */
struct cargo {
	zmq_msg_t profile, request;
};

/* Profiles that were sent lately: the calls of all runs share the bytes of equal ones. */
#define PROFILES_KEPT 4u
#define PACKED_KEPT (64u << 10)

/* On the stack of the fiber that waits; the ledger's until there is an outcome. */
struct waiter {
	struct fiber *fiber;
	struct arena *arena;
	struct call_outcome outcome;
	bool answered, revoked;
};

/* Who waits for cancelled calls to end; on its fiber's stack. */
struct leaver {
	struct fiber *fiber;
	const char *run;
	struct value_list given_up;
	TAILQ_ENTRY(leaver) link;
};

struct caller {
	struct loop *loop;
	struct links *links;
	struct ledger *ledger;
	TAILQ_HEAD(, leaver) leavers;
	struct timer *timer;    /* runs while calls are pending */
	struct parts *incoming; /* bodies of the message under way, for DELIVER */
	zmq_msg_t profiles[PROFILES_KEPT];
	struct packet packed; /* the body under way */
	size_t next_profile;  /* of profiles: to be replaced */
	const char **unsent;  /* of the step under way: calls that could not go out */
	size_t unsent_count, unsent_room;
};

/* --- the ledger's actions ------------------------------------------------------------- */

static void
cargo_free(struct cargo *cargo)
{
	zmq_msg_close(&cargo->profile);
	zmq_msg_close(&cargo->request);
	free(cargo);
}

static void
note_unsent(struct caller *caller, const char *id)
{
	if (caller->unsent_count == caller->unsent_room) {
		caller->unsent_room =
		    caller->unsent_room == 0 ? 16 : 2 * caller->unsent_room;
		caller->unsent = xreallocarray(
		    caller->unsent, caller->unsent_room, sizeof *caller->unsent);
	}
	caller->unsent[caller->unsent_count++] = id;
}

static void
do_send(struct caller *caller, const struct ledger_action *action)
{
	struct parts bodies = { .count = 0 };

	if (action->cargo != NULL) {
		static_assert(BODY_PROFILE == 0 && BODY_REQUEST == 1, "their order");
		parts_add_shared(&bodies, &action->cargo->profile);
		parts_add_shared(&bodies, &action->cargo->request);
	}
	if (links_send(caller->links, action->link, &action->header, &bodies) == -1 &&
	    action->header.type == MSG_CALL)
		note_unsent(caller, action->header.call_id);
}

static void
do_deliver(struct caller *caller, const struct ledger_action *action)
{
	struct waiter *waiter = action->waiter;
	const struct header *header = &action->header;
	const struct parts *bodies = caller->incoming;
	const char *error = NULL;

	waiter->answered = true;
	waiter->outcome = (struct call_outcome){ .code = (enum wire_code)header->code };
	if (header->reason != NULL)
		waiter->outcome.reason = arena_strdup(waiter->arena, header->reason);
	if (bodies != NULL && bodies->count > BODY_RESULT)
		value_unpack(waiter->arena, parts_data(bodies, BODY_RESULT),
		    parts_size(bodies, BODY_RESULT), &waiter->outcome.body, &error);
	if (error == NULL && waiter->outcome.code == CODE_OK)
		error = bodies_answer(waiter->arena, &waiter->outcome.body);
	if (error != NULL)
		waiter->outcome =
		    (struct call_outcome){ .code = CODE_MALFORMED, .reason = error };
	fiber_wake(waiter->fiber);
}

static void
wake_leavers(struct caller *caller)
{
	struct leaver *leaver;

	TAILQ_FOREACH(leaver, &caller->leavers, link)
		fiber_wake(leaver->fiber);
}

static void
note_given_up(struct caller *caller, const struct header *call)
{
	struct leaver *leaver;

	TAILQ_FOREACH(leaver, &caller->leavers, link)
		if (call->run != NULL && strcmp(leaver->run, call->run) == 0)
			value_list_add(&leaver->given_up,
			    value_str(leaver->given_up.arena, call->call_id));
}

static void
perform(struct caller *caller, const struct ledger_action *action)
{
	switch (action->type) {
	case LEDGER_SEND:
		do_send(caller, action);
		break;
	case LEDGER_DELIVER:
		do_deliver(caller, action);
		break;
	case LEDGER_REVOKE:
		action->waiter->revoked = true;
		fiber_wake(action->waiter->fiber);
		break;
	case LEDGER_ENDED:
		if (action->header.code == CODE_EXPIRED)
			note_given_up(caller, &action->header);
		wake_leavers(caller);
		break;
	case LEDGER_FREE:
		cargo_free(action->cargo);
		break;
	}
}

static void
step(struct caller *caller, const struct ledger_event *event)
{
	struct ledger_actions actions =
	    ledger_step(caller->ledger, event, loop_now_ms(caller->loop));
	size_t i;

	for (i = 0; i < actions.count; i++)
		perform(caller, &actions.items[i]);
}

static void on_tick(void *arg);

/* What could not go out is told to the ledger when all is done: the ids are the entries'
 * own, and telling so ends none. */
static void
feed(struct caller *caller, const struct ledger_event *event)
{
	size_t i;

	step(caller, event);
	for (i = 0; i < caller->unsent_count; i++)
		step(caller, &(struct ledger_event){
				 .type = LEDGER_UNSENT, .id = caller->unsent[i] });
	caller->unsent_count = 0;
	if (caller->timer == NULL && ledger_pending(caller->ledger) > 0)
		caller->timer = timer_start(
		    caller->loop, LEDGER_TICK_MS, LEDGER_TICK_MS, on_tick, caller);
}

static void
on_tick(void *arg)
{
	struct caller *caller = arg;

	feed(caller, &(struct ledger_event){ .type = LEDGER_TICK });
	if (ledger_pending(caller->ledger) == 0)
		timer_stop(&caller->timer);
}

/* --- life ----------------------------------------------------------------------------- */

struct caller *
caller_new(struct loop *loop, struct links *links)
{
	struct caller *caller = xcalloc(1, sizeof *caller);
	uint64_t seed = 0;
	size_t i;

	if (getentropy(&seed, sizeof seed) == -1)
		seed = loop_now_us();
	caller->loop = loop;
	caller->links = links;
	caller->ledger = ledger_new(links_identities(links), links_count(links), seed);
	TAILQ_INIT(&caller->leavers);
	for (i = 0; i < PROFILES_KEPT; i++)
		zmq_msg_init(&caller->profiles[i]);
	return caller;
}

void
caller_destroy(struct caller **caller_p)
{
	struct caller *caller = *caller_p;
	size_t i;

	if (caller == NULL)
		return;
	for (i = 0; i < PROFILES_KEPT; i++)
		zmq_msg_close(&caller->profiles[i]);
	timer_stop(&caller->timer);
	ledger_destroy(&caller->ledger, cargo_free);
	packet_release(&caller->packed);
	free(caller->unsent);
	free(caller);
	*caller_p = NULL;
}

bool
caller_is_unsent(const struct caller *caller, const char *id)
{
	return ledger_is_unsent(caller->ledger, id);
}

/* --- the links' events ---------------------------------------------------------------- */

void
caller_up(struct caller *caller, uint32_t link)
{
	feed(caller, &(struct ledger_event){ .type = LEDGER_UP, .link = link });
}

void
caller_leaving(struct caller *caller, uint32_t link)
{
	feed(caller, &(struct ledger_event){ .type = LEDGER_LEAVING, .link = link });
}

void
caller_down(struct caller *caller, uint32_t link)
{
	feed(caller, &(struct ledger_event){ .type = LEDGER_DOWN, .link = link });
}

bool
caller_message(struct caller *caller, uint32_t link, const struct header *header,
    struct parts *bodies)
{
	switch (header->type) {
	case MSG_CALL_ACK:
	case MSG_BUSY:
	case MSG_RELEASE:
	case MSG_RESULT:
		caller->incoming = bodies;
		feed(
		    caller, &(struct ledger_event){
				.type = LEDGER_MESSAGE, .link = link, .header = header });
		caller->incoming = NULL;
		return true;
	default:
		return false;
	}
}

/* --- calling -------------------------------------------------------------------------- */

/* Fills message with value's bytes. */
static void
fill(zmq_msg_t *message, struct packet *packet, const struct value *value)
{
	packet->size = 0;
	value_pack(packet, value);
	if (zmq_msg_init_size(message, packet->size) == -1)
		arena_exhausted();
	memcpy(zmq_msg_data(message), packet->data, packet->size);
}

static bool
holds(zmq_msg_t *message, const struct value *value)
{
	return zmq_msg_size(message) == value->packed_size &&
	       memcmp(zmq_msg_data(message), value->packed, value->packed_size) == 0;
}

static void
fill_profile(struct caller *caller, zmq_msg_t *message, const struct value *profile)
{
	zmq_msg_t *kept;
	size_t i = 0;

	if (profile == NULL || profile->packed == NULL) {
		fill(message, &caller->packed, profile);
		return;
	}
	while (i < PROFILES_KEPT && !holds(&caller->profiles[i], profile))
		i++;
	kept = &caller->profiles[i < PROFILES_KEPT ? i : caller->next_profile];
	if (i == PROFILES_KEPT) {
		caller->next_profile = (caller->next_profile + 1) % PROFILES_KEPT;
		zmq_msg_close(kept);
		fill(kept, &caller->packed, profile);
	}
	zmq_msg_init(message);
	zmq_msg_copy(message, kept);
}

static struct cargo *
cargo_new(struct caller *caller, const struct call_request *request)
{
	struct cargo *cargo = xcalloc(1, sizeof *cargo);

	fill_profile(caller, &cargo->profile, request->profile);
	fill(&cargo->request, &caller->packed, request->request);
	if (caller->packed.room > PACKED_KEPT)
		packet_release(&caller->packed);
	return cargo;
}

static struct header
header_of(const struct call_request *request)
{
	return (struct header){
		.type = MSG_CALL,
		.flags = request->flags,
		.call_id = request->id,
		.run = request->run,
		.step = request->step,
		.epoch = request->epoch,
		.service = request->service,
		.deadline_ms = request->deadline_ms,
		.priority = request->priority,
		.tenant = request->tenant,
		.traceparent = request->traceparent,
		.idempotency_key = request->idempotency_key,
	};
}

/* A header that no broker can read is refused without its call's id: the call would be sent
 * until its deadline, and the broker would end the session, with all calls of others. */
static bool
is_readable(const struct header *header, struct call_outcome *outcome_r)
{
	enum wire_code code;
	const char *reason;

	if (wire_check(header, &code, &reason) == 0)
		return true;
	*outcome_r = (struct call_outcome){ .code = code, .reason = reason };
	return false;
}

/* What no socket takes. */
static bool
fits(struct arena *arena, const char *name, zmq_msg_t *body,
    struct call_outcome *outcome_r)
{
	if (zmq_msg_size(body) <= BODY_BYTES_MAX)
		return true;
	*outcome_r = (struct call_outcome){
		.code = CODE_TOO_LARGE,
		.reason =
		    arena_printf(arena, "the call's %s has %zu bytes; a message holds %u",
			name, zmq_msg_size(body), BODY_BYTES_MAX),
	};
	return false;
}

/* Returns false, with an outcome, for a call that cannot be sent. */
static bool
begin(struct caller *caller, const struct call_request *request, struct waiter *waiter)
{
	const struct header header = header_of(request);
	struct cargo *cargo;

	if (!is_readable(&header, &waiter->outcome))
		return false;
	cargo = cargo_new(caller, request);
	if (!fits(waiter->arena, "profile", &cargo->profile, &waiter->outcome) ||
	    !fits(waiter->arena, "request", &cargo->request, &waiter->outcome)) {
		cargo_free(cargo);
		return false;
	}
	feed(caller, &(struct ledger_event){ .type = LEDGER_CALL,
			 .header = &header,
			 .waiter = waiter,
			 .cargo = cargo,
			 .body_bytes = zmq_msg_size(&cargo->profile) +
				       zmq_msg_size(&cargo->request) });
	return true;
}

int
caller_call(struct caller *caller, struct arena *arena,
    const struct call_request *request, struct call_outcome *outcome_r)
{
	struct waiter waiter = { .fiber = fiber_current(), .arena = arena };
	int result = 0;

	assert(waiter.fiber != NULL);
	if (fiber_cancelled())
		return -1;
	if (!begin(caller, request, &waiter)) {
		*outcome_r = waiter.outcome;
		return 0;
	}
	while (result == 0 && !waiter.answered && !waiter.revoked)
		result = fiber_wait();
	if (waiter.revoked)
		return -1;
	if (result == -1) {
		feed(caller,
		    &(struct ledger_event){ .type = LEDGER_CANCEL, .id = request->id });
		return -1;
	}
	*outcome_r = waiter.outcome;
	return 0;
}

int
caller_wait_left(struct caller *caller, struct arena *arena, const char *run,
    const struct value **given_up_r)
{
	struct leaver leaver = {
		.fiber = fiber_current(), .run = run, .given_up = { .arena = arena }
	};
	int result = 0;

	TAILQ_INSERT_TAIL(&caller->leavers, &leaver, link);
	while (result == 0 && ledger_is_cancelling(caller->ledger, run))
		result = fiber_wait();
	TAILQ_REMOVE(&caller->leavers, &leaver, link);
	*given_up_r = value_list_end(&leaver.given_up);
	return result;
}

void
caller_stored(struct caller *caller, const char *id)
{
	feed(caller, &(struct ledger_event){ .type = LEDGER_STORED, .id = id });
}

void
caller_forget(struct caller *caller, const char *id)
{
	feed(caller, &(struct ledger_event){ .type = LEDGER_FORGET, .id = id });
}

void
caller_disown(struct caller *caller, const char *run)
{
	feed(caller, &(struct ledger_event){ .type = LEDGER_DISOWN, .id = run });
}
