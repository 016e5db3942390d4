/* story_bench: what a stream of `flotilla serve` shows, kept as a story of frames, on serve_bench. Texts are in the fleet's
 * arena. */
#ifndef STORY_BENCH_H
#define STORY_BENCH_H

#include "serve_bench.h"

#define STORY_FRAMES_MAX 512u

/* What somebody has been shown, by one stream or several. */
struct story {
	struct serve_frame frames[STORY_FRAMES_MAX];
	size_t count;
	size_t pieces;          /* of the model's texts */
	size_t pieces_max;      /* then it hangs up, or act is called; 0: never */
	void (*act)(void *arg); /* NULL: hangs up */
	void *arg;
};

/* Whether it is a piece of a text of the model's. */
bool story_is_piece(const struct serve_frame *frame);

/* The on_frame of a question whose arg is a story: adds the frame. */
bool story_on_frame(void *arg, const struct serve_frame *frame);

/* Begins a run on thread, with more keys in its body ("" or "'key': value"), and adds what its stream shows;
 * story_stream requires that it is one. url NULL: the bench's server. */
struct serve_answer story_stream(
    const char *thread, const char *agent, const char *keys, struct story *story);
struct serve_answer story_stream_at(const char *url, const char *thread,
    const char *agent, const char *keys, struct story *story);

/* Adds what the stream at that path shows behind last_id (NULL: all); story_join requires that it ends well. */
void story_join(const char *where, const char *last_id, struct story *story);
struct serve_answer story_join_at(
    const char *url, const char *where, const char *last_id, struct story *story);

const char *story_last_id(const struct story *story);
/* How many frames have that event, and the last of them; there must be one. */
size_t story_count(const struct story *story, const char *event);
const struct serve_frame *story_last(const struct story *story, const char *event);

/* The first from frames, then those of more, as text: each message's pieces put together, and each node's update. */
const char *story_told(const struct story *story, size_t first, const struct story *more);
/* What talker's run on that thread tells. */
const char *story_talk_of(const char *thread);

#endif
