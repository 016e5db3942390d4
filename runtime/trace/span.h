/* span: something that took its time, as a trace tells of it: when, beneath what, and some attributes, whose names
 * are in a table (attributes.def). Pure but for the clock.
 *
 * A span lies where it is made, on a fiber's stack or in a call's arena, from span_begin to trace_put, which writes
 * it down at once. A process that dies between the two has told nothing; whoever does the work again makes the
 * span again, under the same id (trace_context.h).
 *
 * Texts are lent until then. They are cut at SPAN_TEXT_BYTES_MAX when they are written, since models and tools make
 * some of them. */
#ifndef SPAN_H
#define SPAN_H

#include "arena.h"
#include "trace_context.h"

#define SPAN_TEXT_BYTES_MAX 256u

enum span_type {
#define SPAN(name, word, kind, who, beneath, text) SPAN_##name,
#include "spans.def"
#undef SPAN
	SPAN_TYPES
};

enum span_attribute {
#define ATTRIBUTE(name, key, kind, spans, text) ATTRIBUTE_##name,
#include "attributes.def"
#undef ATTRIBUTE
	SPAN_ATTRIBUTES
};

/* As OTLP has them. */
enum span_kind { SPAN_KIND_INTERNAL = 1, SPAN_KIND_SERVER = 2, SPAN_KIND_CLIENT = 3 };

/* The tables, for encoder and page. */
struct span_type_row {
	const char *word;
	enum span_kind kind;
	const char *who, *beneath, *text;
};
struct span_attribute_row {
	const char *key;
	bool is_number;
	const char *spans, *text;
};
extern const struct span_type_row span_types[SPAN_TYPES];
extern const struct span_attribute_row span_attributes[SPAN_ATTRIBUTES];

struct span {
	enum span_type type;
	struct trace_context context;  /* its own id is context.span */
	uint8_t parent[SPAN_ID_BYTES]; /* zeros: it has none */
	const char *what;              /* behind the word, in its name */
	int64_t begin_ns;              /* since 1970 */
	int64_t end_ns;
	uint64_t begin_us; /* of the clock that is never set, for its end */
	uint32_t has;      /* bits by enum span_attribute */
	union {
		const char *text;
		int64_t number;
	} values[SPAN_ATTRIBUTES];
};

/* Begins a span now, beneath parent (NULL: none), in context, which has its own id. */
void span_begin(struct span *span_r, enum span_type type, const char *what,
    const struct trace_context *context, const uint8_t parent[SPAN_ID_BYTES]);

/* Ends it now. */
void span_end(struct span *span);

/* NULL is no value. */
void span_text(struct span *span, enum span_attribute attribute, const char *text);
void span_number(struct span *span, enum span_attribute attribute, int64_t number);

/* It failed, with a fault of that type; NULL: it did not. What is no name, as a tool may make one of its words,
 * becomes "_OTHER". */
void span_fail(struct span *span, const char *type);
bool span_has_failed(const struct span *span);

/* Sets model ("openai:gpt-4o", or NULL) in its two parts, and names the span after the second. What it copies is in
 * arena. */
void span_model(struct span *span, struct arena *arena, const char *model);

#endif
