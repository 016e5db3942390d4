/* What a call asks of its worker. */
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

void
worker_progress(struct worker_call *call, const char *kind, const struct value *body)
{
	const char *run = call->header->run;
	uint32_t link;
	struct header header = {
		.type = MSG_PROGRESS, .call_id = call->header->call_id, .run = run
	};
	struct parts bodies = { .count = 0 };
	struct packet packet = { 0 };

	if (call->worker == NULL)
		return;
	header.seq = ++job_of(call)->seq;
	header.topic =
	    arena_printf(call->arena, "run.%s.%s", run == NULL ? "-" : run, kind);
	link = progress_link(call);
	if (!links_wants(call->worker->links, link, header.topic))
		return;
	value_pack(&packet, body);
	parts_add_packet(&bodies, &packet);
	links_send(call->worker->links, link, &header, &bodies);
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
