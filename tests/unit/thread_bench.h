/* thread_bench: a run on a thread, as thread_frames is told of it, and what it tells who listens. */
#ifndef THREAD_BENCH_H
#define THREAD_BENCH_H

#include <stdbool.h>

#include "thread_frames.h"

#define TALK_ALL (~0u)
#define TALK_ANSWER                                                                      \
	"{'type': 'ai', 'id': 'r-3-1', 'content': 'It is two.', 'usage_metadata': "      \
	"{'input_tokens': 3}, 'response_metadata': {'finish_reason': 'stop'}}"

extern struct arena *talk_arena;
extern struct thread_frames *talk_frames;

/* A test's: talk_frames are those of all channels, of run "r". */
void thread_bench_setup(void);
void thread_bench_teardown(void);
/* They are those of other channels, from behind a number on. */
void talk_begin(unsigned channels, uint64_t since);

/* A stored event, with messages and values, literals, or NULL. */
void talk_happens(const char *event, const char *messages, const char *values);
void talk_start(void);
/* A piece of that answer, or of one that is not known. */
void talk_hear_answer(int answer, int step, int offset, const char *text);
void talk_hear(int step, int offset, const char *text);
/* A whole run: a call of the model, of a tool, of the model, of whose answer pieces are heard, or not. */
void talk_play_heard(bool is_heard);
void talk_play(void);

/* The events so far: [the envelope]. */
const struct value *talk_told(void);
const struct value *talk_data(const struct value *event);
/* "lifecycle running", "messages message-start", "values", ... with spaces between. */
const char *talk_story(const struct value *events);
/* All texts of pieces, one behind the other. */
const char *talk_spoken(const struct value *events);
/* The first event of that id, or NULL. */
const struct value *talk_find(const struct value *events, const struct value *id);

#endif
