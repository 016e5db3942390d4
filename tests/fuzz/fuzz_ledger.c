/* The calls of a coordinator under whatever its brokers say: each call has one outcome, nobody who
 * has left hears of it, every body is freed once, and what is sent can be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "ledger.h"

#define LINKS 3u
#define STEPS_MAX 400u
#define UNSENT_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cargo {
	char mark;
};

struct waiter {
	struct waiter *next;
	char id[ID_BYTES_MAX + 1];
	bool waits;
};

struct world {
	struct ledger *ledger;
	uint64_t now_ms;
	bool is_up[LINKS];
	struct waiter *waiters;
	const char *sent[UNSENT_MAX]; /* calls that went out in the step under way */
	size_t sent_count;
};

static void
require(bool fact)
{
	if (!fact)
		abort();
}

static void
drop(struct cargo *cargo)
{
	free(cargo);
}

static void
perform(struct world *world, const struct ledger_action *action)
{
	switch (action->type) {
	case LEDGER_SEND:
		require(action->link < LINKS);
		require(action->cargo == NULL || action->cargo->mark == 'c');
		require(action->header.type != MSG_CALL || action->cargo != NULL);
		check_sendable(&action->header);
		if (action->header.type == MSG_CALL && world->sent_count < UNSENT_MAX)
			world->sent[world->sent_count++] = action->header.call_id;
		break;
	case LEDGER_DELIVER:
	case LEDGER_REVOKE:
		require(action->waiter->waits);
		action->waiter->waits = false;
		break;
	case LEDGER_ENDED:
		break;
	case LEDGER_FREE:
		require(action->cargo->mark == 'c');
		drop(action->cargo);
		break;
	}
}

static void
step(struct world *world, const struct ledger_event *event)
{
	struct ledger_actions actions = ledger_step(world->ledger, event, world->now_ms);
	size_t i;

	world->sent_count = 0;
	for (i = 0; i < actions.count; i++)
		perform(world, &actions.items[i]);
}

static void
call(struct world *world, struct bytes *bytes, struct arena *arena)
{
	static const enum message_type types[] = { MSG_CALL, 0 };
	const struct header *header = bytes_message_of(bytes, arena, types);
	struct cargo *cargo;
	struct waiter *waiter;

	if (header == NULL)
		return;
	cargo = malloc(sizeof *cargo);
	waiter = calloc(1, sizeof *waiter);
	cargo->mark = 'c';
	snprintf(waiter->id, ID_BYTES_MAX + 1, "%s", header->call_id);
	waiter->waits = true;
	waiter->next = world->waiters;
	world->waiters = waiter;
	step(world, &(struct ledger_event){ .type = LEDGER_CALL,
			.header = header,
			.waiter = waiter,
			.cargo = cargo });
	/* Some could not go out. */
	if (world->sent_count > 0 && bytes_number(bytes, 8) == 7)
		step(world, &(struct ledger_event){
				.type = LEDGER_UNSENT, .id = header->call_id });
}

/* Who waits for id leaves; one who is here must not be told any more. */
static void
cancel(struct world *world, const char *id)
{
	struct waiter *waiter;

	for (waiter = world->waiters; waiter != NULL; waiter = waiter->next)
		if (waiter->waits && strcmp(waiter->id, id) == 0)
			break;
	if (waiter == NULL)
		return;
	waiter->waits = false;
	step(world, &(struct ledger_event){ .type = LEDGER_CANCEL, .id = id });
}

static void
message(struct world *world, struct bytes *bytes, struct arena *arena)
{
	static const enum message_type types[] = { MSG_CALL_ACK, MSG_BUSY, MSG_RELEASE,
		MSG_RESULT, MSG_RESULT, 0 };
	uint32_t link = (uint32_t)bytes_number(bytes, LINKS);
	const struct header *header = bytes_message_of(bytes, arena, types);

	if (header != NULL && world->is_up[link])
		step(world, &(struct ledger_event){
				.type = LEDGER_MESSAGE, .link = link, .header = header });
}

static void
change_link(struct world *world, struct bytes *bytes)
{
	uint32_t link = (uint32_t)bytes_number(bytes, LINKS);
	bool leaves = world->is_up[link] && bytes_number(bytes, 4) == 3;

	if (!leaves)
		world->is_up[link] = !world->is_up[link];
	step(world, &(struct ledger_event){ .type = leaves               ? LEDGER_LEAVING
						    : world->is_up[link] ? LEDGER_UP
									 : LEDGER_DOWN,
			.link = link });
}

static void
about(struct world *world, struct bytes *bytes)
{
	static const enum ledger_event_type types[] = { LEDGER_STORED, LEDGER_FORGET };
	static const char *const runs[] = { "r1", "r2", "r3" };

	if (bytes_number(bytes, 4) == 3)
		step(world, &(struct ledger_event){ .type = LEDGER_DISOWN,
				.id = runs[bytes_number(bytes, 3)] });
	else
		step(world, &(struct ledger_event){ .type = types[bytes_number(bytes, 2)],
				.id = bytes_id(bytes) });
}

static void
any_step(struct world *world, struct bytes *bytes, struct arena *arena)
{
	switch (bytes_number(bytes, 12)) {
	case 0:
	case 1:
		change_link(world, bytes);
		break;
	case 2:
		step(world, &(struct ledger_event){ .type = LEDGER_TICK });
		break;
	case 3:
		cancel(world, bytes_id(bytes));
		break;
	case 4:
		about(world, bytes);
		break;
	case 5:
	case 6:
	case 7:
		call(world, bytes, arena);
		break;
	default:
		message(world, bytes, arena);
		break;
	}
}

static void
free_waiters(struct world *world)
{
	struct waiter *next;

	for (; world->waiters != NULL; world->waiters = next) {
		next = world->waiters->next;
		free(world->waiters);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t identities[LINKS] = { 11, 22, 33 };
	struct bytes bytes = { data, size };
	struct world world = { .ledger = ledger_new(identities, LINKS, 1),
		.now_ms = 1000000 };
	unsigned steps;

	for (steps = 0; bytes.left > 0 && steps < STEPS_MAX; steps++) {
		struct arena *arena = arena_new();

		world.now_ms += bytes_number(&bytes, 16) == 15
				    ? bytes_number(&bytes, 100000)
				    : bytes_number(&bytes, 400);
		any_step(&world, &bytes, arena);
		arena_destroy(&arena);
	}
	ledger_destroy(&world.ledger, drop);
	free_waiters(&world);
	return 0;
}
