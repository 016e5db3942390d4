/* top: who works, how much waits, how fast it goes. Live in a terminal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "fiber.h"
#include "json.h"
#include "peer.h"
#include "show.h"

#define ANSWER_WAIT_MS 3000u
#define REFRESH_MS 1000u
#define ROWS_AROUND 9u /* lines beside those of sessions and services */
#define ROWS_MIN 3u
#define SERVES_COLUMN 67u /* where the list of services begins */

struct top_settings {
	struct common_settings common;
	bool once;
};
static const struct setting top_table[] = {
	COMMON_SETTINGS,
	{ "once", SETTING_BOOL, offsetof(struct top_settings, once), NULL, 0, 0, NULL,
	    "print once and end", '1' },
	SETTINGS_END,
};

/* One look at the fleet. */
struct snapshot {
	struct arena *arena;
	const struct value *stats;  /* the broker's */
	const struct value *counts; /* of Redis */
	uint64_t at_ms;
};

struct top {
	struct session *session;
	struct fiber *fiber;
	struct peer *peer;
	struct snapshot now, before;
	bool asked, answered;
};

/* --- asking -------------------------------------------------------------------------------- */

static void
ask(struct top *top)
{
	struct header header = { .type = MSG_STATS };

	if (peer_is_up(top->peer))
		top->asked = peer_send(top->peer, &header, NULL) == 0;
}

static void
on_up(void *arg)
{
	struct top *top = arg;

	ask(top);
}

static void
on_down(void *arg, const char *reason)
{
	(void)arg;
	(void)reason;
}

static void
on_message(void *arg, const struct header *header, struct parts *bodies)
{
	struct top *top = arg;
	const char *error;

	if (header->type != MSG_STATS || bodies == NULL || bodies->count == 0)
		return;
	if (value_unpack(top->now.arena, parts_data(bodies, 0), parts_size(bodies, 0),
		&top->now.stats, &error) == 0)
		top->answered = true;
	fiber_wake(top->fiber);
}

/* Fills top->now. Returns 0, or -1 when nobody answered or Ctrl-C was pressed. */
static int
look(struct top *top)
{
	struct loop *loop = session_loop(top->session);
	uint64_t deadline = loop_now_ms(loop) + ANSWER_WAIT_MS;

	top->now = (struct snapshot){ .arena = arena_new(), .at_ms = loop_now_ms(loop) };
	top->answered = false;
	ask(top);
	while (!top->answered && loop_now_ms(loop) < deadline)
		if (fiber_wait_ms(100) == -1)
			return -1;
	if (store_counts(session_store(top->session), top->now.arena, &top->now.counts) !=
	    STORE_OK)
		top->now.counts = value_empty_map();
	return top->answered ? 0 : -1;
}

/* --- showing --------------------------------------------------------------------------------- */

static double
rate(const struct top *top, const char *counter)
{
	const struct value *now = value_get(top->now.stats, "counters");
	const struct value *before = value_get(top->before.stats, "counters");
	uint64_t ms = top->now.at_ms - top->before.at_ms;

	double more;

	if (before == NULL || ms == 0)
		return 0;
	more = value_get_number(now, counter, 0) - value_get_number(before, counter, 0);
	return more > 0 ? more * 1000 / (double)ms : 0; /* a new broker counts from 0 */
}

/* "tool:a tool:b model:c" as "tool:a b model:c": the kind is said once. */
static const char *
serves(struct arena *arena, const struct value *services, const char *first)
{
	struct packet packet = { 0 };
	const char *text, *kind = "";
	size_t kind_size = 0, i;

	packet_append(&packet, first, strlen(first));
	for (i = 0; i < value_size(services); i++) {
		const char *name = value_text(value_at(services, i));
		const char *colon = strchr(name, ':');
		size_t size = colon != NULL ? (size_t)(colon - name) + 1 : 0;

		if (i > 0)
			packet_append(&packet, " ", 1);
		if (size > 0 && size == kind_size && memcmp(name, kind, size) == 0)
			name += size;
		else
			kind = name;
		kind_size = size;
		packet_append(&packet, name, strlen(name));
	}
	text = arena_copy(arena, packet.data != NULL ? packet.data : "", packet.size);
	packet_release(&packet);
	return show_line(arena, text, show_rest(SERVES_COLUMN));
}

static void
print_session(struct arena *arena, const struct value *one)
{
	const char *name = value_get_text(one, "name");
	const char *text = value_get_bool(one, "draining", false) ? "draining; " : "";

	printf("%-22s %-11s ", name != NULL ? show_line(arena, name, 22) : "-",
	    value_get_text(one, "role"));
	if (value_text_is(value_get(one, "role"), "worker"))
		printf("%6" PRId64 " %6" PRId64 " %6" PRId64,
		    value_get_int(one, "load", 0), value_get_int(one, "room", 0),
		    value_get_int(one, "capacity", 0));
	else
		printf("%6" PRId64 " %6s %6s", value_get_int(one, "asked", 0), "-", "-");
	printf(" %6" PRId64 " ms  %s\n", value_get_int(one, "silent_ms", 0),
	    serves(arena, value_get(one, "services"), text));
}

/* Whoever looks (this command, say) is connected as well, but is no part of the fleet. */
static void
print_sessions(struct arena *arena, const struct value *sessions)
{
	size_t i;

	printf("\n%-22s %-11s %6s %6s %6s %9s  %s\n", "PROCESS", "ROLE", "CALLS", "ROOM",
	    "SLOTS", "HEARD AGO", "SERVES");
	for (i = 0; i < value_size(sessions); i++)
		if (!value_text_is(value_get(value_at(sessions, i), "role"), "client"))
			print_session(arena, value_at(sessions, i));
}

