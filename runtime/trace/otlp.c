#include "otlp.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "settings.h"
#include "utf8.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define STATUS_ERROR 2

static void
append(struct packet *packet, const char *text)
{
	packet_append(packet, text, strlen(text));
}

/* --- parts ---------------------------------------------------------------------------- */

static const struct value *
hex(struct arena *arena, const uint8_t *bytes, size_t size)
{
	char text[2 * TRACE_ID_BYTES + 1];

	sodium_bin2hex(text, sizeof text, bytes, size);
	return value_str(arena, text);
}

static const struct value *
text_attribute(struct arena *arena, const char *key, const char *text)
{
	return value_map(arena, "key", value_str(arena, key), "value",
	    value_map(arena, "stringValue",
		value_str(arena, utf8_shown(arena, text, SPAN_TEXT_BYTES_MAX)), NULL),
	    NULL);
}

static const struct value *
number_attribute(struct arena *arena, const char *key, int64_t number)
{
	return value_map(arena, "key", value_str(arena, key), "value",
	    value_map(arena, "intValue", value_printf(arena, "%" PRId64, number), NULL),
	    NULL);
}

static const struct value *
attributes_of(struct arena *arena, const struct span *span)
{
	struct value_list list = { .arena = arena };
	unsigned i;

	for (i = 0; i < SPAN_ATTRIBUTES; i++) {
		const struct span_attribute_row *row = &span_attributes[i];

		if ((span->has & 1u << i) == 0)
			continue;
		value_list_add(
		    &list, row->is_number
			       ? number_attribute(arena, row->key, span->values[i].number)
			       : text_attribute(arena, row->key, span->values[i].text));
	}
	return value_list_end(&list);
}

static const struct value *
name_of(struct arena *arena, const struct span *span)
{
	const char *word = span_types[span->type].word;

	return span->what == NULL
		   ? value_str(arena, word)
		   : value_printf(arena, "%s %s", word,
			 utf8_shown(arena, span->what, SPAN_TEXT_BYTES_MAX));
}

/* --- the whole ------------------------------------------------------------------------ */

void
otlp_head(struct packet *packet, const char *program, const char *instance)
{
	struct arena *arena = arena_new();
	const struct value *const attributes[] = {
		text_attribute(
		    arena, "service.name", arena_printf(arena, "flotilla-%s", program)),
		text_attribute(arena, "service.instance.id", instance),
		text_attribute(arena, "service.version", FLOTILLA_VERSION),
	};

	append(packet, "{\"resourceSpans\":[{\"resource\":");
	json_write(packet, value_map(arena, "attributes",
			       value_array(arena, attributes, COUNT(attributes)), NULL));
	append(packet, ",\"scopeSpans\":[{\"scope\":");
	json_write(packet, value_map(arena, "name", value_str(arena, "flotilla"), NULL));
	append(packet, ",\"spans\":[");
	arena_destroy(&arena);
}

void
otlp_span(struct packet *packet, const struct span *span)
{
	static const uint8_t none[SPAN_ID_BYTES];
	struct arena *arena = arena_new();
	const struct value *status =
	    value_map(arena, "code", value_int(arena, STATUS_ERROR), NULL);
	const struct value_pair pairs[] = {
		{ VALUE_TEXT("traceId"),
		    hex(arena, span->context.trace, TRACE_ID_BYTES) },
		{ VALUE_TEXT("spanId"), hex(arena, span->context.span, SPAN_ID_BYTES) },
		{ VALUE_TEXT("parentSpanId"),
		    memcmp(span->parent, none, SPAN_ID_BYTES) == 0
			? NULL
			: hex(arena, span->parent, SPAN_ID_BYTES) },
		{ VALUE_TEXT("name"), name_of(arena, span) },
		{ VALUE_TEXT("kind"), value_int(arena, span_types[span->type].kind) },
		{ VALUE_TEXT("startTimeUnixNano"),
		    value_printf(arena, "%" PRId64, span->begin_ns) },
		{ VALUE_TEXT("endTimeUnixNano"),
		    value_printf(arena, "%" PRId64, span->end_ns) },
		{ VALUE_TEXT("attributes"), attributes_of(arena, span) },
		{ VALUE_TEXT("status"), span_has_failed(span) ? status : NULL },
	};

	json_write(packet, value_map_of(arena, pairs, COUNT(pairs)));
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
