#include "show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "chat.h"
#include "show_field.h"
#include "tame.h"

#define WIDTH_UNKNOWN 120u /* no terminal: a file, a pipe */
#define WIDTH_MIN 16u
#define REST_MIN 10u
#define NAME_WIDTH 64u
#define WORD_WIDTH 1000u /* of a text that others cut */

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

size_t
show_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
		return WIDTH_UNKNOWN;
	return size.ws_col > WIDTH_MIN ? size.ws_col : WIDTH_MIN;
}

size_t
show_height(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_row == 0)
		return SIZE_MAX / 2;
	return size.ws_row;
}

size_t
show_rest(size_t used)
{
	size_t width = show_width();

	return width > used + REST_MIN ? width - used : REST_MIN;
}

const char *
show_line(struct arena *arena, const char *text, size_t width)
{
	struct packet line = { 0 };
	size_t column = 0;
	const char *copy;

	for (; *text != '\0' && column < width; column++) {
		size_t size = tame_character(text);

		/* The last column is for the mark that something is missing. */
		if (column + 1 == width && text[size] != '\0')
			packet_append(&line, "…", strlen("…"));
		else if (tame_is_control(text))
			packet_append(&line, " ", 1);
		else
			packet_append(&line, text, size);
		text += size;
	}
	copy = arena_copy(arena, line.size > 0 ? line.data : "", line.size);
	packet_release(&line);
	return copy;
}

const char *
show_text(struct arena *arena, const char *text)
{
	char *copy;

	if (!isatty(STDOUT_FILENO))
		return text;
	copy = arena_strdup(arena, text);
	tame(copy);
	return copy;
}

/* A text of map on one line, or "?". */
static const char *
word(struct arena *arena, const struct value *map, const char *key)
{
	const char *text = value_get_text(map, key);

	return text != NULL ? show_line(arena, text, WORD_WIDTH) : "?";
}

/* --- text that flows -------------------------------------------------------------------- */

#define WORD_ROOM 12u /* so near the edge, the next space ends the line */

static void
break_line(struct show_flow *flow)
{
	printf("\n%*s", (int)flow->indent, "");
	flow->column = flow->indent;
}

/* Characters of the word that text begins with, as far as it is there. */
static size_t
word_columns(const char *text)
{
	size_t columns = 0;

	for (; *text != '\0' && *text != ' ' && *text != '\n'; columns++)
		text += tame_character(text);
	return columns;
}

void
show_flow(struct show_flow *flow, const char *text)
{
	size_t width = isatty(STDOUT_FILENO) ? show_width() : SIZE_MAX, size;

	for (; *text != '\0'; text += size) {
		size = tame_character(text);
		if (*text == '\n' ||
		    (*text == ' ' &&
			(flow->column + WORD_ROOM > width ||
			    flow->column + 1 + word_columns(text + 1) > width))) {
			break_line(flow);
			continue;
		}
		if (flow->column >= width)
			break_line(flow);
		if (tame_is_control(text))
			putchar(' ');
		else
			fwrite(text, 1, size, stdout);
		flow->column++;
	}
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
show_now(struct arena *arena)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return paint(arena, GREY,
	    show_time(arena, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000));
}

const char *
show_date(struct arena *arena, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000), now = time(NULL);
	struct tm tm, today;
	char text[24];

	localtime_r(&seconds, &tm);
	localtime_r(&now, &today);
	strftime(text, sizeof text,
	    tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year ? "%H:%M:%S"
	    : tm.tm_year == today.tm_year                              ? "%b %e %H:%M"
								       : "%Y-%m-%d",
	    &tm);
	return arena_copy(arena, text, strlen(text));
}

const char *
show_count(struct arena *arena, uint64_t count, const char *what)
{
	return arena_printf(
	    arena, "%" PRIu64 " %s%s", count, what, count == 1 ? "" : "s");
}

const char *
show_duration(struct arena *arena, int64_t ms)
{
	if (ms < 1000)
		return arena_printf(arena, "%" PRId64 " ms", ms);
	if (ms < 60000)
		return arena_printf(arena, "%.1f s", (double)ms / 1000);
	if (ms < 3600000)
		return arena_printf(
		    arena, "%" PRId64 " m %" PRId64 " s", ms / 60000, ms / 1000 % 60);
	return arena_printf(
	    arena, "%" PRId64 " h %" PRId64 " m", ms / 3600000, ms / 60000 % 60);
}

/* --- messages ----------------------------------------------------------------------- */

