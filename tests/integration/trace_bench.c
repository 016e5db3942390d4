#include "trace_bench.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "play_provider.h"

static const enum kit_kind telling[] = { KIT_COORDINATOR, KIT_MODEL, KIT_TOOLS };
#define TELLING (sizeof telling / sizeof *telling)

void
trace_bench_open(
    struct trace_bench *bench, const char *answer, enum tiny_end end, const char *script)
{
	const char *url;
	size_t i;

	*bench =
	    (struct trace_bench){ .kit = kit_new(), .arena = arena_new(), .told = "" };
	bench->spans = (struct value_list){ .arena = bench->arena };
	bench->flotilla =
	    (struct cli){ kit_program(bench->kit, "flotilla"), NULL, bench->arena };
	bench->collector = tiny_http_new();
	tiny_http_add(
	    bench->collector, &(struct tiny_answer){ .bytes = answer, .end = end });
	url = arena_printf(
	    bench->arena, "http://127.0.0.1:%u", tiny_http_port(bench->collector));
	for (i = 0; i < TELLING; i++)
		kit_flag(bench->kit, telling[i], "--trace-endpoint", url);
	if (script == NULL)
		return;
	bench->provider = play_provider(bench->kit, bench->arena, script, &url);
	play_openai(bench->kit, bench->arena, url, "key");
}

void
trace_bench_close(struct trace_bench *bench)
{
	kit_destroy(&bench->kit);
	child_stop(&bench->provider);
	tiny_http_destroy(&bench->collector);
	arena_destroy(&bench->arena);
}

void
trace_bench_run(
    struct trace_bench *bench, const char *run, const char *text, const char *answer)
{
	struct said said = CLI(&bench->flotilla, "submit", "clerk", text, "--wait",
	    "--run-id", run, "-t", run, "--redis", kit_redis(bench->kit), "--status",
	    kit_status(bench->kit), "--broker", kit_broker(bench->kit));

	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(said.out, arena_printf(bench->arena, "%s\n", answer));
}

/* --- what has come ---------------------------------------------------------------------- */

static const struct value *
as_map(struct arena *arena, const struct value *attributes)
{
	struct value_fields map = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(attributes); i++) {
		const struct value *one = value_at(attributes, i);
		const struct value *value = value_get(one, "value");

		value_fields_set(&map, value_get_text(one, "key"),
		    value_has(value, "intValue") ? value_get(value, "intValue")
						 : value_get(value, "stringValue"));
	}
	return value_fields_end(&map);
}

static void
take_spans(struct trace_bench *bench, const struct value *of_process)
{
	struct arena *arena = bench->arena;
	const struct value *scope = value_at(value_get(of_process, "scopeSpans"), 0);
	const struct value *process =
	    as_map(arena, value_get(value_get(of_process, "resource"), "attributes"));
	const struct value *spans = value_get(scope, "spans");
	size_t i;

	for (i = 0; i < value_size(spans); i++) {
		const struct value *span = value_at(spans, i);

		span = value_map_with(
		    arena, span, "process", value_get(process, "service.name"));
		span = value_map_with(
		    arena, span, "at", as_map(arena, value_get(span, "attributes")));
		value_list_add(&bench->spans, span);
	}
}

void
trace_bench_read(struct trace_bench *bench)
{
	const struct value *body;
	const char *error, *text;
	char *request;

	for (; (request = tiny_http_request(bench->collector, bench->read)) != NULL;
	     bench->read++) {
		text = strstr(request, "\r\n\r\n") + 4;
		body = json_parse(bench->arena, text, strlen(text), &error);
		ck_assert_msg(body != NULL, "%s: %s", error, text);
		take_spans(bench, value_at(value_get(body, "resourceSpans"), 0));
		bench->told = arena_printf(bench->arena, "%s%s\n", bench->told, request);
		free(request);
	}
}

void
trace_bench_end(struct trace_bench *bench)
{
	static const enum kit_kind kinds[] = { KIT_COORDINATOR, KIT_MODEL, KIT_TOOLS };
	size_t i, index;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (index = 0; index < KIT_INDEX_MAX; index++)
			if (kit_runs(bench->kit, kinds[i], (unsigned)index))
				kit_stop(bench->kit, kinds[i], (unsigned)index);
	if (kit_has_hub(bench->kit))
		kit_stop(bench->kit, KIT_BROKER, 0);
	trace_bench_read(bench);
}

static bool
is_one(const struct value *span, const char *name, const struct value *parent)
{
	return value_text_is(value_get(span, "name"), name) &&
	       (parent == NULL || value_equal(value_get(span, "parentSpanId"),
				      value_get(parent, "spanId")));
}

const struct value *
trace_bench_find(
    struct trace_bench *bench, const char *name, const struct value *parent, size_t index)
{
	size_t i;

	for (i = 0; i < bench->spans.count; i++)
		if (is_one(bench->spans.items[i], name, parent) && index-- == 0)
			return bench->spans.items[i];
	return NULL;
}

size_t
trace_bench_count(struct trace_bench *bench, const char *name, const struct value *parent)
{
	size_t count = 0;

	while (trace_bench_find(bench, name, parent, count) != NULL)
		count++;
	return count;
}

const struct value *
trace_bench_only(struct trace_bench *bench, const char *name, const struct value *parent)
{
	size_t count = trace_bench_count(bench, name, parent);

	ck_assert_msg(count == 1, "%zu x %s in %s", count, name, bench->told);
	return trace_bench_find(bench, name, parent, 0);
}

const char *
trace_bench_attribute(const struct value *span, const char *key)
{
	const char *text = value_get_text(value_get(span, "at"), key);

	return text != NULL ? text : "";
}

const char *
trace_bench_of(struct trace_bench *bench, const char *run)
{
	struct trace_context context = { .span = { 1 } };
	char text[TRACEPARENT_BYTES + 1];

	trace_id_make(run, context.trace);
	trace_context_write(&context, text);
	return arena_copy(bench->arena, text + 3, sizeof context.trace * 2);
}

void
trace_bench_check_trace(const struct trace_bench *bench, const char *trace)
{
	size_t i;

	ck_assert_uint_gt(bench->spans.count, 0);
	for (i = 0; i < bench->spans.count; i++)
		ck_assert_str_eq(value_get_text(bench->spans.items[i], "traceId"), trace);
}
