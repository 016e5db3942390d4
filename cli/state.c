/* state: a thread's messages and fields. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "command.h"
#include "find.h"
#include "json.h"
#include "show.h"

struct state_settings {
	struct common_settings common;
	int64_t at;
};

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "at", SETTING_INTEGER, offsetof(struct state_settings, at), "0", 0, INT64_MAX,
	    NULL, "as it was at this version, which `flotilla history` shows", 0 },
	SETTINGS_END,
};

static void
print_thread(struct arena *arena, const struct value *thread)
{
	const struct value *head = value_get(thread, "head");
	const struct value *messages = value_get(thread, "messages");
	const struct value *fields = value_get(thread, "fields");
	const char *active = value_get_text(thread, "run");
	const char *status = value_get_text(head, "status");
	size_t i;

	printf("thread %s: %s, %s, version %" PRId64 "\n",
	    value_get_text(thread, "thread"),
	    value_has(thread, "checkpoint")     ? "as it was"
	    : active != NULL && *active != '\0' ? "running"
	    : status != NULL                    ? status
						: "new",
	    show_count(arena, value_size(messages), "message"),
	    value_get_int(thread, "version", 0));
	if (value_get_text(head, "paused") != NULL && !value_has(thread, "checkpoint"))
		printf("paused: %s %s; `flotilla resume %s` goes on\n",
		    value_get_text(head, "paused"), value_get_text(head, "next"),
		    value_get_text(thread, "thread"));
	show_asks(arena, asks_of(arena, head), "  ");
	for (i = 0; i < value_size(messages); i++)
		show_message(arena, value_at(messages, i), "  ");
	for (i = 0; i < value_size(fields); i++) {
		const char *name = value_text(fields->pairs[i].key);

		printf("%s:\n", show_line(arena, name, show_rest(1)));
		if (strcmp(name, "todos") == 0)
			show_todos(arena, fields->pairs[i].value, "  ");
		else
			printf("  %s\n", json_text(arena, fields->pairs[i].value));
	}
}

static enum status
run_state(struct session *session, const void *given, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const struct state_settings *settings = given;
	const struct value *thread;
	enum store_status status;

	if (find_argument(rest[0], "THREAD") != STATUS_OK)
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = settings->at > 0
		     ? store_thread_at(session_store(session), arena, rest[0],
			   (uint64_t)settings->at, &thread)
		     : store_thread(session_store(session), arena, rest[0], &thread);
	if (status == STORE_NONE && settings->at > 0)
		return find_no_checkpoint(rest[0], settings->at);
	if (status != STORE_OK)
		return find_outcome(session, status, rest[0]);
	if (session_json(session))
		printf("%s\n", json_text(arena, thread));
	else
		print_thread(arena, thread);
	return STATUS_OK;
}

const struct command command_state = {
	.name = "state",
	.usage = "THREAD",
	.summary = "shows a thread's messages and fields, also of the past",
	.table = table,
	.settings_size = sizeof(struct state_settings),
	.arguments_max = 1,
	.run = run_state,
};
