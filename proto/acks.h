/* acks: acknowledgements of one kind to one peer, gathered for ACK_RIPE_MS to ACK_WAIT_MS.
 *
 * A CALL_ACK or RESULT_ACK is a small message that nobody waits for, and costs as much as a
 * large one. To a peer that reads `calls` in them (`lists`, HELLO and WELCOME), those that
 * come within that time go as one, and a CALL_ACK not at all whose call has ended meanwhile.
 * Who gathers sends what is gathered before any message that is to be heard behind them: all
 * but those that acks_may_wait_for names. */
#ifndef ACKS_H
#define ACKS_H

#include "wire.h"

/* With the one in call_id. */
#define ACKS_MAX (ANNOUNCED_CALLS_MAX + 1u)

struct acks {
	enum message_type type;
	size_t count;
	struct wire_call calls[ACKS_MAX]; /* their ids are in text */
	char text[ACKS_MAX][ID_BYTES_MAX + 1];
	struct header message; /* what acks_take answers */
};

/* True when header acknowledges one call: call id and epoch are all that counts. */
bool acks_are(const struct header *header);

/* True when header may overtake acknowledgements that were to go before it. */
bool acks_may_wait_for(const struct header *header);

/* Adds the call of one. Returns whether there is room for another. All of one type. */
bool acks_add(struct acks *acks, const struct header *ack);

/* True when the call is among them. */
bool acks_have(const struct acks *acks, const char *call_id);

/* A RESULT of a call says all that its CALL_ACK does: takes that out. */
void acks_drop(struct acks *acks, const char *call_id);

/* Returns the message, and begins anew; it is lent until acks_add. There must be one. */
const struct header *acks_take(struct acks *acks);

/* Of a message as it came: makes single the message of its acknowledgement number index, from 0. False
 * behind the last. Of all other messages there is one, header itself. */
bool acks_single(const struct header *header, size_t index, struct header *single);

#endif
