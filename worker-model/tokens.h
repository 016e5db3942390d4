/* tokens: an answer's text on its way to who watches the run, in pieces worth a message.
 *
 * Text is gathered for TOKENS_MS or TOKENS_BYTES. When the answer breaks off and is asked
 * for again (a retry, another model), those who saw its beginning are told to forget it: at once,
 * since nothing may follow. Who was given up and does not know it may write beside another: so pieces bear a number
 * of their answer's own.
 *
 * What the agent's middleware filters is filtered here, behind all providers: nothing of a text
 * is shown, or gathered, that has not gone through. */
#ifndef TOKENS_H
#define TOKENS_H

#include "chain.h"
#include "loop.h"
#include "value.h"

#define TOKENS_MS 20u
#define TOKENS_BYTES 1024u

struct tokens {
	struct loop *loop;
	/* Shows one piece: kind is "token" or "restart". body is lent for the call. */
	void (*publish)(void *arg, const char *kind, const struct value *body);
	void *arg;
	const struct value *about; /* map put in front of every body: run, thread, ... */
	const struct chain *chain; /* whose middleware may filter; NULL: nobody's */
	const char *model;
	struct text_filter **filters; /* of this answer, first to last */
	size_t filter_count;
	struct packet text; /* gathered */
	uint32_t answer; /* tells this answer from others; 0: nothing of it was shown */
	uint64_t index;  /* of the next piece within this answer */
	uint64_t shown_bytes;  /* of this answer's text, before that piece */
	uint64_t shown_ms;     /* when the last piece went; 0: none of this answer did */
	struct timer *flusher; /* running while text is gathered */
};

/* Begins an answer of model (kept). Says "restart" when a part of another was shown. */
void tokens_begin(struct tokens *tokens, const char *model);

/* The answer failed: says "restart" when a part of it was shown, and forgets the rest. */
void tokens_broke_off(struct tokens *tokens);

/* Some of an answer may have been shown by somebody else, who was to give it. */
void tokens_shown_elsewhere(struct tokens *tokens);

void tokens_add(struct tokens *tokens, const char *text, size_t size);

/* What follows is another block of the answer: filters look at each by itself, as at those of the thread. */
void tokens_break(struct tokens *tokens);

/* The answer is complete: shows the rest, and what filters have held back. */
void tokens_end(struct tokens *tokens);

/* Whether the chain has a filter. */
bool tokens_are_filtered(const struct tokens *tokens);

/* Forgets what is gathered and frees; tokens may be begun again. */
void tokens_release(struct tokens *tokens);

#endif
