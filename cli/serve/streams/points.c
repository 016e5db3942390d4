#include "points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t
version_of(const struct value *checkpoint)
{
	const char *id = value_get_text(checkpoint, "checkpoint_id");

	return id != NULL ? strtoll(id, NULL, 10) : 0;
}

void
points_hold(struct points *points, const struct value *state)
{
	const struct value *metadata = value_get(state, "metadata");
	const char *source = value_get_text(metadata, "source");

	if (!points->is_held)
		points->parent = version_of(value_get(state, "parent_checkpoint"));
	points->is_held = true;
	points->version = version_of(value_get(state, "checkpoint"));
	points->step = value_get_int(metadata, "step", 0);
	snprintf(points->source, sizeof points->source, "%s",
	    source != NULL ? source : "loop");
}

const struct value *
points_take(struct points *points, struct arena *arena)
{
	if (!points->is_held)
		return NULL;
	points->is_held = false;
	return value_map(arena, "id", value_printf(arena, "%" PRId64, points->version),
	    "parent_id", value_printf(arena, "%" PRId64, points->parent), "step",
	    value_int(arena, points->step), "source", value_str(arena, points->source),
	    NULL);
}
