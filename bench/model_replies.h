/* model_replies: what the model server answers: all of it made once, when it starts. What cannot be made
 * ends the process. */
#ifndef MODEL_REPLIES_H
#define MODEL_REPLIES_H

#include <stddef.h>

#define ROUNDS_MAX 64

struct reply {
	char *bytes; /* an HTTP response */
	size_t size;
};

struct replies {
	unsigned rounds; /* that call the tool; set before replies_make */
	struct reply calls[2][ROUNDS_MAX]; /* plain, streamed; by round */
	struct reply final[2];
	struct reply health, refusal;
};

void replies_make(struct replies *replies, const char *tool, const char *arguments);
void replies_free(struct replies *replies);

/* Returns the one to a request, lent. The number of assistant messages in it decides. */
const struct reply *replies_for(const struct replies *replies, const char *head,
    size_t head_size, const char *body, size_t body_size);

#endif
