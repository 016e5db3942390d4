/* history: a thread's checkpoints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "find.h"
#include "json.h"
#include "show.h"

static void
print_checkpoint(struct arena *arena, const struct value *checkpoint)
{
	const struct value *fields = value_get(checkpoint, "fields");
	const char *next = value_get_text(checkpoint, "next");
	int64_t count = value_get_int(checkpoint, "count", 0);
	const char *messages;
	struct packet names = { 0 };
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		packet_append(&names, " ", 1);
		packet_append(
		    &names, fields->pairs[i].key->text, fields->pairs[i].key->size);
	}
	packet_append(&names, "", 1);
	messages = count > 0 ? arena_printf(arena, "+%" PRId64 " message%s", count,
				   count == 1 ? "" : "s")
			     : "";
	next = next == NULL || strcmp(next, "__end__") == 0
		   ? ""
		   : arena_printf(arena, "next %s", next);
	printf("%4" PRId64 "  %s  step %-4" PRId64 " %-11s %-28s %s%s%s\n",
	    value_get_int(checkpoint, "version", 0),
	    show_time(arena, value_get_int(checkpoint, "at", 0)),
	    value_get_int(checkpoint, "step", 0), value_get_text(checkpoint, "status"),
	    next, messages, value_size(fields) > 0 ? "  fields" : "", names.data);
	packet_release(&names);
}

/* Checkpoints stand below their runs. */
static void
print_history(struct arena *arena, const struct value *history)
{
	const char *before = "";
	size_t i;

	for (i = 0; i < value_size(history); i++) {
		const char *run = value_get_text(value_at(history, i), "run");

		if (run != NULL && strcmp(run, before) != 0)
			printf("run %s\n", before = run);
		print_checkpoint(arena, value_at(history, i));
	}
}

static enum status
run_history(struct session *session, const void *settings, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const struct value *history;
	enum store_status status;

	(void)settings;
	if (find_argument(rest[0], "THREAD") != STATUS_OK)
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_history(session_store(session), arena, rest[0], &history);
	if (status != STORE_OK)
		return find_outcome(session, status, rest[0]);
	if (session_json(session)) {
		printf("%s\n", json_text(arena, history));
		return STATUS_OK;
	}
	print_history(arena, history);
	return STATUS_OK;
}

const struct command command_history = {
	.name = "history",
	.usage = "THREAD",
	.summary = "lists a thread's checkpoints, oldest first",
	.table = command_common_table,
	.settings_size = sizeof(struct common_settings),
	.arguments_max = 1,
	.run = run_history,
};
