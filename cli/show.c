#include "show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "chat.h"
#include "json.h"

#define LINE_WIDTH 110u

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define BLUE "34"
#define GREY "90"
#define BOLD "1"

bool
show_colour(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL && term != NULL &&
	       strcmp(term, "dumb") != 0;
}

static const char *
paint(struct arena *arena, const char *colour, const char *text)
{
	return show_colour() ? arena_printf(arena, "\033[%sm%s\033[0m", colour, text)
			     : text;
}

const char *
show_line(struct arena *arena, const char *text, size_t width)
{
	size_t size = strlen(text), i;
	bool cut = size > width;
	char *line;

	if (cut) {
		size = width;
		while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
			size--;
	}
	line = arena_copy(arena, text, size);
	/* What a model or tool says must not drive the terminal. */
	for (i = 0; i < size; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = ' ';
	return cut ? arena_printf(arena, "%s…", line) : line;
}

const char *
show_time(struct arena *arena, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[16];

	localtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%H:%M:%S", &tm);
	return arena_printf(arena, "%s.%03d", text, (int)(ms % 1000));
}

const char *
show_duration(struct arena *arena, int64_t ms)
{
	if (ms < 1000)
		return arena_printf(arena, "%" PRId64 " ms", ms);
	if (ms < 60000)
		return arena_printf(arena, "%.1f s", (double)ms / 1000);
	return arena_printf(
	    arena, "%" PRId64 " m %" PRId64 " s", ms / 60000, ms / 1000 % 60);
}

/* --- messages
 * ------------------------------------------------------------------------------ */

static void
show_calls(struct arena *arena, const struct value *calls, const char *indent)
{
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		const char *name = value_get_text(call, "name");

		printf("%s%s %s %s\n", indent, paint(arena, YELLOW, "→ calls"),
		    name != NULL ? show_line(arena, name, LINE_WIDTH) : "?",
		    paint(arena, GREY,
			show_line(arena, json_text(arena, value_get(call, "args")),
			    LINE_WIDTH)));
	}
}

static void
show_tool(struct arena *arena, const struct value *message, const char *indent)
{
	bool failed = value_text_is(value_get(message, "status"), "error");
	const char *name = value_get_text(message, "name");

	printf("%s%s %s: %s\n", indent,
	    failed ? paint(arena, RED, "✗") : paint(arena, GREEN, "✓"),
	    name != NULL ? show_line(arena, name, LINE_WIDTH) : "tool",
	    show_line(arena, chat_text(arena, message), LINE_WIDTH));
}

void
show_message(struct arena *arena, const struct value *message, const char *indent)
{
	const char *text = chat_text(arena, message);

	if (chat_is(message, "tool")) {
		show_tool(arena, message, indent);
		return;
	}
	if (*text != '\0')
		printf("%s%s %s\n", indent,
		    paint(arena, BOLD,
			chat_is(message, "human")    ? "human:"
			: chat_is(message, "system") ? "system:"
						     : "ai:"),
		    show_line(arena, text, 2000));
	show_calls(arena, value_get(message, "tool_calls"), indent);
	show_calls(arena, value_get(message, "invalid_tool_calls"), indent);
}

void
show_todos(struct arena *arena, const struct value *todos, const char *indent)
{
	size_t i;

	for (i = 0; i < value_size(todos); i++) {
		const struct value *todo = value_at(todos, i);
		const struct value *status = value_get(todo, "status");
		const char *content = value_get_text(todo, "content");
		const char *mark =
		    value_text_is(status, "completed")     ? paint(arena, GREEN, "[x]")
		    : value_text_is(status, "in_progress") ? paint(arena, YELLOW, "[~]")
							   : "[ ]";

		printf("%s%s %s\n", indent, mark,
		    content != NULL ? show_line(arena, content, LINE_WIDTH) : "");
	}
}

/* --- events
 * -------------------------------------------------------------------------------- */

#define INDENT "                 "

static void
show_notes(struct arena *arena, const struct value *notes)
{
	size_t i;

	for (i = 0; i < value_size(notes); i++) {
		const struct value *note = value_at(notes, i);
		const char *from = value_get_text(note, "middleware");
		const char *text = value_get_text(note, "text");

		printf(INDENT "%s %s\n",
		    paint(arena, BLUE,
			arena_printf(arena, "%s:", from != NULL ? from : "note")),
		    text != NULL ? show_line(arena, text, LINE_WIDTH) : "");
	}
}

static void
show_fields(struct arena *arena, const struct value *fields)
{
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		const char *name = value_text(fields->pairs[i].key);
		const struct value *value = fields->pairs[i].value;

		if (strcmp(name, "todos") == 0) {
			printf(INDENT "todos:\n");
			show_todos(arena, value, INDENT "  ");
		} else {
			printf(INDENT "%s = %s\n", name,
			    show_line(arena, json_text(arena, value), LINE_WIDTH));
		}
	}
}

static const char *
event_headline(struct arena *arena, const struct value *event)
{
	const char *kind = value_get_text(event, "kind");
	const char *status = value_get_text(event, "status");
	const struct value *error = value_get(event, "error");

	if (kind == NULL)
		return "?";
	if (strcmp(kind, "step") == 0)
		return arena_printf(arena, "step %-3" PRId64 " %s",
		    value_get_int(event, "step", 0),
		    paint(arena, BOLD,
			value_get_text(event, "node") != NULL
			    ? value_get_text(event, "node")
			    : "?"));
	if (strcmp(kind, "finished") == 0 && status != NULL) {
		const char *colour = strcmp(status, "success") == 0 ? GREEN : RED;

		status = paint(arena, colour, status);
		if (value_is(error, VALUE_MAP))
			return arena_printf(arena, "finished %s: %s: %s", status,
			    value_get_text(error, "type"),
			    show_line(arena, value_get_text(error, "message"), 1000));
		return arena_printf(arena, "finished %s", status);
	}
	if (strcmp(kind, "started") == 0)
		return arena_printf(arena, "started  agent %s on thread %s",
		    value_get_text(event, "agent"), value_get_text(event, "thread"));
	if (strcmp(kind, "interrupted") == 0)
		return arena_printf(arena, "paused   %s %s",
		    value_get_text(event, "when"), value_get_text(event, "node"));
	return kind;
}

void
show_event(struct arena *arena, const struct value *event, const struct value *messages,
    bool streamed)
{
	size_t i;

	printf("%s  %s\n",
	    paint(arena, GREY, show_time(arena, value_get_int(event, "at", 0))),
	    event_headline(arena, event));
	show_notes(arena, value_get(event, "notes"));
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (streamed && chat_is(message, "ai"))
			show_calls(arena, value_get(message, "tool_calls"), INDENT);
		else
			show_message(arena, message, INDENT);
	}
	show_fields(arena, value_get(event, "fields"));
	fflush(stdout);
}
