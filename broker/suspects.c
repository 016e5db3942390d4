/* suspects: calls that have lost so many workers that they may be the reason. A worker gets one
 * of them at a time; when that worker is lost, too, the suspect alone has lost it. So what only
 * happened to run beside a poisonous call is soon told from it, and ends well. */
#include "permits.h"
#include "tables.h"

static bool
is_suspect(const struct call *call)
{
	return call->losses >= CALL_SUSPECT_LOSSES;
}

bool
suspect_queue(struct call *call)
{
	struct capability *capability = call->capability;

	if (!is_suspect(call))
		return false;
	call->apart = true;
	TAILQ_INSERT_TAIL(&capability->suspects, call, waiting_link);
	capability->suspect_count++;
	return true;
}

bool
suspect_unqueue(struct call *call)
{
	if (!call->apart)
		return false;
	call->apart = false;
	TAILQ_REMOVE(&call->capability->suspects, call, waiting_link);
	call->capability->suspect_count--;
	return true;
}

void
suspect_arrives(struct call *call)
{
	call->watched = is_suspect(call);
	call->worker->suspects += call->watched;
}

void
suspect_leaves(struct call *call)
{
	call->worker->suspects -= call->watched;
	call->watched = false;
}

void
suspect_judge(struct session *worker)
{
	worker->blamed = worker->suspects > 0;
}

/* A process that comes back and has it was not taken down by it: its connection was lost, or its machine slept. */
void
suspect_lives(struct core *core, struct call *call, const struct session *worker)
{
	bool runs = call->state == CALL_ASSIGNED;

	if (call->lost_to == 0 || call->lost_to != holder_of(worker))
		return;
	if (runs)
		suspect_leaves(call);
	call->losses--;
	call->lost_to = 0;
	if (!runs)
		return;
	suspect_arrives(call);
	session_rank(core, call->worker);
}

bool
suspect_charge(struct call *call)
{
	if (!call->worker->blamed || is_suspect(call)) {
		call->losses++;
		call->lost_to = holder_of(call->worker);
	}
	return call->losses >= CALL_ATTEMPTS_MAX;
}

/* The best of the workers with room that have no suspect; NULL: none. Looks at all of them. */
static struct offer *
place_for_suspect(const struct capability *capability)
{
	struct heap_node *best = NULL;
	size_t i;

	for (i = 0; i < capability->ready.count; i++) {
		struct heap_node *node = capability->ready.nodes[i];

		if (HEAP_ITEM(node, struct offer, ready)->session->suspects == 0 &&
		    (best == NULL || node->rank < best->rank))
			best = node;
	}
	return best == NULL ? NULL : HEAP_ITEM(best, struct offer, ready);
}

static void
hand_out_first(struct core *core, struct offer *offer)
{
	struct call *call = TAILQ_FIRST(&offer->capability->suspects);

	call_leave(core, call);
	call_assign(core, call, offer);
}

void
suspects_serve(struct core *core, struct capability *capability)
{
	struct offer *offer;

	while (capability->suspect_count > 0 &&
	       (offer = place_for_suspect(capability)) != NULL)
		hand_out_first(core, offer);
}

void
suspects_serve_with(struct core *core, struct session *worker)
{
	size_t i;

	for (i = 0; i < worker->offer_count && worker->suspects == 0; i++)
		if (worker->offers[i].ready.place > 0 &&
		    worker->offers[i].capability->suspect_count > 0)
			hand_out_first(core, &worker->offers[i]);
}

bool
suspects_are_served(const struct capability *capability)
{
	return capability->suspect_count == 0 || place_for_suspect(capability) == NULL;
}

const struct call *
capability_oldest(const struct capability *capability)
{
	const struct call *oldest = queue_oldest(&capability->queue);
	const struct call *suspect = TAILQ_FIRST(&capability->suspects);

	if (oldest == NULL || (suspect != NULL && suspect->asked_ms < oldest->asked_ms))
		return suspect;
	return oldest;
}