static bool
is_busy(const struct value *service)
{
	return value_get_int(service, "queued", 0) +
		   value_get_int(service, "running", 0) >
	       0;
}

static void
print_service(struct arena *arena, const struct value *one)
{
	printf("%-34s %8" PRId64 " %8" PRId64 " %8" PRId64 "\n",
	    show_line(arena, value_get_text(one, "name"), 34),
	    value_get_int(one, "workers", 0), value_get_int(one, "queued", 0),
	    value_get_int(one, "running", 0));
}

/* As many as there are rows left, those with work first. */
static void
print_services(struct arena *arena, const struct value *services, size_t rows)
{
	size_t count = value_size(services), shown = 0, i;
	int rest;

	printf("\n%-34s %8s %8s %8s\n", "SERVICE", "WORKERS", "QUEUED", "RUNNING");
	for (rest = 0; rest < 2; rest++) {
		for (i = 0; i < count && shown < rows; i++) {
			if (is_busy(value_at(services, i)) == (rest == 0)) {
				print_service(arena, value_at(services, i));
				shown++;
			}
		}
	}
	if (shown < count)
		printf("... and %zu more\n", count - shown);
}

/* A rate needs two looks. */
static void
print_rates(const struct top *top)
{
	if (top->before.stats == NULL)
		return;
	printf("a second  %.1f calls, %.1f answers, %.1f requeued, %.1f refused as busy, "
	       "%.1f events\n",
	    rate(top, "accepted"), rate(top, "answered"), rate(top, "requeued"),
	    rate(top, "busy"), rate(top, "published"));
}

static void
print_screen(const struct top *top)
{
	struct arena *arena = top->now.arena;
	const struct value *broker = value_get(top->now.stats, "broker");
	const struct value *calls = value_get(top->now.stats, "calls");
	size_t rows = show_height(), used = ROWS_AROUND;

	printf("flotilla %s   broker up %s%s\n",
	    show_date(arena, (int64_t)time(NULL) * 1000),
	    show_duration(arena, value_get_int(broker, "uptime_ms", 0)),
	    value_get_bool(broker, "recovering", false) ? ", recovering" : "");
	printf("runs      %" PRId64 " in all, %" PRId64 " threads live, %" PRId64
	       " in the inbox\n",
	    value_get_int(top->now.counts, "runs", 0),
	    value_get_int(top->now.counts, "live_threads", 0),
	    value_get_int(top->now.counts, "inbox", 0));
	printf("calls     %" PRId64 " queued, %" PRId64 " running, %" PRId64
	       " kept until stored\n",
	    value_get_int(calls, "queued", 0) + value_get_int(calls, "held", 0),
	    value_get_int(calls, "assigned", 0), value_get_int(calls, "kept", 0));
	print_rates(top);
	print_sessions(arena, value_get(top->now.stats, "sessions"));
	used += value_size(value_get(top->now.stats, "sessions"));
	print_services(arena, value_get(top->now.stats, "services"),
	    rows > used + ROWS_MIN ? rows - used : ROWS_MIN);
	fflush(stdout);
}

static void
show(const struct top *top, bool live)
{
	if (session_json(top->session)) {
		printf("%s\n", json_text(top->now.arena,
				   value_map(top->now.arena, "redis", top->now.counts,
				       "broker", top->now.stats, NULL)));
		fflush(stdout);
		return;
	}
	if (live)
		fputs("\033[H\033[2J", stdout);
	print_screen(top);
}

/* --- life ------------------------------------------------------------------------------------- */

static enum status
watch(struct top *top, bool live)
{
	bool seen = false;

	do {
		if (look(top) == 0) {
			seen = true;
			show(top, live);
			arena_destroy(&top->before.arena);
			top->before = top->now;
			top->now.arena = NULL;
			continue;
		}
		arena_destroy(&top->now.arena);
		if (session_interrupted(top->session))
			return STATUS_OK;
		complain("no broker answers at %s; is the fleet up?",
		    session_broker(top->session));
		if (!seen)
			return STATUS_UNREACHABLE;
	} while (live && fiber_sleep(REFRESH_MS) == 0);
	return STATUS_OK;
}

static enum status
run_top(struct session *session, const void *given, const char *const *rest)
{
	const struct top_settings *settings = given;
	struct top top = { .session = session, .fiber = fiber_current() };
	struct peer_options options = { .endpoint = session_broker(session),
		.role = ROLE_CLIENT,
		.name = "flotilla-top",
		.on_up = on_up,
		.on_down = on_down,
		.on_message = on_message,
		.arg = &top };
	enum status status;

	(void)rest;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	top.peer = peer_new(session_loop(session), &options);
	if (top.peer == NULL) {
		complain("--broker %s: no endpoint of ZeroMQ", session_broker(session));
		return STATUS_USAGE;
	}
	status = watch(&top, !settings->once && isatty(STDOUT_FILENO));
	peer_destroy(&top.peer);
	arena_destroy(&top.now.arena);
	arena_destroy(&top.before.arena);
	return status;
}

const struct command command_top = {
	.name = "top",
	.usage = "",
	.summary = "shows workers, load, queues and rates, live",
	.table = top_table,
	.settings_size = sizeof(struct top_settings),
	.arguments_max = 0,
	.run = run_top,
};
