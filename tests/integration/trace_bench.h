/* trace_bench: a fleet with a collector of traces beside it, in the test's own process, and a scripted provider. */
#ifndef TRACE_BENCH_H
#define TRACE_BENCH_H

#include <stdint.h>

#include "cli.h"
#include "fleet_kit.h"
#include "tiny_http.h"
#include "trace_context.h"
#include "value.h"

#define TRACE_OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

struct trace_bench {
	struct fleet_kit *kit;
	struct arena *arena;
	struct cli flotilla;
	struct tiny_http *collector;
	struct child *provider;
	struct value_list
	    spans;        /* each with `process` and `at`, its attributes as a map */
	const char *told; /* all that has come, as it came */
	unsigned read;    /* requests among spans */
};

/* Nothing runs yet but the collector, which answers with bytes, and the provider with script. Every process that
 * tells of runs is told of the collector. */
void trace_bench_open(
    struct trace_bench *bench, const char *answer, enum tiny_end end, const char *script);
void trace_bench_close(struct trace_bench *bench);

/* Submits text to clerk as run and thread of that name, waits, and requires that answer. */
void trace_bench_run(
    struct trace_bench *bench, const char *run, const char *text, const char *answer);

/* Ends all processes, which tell all they have, and reads it. */
void trace_bench_end(struct trace_bench *bench);

/* Reads what has come so far. */
void trace_bench_read(struct trace_bench *bench);

/* How many spans have that name ("chat gpt-test") and parent (a span, or NULL: any), and the index-th of them. */
size_t trace_bench_count(
    struct trace_bench *bench, const char *name, const struct value *parent);
const struct value *trace_bench_find(struct trace_bench *bench, const char *name,
    const struct value *parent, size_t index);
/* The only one of the name; the test fails when there is another number of them. */
const struct value *trace_bench_only(
    struct trace_bench *bench, const char *name, const struct value *parent);

/* The trace of a run that begins one, as hex digits. */
const char *trace_bench_of(struct trace_bench *bench, const char *run);
/* There are spans, and all are of that trace. */
void trace_bench_check_trace(const struct trace_bench *bench, const char *trace);

/* An attribute as a text; "" when there is none. */
const char *trace_bench_attribute(const struct value *span, const char *key);

#endif
