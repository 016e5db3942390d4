/* trace: what a process of the fleet tells an OpenTelemetry collector of its work: spans that have ended, over
 * OTLP/HTTP, about once a second.
 *
 * A process that has been told of no collector has no struct trace, and all that tracing costs it is to see that.
 *
 * Who owns what: a span is its maker's until trace_put, which writes it down (trace_queue.h). From there it is the
 * queue's, then the body of one request's. Nobody waits for a collector: trace_put returns at once, a request is
 * sent on a fiber of its own, one at a time, and what a collector does not take is lost and counted, with a line in
 * the log when that begins and one when it is over. So it is with what finds the queue full.
 *
 * What is lost when a process dies: what it has not sent, a second's worth and what is under way. Redis has nothing
 * of it, and no run depends on it. The root of a run is told by whoever ends it, and calls under way are told by
 * whoever takes the run over, under the ids that the dead one would have used.
 *
 * An orderly end waits for the collector, within a bound: trace_flush. */
#ifndef TRACE_H
#define TRACE_H

#include "loop.h"
#include "settings.h"
#include "span.h"

struct trace;

struct trace_options {
	const char *program;  /* "hub" */
	const char *instance; /* the process's name */
	const char *endpoint; /* --trace-endpoint, or NULL: OTEL_EXPORTER_OTLP_ENDPOINT */
};

/* The row of a program's table, for a field of that offset: const char *. */
#define TRACE_SETTING(offset)                                                            \
	{                                                                                \
		"trace-endpoint", SETTING_TEXT, offset, NULL, 0, 0, "URL",               \
		    "the OTLP/HTTP collector that is told of runs and calls, such as "   \
		    "http://127.0.0.1:4318; else OTEL_EXPORTER_OTLP_ENDPOINT; without "  \
		    "either nothing is traced",                                          \
		    0                                                                    \
	}

/* Returns new, which keeps the texts of options; or NULL: there is no endpoint, and nothing is traced. Ends the
 * process with a message when that or OTEL_EXPORTER_OTLP_HEADERS is wrong. Takes that variable out of the environment
 * in either case: it has keys, which are no child program's. */
struct trace *trace_new(struct loop *loop, const struct trace_options *options);

/* Takes *trace_p, which has been flushed, or has nothing under way. NULL is fine. */
void trace_destroy(struct trace **trace_p);

/* Tells of span, which has ended, if it is sampled. */
void trace_put(struct trace *trace, const struct span *span);

/* At the end, on a fiber: sends what there is, and returns when it is sent or after ms. What comes later is lost.
 * NULL is fine. */
#define TRACE_FLUSH_MS 2000u
void trace_flush(struct trace *trace, uint64_t ms);
/* How long that may take for a process that must have ended at until_ms: TRACE_FLUSH_MS at most. */
uint64_t trace_flush_ms(const struct loop *loop, uint64_t until_ms);

/* The same from the loop's stack: then calls done(arg). Without trace, at once. */
void trace_finish(struct trace *trace, uint64_t ms, void (*done)(void *arg), void *arg);

#endif