static void
show_calls(struct arena *arena, const struct value *calls, const char *indent)
{
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		const char *name = value_get_text(call, "name");
		size_t used;

		name = name != NULL ? show_line(arena, name, NAME_WIDTH) : "?";
		used = strlen(indent) + strlen("> calls ") + strlen(name) + 1;
		printf("%s%s %s %s\n", indent, paint(arena, YELLOW, "→ calls"), name,
		    paint(arena, GREY,
			show_line(arena, tame_json(arena, value_get(call, "args")),
			    show_rest(used))));
	}
}

static void
show_tool(struct arena *arena, const struct value *message, const char *indent)
{
	bool failed = value_text_is(value_get(message, "status"), "error");
	const char *name = value_get_text(message, "name");

	name = name != NULL ? show_line(arena, name, NAME_WIDTH) : "tool";
	printf("%s%s %s: %s\n", indent,
	    failed ? paint(arena, RED, "✗") : paint(arena, GREEN, "✓"), name,
	    show_line(arena, chat_text(arena, message),
		show_rest(strlen(indent) + strlen("x ") + strlen(name) + strlen(": "))));
}

struct show_flow
show_speaker(struct arena *arena, const char *speaker, const char *indent)
{
	printf("%s%s ", indent, paint(arena, BOLD, speaker));
	return (struct show_flow){ .indent = strlen(indent) + 2,
		.column = strlen(indent) + strlen(speaker) + 1 };
}

static void
show_said(struct arena *arena, const char *speaker, const char *text, const char *indent)
{
	struct show_flow flow = show_speaker(arena, speaker, indent);

	show_flow(&flow, text);
	putchar('\n');
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
		show_said(arena,
		    chat_is(message, "human")    ? "human:"
		    : chat_is(message, "system") ? "system:"
						 : "ai:",
		    text, indent);
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
		    content != NULL
			? show_line(arena, content, show_rest(strlen(indent) + 4))
			: "");
	}
}

/* --- events ------------------------------------------------------------------------- */

#define INDENT SHOW_INDENT

static void
show_notes(struct arena *arena, const struct value *notes)
{
	size_t i;

	for (i = 0; i < value_size(notes); i++) {
		const struct value *note = value_at(notes, i);
		const char *from = value_get_text(note, "middleware");
		const char *text = value_get_text(note, "text");
		struct show_flow flow = { .indent = strlen(INDENT) + 2 };

		from = arena_printf(arena,
		    "%s:", from != NULL ? show_line(arena, from, NAME_WIDTH) : "note");
		printf(INDENT "%s ", paint(arena, BLUE, from));
		flow.column = strlen(INDENT) + strlen(from) + 1;
		show_flow(&flow, text != NULL ? text : "");
		putchar('\n');
	}
}

static void
show_fields(struct arena *arena, const struct value *fields)
{
	size_t i;

	for (i = 0; i < value_size(fields); i++)
		show_field_written(arena, value_text(fields->pairs[i].key),
		    fields->pairs[i].value, INDENT);
}

/* Of an agent that says `debug`: all that a step wrote, by whom. */
static void
show_writes(struct arena *arena, const struct value *writes)
{
	size_t i;

	for (i = 0; i < value_size(writes); i++) {
		const char *writer = word(arena, value_at(writes, i), "writer");
		const char *update =
		    tame_json(arena, value_get(value_at(writes, i), "update"));

		printf(INDENT "%s %s\n",
		    paint(arena, BLUE, arena_printf(arena, "%s:", writer)),
		    show_line(arena, update,
			show_rest(strlen(INDENT) + strlen(writer) + strlen(": "))));
	}
}

static const char *
started_headline(struct arena *arena, const struct value *event)
{
	const char *thread = value_get_text(event, "thread");
	bool own = thread == NULL || value_text_is(value_get(event, "run"), thread);

	return arena_printf(arena, "started  agent %s%s%s", word(arena, event, "agent"),
	    own ? "" : " on thread ", own ? "" : word(arena, event, "thread"));
}

static const char *
uncertain_headline(struct arena *arena, const struct value *event)
{
	return arena_printf(arena, "%s %s (%s): %s", paint(arena, RED, "uncertain"),
	    word(arena, event, "tool"), word(arena, event, "then"),
	    word(arena, event, "reason"));
}

