#include "body.h"

#include <stdlib.h>

#include "memory.h"

struct body {
	unsigned count;
	zmq_msg_t frames[];
};

struct body *
body_take(struct parts *parts, unsigned from, size_t *bytes_r)
{
	unsigned count = parts->count > from ? parts->count - from : 0, i;
	struct body *body;

	*bytes_r = 0;
	if (count == 0)
		return NULL;
	body = xcalloc(1, sizeof *body + count * sizeof body->frames[0]);
	body->count = count;
	for (i = 0; i < count; i++) {
		zmq_msg_init(&body->frames[i]);
		zmq_msg_move(&body->frames[i], &parts->frames[from + i]);
		*bytes_r += sizeof body->frames[0] + zmq_msg_size(&body->frames[i]);
	}
	return body;
}

void
body_free(struct body *body)
{
	unsigned i;

	for (i = 0; i < body->count; i++)
		zmq_msg_close(&body->frames[i]);
	free(body);
}

void
parts_add_body(struct parts *parts, struct body *body)
{
	unsigned i;

	for (i = 0; body != NULL && i < body->count; i++) {
		zmq_msg_init(&parts->frames[parts->count]);
		zmq_msg_copy(&parts->frames[parts->count++], &body->frames[i]);
	}
}
