/* trace_target: where spans go, and with which headers, from what a user has said. Pure.
 *
 * Headers hold keys. They come from OpenTelemetry's variable alone, and are in no message. */
#ifndef TRACE_TARGET_H
#define TRACE_TARGET_H

#include "arena.h"

#define TRACE_ENDPOINT_FORM                                                              \
	"the http(s):// URL of an OTLP collector, without a password and a query, such " \
	"as http://127.0.0.1:4318"

struct trace_target {
	const char *url;            /* endpoint, with /v1/traces behind it */
	const char *const *headers; /* "name: value" lines, NULL-ended */
};

/* Makes the URL. Returns 0, or -1. */
int trace_target_url(struct arena *arena, const char *endpoint, const char **url_r);

/* Reads "name=value,name=value", values percent-encoded as in a URL, and adds what a request needs besides. NULL and
 * "" are none. Returns NULL with lines in arena, NULL-ended, or which entry is wrong, without its value. */
const char *trace_target_headers(
    struct arena *arena, const char *text, const char *const **headers_r);

#endif
