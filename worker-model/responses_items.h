/* responses_items: messages as the input of OpenAI's Responses API, a list of items: a message, a call, what answers
 * it, what the model thought, what the API's own tools did.
 *
 * What an answer had goes back as it came and in its order, by the blocks of its content
 * (responses_answer.h), with the calls as its tool_calls have them now. What another provider's answer had
 * besides text and calls is left out. Thoughts that nothing follows are left out, since the API refuses
 * them. */
#ifndef RESPONSES_ITEMS_H
#define RESPONSES_ITEMS_H

#include "provider.h"

/* For whom items are. */
struct responses_reader {
	const struct ask *ask;
	const char *provider; /* that is asked */
	bool thinks;          /* the model takes a developer's word, not a system's */
	bool thinks_not;      /* it refuses thoughts */
	/* The provider keeps what it answers, and knows it by its id. Where it does not, thoughts go back encrypted,
	 * or not at all. */
	bool keeps;
};

/* Returns the input of a request: the system prompt first (NULL: none), then messages. NULL with a reason in
 * arena for a message that a model cannot be sent. */
const struct value *responses_items(struct arena *arena,
    const struct responses_reader *reader, const char *system_prompt,
    const struct value *messages, const char **error_r);

/* The same for json_write alone, as openai_messages with ask->written. */
const struct value *responses_items_written(struct arena *arena,
    const struct responses_reader *reader, const char *system_prompt,
    const struct value *messages, struct written *written, const char **error_r);

#endif
