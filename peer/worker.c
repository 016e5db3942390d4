#include "worker_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bodies.h"
#include "fault.h"
#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "parcel.h"
#include "watchdog.h"

#define TICK_MS 100

static void feed(struct worker *worker, const struct outbox_event *event);

/* --- one call ------------------------------------------------------------------------- */

static struct header
header_copy(struct arena *arena, const struct header *header)
{
	struct header copy = *header;
	const char **const texts[] = { &copy.call_id, &copy.run, &copy.service,
		&copy.tenant, &copy.traceparent, &copy.idempotency_key };
	size_t i;

	for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (*texts[i] != NULL)
			*texts[i] = arena_strdup(arena, *texts[i]);
	copy.topic = copy.reason = copy.session = copy.name = NULL;
	copy.services = NULL;
	copy.calls = NULL;
	copy.service_count = copy.call_count = 0;
	return copy;
}

/* Their descriptors alone are larger than the rest of a job, which may wait for long. */
static void
drop_bodies(struct job *job)
{
	if (job->bodies != NULL)
		parts_release(job->bodies);
	free(job->bodies);
	job->bodies = NULL;
}

/* Decodes the bodies. Returns NULL, or what is wrong with them. */
static const char *
decode_bodies(struct job *job)
{
	struct worker *worker = job->call.worker;
	const struct parts *bodies = job->bodies;
	const char *error = NULL;

	if (bodies->count <= BODY_REQUEST)
		return "it has no profile and request";
	job->profile = profile_get(worker->profiles, parts_data(bodies, BODY_PROFILE),
	    parts_size(bodies, BODY_PROFILE), &error);
	if (job->profile == NULL)
		return error;
	job->call.profile = profile_value(job->profile);
	job->call.profile_number = profile_number(job->profile);
	if (value_unpack(job->call.arena, parts_data(bodies, BODY_REQUEST),
		parts_size(bodies, BODY_REQUEST), &job->call.request, &error) == -1)
		return error;
	return bodies_wrong(job->header.service, job->call.profile, job->call.request);
}

static const struct value *
answer(struct job *job)
{
	struct worker *worker = job->call.worker;
	struct arena *arena = job->call.arena;
	const char *error;

	fiber_note(job->header.service, job->header.call_id);
	if (fiber_cancelled())
		return parcel_failed(arena, fault_cancelled(arena));
	error = decode_bodies(job);
	drop_bodies(job);
	if (error != NULL)
		return parcel_failed(arena,
		    fault_new(arena, "ValueError", "the call cannot be read: %s", error));
	return worker->options.answer(worker->options.arg, &job->call);
}

static void
job_free(struct worker *worker, struct job *job)
{
	struct arena *arena = job->call.arena;

	id_table_remove(worker->jobs, &job->key);
	drop_bodies(job);
	profile_release(worker->profiles, &job->profile);
	free(job);
	arena_destroy(&arena);
}

/* Stopped in the middle, and it says so; one that was stopped too late has a good answer. */
static bool
was_interrupted(const struct value *body)
{
	return fiber_cancelled() &&
	       (value_is_nil(body) ||
		   value_get_bool(value_get(body, "fault"), "control", false));
}

/* On the call's fiber. */
static void
job_main(void *arg)
{
	struct job *job = arg;
	struct worker *worker = job->call.worker;
	struct outbox_event event = { .type = OUTBOX_ENDED,
		.call_id = job->header.call_id };
	const struct value *body;
	const struct nested *nested;

	if (worker->options.trace != NULL)
		worker_trace_begin(job);
	body = answer(job);
	if (job->call.span != NULL)
		worker_trace_end(job, body);
	event.interrupted = was_interrupted(body);
	event.lost = job->call.lost;
	event.parcel = parcel_new(job->call.arena, body);
	event.body_bytes = parcel_bytes(event.parcel);
	job->fiber = NULL;
	feed(worker, &event);
	/* Behind the RESULT: when the broker hears this it has that. Who runs the call next
	 * wants the answers. */
	if (!job->goes_on || !event.interrupted)
		for (nested = job->nested; nested != NULL; nested = nested->next)
			caller_stored(worker->caller, nested->id);
	job_free(worker, job);
}

