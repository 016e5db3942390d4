#include "span.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "loop.h"

const struct span_type_row span_types[SPAN_TYPES] = {
#define SPAN(name, word, kind, who, beneath, text)                                       \
	[SPAN_##name] = { word, SPAN_KIND_##kind, who, beneath, text },
#include "spans.def"
#undef SPAN
};

#define TEXT false
#define NUMBER true
const struct span_attribute_row span_attributes[SPAN_ATTRIBUTES] = {
#define ATTRIBUTE(name, key, kind, spans, text)                                          \
	[ATTRIBUTE_##name] = { key, kind, spans, text },
#include "attributes.def"
#undef ATTRIBUTE
};

_Static_assert(SPAN_ATTRIBUTES <= 32, "bits of struct span, has");

/* Since 1970. */
static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void
span_begin(struct span *span_r, enum span_type type, const char *what,
    const struct trace_context *context, const uint8_t parent[SPAN_ID_BYTES])
{
	*span_r = (struct span){ .type = type,
		.context = *context,
		.what = what,
		.begin_ns = now_ns(),
		.begin_us = loop_now_us() };
	if (parent != NULL)
		memcpy(span_r->parent, parent, SPAN_ID_BYTES);
}

/* The clock may have been set meanwhile. */
void
span_end(struct span *span)
{
	span->end_ns = span->begin_ns + (int64_t)(loop_now_us() - span->begin_us) * 1000;
}

void
span_text(struct span *span, enum span_attribute attribute, const char *text)
{
	assert(!span_attributes[attribute].is_number);
	if (text == NULL)
		return;
	span->has |= 1u << attribute;
	span->values[attribute].text = text;
}

void
span_number(struct span *span, enum span_attribute attribute, int64_t number)
{
	assert(span_attributes[attribute].is_number);
	span->has |= 1u << attribute;
	span->values[attribute].number = number;
}

static bool
is_name(const char *type)
{
	size_t i;

	for (i = 0; type[i] != '\0' && i <= FAULT_TYPE_BYTES_MAX; i++)
		if (!isalnum((unsigned char)type[i]) && strchr("_.:-", type[i]) == NULL)
			return false;
	return i > 0 && i <= FAULT_TYPE_BYTES_MAX;
}

void
span_fail(struct span *span, const char *type)
{
	if (type != NULL)
		span_text(span, ATTRIBUTE_ERROR, is_name(type) ? type : "_OTHER");
}

bool
span_has_failed(const struct span *span)
{
	return (span->has & 1u << ATTRIBUTE_ERROR) != 0;
}

void
span_model(struct span *span, struct arena *arena, const char *model)
{
	const char *colon = model == NULL ? NULL : strchr(model, ':');

	if (colon != NULL) {
		span_text(span, ATTRIBUTE_PROVIDER,
		    arena_copy(arena, model, (size_t)(colon - model)));
		model = colon + 1;
	}
	span_text(span, ATTRIBUTE_MODEL, model);
	span->what = model;
}
