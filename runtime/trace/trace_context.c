#include "trace_context.h"

#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

/* A call's id, a name of a process, some numbers. */
#define HASHED_BYTES_MAX (2u * ID_BYTES_MAX + 128u)
#define SAMPLED 1u

/* Where the fields are in a traceparent: "00-<32 digits>-<16 digits>-01". */
#define TRACE_AT 3u
#define SPAN_AT (TRACE_AT + 2 * TRACE_ID_BYTES + 1)
#define FLAGS_AT (SPAN_AT + 2 * SPAN_ID_BYTES + 1)

/* --- traceparent ---------------------------------------------------------------------- */

/* Reads 2 * size digits, which must be small. Returns 0, or -1. */
static int
read_bytes(const char *text, uint8_t *bytes, size_t size)
{
	return strspn(text, "0123456789abcdef") < 2 * size
		   ? -1
		   : sodium_hex2bin(bytes, size, text, 2 * size, NULL, NULL, NULL);
}

static bool
is_zero(const uint8_t *bytes, size_t size)
{
	size_t i = 0;

	while (i < size && bytes[i] == 0)
		i++;
	return i == size;
}

/* Whether a text of that version may have that size. */
static bool
fits_version(uint8_t version, const char *text, size_t size)
{
	if (version == 0xff)
		return false;
	return size == TRACEPARENT_BYTES ||
	       (version != 0 && text[TRACEPARENT_BYTES] == '-');
}

int
trace_context_read(const char *text, struct trace_context *context_r)
{
	size_t size = text == NULL ? 0 : strnlen(text, TRACEPARENT_BYTES_MAX + 1);
	struct trace_context context;
	uint8_t version, flags;

	if (size < TRACEPARENT_BYTES || size > TRACEPARENT_BYTES_MAX ||
	    text[TRACE_AT - 1] != '-' || text[SPAN_AT - 1] != '-' ||
	    text[FLAGS_AT - 1] != '-')
		return -1;
	if (read_bytes(text, &version, 1) == -1 ||
	    read_bytes(text + TRACE_AT, context.trace, TRACE_ID_BYTES) == -1 ||
	    read_bytes(text + SPAN_AT, context.span, SPAN_ID_BYTES) == -1 ||
	    read_bytes(text + FLAGS_AT, &flags, 1) == -1)
		return -1;
	if (!fits_version(version, text, size) ||
	    is_zero(context.trace, TRACE_ID_BYTES) ||
	    is_zero(context.span, SPAN_ID_BYTES))
		return -1;
	context.is_sampled = (flags & SAMPLED) != 0;
	*context_r = context;
	return 0;
}

void
trace_context_write(
    const struct trace_context *context, char text_r[TRACEPARENT_BYTES + 1])
{
	char trace[2 * TRACE_ID_BYTES + 1], span[2 * SPAN_ID_BYTES + 1];

	sodium_bin2hex(trace, sizeof trace, context->trace, TRACE_ID_BYTES);
	sodium_bin2hex(span, sizeof span, context->span, SPAN_ID_BYTES);
	snprintf(text_r, TRACEPARENT_BYTES + 1, "00-%s-%s-%02x", trace, span,
	    context->is_sampled ? SAMPLED : 0);
}

/* --- ids ------------------------------------------------------------------------------ */

static void
make_id(uint8_t *id_r, size_t size, const char *text)
{
	uint8_t hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const uint8_t *)text, strlen(text));
	memcpy(id_r, hash, size);
	if (is_zero(id_r, size)) /* which would be none */
		id_r[size - 1] = 1;
}

void
trace_id_make(const char *run, uint8_t id_r[TRACE_ID_BYTES])
{
	char text[HASHED_BYTES_MAX];

	snprintf(text, sizeof text, "trace %s", run);
	make_id(id_r, TRACE_ID_BYTES, text);
}

void
trace_span_id_make(uint8_t id_r[SPAN_ID_BYTES], const char *format, ...)
{
	char text[HASHED_BYTES_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	make_id(id_r, SPAN_ID_BYTES, text);
}

/* --- sampling ------------------------------------------------------------------------- */

int
trace_ratio_read(const char *text, double *ratio_r)
{
	char *end;
	double ratio;

	/* strtod takes blanks, signs, hex and "nan" as well. */
	if (*text == '\0' || text[strspn(text, "0123456789.")] != '\0')
		return -1;
	ratio = strtod(text, &end);
	if (end == text || *end != '\0' || ratio > 1)
		return -1;
	*ratio_r = ratio;
	return 0;
}

bool
trace_is_sampled(const uint8_t trace[TRACE_ID_BYTES], double ratio)
{
	uint64_t last = 0;
	size_t i;

	for (i = TRACE_ID_BYTES - 7; i < TRACE_ID_BYTES; i++)
		last = last << 8 | trace[i];
	return last >= (uint64_t)ldexp(1 - ratio, 56);
}
