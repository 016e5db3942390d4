/* tokens: an answer's text on its way to who watches the run, in pieces worth a message.
 *
 * Text is gathered for TOKENS_MS or TOKENS_BYTES. When the answer breaks off and is asked
 * for again (a retry, another model), those who saw its beginning are told to forget it.
 */
#ifndef TOKENS_H
#define TOKENS_H

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
	const char *model;
	struct packet text;    /* gathered */
	uint64_t index;        /* of the next piece within this answer */
	uint64_t shown_ms;     /* when the last piece went; 0: none of this answer did */
	struct timer *flusher; /* running while text is gathered */
};

/* Begins an answer of model (kept). Says "restart" when a part of another was shown. */
void tokens_begin(struct tokens *tokens, const char *model);

/* Some of an answer may have been shown by somebody else, who was to give it. */
void tokens_shown_elsewhere(struct tokens *tokens);

void tokens_add(struct tokens *tokens, const char *text, size_t size);

/* Shows what is gathered. */
void tokens_flush(struct tokens *tokens);

/* Forgets what is gathered and frees; tokens may be begun again. */
void tokens_release(struct tokens *tokens);

#endif
