/* thread_frames: what a client is shown of a thread, run after run, as server-sent events of LangGraph's thread protocol: one
 * envelope an event, with a number that grows over all runs. Pure: what happens goes in (feed.h), bytes come out.
 *
 * Whoever comes back with a number (thread_number.h) is given what is behind it. An event has one id in all streams, whatever else they show (a piece of a text: where no answer had broken off before), which
 * names its run; but values of workers, which are not stored but heard, have other ids for each who listens. */
#ifndef THREAD_FRAMES_H
#define THREAD_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "value.h"

enum channel {
	CHANNEL_VALUES = 1,
	CHANNEL_UPDATES = 2,
	CHANNEL_MESSAGES = 4,
	CHANNEL_TOOLS = 8,
	CHANNEL_CUSTOM = 16,
	CHANNEL_LIFECYCLE = 32,
	CHANNEL_INPUT = 64,
	CHANNEL_TASKS = 128, /* both: trail.h */
	CHANNEL_CHECKPOINTS = 256,
};
#define CHANNELS 9u

/* Adds the channel of that name. Returns false where there is none. */
bool channel_add(const char *name, unsigned *channels);

struct thread_frames;

/* Returns new; wanted: enum channel bits. since: the number that the client has last, or 0. */
struct thread_frames *thread_frames_new(unsigned wanted, uint64_t since);
/* Takes *frames_p. NULL is fine. */
void thread_frames_destroy(struct thread_frames **frames_p);

/* The stored event to go on behind, of the run that since is of (thread_number.h). */
uint64_t thread_frames_event_of(uint64_t since);

/* What is to be written, lent until the next call; thread_frames_taken empties it. */
const struct packet *thread_frames_bytes(const struct thread_frames *frames);
void thread_frames_taken(struct thread_frames *frames);

/* What follows is of the run of that number on the thread, behind its event seen. Keeps run and agent. Of a number that is less than
 * since's the thread was made again: since counts no more; nor does it where the number of the run's end is less than seen. */
void thread_frames_begin(struct thread_frames *frames, uint64_t number, const char *run,
    const char *agent, uint64_t seen);
/* A stored event, with what belongs to it: the messages that it names; its state and its trail, where they are shown, which go before
 * its end. */
struct thread_told {
	const struct value *messages;
	const struct value *values; /* or NULL */
	const struct value *trail;  /* as of trail_event, or NULL */
};
void thread_frames_event(struct thread_frames *frames, struct arena *arena,
    const struct value *event, const struct thread_told *told);
/* What is not stored: a piece of an answer, or what a worker publishes else. */
void thread_frames_live(
    struct thread_frames *frames, struct arena *arena, const struct value *event);

#endif
