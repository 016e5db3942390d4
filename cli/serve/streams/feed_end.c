#include "feed.h"

const struct value *
feed_end(struct feed *feed, struct arena *arena, uint64_t beat_ms, int (*beat)(void *arg),
    void *arg)
{
	uint64_t beat_at = beat_next(beat_ms);

	for (;;) {
		struct arena *scratch = arena_new();
		const struct value *thing = NULL, *last = NULL;
		int found = feed_next(feed, scratch, beat_rest(beat_at), &thing);

		if (found == 1 && value_text_is(value_get(thing, "kind"), "finished"))
			last = value_copy(arena, thing);
		arena_destroy(&scratch);
		if (last != NULL || found == -1)
			return last;
		if (beat_rest(beat_at) > 0)
			continue;
		if (beat != NULL && beat(arg) == -1)
			return NULL;
		beat_at = beat_next(beat_ms);
	}
}
