/* top_times: how long runs and calls took lately, out of looks that come one behind the other. */
#ifndef TOP_TIMES_H
#define TOP_TIMES_H

#include "top_screen.h"

struct top_times;

/* Looks further back than window_ms are no more looked at. */
struct top_times *top_times_new(uint64_t window_ms);
void top_times_destroy(struct top_times **times_p);

/* Keeps of a look what can be subtracted later, and gives it what it is held against: of each broker that answers, and
 * of Redis, the oldest within the window. */
void top_times_note(struct top_times *times, struct top_look *look);

/* "runs end within 250 ms; model calls wait ≤ 5 ms, run ≤ 1 s; tool calls wait -, run -", of 95 of 100, in arena: of what has ended
 * since look->since (from the counters' beginning where that is NULL). "-": nothing has. NULL: the fleet counts no times. */
const char *top_times_text(struct arena *arena, const struct top_look *look);

#endif
