/* history: a thread's checkpoints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "find.h"
#include "show.h"
#include "store_past.h"
#include "tame.h"

struct history_settings {
	struct common_settings common;
	int64_t limit, before;
};

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "limit", SETTING_INTEGER, offsetof(struct history_settings, limit), "0", 0,
	    INT64_MAX, NULL, "only so many, the newest (0: all)", 'n' },
	{ "before", SETTING_INTEGER, offsetof(struct history_settings, before), "0", 0,
	    INT64_MAX, NULL, "only those before this version", 0 },
	SETTINGS_END,
};

static const char *
text_or(const struct value *checkpoint, const char *name, const char *otherwise)
{
	const char *text = value_get_text(checkpoint, name);

	return text != NULL ? text : otherwise;
}

/* The version that it went back to; "" when it follows the one before it. */
static const char *
origin(struct arena *arena, const struct value *checkpoint)
{
	int64_t version = value_get_int(checkpoint, "version", 0);
	int64_t parent = value_get_int(checkpoint, "parent", 0);

	return parent == version - 1 ? ""
				     : arena_printf(arena, "  from %" PRId64, parent);
}

static void
print_checkpoint(struct arena *arena, const struct value *checkpoint)
{
	const char *next = text_or(checkpoint, "next", "?");
	int64_t count = value_get_int(checkpoint, "count", 0);
	const char *messages = count == 0
				   ? ""
				   : arena_printf(arena, "  +%s",
					 show_count(arena, (uint64_t)count, "message"));
	const char *line;

	if (strcmp(next, "__end__") == 0)
		next = "end";
	line = arena_printf(arena,
	    "%4" PRId64 "  %s  %-6s %-11s step %-3" PRId64 " %s -> %s%s%s%s",
	    value_get_int(checkpoint, "version", 0),
	    show_time(arena, value_get_int(checkpoint, "at", 0)),
	    text_or(checkpoint, "source", "?"), text_or(checkpoint, "status", "?"),
	    value_get_int(checkpoint, "step", 0), text_or(checkpoint, "node", "start"),
	    next, messages,
	    value_size(value_get(checkpoint, "fields")) > 0 ? "  fields" : "",
	    origin(arena, checkpoint));
	/* A file or a pipe has room for all of it. */
	printf("%s\n",
	    show_line(arena, line, isatty(STDOUT_FILENO) ? show_width() : SIZE_MAX));
}

/* Checkpoints stand below their runs. */
static void
print_history(struct arena *arena, const struct value *history)
{
	const char *before = "";
	size_t i;

	for (i = 0; i < value_size(history); i++) {
		const char *run = value_get_text(value_at(history, i), "run");

		if (value_is_nil(value_at(history, i))) {
			printf("   ?  damaged in Redis\n");
			continue;
		}
		if (run != NULL && strcmp(run, before) != 0)
			printf("run %s\n", before = run);
		print_checkpoint(arena, value_at(history, i));
	}
}

static const struct value *
chosen(struct arena *arena, const struct value *history,
    const struct history_settings *settings)
{
	size_t to = value_size(history), from;

	while (settings->before > 0 && to > 0 &&
	       value_get_int(value_at(history, to - 1), "version", INT64_MAX) >=
		   settings->before)
		to--;
	from = settings->limit > 0 && (uint64_t)settings->limit < to
		   ? to - (size_t)settings->limit
		   : 0;
	return value_array_slice(arena, history, from, to);
}

static enum status
run_history(struct session *session, const void *given, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const struct value *history;
	enum store_status status;

	if (find_argument(rest[0], "THREAD") != STATUS_OK)
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_history(session_store(session), arena, rest[0], &history);
	if (status != STORE_OK)
		return find_outcome(session, status, rest[0]);
	history = chosen(arena, history, given);
	if (session_json(session)) {
		printf("%s\n", tame_json(arena, history));
		return STATUS_OK;
	}
	print_history(arena, history);
	return STATUS_OK;
}

const struct command command_history = {
	.name = "history",
	.usage = "THREAD",
	.summary = "lists a thread's checkpoints, oldest first",
	.table = table,
	.settings_size = sizeof(struct history_settings),
	.arguments_max = 1,
	.run = run_history,
};
