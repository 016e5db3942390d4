#include "run_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "bounds.h"
#include "json.h"
#include "redis.h"
#include "trace_context.h"
#include "url.h"
#include "utf8.h"
#include "wire.h"

#define SHOWN_BYTES 64u /* of what was submitted */

static const char *
text_of(const struct value *fields, const char *name)
{
	const char *text = redis_reply_text(value_get(fields, name));

	return text != NULL && *text != '\0' ? text : NULL;
}

/* --- time --------------------------------------------------------------------------- */

/* Returns 0, or -1 unless text is a whole number from min to max. */
static int
read_number(const char *text, int64_t min, int64_t max, int64_t *number_r)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	*number_r = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' && *number_r >= min && *number_r <= max ? 0
										  : -1;
}

/* The digits of a fraction of a second, in ms; *text_p goes behind them. */
static int64_t
read_fraction(const char **text_p)
{
	int64_t ms = 0, place = 100;

	if (**text_p != '.')
		return 0;
	for ((*text_p)++; isdigit((unsigned char)**text_p); (*text_p)++, place /= 10)
		ms += (**text_p - '0') * place;
	return ms;
}

/* "Z" or "+01:30", in minutes east of Greenwich. Returns 0, or -1. */
static int
read_zone(const char *text, int64_t *minutes_r)
{
	int64_t hours, minutes;

	*minutes_r = 0;
	if (strcasecmp(text, "z") == 0)
		return 0;
	if ((*text != '+' && *text != '-') || strlen(text) != 6 || text[3] != ':' ||
	    strspn(text + 1, "0123456789") != 2 || strspn(text + 4, "0123456789") != 2)
		return -1;
	hours = strtoll(text + 1, NULL, 10);
	minutes = strtoll(text + 4, NULL, 10);
	*minutes_r = (*text == '-' ? -1 : 1) * (60 * hours + minutes);
	return hours < 24 && minutes < 60 ? 0 : -1;
}

/* RFC 3339 to ms since 1970. Returns 0, or -1. */
static int
read_date(const char *text, int64_t *ms_r)
{
	struct tm given = { 0 }, found;
	int64_t fraction, zone;
	const char *rest;
	time_t seconds;

	/* strptime takes shorter numbers and spaces. */
	if (strlen(text) < 20 || strspn(text, "0123456789-") != 10 ||
	    strchr("Tt ", text[10]) == NULL || strspn(text + 11, "0123456789:") != 8)
		return -1;
	rest = strptime(text, "%Y-%m-%d", &given);
	if (rest != text + 10 || strptime(text + 11, "%H:%M:%S", &given) != text + 19)
		return -1;
	rest = text + 19;
	fraction = read_fraction(&rest);
	if (read_zone(rest, &zone) == -1)
		return -1;
	found = given;
	seconds = timegm(&found);
	if (found.tm_mday != given.tm_mday) /* 31st of June */
		return -1;
	*ms_r = ((int64_t)seconds - 60 * zone) * 1000 + fraction;
	return *ms_r >= 0 && *ms_r <= AT_MS_MAX ? 0 : -1;
}

int
run_options_time(const char *text, int64_t *ms_r)
{
	return read_number(text, 0, AT_MS_MAX, ms_r) == 0 ? 0 : read_date(text, ms_r);
}

static const char *
read_start(struct arena *arena, const struct value *fields, int64_t now_ms,
    struct run_options *options)
{
	const char *after = text_of(fields, "after_ms"), *at = text_of(fields, "at");

	if (after != NULL && at != NULL)
		return "after_ms and at exclude each other";
	if (after != NULL) {
		if (read_number(after, 0, AFTER_MS_MAX, &options->after_ms) == -1)
			return arena_printf(arena,
			    "after_ms '%s': must be milliseconds, 0 to %" PRId64,
			    utf8_shown(arena, after, SHOWN_BYTES), (int64_t)AFTER_MS_MAX);
		options->at_ms = options->after_ms > 0 ? now_ms + options->after_ms : 0;
	}
	if (at != NULL && run_options_time(at, &options->at_ms) == -1)
		return arena_printf(arena,
		    "at '%s': must be a time such as 2030-01-31T09:30:00Z, or "
		    "milliseconds since 1970",
		    utf8_shown(arena, at, SHOWN_BYTES));
	return NULL;
}

static const char *
read_deadline(
    struct arena *arena, const struct value *fields, struct run_options *options)
{
	const char *text = text_of(fields, "deadline_ms");

	if (text == NULL ||
	    read_number(text, 1, RUN_DEADLINE_MS_MAX, &options->deadline_ms) == 0)
		return NULL;
	return arena_printf(arena,
	    "deadline_ms '%s': must be milliseconds, 1 to %" PRId64,
	    utf8_shown(arena, text, SHOWN_BYTES), (int64_t)RUN_DEADLINE_MS_MAX);
}

/* --- the others --------------------------------------------------------------------- */

static const char *
read_priority(
    struct arena *arena, const struct value *fields, struct run_options *options)
{
	const char *text = text_of(fields, "priority");

	options->priority = PRIORITY_USUAL;
	if (text == NULL || read_number(text, 0, PRIORITY_MAX, &options->priority) == 0)
		return NULL;
	return arena_printf(arena,
	    "priority '%s': must be a number from 0, which goes first, to %u",
	    utf8_shown(arena, text, SHOWN_BYTES), PRIORITY_MAX);
}

