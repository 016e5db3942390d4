/* watch_all: the status channel as it comes, for `flotilla watch` without a run. */
#include "watch_all.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "fiber.h"
#include "json.h"
#include "show.h"

struct watch {
	struct session *session;
	uint64_t count;
};

static void
print_topic(
    struct watch *watch, struct arena *arena, const char *topic, const struct value *body)
{
	struct arena *memory = arena;
	int64_t at = value_get_int(body, "at", 0);

	if (session_json(watch->session)) {
		printf("%s\n",
		    json_text(memory, value_map(memory, "topic", value_str(memory, topic),
					  "body", body, NULL)));
	} else {
		body = value_map_with(memory, body, "at", NULL);
		body = value_map_with(memory, body, "kind", NULL);
		printf("%s  %-40s %s\n", at > 0 ? show_time(memory, at) : "            ",
		    show_line(memory, topic, 60),
		    show_line(memory, json_text(memory, body), 140));
	}
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
	struct socket *socket;
	const char *error;

	socket = socket_sub(
	    session_loop(session), session_status(session), on_status, &watch, &error);
	if (socket == NULL) {
		complain("--status %s: %s", session_status(session), error);
		return STATUS_UNREACHABLE;
	}
	socket_subscribe(socket, "");
	if (!session_json(session))
		printf("watching %s; Ctrl-C ends\n", session_status(session));
	fflush(stdout);
	while (!session_interrupted(session) && fiber_sleep(1000) == 0)
		continue;
	socket_close(&socket, 0);
	return STATUS_OK;
}
