#include "queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "id_table.h"
#include "bounds.h"
#include "memory.h"
#include "tables.h"

/* A tenant's calls of one priority, and its place in the ring of those that have any. */
struct queue_turn {
	struct tenant *tenant;
	unsigned priority;
	struct call_list calls;
	TAILQ_ENTRY(queue_turn) link;
};

/* Lives while it has calls here. */
struct tenant {
	struct id_key key;
	size_t calls;
	struct queue_turn turns[PRIORITIES];
	char name[];
};

void
queue_init(struct queue *queue, uint64_t seed)
{
	unsigned i;

	*queue = (struct queue){ .tenants = id_table_new(seed) };
	for (i = 0; i < PRIORITIES; i++) {
		TAILQ_INIT(&queue->classes[i].urgent);
		TAILQ_INIT(&queue->classes[i].ring);
	}
}

void
queue_release(struct queue *queue)
{
	assert(queue->count == 0);
	id_table_destroy(&queue->tenants);
}

/* Calls without one are a tenant's, too. */
static struct tenant *
tenant_find(const struct queue *queue, const char *name)
{
	return id_table_get(queue->tenants, name == NULL ? "" : name);
}

bool
queue_admits(const struct queue *queue, const char *name, size_t max)
{
	const struct tenant *tenant;
	size_t others;

	if (queue->count < max)
		return true;
	if (queue->count >= 2 * max)
		return false;
	tenant = tenant_find(queue, name);
	others = id_table_size(queue->tenants) - (tenant != NULL);
	return (tenant == NULL ? 0 : tenant->calls) < max / (others + 1);
}

static struct tenant *
tenant_get(struct queue *queue, const char *name)
{
	struct tenant *tenant = tenant_find(queue, name);
	size_t size;
	unsigned i;

	if (tenant != NULL)
		return tenant;
	if (name == NULL)
		name = "";
	size = strlen(name) + 1;
	tenant = xcalloc(1, sizeof *tenant + size);
	memcpy(tenant->name, name, size);
	for (i = 0; i < PRIORITIES; i++) {
		tenant->turns[i].tenant = tenant;
		tenant->turns[i].priority = i;
		TAILQ_INIT(&tenant->turns[i].calls);
	}
	id_table_put(queue->tenants, &tenant->key, tenant->name, tenant);
	return tenant;
}

void
queue_put(struct queue *queue, struct call *call, bool urgent)
{
	struct queue_class *class = &queue->classes[call->header.priority];
	struct queue_turn *turn;
	struct tenant *tenant;

	queue->count++;
	call->turn = NULL;
	if (urgent) {
		TAILQ_INSERT_TAIL(&class->urgent, call, waiting_link);
		return;
	}
	tenant = tenant_get(queue, call->header.tenant);
	turn = &tenant->turns[call->header.priority];
	if (TAILQ_EMPTY(&turn->calls))
		TAILQ_INSERT_TAIL(&class->ring, turn, link);
	TAILQ_INSERT_TAIL(&turn->calls, call, waiting_link);
	tenant->calls++;
	call->turn = turn;
}

void
queue_remove(struct queue *queue, struct call *call)
{
	struct queue_class *class = &queue->classes[call->header.priority];
	struct queue_turn *turn = call->turn;

	queue->count--;
	call->turn = NULL;
	if (turn == NULL) {
		TAILQ_REMOVE(&class->urgent, call, waiting_link);
		return;
	}
	TAILQ_REMOVE(&turn->calls, call, waiting_link);
	if (TAILQ_EMPTY(&turn->calls))
		TAILQ_REMOVE(&class->ring, turn, link);
	if (--turn->tenant->calls > 0)
		return;
	id_table_remove(queue->tenants, &turn->tenant->key);
	free(turn->tenant);
}

static bool
class_is_empty(const struct queue_class *class)
{
	return TAILQ_EMPTY(&class->urgent) && TAILQ_EMPTY(&class->ring);
}

unsigned
queue_priority(const struct queue *queue)
{
	unsigned i;

	for (i = 0; i < PRIORITIES && class_is_empty(&queue->classes[i]); i++)
		;
	return i;
}

static void
take_older(const struct call **oldest, const struct call *call)
{
	if (call != NULL && (*oldest == NULL || call->asked_ms < (*oldest)->asked_ms))
		*oldest = call;
}

/* Each line is first come, first served, but for calls that were given back: these are
 * urgent, and stand in order among themselves near enough. */
const struct call *
queue_oldest(const struct queue *queue)
{
	const struct call *oldest = NULL;
	const struct queue_turn *turn;
	unsigned i;

	for (i = 0; i < PRIORITIES; i++) {
		take_older(&oldest, TAILQ_FIRST(&queue->classes[i].urgent));
		TAILQ_FOREACH(turn, &queue->classes[i].ring, link)
			take_older(&oldest, TAILQ_FIRST(&turn->calls));
	}
	return oldest;
}

/* The one that a class would give next; NULL: it is empty. */
static struct call *
next_of(const struct queue_class *class)
{
	const struct queue_turn *turn = TAILQ_FIRST(&class->ring);
	struct call *call = TAILQ_FIRST(&class->urgent);

	return call != NULL || turn == NULL ? call : TAILQ_FIRST(&turn->calls);
}

/* Of the classes behind the first the one whose next call has waited longest: with the last one in its place, those in
 * between would wait for ever. The first one, where there is no other. */
static unsigned
latest_priority(const struct queue *queue)
{
	const struct call *oldest = NULL, *call;
	unsigned first = queue_priority(queue), latest = first, i;

	for (i = PRIORITIES - 1; i > first; i--) {
		call = next_of(&queue->classes[i]);
		if (call != NULL &&
		    (oldest == NULL || call->asked_ms < oldest->asked_ms)) {
			oldest = call;
			latest = i;
		}
	}
	return latest;
}

struct call *
queue_take(struct queue *queue)
{
	bool ageing = ++queue->turns % AGEING_TURNS == 0;
	struct queue_class *class;
	struct queue_turn *turn;
	struct call *call;

	assert(queue->count > 0);
	class = &queue->classes[ageing ? latest_priority(queue) : queue_priority(queue)];
	call = TAILQ_FIRST(&class->urgent);
	if (call == NULL) {
		turn = TAILQ_FIRST(&class->ring);
		call = TAILQ_FIRST(&turn->calls);
		/* The next tenant's turn. */
		TAILQ_REMOVE(&class->ring, turn, link);
		TAILQ_INSERT_TAIL(&class->ring, turn, link);
	}
	queue_remove(queue, call);
	return call;
}
