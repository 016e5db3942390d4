/* frames_bench: what happens in a run "r", event by event, and the frames that show it. */
#ifndef FRAMES_BENCH_H
#define FRAMES_BENCH_H

#include "frames.h"

#define TUPLE MODE_MESSAGES_TUPLE

/* What the model writes in step 3. */
#define ANSWER "[{'type': 'ai', 'id': 'r-3-1', 'content': 'Hello you'}]"

struct frames_bench {
	struct arena *arena;
	struct frames *frames;
};

extern struct frames_bench fb;

/* A checked fixture; there are no frames before fb_begin. */
void fb_open(void);
void fb_close(void);

void fb_begin(unsigned modes, const char *last_id);

/* --- what happens ------------------------------------------------------------------------- */

void fb_hear(const char *event);
void fb_hear_text(int step, int offset, const char *text);
/* Of the answer of that number. */
void fb_hear_answer(unsigned answer, int step, int offset, const char *text);

/* A step's event, with the messages that it has written. */
void fb_end_step(int seq, int step, const char *node, const char *messages);

/* --- what is shown ------------------------------------------------------------------------ */

/* All frames, each as "event@id data", of a message in short, with ' for "; they are taken. Of an id no more than three
 * numbers. */
const char *fb_shown(void);
/* Takes all frames; returns the last one's id. */
const char *fb_last_id(void);

/* The data of the only frame that there is. */
const struct value *fb_only(void);

#endif
