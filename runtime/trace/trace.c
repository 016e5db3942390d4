#include "trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "http.h"
#include "log.h"
#include "memory.h"
#include "otlp.h"
#include "trace_queue.h"
#include "trace_target.h"

#define ENDPOINT_VARIABLE "OTEL_EXPORTER_OTLP_ENDPOINT"
#define HEADERS_VARIABLE "OTEL_EXPORTER_OTLP_HEADERS"

struct trace {
	struct loop *loop;
	struct http *http;
	struct arena *arena; /* of the target */
	struct trace_target target;
	struct trace_queue *queue;
	struct timer *timer;   /* until the next request, while spans wait */
	struct fiber *sender;  /* of the request under way */
	struct fiber *flusher; /* who waits for its end */
	bool is_closed;        /* nothing is taken any more */
	bool is_failing;       /* the last request came to nothing; it has been said */
	uint64_t lost;         /* spans, since then */
	void (*done)(void *arg);
	void *done_arg;
	uint64_t finish_ms;
};

/* --- what is lost --------------------------------------------------------------------- */

static void
lose(struct trace *trace, size_t count, const char *why)
{
	trace->lost += count;
	if (trace->is_failing)
		return;
	trace->is_failing = true;
	log_warnx("traces: %s does not take them: %s; until it does, spans are lost",
	    trace->target.url, why);
}

static void
taken(struct trace *trace)
{
	if (!trace->is_failing)
		return;
	log_warnx("traces: %s takes them again lost=%llu", trace->target.url,
	    (unsigned long long)trace->lost);
	trace->is_failing = false;
	trace->lost = 0;
}

/* --- sending -------------------------------------------------------------------------- */

static void
judge(struct trace *trace, struct arena *arena, const struct http_response *response,
    size_t count)
{
	uint64_t refused = 0;

	if (response->failure != HTTP_OK) {
		lose(trace, count, response->reason);
		return;
	}
	if (response->status < 200 || response->status > 299) {
		lose(trace, count,
		    arena_printf(arena, "it answered with status %ld", response->status));
		return;
	}
	if (response->body_size > 0)
		refused = otlp_refused(response->body, response->body_size);
	if (refused > 0)
		lose(trace, refused < count ? refused : count, "it refused some of them");
	else
		taken(trace);
}

/* One request with all that waits, on a fiber. */
static void
send_all(struct trace *trace, uint64_t timeout_ms)
{
	struct packet body = { 0 };
	size_t count = trace_queue_take(trace->queue, &body);
	struct arena *arena = arena_new();
	const struct http_request request = {
		.method = "POST",
		.url = trace->target.url,
		.headers = trace->target.headers,
		.body = body.data,
		.body_size = body.size,
		.timeout_ms = timeout_ms,
		.body_bytes_max = TRACE_ANSWER_BYTES_MAX,
	};
	struct http_response response;

	if (count > 0) {
		http_send(trace->http, arena, &request, &response);
		judge(trace, arena, &response, count);
	}
	packet_release(&body);
	arena_destroy(&arena);
}

static void on_due(void *arg);

static void
wait_for_more(struct trace *trace)
{
	if (trace->timer == NULL && !trace->is_closed)
		trace->timer = timer_start(trace->loop, TRACE_SEND_MS, 0, on_due, trace);
}

static void
send_main(void *arg)
{
	struct trace *trace = arg;

	send_all(trace, TRACE_REQUEST_MS);
	trace->sender = NULL;
	if (trace_queue_count(trace->queue) > 0)
		wait_for_more(trace);
	if (trace->flusher != NULL)
		fiber_wake(trace->flusher);
}

/* Without a fiber they wait a second more. */
static void
on_due(void *arg)
{
	struct trace *trace = arg;

	timer_stop(&trace->timer);
	if (trace->sender == NULL)
		trace->sender = fiber_start(trace->loop, "traces", send_main, trace);
	if (trace->sender == NULL)
		wait_for_more(trace);
}

void
trace_put(struct trace *trace, const struct span *span)
{
	if (!span->context.is_sampled)
		return;
	if (trace->is_closed) {
		trace->lost++;
		return;
	}
	if (!trace_queue_put(trace->queue, span)) {
		lose(trace, 1, "too many wait for it");
		return;
	}
	if (trace->sender != NULL)
		return; /* whose end sees to the rest */
	if (trace_queue_bytes(trace->queue) >= TRACE_BATCH_BYTES)
		on_due(trace);
	else
		wait_for_more(trace);
}

/* --- the end -------------------------------------------------------------------------- */

