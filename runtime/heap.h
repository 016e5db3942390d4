/* heap: what has the smallest rank comes first; nodes lie inside the items and know their
 * place, so that one is moved or removed without a search. For deadlines (rank: when) and
 * for workers with room (rank: who next). */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_node {
	uint64_t rank;
	size_t place; /* in heap->nodes + 1; 0: in no heap */
};

/* Zero-initialised means empty. */
struct heap {
	struct heap_node **nodes;
	size_t count, room;
};

void heap_release(struct heap *heap); /* nodes are the caller's; safe to repeat */

/* Puts node in, or moves it when it is in already. Keeps node until it is removed. */
void heap_put(struct heap *heap, struct heap_node *node, uint64_t rank);

/* Takes node out; none when it is in no heap. */
void heap_remove(struct heap *heap, struct heap_node *node);

/* Returns the node with the smallest rank, or NULL when empty. */
struct heap_node *heap_first(const struct heap *heap);

/* The item of type that node is the member of. */
#define HEAP_ITEM(node, type, member)                                                    \
	((type *)(void *)((char *)(node)-offsetof(type, member)))

#endif