static const char *
finished_headline(struct arena *arena, const struct value *event)
{
	const struct value *error = value_get(event, "error");
	const char *status = word(arena, event, "status");

	status = paint(arena, strcmp(status, "success") == 0 ? GREEN : RED, status);
	if (!value_is(error, VALUE_MAP))
		return arena_printf(arena, "finished %s", status);
	return arena_printf(arena, "finished %s: %s: %s", status,
	    word(arena, error, "type"), word(arena, error, "message"));
}

const char *
show_headline(struct arena *arena, const struct value *event)
{
	const char *kind = word(arena, event, "kind");

	if (strcmp(kind, "step") == 0)
		return arena_printf(arena, "step %-3" PRId64 " %s",
		    value_get_int(event, "step", 0),
		    paint(arena, BOLD, word(arena, event, "node")));
	if (strcmp(kind, "finished") == 0)
		return finished_headline(arena, event);
	if (strcmp(kind, "started") == 0)
		return started_headline(arena, event);
	if (strcmp(kind, "debug") == 0)
		return arena_printf(arena, "debug    %s -> %s",
		    word(arena, event, "node"), word(arena, event, "next"));
	if (strcmp(kind, "delayed") == 0)
		return arena_printf(arena, "delayed  until %s",
		    show_date(arena, value_get_int(event, "start", 0)));
	if (strcmp(kind, "webhook") == 0)
		return arena_printf(arena, "webhook  %s: %s",
		    word(arena, event, "status"), word(arena, event, "text"));
	if (strcmp(kind, "interrupted") == 0)
		return arena_printf(arena, "paused   %s %s", word(arena, event, "when"),
		    word(arena, event, "node"));
	if (strcmp(kind, "child") == 0)
		return arena_printf(arena, "task     %s does it in run %s",
		    word(arena, event, "agent"), word(arena, event, "child"));
	if (strcmp(kind, "custom") == 0)
		return arena_printf(arena, "told     %s: %s",
		    word(arena, event, value_has(event, "tool") ? "tool" : "middleware"),
		    show_line(
			arena, tame_json(arena, value_get(event, "value")), WORD_WIDTH));
	if (strcmp(kind, "uncertain") == 0)
		return uncertain_headline(arena, event);
	if (strcmp(kind, "decided") == 0)
		return arena_printf(arena, "answered %s: %s", word(arena, event, "call"),
		    show_line(arena, tame_json(arena, value_get(event, "answer")), 60));
	return kind;
}

const char *
show_question(struct arena *arena, const struct value *ask)
{
	const struct value *value = value_get(ask, "value");
	const struct value *calls = value_get(value, "action_requests"), *one;
	bool single = value_text_is(value_get(value, "type"), "tool_approval");
	const char *text = "";
	size_t i;

	if (value_size(calls) == 0 && !single)
		return arena_printf(arena, "%s asks: %s", word(arena, ask, "id"),
		    tame_json(arena, value));
	for (i = 0; i < (single ? 1 : value_size(calls)); i++) {
		one = single ? value : value_at(calls, i);
		text = arena_printf(arena, "%s%s %s %s", text, i > 0 ? "," : "",
		    word(arena, one, "name"), tame_json(arena, value_get(one, "args")));
	}
	return arena_printf(arena, "%s asks to call%s", word(arena, ask, "id"), text);
}

void
show_asks(struct arena *arena, const struct value *interrupts, const char *indent)
{
	size_t i;

	for (i = 0; i < value_size(interrupts); i++) {
		const struct value *one = value_at(interrupts, i);

		printf("%s%s\n", indent,
		    show_line(
			arena, show_question(arena, one), show_rest(strlen(indent))));
		if (value_text_is(
			value_get(value_get(one, "value"), "type"), "uncertain"))
			printf("%sanswer: repeat, fail or {\"respond\": TEXT}\n", indent);
	}
}

void
show_event(struct arena *arena, const struct value *event, const struct value *messages,
    const char *streamed)
{
	size_t i;

	printf("%s  %s\n",
	    paint(arena, GREY, show_time(arena, value_get_int(event, "at", 0))),
	    show_headline(arena, event));
	show_notes(arena, value_get(event, "notes"));
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (streamed != NULL && chat_is(message, "ai") &&
		    strcmp(chat_text(arena, message), streamed) == 0)
			show_calls(arena, value_get(message, "tool_calls"), INDENT);
		else
			show_message(arena, message, INDENT);
	}
	show_fields(arena, value_get(event, "fields"));
	show_writes(arena, value_get(event, "writes"));
	show_asks(arena, value_get(event, "interrupts"), INDENT);
	fflush(stdout);
}
