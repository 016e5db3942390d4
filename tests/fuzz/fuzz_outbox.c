/* A worker's outbox under whatever brokers say: a call that is here is not started again, none that
 * must not run twice is, every result is freed once, and what is sent can be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "outbox.h"

#define LINKS 3u
#define CAPACITY 3u
#define STEPS_MAX 400u
#define JOBS_MAX 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct parcel {
	char mark;
};

/* What the worker around the outbox knows. */
struct world {
	struct outbox *outbox;
	uint64_t now_ms;
	char running[JOBS_MAX][ID_BYTES_MAX + 1]; /* "": free */
	char started[ID_BYTES_MAX + 1];           /* in the step under way */
	const char
	    *lost; /* ends in the step under way, and nobody knows what it did; or NULL */
};

static void
require(bool fact)
{
	if (!fact)
		abort();
}

static void
drop(struct parcel *parcel)
{
	free(parcel);
}

static char *
find(struct world *world, const char *id)
{
	size_t i;

	for (i = 0; i < JOBS_MAX; i++)
		if (strcmp(world->running[i], id) == 0)
			return world->running[i];
	return NULL;
}

static void
start(struct world *world, const char *id)
{
	char *room = find(world, "");

	require(find(world, id) == NULL);
	require(room != NULL && outbox_running(world->outbox) <= CAPACITY);
	snprintf(room, ID_BYTES_MAX + 1, "%s", id);
	snprintf(world->started, ID_BYTES_MAX + 1, "%s", id);
}

/* Who asked is told so, and not given the call back. */
static void
check_lost(const struct world *world, const struct header *header)
{
	if (world->lost == NULL || header->call_id == NULL ||
	    strcmp(header->call_id, world->lost) != 0)
		return;
	require(header->type != MSG_RELEASE);
	require(header->type != MSG_RESULT || header->code == CODE_WORKER_LOST);
}

static void
perform(struct world *world, const struct outbox_action *action, const char *incoming)
{
	switch (action->type) {
	case OUTBOX_SEND:
		require(action->parcel == NULL || action->parcel->mark == 'p');
		require(action->link < LINKS);
		check_sendable(&action->header);
		check_lost(world, &action->header);
		break;
	case OUTBOX_START:
		require(incoming != NULL);
		start(world, incoming);
		break;
	case OUTBOX_START_PROBE:
		require(incoming != NULL);
		break;
	case OUTBOX_STOP:
		require(action->header.call_id != NULL);
		break;
	case OUTBOX_FREE:
		require(action->parcel->mark == 'p');
		drop(action->parcel);
		break;
	case OUTBOX_DRAINED:
		require(outbox_running(world->outbox) == 0);
		break;
	}
}

static void
step(struct world *world, const struct outbox_event *event)
{
	struct outbox_actions actions = outbox_step(world->outbox, event, world->now_ms);
	size_t i;

	world->started[0] = '\0';
	for (i = 0; i < actions.count; i++)
		perform(world, &actions.items[i],
		    event->header == NULL ? NULL : event->header->call_id);
}

static void
end(struct world *world, char *running, bool interrupted, bool lost)
{
	char id[ID_BYTES_MAX + 1];
	struct parcel *parcel = malloc(sizeof *parcel);

	parcel->mark = 'p';
	snprintf(id, ID_BYTES_MAX + 1, "%s", running);
	*running = '\0';
	world->lost = lost ? id : NULL;
	step(world, &(struct outbox_event){ .type = OUTBOX_ENDED,
			.call_id = id,
			.interrupted = interrupted,
			.lost = lost,
			.parcel = parcel });
	world->lost = NULL;
}

/* There was no fiber for the call of the step before. */
static void
fail_to_start(struct world *world)
{
	char id[ID_BYTES_MAX + 1];

	snprintf(id, ID_BYTES_MAX + 1, "%s", world->started);
	*find(world, id) = '\0';
	step(world, &(struct outbox_event){ .type = OUTBOX_NOT_STARTED, .call_id = id });
}

static void
any_step(struct world *world, struct bytes *bytes, struct arena *arena)
{
	static const enum message_type types[] = { MSG_CALL, MSG_CANCEL, MSG_RESULT_ACK,
		MSG_SEEK, MSG_PROBE, 0 };
	static const enum outbox_event_type others[] = { OUTBOX_UP, OUTBOX_DOWN,
		OUTBOX_TICK, OUTBOX_DRAIN };
	const struct header *header;
	uint64_t how;
	char *running;

	switch (bytes_number(bytes, 8)) {
	case 0:
		step(
		    world, &(struct outbox_event){ .type = others[bytes_number(bytes, 4)],
			       .link = bytes_number(bytes, LINKS),
			       .drain_ms = bytes_number(bytes, 5000) });
		break;
	case 1:
	case 2:
		running = world->running[bytes_number(bytes, JOBS_MAX)];
		if (*running == '\0')
			break;
		how = bytes_number(bytes, 4);
		end(world, running, (how & 1) != 0, (how & 2) != 0);
		break;
	default:
		header = bytes_message_of(bytes, arena, types);
		if (header == NULL)
			break;
		step(world, &(struct outbox_event){ .type = OUTBOX_MESSAGE,
				.link = bytes_number(bytes, LINKS),
				.header = header });
		if (world->started[0] != '\0' && bytes_number(bytes, 16) == 15)
			fail_to_start(world);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size };
	struct world world = { .outbox = outbox_new(CAPACITY, 1), .now_ms = 1000000 };
	unsigned steps;

	for (steps = 0; bytes.left > 0 && steps < STEPS_MAX; steps++) {
		struct arena *arena = arena_new();

		world.now_ms += bytes_number(&bytes, 16) == 15
				    ? bytes_number(&bytes, 100000)
				    : bytes_number(&bytes, 400);
		any_step(&world, &bytes, arena);
		arena_destroy(&arena);
	}
	outbox_destroy(&world.outbox, drop);
	return 0;
}
