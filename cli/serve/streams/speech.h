/* speech: what a reader has of the model's message of a step, which comes piece by piece, and is there whole in the end. Pure.
 *
 * An answer may break off and be asked for again, and a worker that was given up may still write while another one does:
 * each answer has a number of its own (`answer` of the event `token`, docs/protocol.md), and the reader has pieces of
 * one. Another one that begins takes its place; what it said does not count. The first so many bytes of the message tell
 * whether it is the one that was committed: they are remembered as a number (FNV-1a), so that a reader who comes back
 * brings it along. */
#ifndef SPEECH_H
#define SPEECH_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

struct speech {
	int64_t step;      /* 0: none */
	uint64_t have;     /* bytes of its text that the reader has */
	unsigned answer;   /* whose; 0: not known */
	unsigned hash;     /* of these bytes; 0: not known */
	unsigned restarts; /* how often what the reader had did not count */
};

/* The message of that step is the next; of the same step, it goes on. */
void speech_begin(struct speech *speech, int64_t step);

/* The reader begins in the middle: before that nothing will be missed. */
void speech_join(struct speech *speech, uint64_t offset);

/* Whether an event `token` of its step adds to what the reader has: all but the first *skip_r bytes of its content, behind what
 * a restart may have left (have is 0). To be told by speech_add then. */
bool speech_hears(struct speech *speech, const struct value *token, size_t *skip_r);
void speech_add(struct speech *speech, const char *text, size_t size);

/* An event `restart` of its step: what the reader has does not count. */
void speech_restart(struct speech *speech, const struct value *event);

/* The text is there, whole. Returns how much of it the reader has; what is something else does not count. */
size_t speech_check(struct speech *speech, const char *text, size_t size);

#endif
