#include "acks.h"

#include <assert.h>
#include <string.h>

static bool
is_ack(enum message_type type)
{
	return type == MSG_CALL_ACK || type == MSG_RESULT_ACK;
}

bool
acks_are(const struct header *header)
{
	return is_ack(header->type) && header->flags == 0 && header->call_count == 0 &&
	       header->call_id != NULL;
}

/* A CALL without the flag is the first of its id that its sender knows of: who gathers looks whether
 * it has just acknowledged a result of that (gathered.c, peer.c). Nobody who hears a RESULT or what is
 * published asks for an acknowledgement before it. */
bool
acks_may_wait_for(const struct header *header)
{
	return header->type == MSG_RESULT || header->type == MSG_EVENT ||
	       header->type == MSG_PROGRESS ||
	       (header->type == MSG_CALL && (header->flags & WIRE_RESEND) == 0);
}

bool
acks_add(struct acks *acks, const struct header *ack)
{
	struct wire_call *call = &acks->calls[acks->count];
	size_t size = strnlen(ack->call_id, sizeof acks->text[0] - 1);

	assert(acks->count < ACKS_MAX && (acks->count == 0 || acks->type == ack->type));
	acks->type = ack->type;
	call->call_id = acks->text[acks->count];
	call->state = ack->type == MSG_CALL_ACK ? CALL_RUNNING : CALL_FINISHED;
	call->epoch = ack->epoch;
	memcpy(acks->text[acks->count], ack->call_id, size);
	acks->text[acks->count++][size] = '\0';
	return acks->count < ACKS_MAX;
}

static size_t
find(const struct acks *acks, const char *call_id)
{
	size_t i;

	for (i = 0; i < acks->count; i++)
		if (strcmp(acks->text[i], call_id) == 0)
			break;
	return i;
}

bool
acks_have(const struct acks *acks, const char *call_id)
{
	return find(acks, call_id) < acks->count;
}

void
acks_drop(struct acks *acks, const char *call_id)
{
	size_t i = find(acks, call_id);

	if (i == acks->count || acks->type != MSG_CALL_ACK)
		return;
	acks->count--;
	acks->calls[i].epoch = acks->calls[acks->count].epoch;
	memcpy(acks->text[i], acks->text[acks->count], sizeof acks->text[0]);
}

const struct header *
acks_take(struct acks *acks)
{
	struct header *message = &acks->message;

	assert(acks->count > 0);
	message->type = acks->type;
	message->call_id = acks->text[0];
	message->epoch = acks->calls[0].epoch;
	message->call_count = acks->count - 1;
	message->calls = acks->count > 1 ? acks->calls + 1 : NULL;
	acks->count = 0;
	return message;
}

bool
acks_single(const struct header *header, size_t index, struct header *single)
{
	if (index > 0 && (!is_ack(header->type) || index > header->call_count))
		return false;
	*single = *header;
	if (!is_ack(header->type))
		return true;
	single->calls = NULL;
	single->call_count = 0;
	if (index > 0) {
		single->call_id = header->calls[index - 1].call_id;
		single->epoch = header->calls[index - 1].epoch;
	}
	return true;
}
