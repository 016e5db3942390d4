/* top: who works, who does not move, how much waits, how fast it goes. Live in a terminal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "fiber.h"
#include "look.h"
#include "show.h"
#include "tame.h"
#include "top_screen.h"
#include "top_times.h"

#define FIRST_WAIT_MS 3000u
#define ANSWER_WAIT_MS 1500u
#define REFRESH_MS 1000u
#define LATELY_MS 60000u

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
	struct look *look;
	struct top_look now, before;
	struct top_times *times;
};

/* --- showing -------------------------------------------------------------------------------- */

static const struct value *
brokers_value(const struct top *top)
{
	struct value_list rows = { .arena = top->now.arena };
	size_t i;

	for (i = 0; i < top->now.broker_count; i++) {
		const struct top_broker *broker = &top->now.brokers[i];

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
	    tame_json(arena, value_map(arena, "redis", redis, "broker",
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

static enum status
watch(struct top *top, bool live)
{
	uint64_t wait_ms = FIRST_WAIT_MS;
	enum status status = STATUS_OK;

	if (live && !session_json(top->session))
		fputs("\033[2J", stdout);
	do {
		if (look_take(top->look, wait_ms, &top->now) == -1)
			break;
		top_times_note(top->times, &top->now);
		wait_ms = ANSWER_WAIT_MS;
		if (session_json(top->session))
			print_json(top);
		else if (live || top->now.tables != NULL)
			print_screen(top, live);
		if (!live)
			status = look_judge(top->look, &top->now);
		arena_destroy(&top->before.arena);
		top->before = top->now;
		top->now.arena = NULL;
	} while (live && fiber_sleep(REFRESH_MS) == 0);
	arena_destroy(&top->now.arena);
	arena_destroy(&top->before.arena);
	return status;
}

static enum status
run_top(struct session *session, const void *given, const char *const *rest)
{
	const struct top_settings *settings = given;
	struct top top = { .session = session, .look = look_new(session) };
	enum status status = STATUS_USAGE;

	(void)rest;
	top.times = top_times_new(LATELY_MS);
	if (top.look != NULL)
		status = watch(&top, !settings->once && isatty(STDOUT_FILENO));
	look_destroy(&top.look);
	top_times_destroy(&top.times);
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
