/* The broker under whatever peers say, whenever: after every step its tables add up, every body is
 * given back once, and what it sends can be read. */
#include <stdlib.h>

#include "../../broker/core.h"
#include "bytes.h"

#define PEERS 8u
#define STEPS_MAX 400u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct body {
	char mark; /* read whenever the body is lent: it must be alive */
};

static void
drop(struct body *body)
{
	free(body);
}

static void
look_at(const struct body *body)
{
	if (body != NULL && body->mark != 'b')
		abort();
}

static void
perform(const struct core *core, const struct action *action)
{
	struct arena *arena;

	look_at(action->body);
	switch (action->type) {
	case ACTION_SEND:
		check_sendable(&action->header);
		break;
	case ACTION_PUBLISH:
		if (action->header.topic == NULL)
			abort();
		break;
	case ACTION_STATS:
		arena = arena_new();
		if (core_stats(core, arena) == NULL)
			abort();
		arena_destroy(&arena);
		break;
	case ACTION_NOTICE:
	case ACTION_LEFT:
		break;
	case ACTION_DROP:
		drop(action->body);
		break;
	}
}

static struct event
any_event(struct bytes *bytes, struct arena *arena)
{
	struct event event = { .type = EVENT_MESSAGE,
		.peer = 1 + bytes_number(bytes, PEERS) };
	unsigned kind = (unsigned)bytes_number(bytes, 64);

	if (kind < 4) {
		event.type = EVENT_TICK;
	} else if (kind == 4) {
		event.type = EVENT_UNREACHABLE;
	} else if (kind == 5 && bytes_number(bytes, 32) == 31) {
		event.type = EVENT_LEAVE;
		event.drain_ms = bytes_number(bytes, 5000);
	} else if (kind == 62) {
		event.type = EVENT_ARRIVES;
	} else if (kind == 63) {
		event.type = EVENT_WANTED;
	} else {
		event.header = bytes_message(bytes, arena, &event.code, &event.reason);
		if (event.header == NULL)
			event.type = EVENT_REFUSED;
		else if (bytes_number(bytes, 2) == 1) {
			event.body = malloc(sizeof *event.body);
			event.body->mark = 'b';
			event.body_bytes = bytes_number(bytes, 3000);
		}
	}
	return event;
}

static void
check_tables(const struct core *core)
{
	const char *error;

	if (core_audit(core, &error) == -1)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size };
	struct core_options options = core_defaults;
	uint64_t now_ms = 1000000;
	struct core *core;
	unsigned steps;

	/* Small, so that every bound is met. */
	options.session = "0123456789abcdef0123456789abcdef";
	options.name = "fuzzed";
	options.queue_calls_max = 3;
	options.calls_max = 5;
	options.kept_max = 2;
	options.bodies_bytes_max = 6000;
	core = core_new(&options, now_ms);
	for (steps = 0; bytes.left > 0 && steps < STEPS_MAX; steps++) {
		struct arena *arena = arena_new();
		struct event event = any_event(&bytes, arena);
		struct actions actions;
		size_t i;

		now_ms += bytes_number(&bytes, 16) == 15 ? bytes_number(&bytes, 100000)
							 : bytes_number(&bytes, 400);
		actions = core_step(core, &event, now_ms);
		for (i = 0; i < actions.count; i++)
			perform(core, &actions.items[i]);
		check_tables(core);
		arena_destroy(&arena);
	}
	core_destroy(&core, drop);
	return 0;
}
