#include "traffic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"
#include "openapi.h"

#define STATUS_GONE 499u /* as nginx has it */
#define PATH_SHOWN_MAX 400

/* Up to these, and what takes longer. */
static const unsigned bounds_ms[] = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000,
	10000, 30000, 60000 };
#define BOUNDS (sizeof bounds_ms / sizeof *bounds_ms)

/* Of a route's answers, those with one status. */
struct answered {
	unsigned kind, status;
	uint64_t requests, bytes;
};

/* Of a route, how long they took. */
struct took {
	uint64_t counts[BOUNDS + 1], sum_ms;
};

struct traffic {
	bool is_logged;
	struct answered *answered; /* those that there were */
	size_t count;
	struct took *took; /* by kind */
	unsigned kinds;
};

struct traffic *
traffic_new(bool is_logged)
{
	struct traffic *traffic = xcalloc(1, sizeof *traffic);
	const char *method, *path;

	traffic->is_logged = is_logged;
	while (openapi_route(traffic->kinds, &method, &path))
		traffic->kinds++;
	traffic->kinds++; /* 0: none of them */
	traffic->took = xcalloc(traffic->kinds, sizeof *traffic->took);
	return traffic;
}

void
traffic_destroy(struct traffic **traffic_p)
{
	struct traffic *traffic = *traffic_p;

	if (traffic == NULL)
		return;
	*traffic_p = NULL;
	free(traffic->answered);
	free(traffic->took);
	free(traffic);
}

/* --- the log ------------------------------------------------------------------------------ */

/* Text of a client's as it may stand in a line: what is no plain character as in a URL. */
static const char *
shown(struct arena *arena, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t size = strnlen(text, PATH_SHOWN_MAX), i;
	char *line = arena_alloc(arena, 3 * size + sizeof "..."), *end = line;

	for (i = 0; i < size; i++) {
		bool is_slash = text[i] == HTTP_NAMED_SLASH;
		unsigned char byte = is_slash ? '/' : (unsigned char)text[i];

		if (byte > ' ' && byte < 0x7f && byte != '%' && !is_slash) {
			*end++ = text[i];
			continue;
		}
		*end++ = '%';
		*end++ = digits[byte >> 4];
		*end++ = digits[byte & 15];
	}
	*stpcpy(end, text[size] == '\0' ? "" : "...") = '\0';
	return line;
}

static void
write_line(const struct http_done *done, unsigned status, const char *tenant)
{
	struct arena *arena = arena_new();

	log_info("request method=%s path=%s status=%u ms=%" PRIu64 " bytes=%" PRIu64
		 "%s%s%s",
	    shown(arena, done->method), shown(arena, done->path), status, done->ms,
	    done->bytes, tenant != NULL ? " tenant=" : "",
	    tenant != NULL ? shown(arena, tenant) : "",
	    done->is_whole || done->status == 0 ? "" : " cut=1");
	arena_destroy(&arena);
}

/* --- what is counted ------------------------------------------------------------------------ */

static struct answered *
find(struct traffic *traffic, unsigned kind, unsigned status)
{
	struct answered *answered;
	size_t i;

	for (i = 0; i < traffic->count; i++)
		if (traffic->answered[i].kind == kind &&
		    traffic->answered[i].status == status)
			return &traffic->answered[i];
	traffic->answered = xreallocarray(
	    traffic->answered, traffic->count + 1, sizeof *traffic->answered);
	answered = &traffic->answered[traffic->count++];
	*answered = (struct answered){ .kind = kind, .status = status };
	return answered;
}

void
traffic_note(struct traffic *traffic, const struct http_done *done, const char *tenant)
{
	unsigned status = done->status != 0 ? done->status : STATUS_GONE;
	struct answered *answered = find(traffic, done->kind, status);
	struct took *took = &traffic->took[done->kind];
	size_t i = 0;

	answered->requests++;
	answered->bytes += done->bytes;
	while (i < BOUNDS && done->ms > bounds_ms[i])
		i++;
	took->counts[i]++;
	took->sum_ms += done->ms;
	if (traffic->is_logged)
		write_line(done, status, tenant);
}

/* {method, route}; "" of what is none of them. */
static const struct value *
labels_of(struct arena *arena, unsigned kind)
{
	const char *method = "", *path = "";

	if (kind > 0)
		openapi_route(kind - 1, &method, &path);
	return value_map(arena, "method", value_str(arena, method), "route",
	    value_str(arena, path), NULL);
}

static const struct value *
spread_of(struct arena *arena, const struct took *took)
{
	struct value_list bounds = { .arena = arena }, counts = { .arena = arena };
	size_t i;

	for (i = 0; i <= BOUNDS; i++) {
		if (i < BOUNDS)
			value_list_add(&bounds, value_int(arena, bounds_ms[i]));
		value_list_add(&counts, value_int(arena, (int64_t)took->counts[i]));
	}
	return value_map(arena, "bounds_ms", value_list_end(&bounds), "counts",
	    value_list_end(&counts), "sum_ms", value_int(arena, (int64_t)took->sum_ms),
	    NULL);
}

static const struct value *
row(struct arena *arena, const struct value *labels, const struct value *numbers)
{
	return value_map(arena, "labels", labels, "numbers", numbers, NULL);
}

/* Routes of which there was a request. */
static const struct value *
times_of(const struct traffic *traffic, struct arena *arena)
{
	struct value_list rows = { .arena = arena };
	unsigned kind;
	size_t i;

	for (kind = 0; kind < traffic->kinds; kind++) {
		for (i = 0; i < traffic->count; i++)
			if (traffic->answered[i].kind == kind)
				break;
		if (i < traffic->count)
			value_list_add(&rows,
			    row(arena, labels_of(arena, kind),
				value_map(arena, "took",
				    spread_of(arena, &traffic->took[kind]), NULL)));
	}
	return value_list_end(&rows);
}

void
traffic_rows(const struct traffic *traffic, const struct http_server *server,
    struct arena *arena, struct metrics_rows *rows_r)
{
	struct value_list answers = { .arena = arena };
	size_t i, requests, connections;
	const struct value *now;

	for (i = 0; i < traffic->count; i++) {
		const struct answered *answered = &traffic->answered[i];

		value_list_add(&answers,
		    row(arena,
			value_map_with(arena, labels_of(arena, answered->kind), "status",
			    value_str(
				arena, arena_printf(arena, "%u", answered->status))),
			value_map(arena, "requests",
			    value_int(arena, (int64_t)answered->requests), "bytes",
			    value_int(arena, (int64_t)answered->bytes), NULL)));
	}
	http_server_count(server, &requests, &connections);
	now = row(arena, value_empty_map(),
	    value_map(arena, "under_way", value_int(arena, (int64_t)requests),
		"connections", value_int(arena, (int64_t)connections), NULL));
	*rows_r = (struct metrics_rows){
		.of = { [METRICS_HTTP] = value_list_end(&answers),
		    [METRICS_HTTP_TIMES] = times_of(traffic, arena),
		    [METRICS_HTTP_NOW] = value_array(arena, &now, 1) }
	};
}
