/* telling: what hooks and tools tell on purpose, live (kind "custom"): how much of it is sent. Pure. */
#ifndef TELLING_H
#define TELLING_H

#include <stdbool.h>

#include "value.h"

#define TELLING_KIND "custom"

/* Of one call, or of one run's hooks; zeroed. */
struct telling {
	uint64_t second; /* of now_ms; the rest is within it */
	unsigned values;
	size_t bytes;
};

/* Whether another value may be told now (STREAM_VALUES_MAX, STREAM_BYTES_MAX). */
bool telling_may(struct telling *telling, uint64_t now_ms);

/* Counts value. Returns false when it is too much, or too large (STREAM_VALUE_BYTES_MAX). */
bool telling_takes(struct telling *telling, uint64_t now_ms, const struct value *value);

#endif
