/* frames: what a client of LangGraph's API is shown of a run, as server-sent events. Pure: what happens goes in (feed.h), bytes
 * come out.
 *
 * A frame's id says how far who has it has come: "7", all of the run's events up to 7, or "7:3:120:...", and of the text
 * that the model's message of step 3 has 120 bytes, piece by piece (of which answer, and the rest of speech.h). Who comes
 * back with it is shown what is behind it, nothing twice. */
#ifndef FRAMES_H
#define FRAMES_H

#include "run_body.h"

struct frames;

/* What each frame of messages says of its run. Kept. */
struct frames_run {
	const char *run, *thread, *agent;
	const char *assistant;        /* NULL: the agent */
	const struct value *metadata; /* what it was submitted with, or NULL */
	bool names_run; /* ids are "<run>/7": of a stream that has several */
};

/* Returns new; modes: enum mode bits. last_id: what the client has, or NULL: nothing. */
struct frames *frames_new(
    const struct frames_run *run, unsigned modes, const char *last_id);
/* Takes *frames_p. NULL is fine. */
void frames_destroy(struct frames **frames_p);

/* The number of the last event that the client has. */
uint64_t frames_seen(const struct frames *frames);

/* The client has all of that step, and of those before it: pieces of them that still come are old. */
void frames_have_step(struct frames *frames, int64_t step);

/* What is to be written, lent until the next call; frames_taken empties it. */
const struct packet *frames_bytes(const struct frames *frames);
void frames_taken(struct frames *frames);

/* The frame that a stream begins with. */
void frames_begin(struct frames *frames);
/* A piece of an answer, that the pieces so far are void, or what a worker publishes else: an event that is not stored. */
void frames_live(struct frames *frames, struct arena *arena, const struct value *event);
/* A stored event that is a step, with the messages it names. */
void frames_step(struct frames *frames, struct arena *arena, const struct value *event,
    const struct value *messages);
/* The run's state; NULL where values are not shown is fine. */
void frames_values(struct frames *frames, const struct value *values);
/* The agent's graph begins with that input, or ends with that state: for MODE_EVENTS. */
void frames_graph(
    struct frames *frames, struct arena *arena, bool ends, const struct value *value);
/* What trail.h tells of: {type, step, at, payload}. */
void frames_trail(struct frames *frames, struct arena *arena, const struct value *item);
/* The run pauses and asks that ([{id, value}]); values: the state that it has left, told beside it, or NULL where values are not shown
 * or it cannot be read. Where it asks something, also who asked for another mode is told. */
void frames_interrupts(struct frames *frames, struct arena *arena,
    const struct value *values, const struct value *interrupts);
/* The run ended by error ({type, message}). */
void frames_error(struct frames *frames, struct arena *arena, const struct value *error);
/* All frames of the stored event of that number are made. */
void frames_close(struct frames *frames, uint64_t seq);
/* Whether a frame waits for its end: what is written now would be in its midst. */
bool frames_is_open(const struct frames *frames);

#endif
