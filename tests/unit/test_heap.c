#include <check.h>
#include <stdlib.h>

#include "heap.h"

TCase *tcase_heap(void);

#define NODES 500

static struct heap heap;
static struct heap_node nodes[NODES];

static void
setup(void)
{
	size_t i;

	srand(7);
	heap = (struct heap){ 0 };
	for (i = 0; i < NODES; i++) {
		nodes[i] = (struct heap_node){ 0 };
		heap_put(&heap, &nodes[i], (uint64_t)rand() % 100);
	}
}

static void
teardown(void)
{
	heap_release(&heap);
}

/* Takes all out; returns how many, and fails when one is out of order. */
static size_t
empty(void)
{
	struct heap_node *node;
	uint64_t last = 0;
	size_t count = 0;

	while ((node = heap_first(&heap)) != NULL) {
		ck_assert_uint_ge(node->rank, last);
		last = node->rank;
		heap_remove(&heap, node);
		ck_assert_uint_eq(node->place, 0);
		count++;
	}
	return count;
}

START_TEST(the_smallest_rank_comes_first)
{
	ck_assert_uint_eq(empty(), NODES);
}
END_TEST

START_TEST(a_node_put_again_moves)
{
	size_t i;

	for (i = 0; i < NODES; i++)
		heap_put(&heap, &nodes[i], (uint64_t)rand() % 1000);
	heap_put(&heap, &nodes[123], 5000);
	heap_put(&heap, &nodes[321], 0);
	ck_assert_uint_eq(heap_first(&heap)->rank, 0);
	ck_assert_uint_eq(empty(), NODES);
}
END_TEST

START_TEST(nodes_leave_from_anywhere)
{
	size_t i;

	for (i = 0; i < NODES; i += 3) {
		heap_remove(&heap, &nodes[i]);
		heap_remove(&heap, &nodes[i]); /* it is in no heap: nothing */
	}
	ck_assert_uint_eq(empty(), NODES - (NODES + 2) / 3);
}
END_TEST

TCase *
tcase_heap(void)
{
	TCase *tcase = tcase_create("heap");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_smallest_rank_comes_first);
	tcase_add_test(tcase, a_node_put_again_moves);
	tcase_add_test(tcase, nodes_leave_from_anywhere);
	return tcase;
}
