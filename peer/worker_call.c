/* What a call tells, and asks of its worker. */
#include <stdio.h>

#include "bounds.h"
#include "log.h"
#include "worker_private.h"

#define CUSTOM "custom" /* the kind */

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

/* Takes packet. */
static void
send_progress(struct worker_call *call, const char *topic, struct packet *packet)
{
	const struct header header = {
		.type = MSG_PROGRESS,
		.call_id = call->header->call_id,
		.run = call->header->run,
		.seq = job_of(call)->seq,
		.topic = topic,
	};
	struct parts bodies = { .count = 0 };

	parts_add_packet(&bodies, packet);
	links_send(call->worker->links, progress_link(call), &header, &bodies);
}

void
worker_progress(struct worker_call *call, const char *kind, const struct value *body)
{
	struct packet packet = { 0 };
	struct topic topic;

	if (call->worker == NULL)
		return;
	job_of(call)->seq++;
	if (!links_wants(
		call->worker->links, progress_link(call), topic_of(call, kind, &topic)))
		return;
	value_pack(&packet, body);
	send_progress(call, topic.text, &packet);
}

/* --- what a call tells on purpose -------------------------------------------------------- */

bool
worker_streams(struct worker_call *call)
{
	struct job *job = job_of(call);
	struct topic topic;
	uint64_t second;

	if (call->worker == NULL || (call->header->flags & WIRE_STREAM) == 0 ||
	    !links_wants(
		call->worker->links, progress_link(call), topic_of(call, CUSTOM, &topic)))
		return false;
	second = loop_now_ms(call->worker->loop) / 1000;
	if (second != job->streamed.second) {
		job->streamed.second = second;
		job->streamed.values = 0;
		job->streamed.bytes = 0;
	}
	return job->streamed.values < STREAM_VALUES_MAX &&
	       job->streamed.bytes < STREAM_BYTES_MAX;
}

static void
pack_told(
    const struct worker_call *call, struct packet *packet, const struct value *value)
{
	const struct value *tool_call = value_get(call->request, "tool_call");
	struct arena *arena = arena_new();

	value_pack(packet,
	    value_map(arena, "kind", value_str(arena, CUSTOM), "run",
		value_get(call->request, "run"), "thread",
		value_get(call->request, "thread"), "agent",
		value_get(call->profile, "agent"), "step",
		value_int(arena, (int64_t)call->header->step), "tool",
		value_get(tool_call, "name"), "tool_call_id", value_get(tool_call, "id"),
		"value", value != NULL ? value : value_nil(), NULL));
	arena_destroy(&arena);
}

void
worker_stream(struct worker_call *call, const struct value *value)
{
	struct packet packet = { 0 };
	struct topic topic;

	if (!worker_streams(call))
		return;
	pack_told(call, &packet, value);
	job_of(call)->seq++;
	job_of(call)->streamed.values++;
	job_of(call)->streamed.bytes += packet.size;
	if (packet.size <= STREAM_VALUE_BYTES_MAX) {
		send_progress(call, topic_of(call, CUSTOM, &topic), &packet);
	} else {
		log_debug("call=%s streams a value of %zu bytes: left out",
		    call->header->call_id, packet.size);
		packet_release(&packet);
	}
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
