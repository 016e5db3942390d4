#include "top_screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "show.h"
#include "store.h"
#include "store_fleet.h"
#include "top_row.h"
#include "top_times.h"

#define LAG_MS 1000       /* a loop that lags so far behind: likewise */
#define CRON_LATE_MS 5000 /* a cron that is due for so long: nobody fires it */
#define TROUBLES_MAX 6u
#define SERVICE_NUMBERS 32 /* columns of a service's numbers */
#define SERVICE_MIN 8      /* and of its name */
#define SERVICE_MAX 36
#define SERVICES_ROWS 6u /* kept for them: a blank, a title, some, how many more */

struct screen {
	FILE *out;
	struct arena *arena;
	const struct top_look *now, *before;
	size_t width, left; /* columns; rows that may still be written */
};

/* --- lines ---------------------------------------------------------------------------- */

static void line(struct screen *screen, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
line(struct screen *screen, const char *format, ...)
{
	char text[1024];
	va_list args;
	size_t size;

	if (screen->left == 0)
		return;
	screen->left--;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	for (size = strlen(text); size > 0 && text[size - 1] == ' '; size--)
		text[size - 1] = '\0';
	fprintf(screen->out, "%s\n", show_line(screen->arena, text, screen->width));
}

static int64_t
sum(const struct value *map, const char *key)
{
	return value_get_int(map, key, 0);
}

/* --- the head ------------------------------------------------------------------------- */

/* Whether the broker has answered both looks: there is a rate of it. */
static bool
is_rated(const struct screen *screen, size_t broker)
{
	return broker < screen->before->broker_count &&
	       screen->now->brokers[broker].tables != NULL &&
	       screen->before->brokers[broker].tables != NULL &&
	       screen->now->at_ms > screen->before->at_ms;
}

static bool
has_rates(const struct screen *screen)
{
	size_t i;

	for (i = 0; i < screen->now->broker_count; i++)
		if (is_rated(screen, i))
			return true;
	return false;
}

static double
counter(const struct top_look *look, size_t broker, const char *name)
{
	return value_get_number(
	    value_get(look->brokers[broker].tables, "counters"), name, 0);
}

static double
rate(const struct screen *screen, const char *name)
{
	uint64_t ms = screen->now->at_ms - screen->before->at_ms;
	double sum = 0, more;
	size_t i;

	for (i = 0; i < screen->now->broker_count; i++) {
		if (!is_rated(screen, i))
			continue;
		more = counter(screen->now, i, name) - counter(screen->before, i, name);
		if (more > 0) /* a new broker counts from 0 */
			sum += more;
	}
	return sum * 1000 / (double)ms;
}

static size_t
brokers_up(const struct screen *screen)
{
	size_t count = 0, i;

	for (i = 0; i < screen->now->broker_count; i++)
		count += screen->now->brokers[i].tables != NULL;
	return count;
}

static void
print_title(struct screen *screen)
{
	size_t up = brokers_up(screen), of = screen->now->broker_count;
	const char *brokers =
	    of == 1 ? (up == 1 ? "broker up" : "broker away")
		    : arena_printf(screen->arena, "%zu of %zu brokers up", up, of);

	line(screen, "flotilla %s   %s   redis %s",
	    show_date(screen->arena, (int64_t)time(NULL) * 1000), brokers,
	    screen->now->counts != NULL ? "up" : "away");
}

static const char *
counted(struct arena *arena, int64_t count, const char *what)
{
	return arena_printf(
	    arena, "%" PRId64 " %s%s", count, what, count == 1 ? "" : "s");
}

/* ", 3 crons (one is due since 5 m)"; "" without any. */
static const char *
crons_text(struct arena *arena, const struct value *counts)
{
	int64_t crons = sum(counts, "crons"), late_ms = sum(counts, "crons_late_ms");

	if (crons == 0)
		return "";
	return arena_printf(arena, ", %s%s", counted(arena, crons, "cron"),
	    late_ms < CRON_LATE_MS
		? ""
		: arena_printf(arena, " (one is due since %s)", top_age(arena, late_ms)));
}

/* What waits outside of the fleet, and for its time. */
static void
print_waiting(struct screen *screen, const struct value *counts)
{
	struct arena *arena = screen->arena;
	int64_t asks = sum(counts, "asks");
	const char *oldest = asks == 0
				 ? ""
				 : arena_printf(arena, " (oldest %s)",
				       top_age(arena, sum(counts, "asks_oldest_ms")));

	line(screen, "waiting   %s for a human%s, %s to be told%s",
	    counted(arena, asks, "thread"), oldest,
	    counted(arena, sum(counts, "webhooks"), "webhook"),
	    crons_text(arena, counts));
}

/* Of the services the call that waits longest. */
static int64_t
oldest_ms(const struct value *services)
{
	int64_t oldest = -1, ms;
	size_t i;

	for (i = 0; i < value_size(services); i++) {
		ms = value_get_int(value_at(services, i), "oldest_ms", -1);
		if (ms > oldest)
			oldest = ms;
	}
	return oldest;
}

static void
print_sums(struct screen *screen)
{
	const struct value *counts = screen->now->counts;
	const struct value *calls = value_get(screen->now->tables, "calls");
	int64_t oldest = oldest_ms(value_get(screen->now->tables, "services"));
	const char *times = top_times_text(screen->arena, screen->now);
	const char *waits = oldest < 0 ? ""
				       : arena_printf(screen->arena, " (oldest %s)",
					     top_age(screen->arena, oldest));

	if (counts != NULL)
		line(screen,
		    "runs      %" PRId64 " in all, %" PRId64 " threads live, %" PRId64
		    " in the inbox, %" PRId64 " dead",
		    sum(counts, "runs"), sum(counts, "live_threads"),
		    sum(counts, "inbox"), sum(counts, "dead"));
	if (counts != NULL)
		print_waiting(screen, counts);
	if (counts != NULL && sum(counts, "bytes_max") > 0)
		line(screen,
		    "redis     %" PRId64 " MB of %" PRId64 " MB, %" PRId64 " %%%s",
		    sum(counts, "bytes") >> 20, sum(counts, "bytes_max") >> 20,
		    sum(counts, "full"),
		    sum(counts, "full") >= STORE_FULL
			? ": new submissions wait in the inbox"
			: "");
	if (calls != NULL)
		line(screen,
		    "calls     %" PRId64 " queued%s, %" PRId64 " running, %" PRId64
		    " kept until stored",
		    sum(calls, "queued") + sum(calls, "held"), waits,
		    sum(calls, "assigned"), sum(calls, "kept"));
	if (has_rates(screen))
		line(screen,
		    "a second  %.1f calls, %.1f answers, %.1f requeued, %.1f refused as "
		    "busy, %.1f events",
		    rate(screen, "accepted"), rate(screen, "answered"),
		    rate(screen, "requeued"), rate(screen, "busy"),
		    rate(screen, "published"));
	if (times != NULL)
		line(screen, "95 %%      %s", times);
}

/* --- what is wrong -------------------------------------------------------------------- */

struct troubles {
	struct screen *screen;
	unsigned count;
};

static void trouble(struct troubles *troubles, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
trouble(struct troubles *troubles, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (++troubles->count > TROUBLES_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	line(troubles->screen, "! %s", text);
}

static void
session_trouble(struct troubles *troubles, const struct value *row)
{
	struct arena *arena = troubles->screen->arena;
	const char *name = value_get_text(row, "name");
	int64_t lag = sum(row, "lag_ms");

	if (value_get_text(row, "trouble") != NULL)
		trouble(troubles, "%s: %s", name, value_get_text(row, "trouble"));
	if (value_text_is(value_get(row, "probe"), "stuck"))
		trouble(troubles,
		    "%s is stuck: its calls have not moved for %s, it gets no new ones",
		    name, top_age(arena, sum(row, "probed_ms")));
	else if (lag >= LAG_MS)
		trouble(troubles, "%s stood still for %s, stopped or busy with one thing",
		    name, top_age(arena, lag));
}

static void
service_trouble(struct troubles *troubles, const struct value *row)
{
	struct arena *arena = troubles->screen->arena;

	if (sum(row, "workers") == 0 && sum(row, "queued") > 0)
		trouble(troubles,
		    "nobody serves %s: %" PRId64 " calls wait, the oldest for %s",
		    value_get_text(row, "name"), sum(row, "queued"),
		    top_age(arena, sum(row, "oldest_ms")));
}

static void
broker_trouble(struct troubles *troubles, const struct top_broker *broker)
{
	struct arena *arena = troubles->screen->arena;
	const struct value *self = value_get(broker->tables, "broker");

	if (broker->tables == NULL)
		trouble(troubles, "no broker answers at %s", broker->endpoint);
	else if (value_get_bool(self, "leaving", false))
		trouble(troubles, "%s is leaving", value_get_text(self, "name"));
	else if (sum(self, "lag_ms") >= LAG_MS)
		trouble(troubles, "%s stood still for %s, stopped or busy with one thing",
		    value_get_text(self, "name"), top_age(arena, sum(self, "lag_ms")));
}

static void
print_troubles(struct screen *screen)
{
	struct troubles troubles = { .screen = screen };
	const struct top_look *now = screen->now;
	const struct value *sessions = value_get(now->tables, "sessions");
	const struct value *services = value_get(now->tables, "services");
	size_t i;

	if (now->counts == NULL)
		trouble(&troubles, "Redis: %s", now->redis_trouble);
	for (i = 0; i < now->broker_count; i++)
		broker_trouble(&troubles, &now->brokers[i]);
	for (i = 0; i < value_size(sessions); i++)
		session_trouble(&troubles, value_at(sessions, i));
	for (i = 0; i < value_size(services); i++)
		service_trouble(&troubles, value_at(services, i));
	if (troubles.count > TROUBLES_MAX)
		line(screen, "! and %u more", troubles.count - TROUBLES_MAX);
}

/* --- processes ------------------------------------------------------------------------ */

static void
print_row(struct screen *screen, const struct value *row)
{
	line(screen, "%s", top_row(screen->arena, row, screen->width));
}

static int
by_role_and_name(const void *one, const void *other)
{
	const struct value *const *a = one, *const *b = other;
	int order = strcmp(
	    value_get_text(*b, "role"), value_get_text(*a, "role")); /* workers first */

	return order != 0
		   ? order
		   : strcmp(value_get_text(*a, "name"), value_get_text(*b, "name"));
}

/* Brokers, then the rest in an order that stays. Whoever looks (this command, say) is
 * connected as well, but is no part of the fleet. */
static size_t
list_processes(const struct screen *screen, const struct value **rows)
{
	const struct value *sessions = value_get(screen->now->tables, "sessions");
	size_t count = 0, brokers, i;

	for (i = 0; i < screen->now->broker_count; i++)
		if (screen->now->brokers[i].tables != NULL)
			rows[count++] =
			    value_get(screen->now->brokers[i].tables, "broker");
	brokers = count;
	for (i = 0; i < value_size(sessions); i++)
		if (!value_text_is(value_get(value_at(sessions, i), "role"), "client"))
			rows[count++] = value_at(sessions, i);
	qsort(rows + brokers, count - brokers, sizeof *rows, by_role_and_name);
	return count;
}

static void
print_processes(struct screen *screen)
{
	size_t room = value_size(value_get(screen->now->tables, "sessions")) +
		      screen->now->broker_count;
	const struct value **rows = arena_alloc(screen->arena, (room + 1) * sizeof *rows);
	size_t count = list_processes(screen, rows), i;

	line(screen, " ");
	print_row(screen, NULL);
	for (i = 0; i < count && screen->left > SERVICES_ROWS; i++)
		print_row(screen, rows[i]);
	if (i < count)
		line(screen, "... and %zu more", count - i);
}

/* --- services ------------------------------------------------------------------------- */

/* The numbers come first where there is little room. */
static int
service_width(const struct screen *screen)
{
	size_t rest =
	    screen->width > SERVICE_NUMBERS ? screen->width - SERVICE_NUMBERS : 0;

	if (rest < SERVICE_MIN)
		return SERVICE_MIN;
	return rest < SERVICE_MAX ? (int)rest : SERVICE_MAX;
}

static void
print_service(struct screen *screen, const struct value *row)
{
	struct arena *arena = screen->arena;
	int64_t oldest = value_get_int(row, "oldest_ms", -1);

	int name = service_width(screen);

	line(screen, "%-*s %7" PRId64 " %7" PRId64 " %7" PRId64 " %7s", name,
	    show_line(arena, value_get_text(row, "name"), (size_t)name),
	    sum(row, "workers"), sum(row, "queued"), sum(row, "running"),
	    oldest < 0 ? "-" : top_age(arena, oldest));
}

static bool
is_busy(const struct value *row)
{
	return sum(row, "queued") + sum(row, "running") > 0;
}

/* As many as there are rows left, those with work first. */
static void
print_services(struct screen *screen)
{
	const struct value *services = value_get(screen->now->tables, "services");
	size_t count = value_size(services), shown = 0, i;
	int rest;

	line(screen, " ");
	line(screen, "%-*s %7s %7s %7s %7s", service_width(screen), "SERVICE", "WORKERS",
	    "QUEUED", "RUNNING", "OLDEST");
	for (rest = 0; rest < 2; rest++) {
		for (i = 0; i < count && screen->left > (shown + 1 < count); i++) {
			if (is_busy(value_at(services, i)) == (rest == 0)) {
				print_service(screen, value_at(services, i));
				shown++;
			}
		}
	}
	if (shown < count)
		line(screen, "... and %zu more", count - shown);
}

void
top_screen_print(FILE *out, const struct top_look *now, const struct top_look *before,
    size_t width, size_t rows)
{
	struct screen screen = { .out = out,
		.arena = now->arena,
		.now = now,
		.before = before,
		.width = width,
		.left = rows > 1 ? rows - 1 : 1 };

	print_title(&screen);
	print_sums(&screen);
	print_troubles(&screen);
	if (now->tables == NULL)
		return;
	print_processes(&screen);
	print_services(&screen);
}