static void
await_sender(struct trace *trace, uint64_t until_ms)
{
	uint64_t now_ms = loop_now_ms(trace->loop);

	trace->flusher = fiber_current();
	while (trace->sender != NULL && now_ms < until_ms) {
		fiber_wait_ms(until_ms - now_ms);
		now_ms = loop_now_ms(trace->loop);
	}
	if (trace->sender != NULL)
		fiber_cancel(trace->sender);
	while (trace->sender != NULL)
		fiber_wait();
	trace->flusher = NULL;
}

void
trace_flush(struct trace *trace, uint64_t ms)
{
	uint64_t until_ms, now_ms;

	if (trace == NULL || trace->is_closed)
		return;
	until_ms = loop_now_ms(trace->loop) + ms;
	trace->is_closed = true;
	timer_stop(&trace->timer);
	fiber_shield(true);
	await_sender(trace, until_ms);
	now_ms = loop_now_ms(trace->loop);
	if (now_ms < until_ms)
		send_all(trace, until_ms - now_ms);
	fiber_shield(false);
	trace->lost += trace_queue_count(trace->queue);
	if (trace->lost > 0)
		log_warnx(
		    "traces: lost=%llu at the end", (unsigned long long)trace->lost);
}

uint64_t
trace_flush_ms(const struct loop *loop, uint64_t until_ms)
{
	uint64_t now_ms = loop_now_ms(loop);
	uint64_t half_ms = until_ms > now_ms ? (until_ms - now_ms) / 2 : 0;

	return half_ms < TRACE_FLUSH_MS ? half_ms : TRACE_FLUSH_MS;
}

static void
finish_main(void *arg)
{
	struct trace *trace = arg;

	trace_flush(trace, trace->finish_ms);
	trace->done(trace->done_arg);
}

void
trace_finish(struct trace *trace, uint64_t ms, void (*done)(void *arg), void *arg)
{
	if (trace == NULL) {
		done(arg);
		return;
	}
	trace->finish_ms = ms;
	trace->done = done;
	trace->done_arg = arg;
	if (fiber_start(trace->loop, "traces' end", finish_main, trace) == NULL)
		done(arg);
}

/* --- life ----------------------------------------------------------------------------- */

/* Returns what the variable says, in arena, and takes it out of the environment; or NULL. */
static const char *
take_variable(struct arena *arena, const char *name)
{
	char *value = getenv(name);
	const char *copy = value == NULL ? NULL : arena_strdup(arena, value);

	if (value == NULL)
		return NULL;
	explicit_bzero(value, strlen(value));
	unsetenv(name);
	return copy;
}

static const char *
variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

static void
set_target(struct trace *trace, const struct trace_options *options, const char *endpoint,
    const char *headers)
{
	struct trace_target *target = &trace->target;
	const char *error;

	/* What may have a key in it is not shown. */
	if (trace_target_url(trace->arena, endpoint, &target->url) == -1)
		settings_refuse(options->program,
		    options->endpoint != NULL ? "--trace-endpoint" : ENDPOINT_VARIABLE,
		    strpbrk(endpoint, "@?") != NULL ? "..." : endpoint,
		    TRACE_ENDPOINT_FORM);
	error = trace_target_headers(trace->arena, headers, &target->headers);
	if (error != NULL)
		fatalx(HEADERS_VARIABLE ": %s", error);
}

struct trace *
trace_new(struct loop *loop, const struct trace_options *options)
{
	struct arena *arena = arena_new();
	const char *headers = take_variable(arena, HEADERS_VARIABLE);
	const char *endpoint =
	    options->endpoint != NULL ? options->endpoint : variable(ENDPOINT_VARIABLE);
	struct trace *trace;

	if (endpoint == NULL) {
		arena_destroy(&arena);
		return NULL;
	}
	trace = xcalloc(1, sizeof *trace);
	trace->loop = loop;
	trace->arena = arena;
	set_target(trace, options, endpoint, headers);
	trace->http = http_new(loop);
	trace->queue =
	    trace_queue_new(options->program, options->instance, TRACE_QUEUE_BYTES_MAX);
	log_info("traces go to %s", trace->target.url);
	return trace;
}

void
trace_destroy(struct trace **trace_p)
{
	struct trace *trace = *trace_p;

	if (trace == NULL)
		return;
	assert(trace->sender == NULL);
	timer_stop(&trace->timer);
	http_destroy(&trace->http);
	trace_queue_destroy(&trace->queue);
	arena_destroy(&trace->arena);
	free(trace);
	*trace_p = NULL;
}
