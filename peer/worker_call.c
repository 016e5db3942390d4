/* What a call tells, and asks of its worker. */
#include <stdio.h>

#include "worker_private.h"

static struct job *
job_of(struct worker_call *call)
{
	return (struct job *)(void *)call; /* it stands first */
}

/* A broker lets nothing through of a call that it does not have, and the run's own may have been
 * away when this one was sent. */
static uint32_t
progress_link(struct worker_call *call)
{
	const struct links *links = call->worker->links;
	uint32_t link = job_of(call)->link;

	return links_is_up(links, link) ? link : links_of_run(links, call->header->run);
}

struct topic {
	char text[TOPIC_BYTES_MAX + 1];
};

static const char *
topic_of(const struct worker_call *call, const char *kind, struct topic *topic)
{
	const char *run = call->header->run;

	snprintf(
	    topic->text, sizeof topic->text, "run.%s.%s", run == NULL ? "-" : run, kind);
	return topic->text;
}

void
worker_progress(struct worker_call *call, const char *kind, const struct value *body)
{
	struct topic topic;
	struct header header = {
		.type = MSG_PROGRESS,
		.call_id = call->header->call_id,
		.run = call->header->run,
		.topic = topic_of(call, kind, &topic),
	};
	struct parts bodies = { .count = 0 };
	struct packet packet = { 0 };
	uint32_t link;

	if (call->worker == NULL)
		return;
	header.seq = ++job_of(call)->seq;
	link = progress_link(call);
	if (!links_wants(call->worker->links, link, header.topic))
		return;
	value_pack(&packet, body);
	parts_add_packet(&bodies, &packet);
	links_send(call->worker->links, link, &header, &bodies);
}

bool
worker_streams(struct worker_call *call)
{
	struct topic topic;

	return call->worker != NULL &&
	       links_wants(call->worker->links, progress_link(call),
		   topic_of(call, TELLING_KIND, &topic)) &&
	       telling_may(&job_of(call)->telling, loop_now_ms(call->worker->loop));
}

void
worker_stream(struct worker_call *call, const char *middleware, const struct value *value)
{
	const struct value *tool_call = value_get(call->request, "tool_call");
	struct arena *arena;

	if (!worker_streams(call) || !telling_takes(&job_of(call)->telling,
					 loop_now_ms(call->worker->loop), value))
		return;
	arena = arena_new();
	worker_progress(call, TELLING_KIND,
	    value_map(arena, "kind", value_str(arena, TELLING_KIND), "run",
		value_get(call->request, "run"), "thread",
		value_get(call->request, "thread"), "agent",
		value_get(call->profile, "agent"), "step",
		value_int(arena, (int64_t)call->header->step), "middleware",
		middleware != NULL ? value_str(arena, middleware) : NULL, "tool",
		value_get(tool_call, "name"), "tool_call_id", value_get(tool_call, "id"),
		"value", value, NULL));
	arena_destroy(&arena);
}

/* Whoever had this call before us may have made the same calls, by another broker perhaps. */
static bool
may_have_asked(const struct worker_call *call)
{
	return call->header->attempt > 1 || (call->header->flags & WIRE_RESEND) != 0;
}

int
worker_nested_call(struct worker_call *call, const struct call_request *request,
    struct call_outcome *outcome_r)
{
	struct call_request nested_request = *request;
	struct nested *nested = arena_alloc(call->arena, sizeof *nested);

	if (call->worker == NULL) {
		*outcome_r = (struct call_outcome){ .code = CODE_NOT_SERVED };
		return 0;
	}
	nested->id = arena_strdup(call->arena, request->id);
	nested->next = job_of(call)->nested;
	job_of(call)->nested = nested;
	nested_request.traceparent = worker_trace_nested(job_of(call));
	if (may_have_asked(call))
		nested_request.flags |= WIRE_RESEND;
	return caller_call(call->worker->caller, call->arena, &nested_request, outcome_r);
}
