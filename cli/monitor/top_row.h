/* top_row: a process as a line of `flotilla top`. */
#ifndef TOP_ROW_H
#define TOP_ROW_H

#include "value.h"

/* The columns' titles (row NULL), or a process in them: a session of a broker's tables, or its
 * `broker`. Which columns there are depends on width; the last one may be wider than that. */
const char *top_row(struct arena *arena, const struct value *row, size_t width);

/* In a word how that process is, one of top_states (NULL-ended). */
extern const char *const top_states[];
const char *top_state(const struct value *row);

/* "340 ms", "2.1 s", "4 m", "3 h", "12 d": six columns at most. */
const char *top_age(struct arena *arena, int64_t ms);

#endif
