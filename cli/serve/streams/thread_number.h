/* thread_number: the number of an event on a thread's stream: which of the thread's runs it is of, counted with those that pruning took,
 * behind which of that one's stored events it stands, and how many frames there were since: 20 bits, 21 and 12;
 * JavaScript's numbers hold 53. */
#ifndef THREAD_NUMBER_H
#define THREAD_NUMBER_H

#include <stdint.h>

#define THREAD_NUMBER_COUNT_BITS 12u
#define THREAD_NUMBER_COUNT_MAX ((UINT64_C(1) << THREAD_NUMBER_COUNT_BITS) - 1)
#define THREAD_NUMBER_EVENT_BITS 21u
#define THREAD_NUMBER_EVENT_MAX ((UINT64_C(1) << THREAD_NUMBER_EVENT_BITS) - 1)

/* count: where it is more than fits, the most that does. */
static inline uint64_t
thread_number(uint64_t run, uint64_t event, uint64_t count)
{
	if (count > THREAD_NUMBER_COUNT_MAX)
		count = THREAD_NUMBER_COUNT_MAX;
	return (((run << THREAD_NUMBER_EVENT_BITS) | (event & THREAD_NUMBER_EVENT_MAX))
		   << THREAD_NUMBER_COUNT_BITS) |
	       count;
}

static inline uint64_t
thread_number_run(uint64_t number)
{
	return number >> (THREAD_NUMBER_EVENT_BITS + THREAD_NUMBER_COUNT_BITS);
}

static inline uint64_t
thread_number_event(uint64_t number)
{
	return (number >> THREAD_NUMBER_COUNT_BITS) & THREAD_NUMBER_EVENT_MAX;
}

static inline uint64_t
thread_number_count(uint64_t number)
{
	return number & THREAD_NUMBER_COUNT_MAX;
}

#endif
