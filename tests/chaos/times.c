#include "checker.h"

#include <stdlib.h>

#include "memory.h"

void
times_add(struct times *times, int64_t ms)
{
	if (times->count == times->room) {
		times->room = times->room * 2 + 64;
		times->ms = xreallocarray(times->ms, times->room, sizeof *times->ms);
	}
	times->ms[times->count++] = ms;
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t
times_at(struct times *times, unsigned per_cent)
{
	if (times->count == 0)
		return -1;
	qsort(times->ms, times->count, sizeof *times->ms, compare);
	return times->ms[(times->count - 1) * per_cent / 100];
}

void
times_release(struct times *times)
{
	free(times->ms);
	*times = (struct times){ 0 };
}
