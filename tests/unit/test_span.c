/* A span as a collector is told of it, and what is bounded in it. */
#include <check.h>
#include <string.h>

#include "json.h"
#include "otlp.h"
#include "trace_queue.h"

/* Interface under test */
#include "span.h"

TCase *tcase_span(void);

static struct arena *arena;
static struct trace_context context;
static struct span span;

static void
setup(void)
{
	arena = arena_new();
	ck_assert_int_eq(
	    trace_context_read(
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", &context),
	    0);
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
parse(const struct packet *packet)
{
	const char *error = NULL;
	const struct value *value = json_parse(arena, packet->data, packet->size, &error);

	ck_assert_msg(
	    value != NULL, "%s in %.*s", error, (int)packet->size, packet->data);
	return value;
}

static const struct value *
written(void)
{
	struct packet packet = { 0 };
	const struct value *value;

	otlp_span(&packet, &span);
	value = parse(&packet);
	packet_release(&packet);
	return value;
}

/* The attribute's value, or NULL. */
static const struct value *
attribute(const struct value *told, const char *key)
{
	const struct value *all = value_get(told, "attributes");
	size_t i;

	for (i = 0; i < value_size(all); i++)
		if (value_text_is(value_get(value_at(all, i), "key"), key))
			return value_get(value_at(all, i), "value");
	return NULL;
}

START_TEST(is_told_in_OTLPs_JSON)
{
	static const uint8_t parent[SPAN_ID_BYTES] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const struct value *told;

	span_begin(&span, SPAN_REQUEST, NULL, &context, parent);
	span_model(&span, arena, "openai:gpt-4o");
	span_number(&span, ATTRIBUTE_INPUT_TOKENS, 12);
	span_text(&span, ATTRIBUTE_RUN, NULL);
	span_fail(&span, NULL);
	span.begin_ns = INT64_C(1700000000123456789);
	span.end_ns = INT64_C(1700000001123456789);
	told = written();
	ck_assert_str_eq(
	    value_get_text(told, "traceId"), "0af7651916cd43dd8448eb211c80319c");
	ck_assert_str_eq(value_get_text(told, "spanId"), "b7ad6b7169203331");
	ck_assert_str_eq(value_get_text(told, "parentSpanId"), "0102030405060708");
	ck_assert_str_eq(value_get_text(told, "name"), "request gpt-4o");
	ck_assert_int_eq(value_get_int(told, "kind", 0), 3);
	ck_assert_str_eq(
	    value_get_text(told, "startTimeUnixNano"), "1700000000123456789");
	ck_assert_str_eq(value_get_text(told, "endTimeUnixNano"), "1700000001123456789");
	ck_assert_str_eq(
	    value_get_text(attribute(told, "gen_ai.request.model"), "stringValue"),
	    "gpt-4o");
	ck_assert_str_eq(
	    value_get_text(attribute(told, "gen_ai.provider.name"), "stringValue"),
	    "openai");
	ck_assert_str_eq(
	    value_get_text(attribute(told, "gen_ai.usage.input_tokens"), "intValue"),
	    "12");
	ck_assert(!value_has(told, "status"));
	ck_assert_ptr_null(attribute(told, "flotilla.run"));
}
END_TEST

START_TEST(a_root_has_no_parent)
{
	span_begin(&span, SPAN_RUN, "weather", &context, NULL);
	span_end(&span);
	ck_assert(!value_has(written(), "parentSpanId"));
	ck_assert_int_ge(span.end_ns, span.begin_ns);
}
END_TEST

START_TEST(a_failure_is_told_by_its_type_alone)
{
	static const struct {
		const char *type, *told;
	} types[] = { { "RateLimitError", "RateLimitError" },
		{ "my.tool:Error_1-b", "my.tool:Error_1-b" },
		{ "no file of Ann's", "_OTHER" }, { "", "_OTHER" },
		{ "\xc3\xa9", "_OTHER" } };
	char longest[200];
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++) {
		span_begin(&span, SPAN_TOOL, "x", &context, NULL);
		span_fail(&span, types[i].type);
		ck_assert_str_eq(
		    value_get_text(attribute(written(), "error.type"), "stringValue"),
		    types[i].told);
		ck_assert_int_eq(
		    value_get_int(value_get(written(), "status"), "code", 0), 2);
		ck_assert(!value_has(value_get(written(), "status"), "message"));
	}
	memset(longest, 'E', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	span_fail(&span, longest);
	ck_assert_str_eq(
	    value_get_text(attribute(written(), "error.type"), "stringValue"), "_OTHER");
}
END_TEST

/* A model may call a tool by any name. A byte that is no text becomes three. */
START_TEST(texts_are_cut_and_repaired)
{
	char name[4096];
	const struct value *told;

	memset(name, 'n', sizeof name);
	name[0] = '"';
	name[1] = (char)0xff;
	name[sizeof name - 1] = '\0';
	span_begin(&span, SPAN_TOOL, name, &context, NULL);
	span_text(&span, ATTRIBUTE_TOOL_NAME, name);
	told = written();
	ck_assert_uint_le(strlen(value_get_text(told, "name")),
	    SPAN_TEXT_BYTES_MAX + strlen("execute_tool \xef\xbf\xbd"));
	ck_assert_uint_le(
	    strlen(value_get_text(attribute(told, "gen_ai.tool.name"), "stringValue")),
	    SPAN_TEXT_BYTES_MAX + 2);
}
END_TEST

/* --- the queue ------------------------------------------------------------------------ */

static const struct value *
spans_of(const struct value *body)
{
	const struct value *resource = value_at(value_get(body, "resourceSpans"), 0);

	return value_get(value_at(value_get(resource, "scopeSpans"), 0), "spans");
}

START_TEST(a_body_has_all_that_waited)
{
	struct trace_queue *queue = trace_queue_new("hub", "hub-1", 65536);
	struct packet body = { 0 };
	const struct value *told, *resource;
	unsigned i;

	span_begin(&span, SPAN_RUN, "weather", &context, NULL);
	span_end(&span);
	ck_assert_uint_eq(trace_queue_take(queue, &body), 0);
	for (i = 0; i < 3; i++)
		ck_assert(trace_queue_put(queue, &span));
	ck_assert_uint_eq(trace_queue_count(queue), 3);
	ck_assert_uint_eq(trace_queue_take(queue, &body), 3);
	told = parse(&body);
	ck_assert_uint_eq(value_size(spans_of(told)), 3);
	resource = value_get(value_at(value_get(told, "resourceSpans"), 0), "resource");
	ck_assert_str_eq(
	    value_get_text(attribute(resource, "service.name"), "stringValue"),
	    "flotilla-hub");
	ck_assert_str_eq(
	    value_get_text(attribute(resource, "service.instance.id"), "stringValue"),
	    "hub-1");
	packet_release(&body);
	ck_assert_uint_eq(trace_queue_count(queue), 0);
	ck_assert(trace_queue_put(queue, &span));
	ck_assert_uint_eq(trace_queue_take(queue, &body), 1);
	ck_assert_uint_eq(value_size(spans_of(parse(&body))), 1);
	packet_release(&body);
	trace_queue_destroy(&queue);
}
END_TEST

START_TEST(a_queue_is_full_by_its_bytes)
{
	struct trace_queue *queue = trace_queue_new("hub", "hub-1", 2000);
	struct packet body = { 0 };
	size_t count = 0;

	span_begin(&span, SPAN_RUN, "weather", &context, NULL);
	span_end(&span);
	while (trace_queue_put(queue, &span)) {
		count++;
		ck_assert_uint_le(trace_queue_bytes(queue), 2000);
	}
	ck_assert_uint_ge(count, 2);
	ck_assert(!trace_queue_put(queue, &span));
	ck_assert_uint_eq(trace_queue_take(queue, &body), count);
	ck_assert_uint_eq(value_size(spans_of(parse(&body))), count);
	packet_release(&body);
	ck_assert(trace_queue_put(queue, &span));
	trace_queue_destroy(&queue);
}
END_TEST

START_TEST(a_collector_may_refuse_some)
{
	static const struct {
		const char *body;
		int64_t count;
	} said[] = { { "{}", 0 }, { "", 0 }, { "nothing", 0 },
		{ "{\"partialSuccess\":{}}", 0 },
		{ "{\"partialSuccess\":{\"rejectedSpans\":\"7\"}}", 7 },
		{ "{\"partialSuccess\":{\"rejectedSpans\":7,\"errorMessage\":\"x\"}}",
		    7 },
		{ "{\"partialSuccess\":{\"rejectedSpans\":-7}}", 0 } };
	size_t i;

	for (i = 0; i < sizeof said / sizeof *said; i++)
		ck_assert_int_eq(
		    otlp_refused(said[i].body, strlen(said[i].body)), said[i].count);
}
END_TEST

TCase *
tcase_span(void)
{
	TCase *tc = tcase_create("span");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, is_told_in_OTLPs_JSON);
	tcase_add_test(tc, a_root_has_no_parent);
	tcase_add_test(tc, a_failure_is_told_by_its_type_alone);
	tcase_add_test(tc, texts_are_cut_and_repaired);
	tcase_add_test(tc, a_body_has_all_that_waited);
	tcase_add_test(tc, a_queue_is_full_by_its_bytes);
	tcase_add_test(tc, a_collector_may_refuse_some);
	return tc;
}
