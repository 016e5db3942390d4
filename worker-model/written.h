/* written: the messages of a kept thread as JSON, in the words of one provider, each written once.
 *
 * A thread of thousands of messages is sent whole at each call, and all but the last of them were
 * sent before. They stand behind each other with commas between them, so that any number of them from the first
 * is one piece of the request. */
#ifndef WRITTEN_H
#define WRITTEN_H

#include "value.h"

struct written {
	struct packet text;
	size_t *ends; /* of each message in text */
	size_t count, room;
};

void written_release(struct written *written);

/* What it takes. */
size_t written_bytes(const struct written *written);

/* Adds the message behind the last. */
void written_add(struct written *written, const struct value *message);

/* Returns the first count messages (at least one; they must be there) as one item of an array for json_write, in
 * arena; good until the next written_add or written_release. */
const struct value *written_item(
    const struct written *written, struct arena *arena, size_t count);

#endif
