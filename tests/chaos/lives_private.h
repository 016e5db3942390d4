/* Between the files of lives.h. */
#ifndef LIVES_PRIVATE_H
#define LIVES_PRIVATE_H

#include "lives.h"

struct story {
	struct lives *lives;
	struct random random;
	const char *thread, *run; /* run: NULL before it is known */
	const char *input;        /* of this life */
	unsigned life, count;     /* count: that it is to have */
	bool by_http, is_unsure;  /* a request may still be on its way */
	bool is_there;            /* in the end */
	unsigned done;            /* lives whose model was told that the call was done */
	int64_t began_ms, ended_ms; /* by the wall clock */
	const char *broken[2]; /* the first thing that did not hold of 2, 20; or NULL */
	struct story *next;
};

struct lives {
	struct load *load;
	struct redis *redis; /* past the proxy, with patience */
	struct random random;
	struct story *first;
	unsigned long stories, begun, deleted;
};

enum promise { ONCE, GONE };

/* Notes what does not hold of the story. */
void lives_hold(struct story *story, enum promise promise, bool holds, const char *what);

/* Waits until the story's run has ended. */
void lives_wait_end(struct story *story);
/* That there is this life, whose run has ended, once, and nothing of one before it. Counts it in done. */
void lives_look(struct story *story);

#endif
