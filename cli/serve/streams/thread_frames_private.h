/* thread_frames_private: between the files of thread_frames. */
#ifndef THREAD_FRAMES_PRIVATE_H
#define THREAD_FRAMES_PRIVATE_H

#include "points.h"
#include "speech.h"
#include "thread_frames.h"

struct thread_frames {
	unsigned channels;
	uint64_t since;
	uint64_t number, event, count; /* of the next frame */
	unsigned
	    places[CHANNELS]; /* so many there were of each channel since that event */
	uint32_t
	    mark; /* of what is not stored: who hears it elsewhere counts from elsewhere */
	const char *run, *agent;
	struct packet out;
	struct points points;
	struct speech speech; /* what was shown of a message in pieces */
	int64_t
	    done; /* the last step that was told: what is heard of it later is left out */
	unsigned
	    nth; /* which of its step's answers that is, from 0 on: what is heard is of the first */
};

/* What an event is of. */
struct about {
	unsigned channel;
	const char *method;
	const char *node; /* of an update; or NULL */
	const char *part; /* "model", "tools": the node it is within; or NULL */
	const char *
	    key; /* which of that method's in the run; NULL: by the stored event, and its place among those of it */
	int64_t step; /* of part */
	int64_t at;   /* ms since 1970; 0: not known */
	bool is_live; /* it is not stored, and told once */
};

/* Shows it if its channel is wanted. Of what another stream shows, too, the id is the same there. */
void thread_frames_add(struct thread_frames *frames, struct arena *arena,
    const struct about *about, const struct value *data);

/* --- thread_message.c --------------------------------------------------------------------- */

/* A token is there. */
void thread_message_piece(
    struct thread_frames *frames, struct arena *arena, const struct value *token);
/* A message is there: what of it was not said yet, and its end. */
void thread_message_whole(struct thread_frames *frames, struct arena *arena, int64_t step,
    const struct value *message);

#endif
