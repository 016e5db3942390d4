/* top: who works, who does not move, how much waits, how fast it goes. Live in a terminal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "fiber.h"
#include "json.h"
#include "show.h"
#include "stats.h"
#include "top_screen.h"

#define FIRST_WAIT_MS 3000u
#define ANSWER_WAIT_MS 1500u
#define REFRESH_MS 1000u
#define POLL_MS 10u

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

struct top {
	struct session *session;
	struct stats *stats;
	struct redis *redis; /* of our own: that it is away is something to show */
	struct store *store;
	struct top_broker *brokers;
	struct top_look now, before;
};

/* --- looking -------------------------------------------------------------------------------- */

static void
wait_for_redis(struct top *top, uint64_t deadline_ms)
{
	while (!redis_is_up(top->redis) &&
	       loop_now_ms(session_loop(top->session)) < deadline_ms)
		if (fiber_sleep(POLL_MS) == -1)
			return;
}

static void
look_at_redis(struct top *top)
{
	const char *why = redis_trouble(top->redis);

	if (redis_is_up(top->redis) &&
	    store_counts(top->store, top->now.arena, &top->now.counts) == STORE_OK)
		return;
	top->now.counts = NULL;
	if (redis_is_up(top->redis))
		why = store_error(top->store);
	top->now.redis_trouble =
	    arena_strdup(top->now.arena, *why == '\0' ? "it does not answer" : why);
}

/* Fills top->now. Returns 0, or -1 when Ctrl-C was pressed. */
static int
look(struct top *top, uint64_t wait_ms)
{
	struct loop *loop = session_loop(top->session);
	uint64_t deadline = loop_now_ms(loop) + wait_ms;
	size_t i;

	top->now = (struct top_look){ .arena = arena_new(),
		.brokers = top->brokers,
		.broker_count = stats_brokers(top->stats) };
	if (stats_ask(top->stats, top->now.arena, wait_ms) == -1)
		return -1;
	top->now.at_ms = loop_now_ms(loop);
	for (i = 0; i < top->now.broker_count; i++)
		top->brokers[i] = (struct top_broker){
			.endpoint = stats_endpoint(top->stats, i),
			.tables = stats_tables(top->stats, i),
		};
	top->now.tables = stats_merged(top->stats, top->now.arena);
	wait_for_redis(top, deadline);
	look_at_redis(top);
	return fiber_cancelled() ? -1 : 0;
}

/* --- showing -------------------------------------------------------------------------------- */

static const struct value *
brokers_value(const struct top *top)
{
	struct value_list rows = { .arena = top->now.arena };
	size_t i;

	for (i = 0; i < top->now.broker_count; i++) {
		const struct top_broker *broker = &top->brokers[i];

		value_list_add(&rows,
		    value_map_with(rows.arena,
			value_map(rows.arena, "endpoint",
			    value_str(rows.arena, broker->endpoint), NULL),
			"broker",
			broker->tables == NULL ? value_nil()
					       : value_get(broker->tables, "broker")));
	}
	return value_list_end(&rows);
}

static void
print_json(const struct top *top)
{
	struct arena *arena = top->now.arena;
	const struct value *redis = top->now.counts;

	if (redis == NULL)
		redis = value_map(
		    arena, "trouble", value_str(arena, top->now.redis_trouble), NULL);
	printf("%s\n",
	    json_text(arena, value_map(arena, "redis", redis, "broker",
				 top->now.tables != NULL ? top->now.tables : value_nil(),
				 "brokers", brokers_value(top), NULL)));
	fflush(stdout);
}

/* Each line over the one before it, then what is left of that screen goes: nothing flickers. */
static void
print_live(const char *text)
{
	const char *end;

	fputs("\033[H", stdout);
	for (; (end = strchr(text, '\n')) != NULL; text = end + 1)
		printf("%.*s\033[K\n", (int)(end - text), text);
	fputs("\033[J", stdout);
}

static void
print_screen(const struct top *top, bool live)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		abort();
	top_screen_print(out, &top->now, &top->before, show_width(),
	    live ? show_height() : SIZE_MAX / 2);
	fclose(out);
	if (live)
		print_live(text);
	else
		fputs(text, stdout);
	fflush(stdout);
	free(text);
}

/* --- life ------------------------------------------------------------------------------------- */

/* What makes a look useless for who asks once. */
static enum status
judge(const struct top *top)
{
	if (top->now.tables == NULL)
		complain("no broker answers at %s; is the fleet up?",
		    session_join(top->session, session_brokers(top->session)));
	if (top->now.counts == NULL)
		complain("no Redis at %s (%s)", session_redis_shown(top->session),
		    top->now.redis_trouble);
	return top->now.tables == NULL || top->now.counts == NULL ? STATUS_UNREACHABLE
								  : STATUS_OK;
}

static enum status
watch(struct top *top, bool live)
{
	uint64_t wait_ms = FIRST_WAIT_MS;
	enum status status = STATUS_OK;

	if (live && !session_json(top->session))
		fputs("\033[2J", stdout);
	do {
		if (look(top, wait_ms) == -1)
			break;
		wait_ms = ANSWER_WAIT_MS;
		if (session_json(top->session))
			print_json(top);
		else if (live || top->now.tables != NULL)
			print_screen(top, live);
		if (!live)
			status = judge(top);
		arena_destroy(&top->before.arena);
		top->before = top->now;
		top->now.arena = NULL;
	} while (live && fiber_sleep(REFRESH_MS) == 0);
	arena_destroy(&top->now.arena);
	arena_destroy(&top->before.arena);
	return status;
}

static int
connect_all(struct top *top)
{
	const char *error;

	top->stats = stats_new(top->session);
	if (top->stats == NULL)
		return -1;
	top->redis = redis_new(session_loop(top->session), session_redis(top->session),
	    store_library(), &error);
	if (top->redis == NULL) {
		complain("--redis %s: %s", session_redis_shown(top->session), error);
		return -1;
	}
	redis_allow_silence(top->redis, ANSWER_WAIT_MS);
	top->store = store_new(top->redis, ANSWER_WAIT_MS);
	top->brokers = calloc(stats_brokers(top->stats), sizeof *top->brokers);
	if (top->brokers == NULL)
		abort();
	return 0;
}

static enum status
run_top(struct session *session, const void *given, const char *const *rest)
{
	const struct top_settings *settings = given;
	struct top top = { .session = session };
	enum status status = STATUS_USAGE;

	(void)rest;
	if (connect_all(&top) == 0)
		status = watch(&top, !settings->once && isatty(STDOUT_FILENO));
	free(top.brokers);
	if (top.store != NULL)
		store_destroy(&top.store);
	redis_destroy(&top.redis);
	stats_destroy(&top.stats);
	return status;
}

const struct command command_top = {
	.name = "top",
	.usage = "",
	.summary = "shows processes, what is wrong, load, queues and rates, live",
	.table = top_table,
	.settings_size = sizeof(struct top_settings),
	.arguments_max = 0,
	.run = run_top,
};
