#include "heap.h"

#include <assert.h>
#include <stdlib.h>

#include "memory.h"

void
heap_release(struct heap *heap)
{
	free(heap->nodes);
	*heap = (struct heap){ 0 };
}

static void
set(struct heap *heap, size_t place, struct heap_node *node)
{
	heap->nodes[place] = node;
	node->place = place + 1;
}

static void
rise(struct heap *heap, size_t place)
{
	struct heap_node *node = heap->nodes[place];
	size_t parent;

	for (; place > 0; place = parent) {
		parent = (place - 1) / 2;
		if (heap->nodes[parent]->rank <= node->rank)
			break;
		set(heap, place, heap->nodes[parent]);
	}
	set(heap, place, node);
}

static void
sink(struct heap *heap, size_t place)
{
	struct heap_node *node = heap->nodes[place];
	size_t child;

	while ((child = 2 * place + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    heap->nodes[child + 1]->rank < heap->nodes[child]->rank)
			child++;
		if (node->rank <= heap->nodes[child]->rank)
			break;
		set(heap, place, heap->nodes[child]);
		place = child;
	}
	set(heap, place, node);
}

void
heap_put(struct heap *heap, struct heap_node *node, uint64_t rank)
{
	if (node->place == 0) {
		if (heap->count == heap->room) {
			heap->room = heap->room == 0 ? 16 : 2 * heap->room;
			heap->nodes =
			    xreallocarray(heap->nodes, heap->room, sizeof *heap->nodes);
		}
		set(heap, heap->count++, node);
	}
	node->rank = rank;
	rise(heap, node->place - 1);
	sink(heap, node->place - 1);
}

void
heap_remove(struct heap *heap, struct heap_node *node)
{
	size_t place = node->place - 1;
	struct heap_node *last;

	if (node->place == 0)
		return;
	assert(place < heap->count && heap->nodes[place] == node);
	node->place = 0;
	last = heap->nodes[--heap->count];
	if (last == node)
		return;
	set(heap, place, last);
	rise(heap, place);
	sink(heap, last->place - 1);
}

struct heap_node *
heap_first(const struct heap *heap)
{
	return heap->count == 0 ? NULL : heap->nodes[0];
}
