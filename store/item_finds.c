#include "item_finds.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "memory.h"

uint64_t
finds_wanted(const struct finds *finds)
{
	return finds->at->offset + finds->at->limit - finds->passed;
}

int
finds_by_member(const void *a, const void *b)
{
	return strcmp(((const struct find *)a)->member, ((const struct find *)b)->member);
}

int
finds_by_score(const void *a, const void *b)
{
	double x = ((const struct find *)a)->score, y = ((const struct find *)b)->score;

	return x == y ? finds_by_member(a, b) : x > y ? -1 : 1;
}

static void
drop(struct finds *finds, struct find *find)
{
	finds->bytes -= strlen(find->member) + find->size;
	free(find->member);
	free(find->bytes);
}

void
finds_settle(struct finds *finds)
{
	if (finds->count > 0)
		qsort(finds->all, finds->count, sizeof *finds->all, finds->order);
	while (finds->count > finds_wanted(finds))
		drop(finds, &finds->all[--finds->count]);
	finds->sorted = finds->count;
}

int
finds_keep(
    struct finds *finds, const char *member, const struct value *bytes, double score)
{
	struct find *find;

	if (finds->count == finds->room) {
		finds->room = finds->room == 0 ? 64 : 2 * finds->room;
		finds->all = xreallocarray(finds->all, finds->room, sizeof *finds->all);
	}
	find = &finds->all[finds->count++];
	*find = (struct find){ .member = xstrdup(member), .score = score };
	if (bytes != NULL) {
		find->size = bytes->size;
		find->bytes = xcalloc(1, find->size);
		memcpy(find->bytes, bytes->text, find->size);
	}
	finds->bytes += strlen(member) + find->size;
	if (finds->bytes > ITEMS_FOUND_BYTES_MAX)
		finds_settle(finds);
	return finds->bytes > ITEMS_FOUND_BYTES_MAX ? -1 : 0;
}

bool
finds_may_go_on(const struct finds *finds)
{
	return finds->scanned < ITEMS_SCANNED_MAX &&
	       finds->scanned_bytes < ITEMS_SCANNED_BYTES_MAX &&
	       finds->bytes <= ITEMS_FOUND_BYTES_MAX;
}

const char *
finds_refusal(const struct finds *finds)
{
	struct arena *arena = finds->at->arena;

	if (finds->bytes > ITEMS_FOUND_BYTES_MAX)
		return arena_printf(arena,
		    "what it finds takes more than %u MiB: ask for fewer with limit",
		    ITEMS_FOUND_BYTES_MAX >> 20);
	if (finds->scanned >= ITEMS_SCANNED_MAX)
		return arena_printf(arena,
		    "more than %u items had to be looked at: narrow the namespace",
		    ITEMS_SCANNED_MAX);
	if (finds->scanned_bytes >= ITEMS_SCANNED_BYTES_MAX)
		return arena_printf(arena,
		    "more than %u MiB of items had to be looked at: narrow the namespace",
		    ITEMS_SCANNED_BYTES_MAX >> 20);
	return NULL;
}

void
finds_release(struct finds *finds)
{
	while (finds->count > 0)
		drop(finds, &finds->all[--finds->count]);
	free(finds->all);
	finds->all = NULL;
}
