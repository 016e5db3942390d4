/* frames_private: what the files of frames.h share. */
#ifndef FRAMES_PRIVATE_H
#define FRAMES_PRIVATE_H

#include "frames.h"
#include "speech.h"

struct frames {
	struct frames_run run;
	unsigned modes;
	struct packet out;
	bool is_open; /* the last frame wants its id still */
	uint64_t seen;
	int64_t done; /* the last step of which the client has all */
	struct speech speech;
	struct packet text;  /* of it, from its first byte on; else less than it has */
	bool is_over;        /* it is there whole */
	struct arena *round; /* NULL: no tools were begun yet */
	const struct value *args; /* {call: args} of the last that were, in round */
};

bool frames_shows(const struct frames *frames, enum mode mode);
void frames_add(struct frames *frames, const char *event, const struct value *data);
/* What a frame says of the run, and of that node at that step; node NULL: of the run alone. model: that it asked, or NULL. */
const struct value *frames_about(struct frames *frames, struct arena *arena,
    const char *node, int64_t step, const char *model);

/* --- frames_calls.c: the modes `events` and `tools` ----------------------------------------- */

/* A node begins or ends: an item of trail.h that is no checkpoint. */
void frames_call_task(
    struct frames *frames, struct arena *arena, const struct value *item);
/* A piece of what the model says. */
void frames_call_piece(struct frames *frames, struct arena *arena, int64_t step,
    const struct value *piece, const struct value *metadata);
/* A message that a step's event names, whole. */
void frames_call_message(struct frames *frames, struct arena *arena,
    const struct value *event, const struct value *message, const struct value *metadata);

#endif
