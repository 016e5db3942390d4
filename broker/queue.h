/* queue: calls that wait for one service: urgent ones first, then by priority, then the
 * tenants in turn, then first come.
 *
 * Priorities are strict, but every AGEING_TURNS-th call is the one that has waited longest
 * of those that the priorities behind the first would give next, so that none starves. */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "bounds.h"

#define PRIORITIES (PRIORITY_MAX + 1u)

struct call;
struct queue_turn;
struct id_table;

struct queue {
	struct queue_class {
		TAILQ_HEAD(, call) urgent; /* come before all tenants' */
		TAILQ_HEAD(, queue_turn)
		ring; /* tenants that have calls; next one first */
	} classes[PRIORITIES];
	struct id_table *tenants;
	size_t count;
	unsigned turns;
};

void queue_init(struct queue *queue, uint64_t seed);
void queue_release(struct queue *queue); /* it must be empty */

/* Keeps call until it is taken or removed. urgent: before the others of its priority. */
void queue_put(struct queue *queue, struct call *call, bool urgent);

/* Whether a call of tenant (NULL: of none) may wait here, where max may. Of a full queue a tenant that has
 * less than its share of it still gets in, for it must not be kept out by who submits much: so there may
 * be up to twice as many. */
bool queue_admits(const struct queue *queue, const char *tenant, size_t max);

/* Returns the next call, taken out; the queue is not empty. */
struct call *queue_take(struct queue *queue);

/* Takes call out, wherever it stands. */
void queue_remove(struct queue *queue, struct call *call);

/* Lends the call that was asked for first; NULL when empty. Walks over priorities and
 * tenants. */
const struct call *queue_oldest(const struct queue *queue);

/* Returns the first priority that has calls; PRIORITIES when empty. */
unsigned queue_priority(const struct queue *queue);

#endif
