/* watch_all: the status channel as it comes, for `flotilla watch` without a run. */
#include "watch_all.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "fiber.h"
#include "listeners.h"
#include "show.h"
#include "tame.h"

#define TIME_WIDTH 14u /* "14:03:07.120" and what parts it from the rest */
#define ID_WIDTH 20u   /* of an id; long ones have a third of the line */
#define ID_SHARE 3u
#define QUIET_MS 3000u /* without a word: say so */

struct watch {
	struct session *session;
	uint64_t count;
};

/* What the columns before say already. */
static const struct value *
details(struct arena *arena, const struct value *body, bool token)
{
	static const char *const said[] = { "at", "kind", "run", "seq", "first", "count",
		"step", "node", "thread", "agent", "model", "index", "worker",
		"coordinator", "status", "version" };
	size_t i;

	for (i = 0; i < sizeof said / sizeof *said; i++)
		body = value_map_with(arena, body, said[i], NULL);
	return token ? value_get(body, "content") : body;
}

/* text cut to width columns, with the colours in it, which take none. There is nothing else in it
 * that drives a terminal. */
static const char *
fit(struct arena *arena, const char *text, size_t width)
{
	size_t columns = 0, size;
	const char *at, *cut = NULL;

	for (at = text; *at != '\0'; at += size) {
		size = *at == '\033' ? strcspn(at, "m") + 1 : tame_character(at);
		if (*at == '\033')
			continue;
		/* The last column is for the mark that something is missing. */
		if (++columns == width)
			cut = at;
		if (columns > width)
			return arena_printf(arena, "%.*s…%s", (int)(cut - text), text,
			    show_colour() ? "\033[0m" : "");
	}
	return text;
}

const char *
watch_line(struct arena *arena, const char *topic, const struct value *body)
{
	const char *first = strchr(topic, '.'), *last = strrchr(topic, '.');
	const char *kind = last != NULL ? last + 1 : topic, *id = topic, *headline = kind;
	bool token = strcmp(kind, "token") == 0;
	int64_t at = value_get_int(body, "at", 0);
	const struct value *more = details(arena, body, token);
	size_t id_width = show_width() / ID_SHARE;
	int padding;

	if (first != NULL && last > first)
		id = arena_copy(arena, first + 1, (size_t)(last - first - 1));
	if (strncmp(topic, "run.", 4) == 0 && !token)
		headline = show_headline(
		    arena, value_map_with(arena, body, "kind", value_str(arena, kind)));
	id = show_line(arena, id, id_width > ID_WIDTH ? id_width : ID_WIDTH);
	padding = strlen(id) < ID_WIDTH ? (int)(ID_WIDTH - strlen(id)) : 0;
	if (value_size(more) > 0)
		headline = arena_printf(arena, "%s %s", headline, tame_json(arena, more));
	return arena_printf(arena, "%s  %s",
	    at > 0 ? show_time(arena, at) : show_now(arena),
	    fit(arena, arena_printf(arena, "%s%*s  %s", id, padding, "", headline),
		show_rest(TIME_WIDTH)));
}

static void
print_topic(
    struct watch *watch, struct arena *arena, const char *topic, const struct value *body)
{
	if (session_json(watch->session))
		printf("%s\n",
		    tame_json(arena, value_map(arena, "topic", value_str(arena, topic),
					 "body", body, NULL)));
	else
		printf("%s\n", watch_line(arena, show_line(arena, topic, 200), body));
	fflush(stdout);
}

static void
on_status(void *arg, struct parts *parts, bool truncated)
{
	struct watch *watch = arg;
	struct arena *arena;
	const struct value *body;
	const char *error;

	if (truncated || parts->count < 2)
		return;
	arena = arena_new();
	if (value_unpack(
		arena, parts_data(parts, 1), parts_size(parts, 1), &body, &error) == 0)
		print_topic(watch, arena,
		    arena_copy(arena, parts_data(parts, 0), parts_size(parts, 0)), body);
	watch->count++;
	arena_destroy(&arena);
}

enum status
watch_all(struct session *session)
{
	struct watch watch = { .session = session };
	struct listeners *listeners = listeners_new(session, on_status, &watch);

	if (listeners == NULL)
		return STATUS_UNREACHABLE;
	/* All but "ended.", which says once more what is heard already. */
	listeners_subscribe(listeners, "run.");
	listeners_subscribe(listeners, "worker.");
	listeners_subscribe(listeners, "coordinator.");
	if (!session_json(session))
		printf("watching %s; Ctrl-C ends\n",
		    show_line(session_arena(session),
			session_join(session, session_statuses(session)),
			show_rest(strlen("watching ; Ctrl-C ends"))));
	fflush(stdout);
	if (fiber_sleep(QUIET_MS) == 0 && watch.count == 0)
		complain("nothing was heard in %u s: the fleet is idle, or not there",
		    QUIET_MS / 1000);
	while (!session_interrupted(session) && fiber_sleep(1000) == 0)
		continue;
	listeners_destroy(&listeners);
	return STATUS_OK;
}
