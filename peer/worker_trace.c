/* What a worker tells of its calls: `handle`, beneath the span that the call came with, and what the answer function
 * adds. A call without a trace context, or with one that cannot be read, belongs to no trace. */
#include "worker_private.h"

#include <inttypes.h>
#include <string.h>

#include "bodies.h"

/* The service, but for one that is of this worker alone: that would be a name of its own for each worker. */
static const char *
service_name(const struct job *job)
{
	const char *service = job->header.service;

	return service != NULL && strncmp(service, SERVICE_WORKER_PREFIX,
				      strlen(SERVICE_WORKER_PREFIX)) == 0
		   ? "worker"
		   : service;
}

void
worker_trace_begin(struct job *job)
{
	const struct header *header = &job->header;
	const char *name = job->call.worker->options.name;
	struct trace_context context;
	uint8_t parent[SPAN_ID_BYTES];
	struct span *span;

	if (trace_context_read(header->traceparent, &context) == -1 ||
	    !context.is_sampled)
		return;
	memcpy(parent, context.span, SPAN_ID_BYTES);
	trace_span_id_make(context.span, "handle %s %" PRIu64 " %s", header->call_id,
	    header->attempt, name);
	span = job->call.span = arena_alloc(job->call.arena, sizeof *span);
	span_begin(span, SPAN_HANDLE, service_name(job), &context, parent);
	span_text(span, ATTRIBUTE_RUN, header->run);
	span_number(span, ATTRIBUTE_STEP, (int64_t)header->step);
	span_text(span, ATTRIBUTE_CALL, header->call_id);
	span_number(span, ATTRIBUTE_ATTEMPT, (int64_t)header->attempt);
	span_text(span, ATTRIBUTE_WORKER, name);
}

void
worker_trace_end(struct job *job, const struct value *body)
{
	struct span *span = job->call.span;

	span_end(span);
	if (job->call.lost)
		span_fail(span, "WorkerLostError");
	else if (!value_has(body, "whole")) /* it is asked again, and has not failed */
		span_fail(span, value_get_text(value_get(body, "fault"), "type"));
	trace_put(job->call.worker->options.trace, span);
}

/* Who tells nothing passes on what came. */
const char *
worker_trace_nested(const struct job *job)
{
	char *text;

	if (job->call.span == NULL)
		return job->header.traceparent;
	text = arena_alloc(job->call.arena, TRACEPARENT_BYTES + 1);
	trace_context_write(&job->call.span->context, text);
	return text;
}

void
worker_span_begin(const struct worker_call *call, struct span *span_r,
    enum span_type type, const char *what, unsigned number)
{
	const struct span *above = call->span;
	struct trace_context context = above->context;

	trace_span_id_make(context.span, "%s %s %" PRIu64 " %s %u", span_types[type].word,
	    call->header->call_id, call->header->attempt, call->worker->options.name,
	    number);
	span_begin(span_r, type, what, &context, above->context.span);
	span_text(span_r, ATTRIBUTE_RUN, call->header->run);
	span_number(span_r, ATTRIBUTE_STEP, (int64_t)call->header->step);
	span_text(span_r, ATTRIBUTE_CALL, call->header->call_id);
	span_text(span_r, ATTRIBUTE_WORKER, call->worker->options.name);
}

void
worker_span_end(const struct worker_call *call, struct span *span, const char *type)
{
	span_end(span);
	span_fail(span, type);
	trace_put(call->worker->options.trace, span);
}
