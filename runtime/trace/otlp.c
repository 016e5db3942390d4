#include "otlp.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "settings.h"
#include "utf8.h"

static void
append(struct packet *packet, const char *text)
{
	packet_append(packet, text, strlen(text));
}

/* --- parts ---------------------------------------------------------------------------- */

/* Structure, names of ours and numbers stand for themselves; what others may have made goes through the JSON writer.
 * Each call has a span or two: made of values first, one took three times as long. */
static void
append_text(struct packet *packet, struct arena *arena, const char *text)
{
	json_write(
	    packet, value_str(arena, utf8_shown(arena, text, SPAN_TEXT_BYTES_MAX)));
}

static void
append_number(struct packet *packet, int64_t number)
{
	char text[24];

	packet_append(
	    packet, text, (size_t)snprintf(text, sizeof text, "%" PRId64, number));
}

static void
append_hex(struct packet *packet, const uint8_t *bytes, size_t size)
{
	char text[2 * TRACE_ID_BYTES + 1];

	append(packet, sodium_bin2hex(text, sizeof text, bytes, size));
}

static void
append_text_attribute(
    struct packet *packet, struct arena *arena, const char *key, const char *text)
{
	append(packet, "{\"key\":\"");
	append(packet, key);
	append(packet, "\",\"value\":{\"stringValue\":");
	append_text(packet, arena, text);
	append(packet, "}}");
}

static void
append_number_attribute(struct packet *packet, const char *key, int64_t number)
{
	append(packet, "{\"key\":\"");
	append(packet, key);
	append(packet, "\",\"value\":{\"intValue\":\"");
	append_number(packet, number);
	append(packet, "\"}}");
}

static void
append_attributes(struct packet *packet, struct arena *arena, const struct span *span)
{
	const char *comma = "";
	unsigned i;

	for (i = 0; i < SPAN_ATTRIBUTES; i++) {
		const struct span_attribute_row *row = &span_attributes[i];

		if ((span->has & 1u << i) == 0)
			continue;
		append(packet, comma);
		comma = ",";
		if (row->is_number)
			append_number_attribute(packet, row->key, span->values[i].number);
		else
			append_text_attribute(
			    packet, arena, row->key, span->values[i].text);
	}
}

static void
append_name(struct packet *packet, struct arena *arena, const struct span *span)
{
	const char *word = span_types[span->type].word;

	if (span->what == NULL)
		append_text(packet, arena, word);
	else
		json_write(
		    packet, value_printf(arena, "%s %s", word,
				utf8_shown(arena, span->what, SPAN_TEXT_BYTES_MAX)));
}

/* --- the whole ------------------------------------------------------------------------ */

void
otlp_head(struct packet *packet, const char *program, const char *instance)
{
	struct arena *arena = arena_new();

	append(packet, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
	append_text_attribute(
	    packet, arena, "service.name", arena_printf(arena, "flotilla-%s", program));
	append(packet, ",");
	append_text_attribute(packet, arena, "service.instance.id", instance);
	append(packet, ",");
	append_text_attribute(packet, arena, "service.version", FLOTILLA_VERSION);
	append(
	    packet, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"flotilla\"},\"spans\":[");
	arena_destroy(&arena);
}

static void
append_ids(struct packet *packet, const struct span *span)
{
	static const uint8_t none[SPAN_ID_BYTES];

	append(packet, "{\"traceId\":\"");
	append_hex(packet, span->context.trace, TRACE_ID_BYTES);
	append(packet, "\",\"spanId\":\"");
	append_hex(packet, span->context.span, SPAN_ID_BYTES);
	if (memcmp(span->parent, none, SPAN_ID_BYTES) != 0) {
		append(packet, "\",\"parentSpanId\":\"");
		append_hex(packet, span->parent, SPAN_ID_BYTES);
	}
}

void
otlp_span(struct packet *packet, const struct span *span)
{
	struct arena *arena = arena_new();

	append_ids(packet, span);
	append(packet, "\",\"name\":");
	append_name(packet, arena, span);
	append(packet, ",\"kind\":");
	append_number(packet, span_types[span->type].kind);
	append(packet, ",\"startTimeUnixNano\":\"");
	append_number(packet, span->begin_ns);
	append(packet, "\",\"endTimeUnixNano\":\"");
	append_number(packet, span->end_ns);
	append(packet, "\",\"attributes\":[");
	append_attributes(packet, arena, span);
	append(packet, span_has_failed(span) ? "],\"status\":{\"code\":2}}" : "]}");
	arena_destroy(&arena);
}

void
otlp_tail(struct packet *packet)
{
	append(packet, "]}]}]}");
}

int64_t
otlp_refused(const char *body, size_t size)
{
	struct arena *arena = arena_new();
	const char *error, *text;
	const struct value *partial =
	    value_get(json_parse(arena, body, size, &error), "partialSuccess");
	int64_t count = value_get_int(partial, "rejectedSpans", 0);

	text = value_get_text(partial, "rejectedSpans");
	if (text != NULL)
		count = strtoll(text, NULL, 10);
	arena_destroy(&arena);
	return count > 0 ? count : 0;
}