static void
start_job(struct worker *worker)
{
	struct arena *arena = arena_new();
	struct job *job = xcalloc(1, sizeof *job);

	job->header = header_copy(arena, worker->incoming);
	job->link = worker->incoming_link;
	job->call = (struct worker_call){
		.header = &job->header, .arena = arena, .worker = worker
	};
	job->bodies = xcalloc(1, sizeof *job->bodies);
	parts_move(job->bodies, worker->incoming_bodies, 0);
	id_table_put(worker->jobs, &job->key, job->header.call_id, job);
	job->fiber = fiber_start(worker->loop, "call", job_main, job);
	if (job->fiber == NULL)
		worker->unstarted = job;
}

/* The calls of one that goes on elsewhere are not to be cancelled: they are its own there. */
static void
stop_job(struct worker *worker, const char *id, bool goes_on)
{
	struct job *job = id_table_get(worker->jobs, id);
	const struct nested *nested;

	if (job == NULL || job->fiber == NULL)
		return;
	job->goes_on = goes_on;
	for (nested = job->nested; goes_on && nested != NULL; nested = nested->next)
		caller_forget(worker->caller, nested->id);
	fiber_cancel(job->fiber);
}

/* --- the probe ------------------------------------------------------------------------ */

/* As job_main, with nothing to do. */
static void
probe_main(void *arg)
{
	struct worker *worker = arg;
	link_set probing = worker->probing;
	uint32_t link;

	worker->is_probing = false;
	worker->probing = 0;
	for (link = 0; probing >> link != 0; link++)
		if ((probing & LINK_BIT(link)) != 0)
			feed(worker, &(struct outbox_event){ .type = OUTBOX_PROBED,
					 .link = link,
					 .call_id = worker->probes[link] });
}

/* Without a fiber there is no answer, and that is the answer. A second probe of a broker
 * that overtakes the first takes its place. */
static void
start_probe(struct worker *worker, uint32_t link, const char *id)
{
	snprintf(worker->probes[link], sizeof worker->probes[link], "%s", id);
	worker->probing |= LINK_BIT(link);
	if (!worker->is_probing && !worker->is_drained)
		worker->is_probing =
		    fiber_start(worker->loop, "probe", probe_main, worker) != NULL;
}

/* --- the outbox ----------------------------------------------------------------------- */

static void
send_with_parcel(struct worker *worker, uint32_t link, const struct header *header,
    struct parcel *parcel)
{
	struct parts bodies = { .count = 0 };

	if (parcel != NULL)
		parcel_add(parcel, &bodies);
	links_send(worker->links, link, header, &bodies);
}

static void
perform(struct worker *worker, const struct outbox_action *action)
{
	switch (action->type) {
	case OUTBOX_SEND:
		send_with_parcel(worker, action->link, &action->header, action->parcel);
		break;
	case OUTBOX_START:
		start_job(worker);
		break;
	case OUTBOX_START_PROBE:
		start_probe(worker, action->link, action->header.call_id);
		break;
	case OUTBOX_STOP:
		stop_job(worker, action->header.call_id, action->goes_on);
		break;
	case OUTBOX_FREE:
		parcel_free(action->parcel);
		break;
	case OUTBOX_DRAINED:
		worker->is_drained = true;
		break;
	}
}

static void
step(struct worker *worker, const struct outbox_event *event)
{
	struct outbox_actions actions =
	    outbox_step(worker->outbox, event, loop_now_ms(worker->loop));
	size_t i;

	for (i = 0; i < actions.count; i++)
		perform(worker, &actions.items[i]);
}

/* What the actions bring about is told to the outbox when all are done. */
static void
feed(struct worker *worker, const struct outbox_event *event)
{
	struct job *job;

	step(worker, event);
	job = worker->unstarted;
	if (job != NULL) {
		worker->unstarted = NULL;
		step(worker, &(struct outbox_event){ .type = OUTBOX_NOT_STARTED,
				 .call_id = job->header.call_id });
		job_free(worker, job);
	}
	if (worker->is_drained && !worker->is_probing && !worker->was_told) {
		worker->was_told = true;
		worker->drained(worker->drained_arg);
	}
}

static void
on_tick(void *arg)
{
	feed(arg, &(struct outbox_event){ .type = OUTBOX_TICK });
}

/* --- the links' events ---------------------------------------------------------------- */

static void
on_up(void *arg, uint32_t link)
{
	struct worker *worker = arg;

	feed(worker, &(struct outbox_event){ .type = OUTBOX_UP, .link = link });
	caller_up(worker->caller, link);
}

