/* points: checkpoints as LangGraph's thread protocol tells of them: where a state stands, and no state. Pure.
 *
 * Who has the states, too, reads of the one that a state comes behind where each message in it that is new begins: at the parent.
 * States that follow each other faster than they are read are left out, so their checkpoints are held and told as one: the last,
 * with the parent of the first, which has none of what has come. */
#ifndef POINTS_H
#define POINTS_H

#include <stdbool.h>

#include "value.h"

struct points {
	bool is_held;
	int64_t version, parent, step;
	char source[16];
};

/* Holds the checkpoint of state, as of trail_event. */
void points_hold(struct points *points, const struct value *state);
/* {id, parent_id, step, source} of what is held, in arena, and holds nothing any more; NULL: nothing is. */
const struct value *points_take(struct points *points, struct arena *arena);

#endif