/* A word that is kept as it is, *word_r; what is refused is not, whatever its size. */
static const char *
read_word(struct arena *arena, const struct value *fields, const char *name,
    const char **word_r)
{
	const char *text = text_of(fields, name);

	if (text == NULL || wire_is_id(text, ID_BYTES_MAX)) {
		*word_r = text;
		return NULL;
	}
	return arena_printf(arena,
	    "%s: must be 1 to %u printable ASCII characters without spaces", name,
	    ID_BYTES_MAX);
}

static bool
is_plain(const struct value *value)
{
	return value_is(value, VALUE_STR) || value_is(value, VALUE_BOOL) ||
	       value_is_number(value);
}

/* A password in it would lie in Redis, where every command shows it. */
static const char *
read_webhook(struct arena *arena, const struct value *fields, struct run_options *options)
{
	const char *text = text_of(fields, "webhook"), *error = NULL, *at;
	struct url url;

	if (text == NULL)
		return NULL;
	if (strlen(text) > WEBHOOK_URL_BYTES_MAX)
		return arena_printf(
		    arena, "webhook: longer than %u bytes", WEBHOOK_URL_BYTES_MAX);
	for (at = text; (unsigned char)*at > ' ' && *at != 0x7f; at++)
		;
	if (*at != '\0' || url_parse(arena, text, &url, &error) == -1 ||
	    (strcmp(url.scheme, "http") != 0 && strcmp(url.scheme, "https") != 0) ||
	    *url.host == '\0')
		return "webhook: must be a URL that begins with http:// or https://, "
		       "without spaces";
	if (url.user != NULL || url.password != NULL)
		return "webhook: the URL must not hold a password; what is sent can be "
		       "signed instead (docs/runs.md)";
	options->webhook = text;
	return NULL;
}

static const char *
read_traceparent(const struct value *fields, struct run_options *options)
{
	struct trace_context context;

	options->traceparent = text_of(fields, "traceparent");
	if (options->traceparent == NULL ||
	    trace_context_read(options->traceparent, &context) == 0)
		return NULL;
	return "traceparent: " TRACEPARENT_FORM;
}

static const char *
read_metadata(
    struct arena *arena, const struct value *fields, struct run_options *options)
{
	const struct value *bytes = value_get(fields, "metadata"), *map;
	const char *error = NULL;
	size_t i;

	if (text_of(fields, "metadata") == NULL)
		return NULL;
	if (bytes->size > METADATA_BYTES_MAX)
		return arena_printf(arena, "metadata: %u bytes, over the limit of %u",
		    bytes->size, METADATA_BYTES_MAX);
	map = json_parse(arena, bytes->text, bytes->size, &error);
	if (map == NULL)
		return arena_printf(arena, "metadata is not valid JSON: %s", error);
	if (!value_is(map, VALUE_MAP))
		return "metadata: must be a map, such as {\"customer\": \"c-17\"}";
	for (i = 0; i < value_size(map); i++)
		if (!is_plain(map->pairs[i].value))
			return arena_printf(arena,
			    "metadata: '%s' must be a text, a number, true or false",
			    utf8_shown(arena, map->pairs[i].key->text, SHOWN_BYTES));
	options->metadata = map;
	return NULL;
}

const char *
run_options_read(struct arena *arena, const struct value *fields, int64_t now_ms,
    struct run_options *options_r)
{
	const char *error;

	*options_r = (struct run_options){ 0 };
	error = read_start(arena, fields, now_ms, options_r);
	if (error == NULL)
		error = read_deadline(arena, fields, options_r);
	if (error == NULL)
		error = read_priority(arena, fields, options_r);
	if (error == NULL)
		error = read_word(arena, fields, "tenant", &options_r->tenant);
	if (error == NULL)
		error = read_webhook(arena, fields, options_r);
	if (error == NULL)
		error = read_metadata(arena, fields, options_r);
	if (error == NULL)
		error = read_traceparent(fields, options_r);
	if (error == NULL)
		error = read_word(arena, fields, "fingerprint", &options_r->fingerprint);
	if (error == NULL)
		error = read_word(arena, fields, "assistant", &options_r->assistant);
	return error;
}

static const struct value *
number_text(struct arena *arena, int64_t number)
{
	return number != 0 ? value_printf(arena, "%" PRId64, number) : NULL;
}

const struct value *
run_options_record(struct arena *arena, const struct run_options *options)
{
	return value_map(arena, "at", number_text(arena, options->at_ms), "after",
	    number_text(arena, options->after_ms), "deadline_ms",
	    number_text(arena, options->deadline_ms), "priority",
	    value_printf(arena, "%" PRId64, options->priority), "tenant",
	    options->tenant != NULL ? value_str(arena, options->tenant) : NULL, "webhook",
	    options->webhook != NULL ? value_str(arena, options->webhook) : NULL,
	    "metadata",
	    value_size(options->metadata) > 0 ? value_freeze(arena, options->metadata)
					      : NULL,
	    "traceparent",
	    options->traceparent != NULL ? value_str(arena, options->traceparent) : NULL,
	    "fingerprint",
	    options->fingerprint != NULL ? value_str(arena, options->fingerprint) : NULL,
	    "assistant",
	    options->assistant != NULL ? value_str(arena, options->assistant) : NULL,
	    NULL);
}
