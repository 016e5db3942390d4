#include "gathered.h"

#include <stdlib.h>

#include "acks.h"
#include "bounds.h"
#include "memory.h"

#define PILES_MAX 64u /* then all are sent */

struct pile {
	uint64_t peer;
	uint64_t ripe_ms; /* of the first one in it: with the next message from then on */
	struct acks acks; /* may be empty */
};

struct gathered {
	void (*send)(void *arg, uint64_t peer, const struct header *header);
	void *arg;
	struct pile *piles[PILES_MAX]; /* NULL: not needed so far */
	size_t count;                  /* in use */
};

struct gathered *
gathered_new(
    void (*send)(void *arg, uint64_t peer, const struct header *header), void *arg)
{
	struct gathered *gathered = xcalloc(1, sizeof *gathered);

	gathered->send = send;
	gathered->arg = arg;
	return gathered;
}

void
gathered_destroy(struct gathered **gathered_p)
{
	struct gathered *gathered = *gathered_p;
	size_t i;

	if (gathered == NULL)
		return;
	for (i = 0; i < PILES_MAX; i++)
		free(gathered->piles[i]);
	free(gathered);
	*gathered_p = NULL;
}

static void
send_pile(struct gathered *gathered, struct pile *pile)
{
	if (pile->acks.count > 0)
		gathered->send(gathered->arg, pile->peer, acks_take(&pile->acks));
}

static struct pile *
find(const struct gathered *gathered, uint64_t peer, enum message_type type)
{
	size_t i;

	for (i = 0; i < gathered->count; i++)
		if (gathered->piles[i]->peer == peer &&
		    gathered->piles[i]->acks.type == type)
			return gathered->piles[i];
	return NULL;
}

static struct pile *
begin_pile(struct gathered *gathered, uint64_t peer)
{
	struct pile **pile;

	if (gathered->count == PILES_MAX)
		gathered_send(gathered);
	pile = &gathered->piles[gathered->count++];
	if (*pile == NULL)
		*pile = xcalloc(1, sizeof **pile);
	(*pile)->peer = peer;
	return *pile;
}

bool
gathered_keep(struct gathered *gathered, uint64_t peer, const struct header *header,
    uint64_t now_ms)
{
	struct pile *pile;

	if (!acks_are(header))
		return false;
	pile = find(gathered, peer, header->type);
	if (pile == NULL)
		pile = begin_pile(gathered, peer);
	if (pile->acks.count == 0)
		pile->ripe_ms = now_ms + ACK_RIPE_MS;
	if (!acks_add(&pile->acks, header))
		send_pile(gathered, pile);
	return true;
}

/* A worker was lost, and has brought a result that came too late; now it gets that call once more. Were it
 * told so first, it would answer with that result. */
static bool
is_called_anew(const struct pile *pile, const struct header *header)
{
	return header->type == MSG_CALL && pile->acks.type == MSG_RESULT_ACK &&
	       acks_have(&pile->acks, header->call_id);
}

void
gathered_before(struct gathered *gathered, uint64_t peer, const struct header *header,
    uint64_t now_ms)
{
	bool waits = acks_may_wait_for(header);
	struct pile *pile;
	size_t i;

	if (header->type == MSG_RESULT) {
		pile = find(gathered, peer, MSG_CALL_ACK);
		if (pile != NULL)
			acks_drop(&pile->acks, header->call_id);
	}
	for (i = 0; i < gathered->count; i++) {
		pile = gathered->piles[i];
		if (pile->peer == peer &&
		    (!waits || now_ms >= pile->ripe_ms || is_called_anew(pile, header)))
			send_pile(gathered, pile);
	}
}

void
gathered_send(struct gathered *gathered)
{
	size_t i;

	for (i = 0; i < gathered->count; i++)
		send_pile(gathered, gathered->piles[i]);
	gathered->count = 0;
}
