#include "outbox_bench.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct outbox_bench ob;

static void
drop(struct parcel *parcel)
{
	ob.parcels--;
	free(parcel);
}

void
ob_step(struct outbox_event event)
{
	size_t i;

	ob.actions = outbox_step(ob.outbox, &event, ob.now_ms);
	for (i = 0; i < ob.actions.count; i++)
		if (ob.actions.items[i].type == OUTBOX_FREE)
			drop(ob.actions.items[i].parcel);
}

void
ob_up(uint32_t link)
{
	ob_step((struct outbox_event){ .type = OUTBOX_UP, .link = link });
}

void
ob_open(uint32_t capacity)
{
	ob = (struct outbox_bench){ .now_ms = 5000 };
	ob.outbox = outbox_new(capacity, 0);
	ob_up(0);
}

void
ob_close(void)
{
	outbox_destroy(&ob.outbox, drop);
	ck_assert_int_eq(ob.parcels, 0);
}

void
ob_message(struct header header)
{
	ob_step((struct outbox_event){ .type = OUTBOX_MESSAGE, .header = &header });
}

void
ob_call(const char *id, unsigned flags)
{
	ob_message((struct header){ .type = MSG_CALL,
	    .flags = flags,
	    .call_id = id,
	    .run = "r1",
	    .step = 3,
	    .epoch = 7,
	    .attempt = 1,
	    .deadline_ms = 60000 });
}

void
ob_about(enum message_type type, const char *id)
{
	ob_message((struct header){ .type = type, .call_id = id });
}

void
ob_end(const char *id, bool interrupted)
{
	struct parcel *parcel = malloc(sizeof *parcel);

	parcel->mark = 'p';
	ob.parcels++;
	ob_step((struct outbox_event){ .type = OUTBOX_ENDED,
	    .call_id = id,
	    .interrupted = interrupted,
	    .parcel = parcel,
	    .body_bytes = ob.body_bytes });
}

void
ob_tick(uint64_t ms)
{
	ob.now_ms += ms;
	ob_step((struct outbox_event){ .type = OUTBOX_TICK });
}

const struct outbox_action *
ob_find(enum outbox_action_type type, enum message_type message_type, const char *id)
{
	const struct outbox_action *action;
	size_t i;

	for (i = 0; i < ob.actions.count; i++) {
		action = &ob.actions.items[i];
		if (action->type == type &&
		    (type != OUTBOX_SEND || action->header.type == message_type) &&
		    (id == NULL || strcmp(action->header.call_id, id) == 0))
			return action;
	}
	return NULL;
}

const struct outbox_action *
ob_sent(enum message_type type, const char *id)
{
	return ob_find(OUTBOX_SEND, type, id);
}

bool
ob_started(const char *id)
{
	return ob_find(OUTBOX_START, MSG_CALL, id) != NULL;
}

bool
ob_stopped(const char *id)
{
	return ob_find(OUTBOX_STOP, MSG_CALL, id) != NULL;
}
