#include "trace_queue.h"

#include <stdlib.h>

#include "memory.h"
#include "otlp.h"

struct trace_queue {
	const char *program, *instance;
	size_t bytes_max;
	struct packet body; /* the head and the spans; without any it is empty */
	size_t count;
};

struct trace_queue *
trace_queue_new(const char *program, const char *instance, size_t bytes_max)
{
	struct trace_queue *queue = xcalloc(1, sizeof *queue);

	queue->program = program;
	queue->instance = instance;
	queue->bytes_max = bytes_max;
	return queue;
}

void
trace_queue_destroy(struct trace_queue **queue_p)
{
	struct trace_queue *queue = *queue_p;

	if (queue == NULL)
		return;
	packet_release(&queue->body);
	free(queue);
	*queue_p = NULL;
}

bool
trace_queue_put(struct trace_queue *queue, const struct span *span)
{
	size_t before = queue->body.size;

	if (queue->count == 0)
		otlp_head(&queue->body, queue->program, queue->instance);
	else
		packet_append(&queue->body, ",", 1);
	otlp_span(&queue->body, span);
	if (queue->body.size > queue->bytes_max) {
		queue->body.size = before;
		return false;
	}
	queue->count++;
	return true;
}

size_t
trace_queue_count(const struct trace_queue *queue)
{
	return queue->count;
}

size_t
trace_queue_bytes(const struct trace_queue *queue)
{
	return queue->body.size;
}

size_t
trace_queue_take(struct trace_queue *queue, struct packet *body_r)
{
	size_t count = queue->count;

	if (count == 0)
		return 0;
	otlp_tail(&queue->body);
	*body_r = queue->body;
	queue->body = (struct packet){ 0 };
	queue->count = 0;
	return count;
}