static void
on_leaving(void *arg, uint32_t link, uint64_t ms)
{
	struct worker *worker = arg;

	(void)ms;
	log_info("broker leaves endpoint=%s", links_endpoint(worker->links, link));
	caller_leaving(worker->caller, link);
}

static void
on_down(void *arg, uint32_t link, const char *reason)
{
	struct worker *worker = arg;

	links_log_lost(worker->links, link, reason);
	feed(worker, &(struct outbox_event){ .type = OUTBOX_DOWN, .link = link });
	caller_down(worker->caller, link);
}

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	struct worker *worker = arg;

	if (header->type == MSG_ERROR && header->code == CODE_STUCK)
		watchdog_end("the broker says that our calls do not move");
	if (header->type == MSG_ERROR) {
		log_warnx("broker refused: %s", header->reason != NULL
						    ? header->reason
						    : wire_code_text(header->code));
	} else if (!caller_message(worker->caller, link, header, bodies)) {
		worker->incoming = header;
		worker->incoming_link = link;
		worker->incoming_bodies = bodies;
		feed(
		    worker, &(struct outbox_event){
				.type = OUTBOX_MESSAGE, .link = link, .header = header });
	}
}

static void
on_ping(void *arg, struct header *header)
{
	struct worker *worker = arg;

	outbox_report(worker->outbox, header);
	header->probes = header->type == MSG_HELLO;
}

/* --- life ----------------------------------------------------------------------------- */

static struct links *
connect_links(struct worker *worker, const char **wrong_r, const char **allowed_r)
{
	const struct worker_options *options = &worker->options;
	const struct links_options links_options = {
		.endpoints = options->endpoints,
		.role = ROLE_WORKER,
		.name = options->name,
		.session = options->session,
		.services = options->services,
		.service_count = options->service_count,
		.capacity = options->capacity,
		.catalog = options->catalog,
		.on_up = on_up,
		.on_down = on_down,
		.on_leaving = on_leaving,
		.on_message = on_message,
		.on_ping = on_ping,
		.arg = worker,
	};

	return links_new(worker->loop, &links_options, wrong_r, allowed_r);
}

struct worker *
worker_new(struct loop *loop, const struct worker_options *options, const char **wrong_r,
    const char **allowed_r)
{
	struct worker *worker = xcalloc(1, sizeof *worker);
	uint64_t seed = 0;

	if (getentropy(&seed, sizeof seed) == -1)
		seed = loop_now_us();
	worker->loop = loop;
	worker->options = *options;
	worker->jobs = id_table_new(seed);
	worker->outbox = outbox_new(options->capacity, seed);
	worker->profiles = profiles_new(seed, WORKER_PROFILES_MAX);
	worker->links = connect_links(worker, wrong_r, allowed_r);
	if (worker->links == NULL)
		goto fail;
	worker->caller = caller_new(loop, worker->links);
	worker->timer = timer_start(loop, TICK_MS, TICK_MS, on_tick, worker);
	return worker;

fail:
	worker_destroy(&worker);
	return NULL;
}

uint32_t
worker_part(const char *const *endpoints, uint32_t slots)
{
	uint32_t brokers = 0;

	while (endpoints[brokers] != NULL)
		brokers++;
	if (brokers < 2)
		return slots;
	return slots > brokers ? slots / brokers : 1;
}

void
worker_destroy(struct worker **worker_p)
{
	struct worker *worker = *worker_p;

	if (worker == NULL)
		return;
	assert(id_table_size(worker->jobs) == 0);
	timer_stop(&worker->timer);
	caller_destroy(&worker->caller);
	links_destroy(&worker->links);
	outbox_destroy(&worker->outbox, parcel_free);
	profiles_destroy(&worker->profiles);
	id_table_destroy(&worker->jobs);
	free(worker);
	*worker_p = NULL;
}

void
worker_drain(struct worker *worker, uint64_t drain_ms, void (*done)(void *arg), void *arg)
{
	worker->drained = done;
	worker->drained_arg = arg;
	feed(
	    worker, &(struct outbox_event){ .type = OUTBOX_DRAIN, .drain_ms = drain_ms });
}

void
worker_set_services(struct worker *worker, const struct wire_service *services,
    size_t service_count, const struct value *catalog)
{
	links_set_services(worker->links, services, service_count, catalog);
}
