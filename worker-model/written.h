/* written: the messages of a kept thread as JSON, in the words of one provider, each written once. Who has other
 * words begins anew.
 *
 * A thread of thousands of messages is sent whole at each call, and all but the last of them were
 * sent before. They stand behind each other with commas between them, so that any number of them from the first
 * is one piece of the request. */
#ifndef WRITTEN_H
#define WRITTEN_H

#include "value.h"

struct written {
	char *words; /* whose; NULL: nobody's yet */
	struct packet text;
	size_t *ends; /* of each message in text */
	size_t count, room;
};

void written_release(struct written *written);

/* What it takes. */
size_t written_bytes(const struct written *written);

/* From now on in these words: the name that a provider gives what it would say, copied. What is there in
 * others is forgotten. */
void written_in(struct written *written, const char *words);

/* Adds the message behind the last, which is said in so many items: none, one, several. */
void written_add(struct written *written, const struct value *const *items, size_t count);

/* Adds the first count messages, which must be there, to list as one item for json_write alone; nothing where
 * nothing is said in them. Good until the next written_in, written_add or written_release. */
void written_put(const struct written *written, struct value_list *list, size_t count);

#endif
