/* model_replies: what the model server answers: all of it made once, when it starts. What cannot be made
 * ends the process. */
#ifndef MODEL_REPLIES_H
#define MODEL_REPLIES_H

#include <stddef.h>

#define FINAL_TEXT "All looked up: this is the final answer."
#define ROUNDS_MAX 64u
#define TOOL_CALLS_MAX 128u
#define PIECES_MAX 65536u
#define CONTENT_BYTES_MAX ((size_t)8 << 20)

struct reply {
	char *bytes; /* an HTTP response */
	size_t size;
	size_t *ends; /* of its parts, as they go out when they are to go one by one */
	size_t count;
};

struct replies {
	/* Set before replies_make. */
	unsigned rounds;   /* that call the tool */
	unsigned parallel; /* calls of it in each; 0: 1 */
	size_t
	    content_bytes; /* of the text in every answer; 0: none beside calls, a sentence at the end */
	unsigned pieces; /* events the text has when it is streamed; 0: 1 */

	struct reply calls[2][ROUNDS_MAX]; /* plain, streamed; by round */
	struct reply final[2];
	struct reply health, refusal;
};

void replies_make(struct replies *replies, const char *tool, const char *arguments);
void replies_free(struct replies *replies);

/* Returns the one to a request, lent. The number of assistant messages in it decides; the model "aide", whom a
 * task was handed to, has the final one at once. */
const struct reply *replies_for(const struct replies *replies, const char *head,
    size_t head_size, const char *body, size_t body_size);

#endif
