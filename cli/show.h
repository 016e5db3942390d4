/* show: messages, events and times as lines for people. */
#ifndef SHOW_H
#define SHOW_H

#include <stdio.h>

#include "value.h"

/* True when stdout is a terminal that likes colour (and NO_COLOR is not set). */
bool show_colour(void);

/* Columns of the terminal, or a usual width when stdout is none. */
size_t show_width(void);
/* Rows of the terminal, or more than anybody needs. */
size_t show_height(void);
/* Columns that are left in a line behind used ones; some are, always. */
size_t show_rest(size_t used);

/* One line of at most width characters, with line breaks and all that could drive a terminal
 * shown as spaces; a text that is cut ends with "…". */
const char *show_line(struct arena *arena, const char *text, size_t width);

/* The same text, or for a terminal one in which all that could drive it but line breaks and tabs
 * is a space. */
const char *show_text(struct arena *arena, const char *text);

/* Text that flows through as many lines as it needs, each behind indent columns, broken near
 * the terminal's edge; it may come in pieces. Writes no last line break. */
struct show_flow {
	size_t indent;
	size_t column; /* where the next character goes */
};
void show_flow(struct show_flow *flow, const char *text);

/* Begins a line with who speaks ("ai:"); what is said flows behind it. */
struct show_flow show_speaker(
    struct arena *arena, const char *speaker, const char *indent);

/* A message as its lines, each begun with indent. */
void show_message(struct arena *arena, const struct value *message, const char *indent);

/* What an event's details stand behind. */
#define SHOW_INDENT "                 "

/* An event in a few words: "step 3   tools", "finished success". */
const char *show_headline(struct arena *arena, const struct value *event);

/* A stored event of a run; messages: those it names, or NULL. streamed: what was shown
 * token by token, or NULL; a model's message that says just that is not repeated. */
void show_event(struct arena *arena, const struct value *event,
    const struct value *messages, const char *streamed);

/* One question ({id, value, ...}): "ID asks: JSON", or "ID asks to call TOOL ARGUMENTS" of calls that wait for a
 * decision. */
const char *show_question(struct arena *arena, const struct value *ask);

/* What is asked ([{id, value, ...}]), and how each is answered, behind indent. */
void show_asks(struct arena *arena, const struct value *interrupts, const char *indent);

/* A todo list as a checklist. */
void show_todos(struct arena *arena, const struct value *todos, const char *indent);

/* "14:03:07.120" of milliseconds since 1970, local time. */
const char *show_time(struct arena *arena, int64_t ms);
/* The time it is, as show_time and in the colour of times. */
const char *show_now(struct arena *arena);
/* "14:03:07" of today, else "Nov  3 14:03" or "2024-11-03". */
const char *show_date(struct arena *arena, int64_t ms);
/* "1 message", "2 messages" */
const char *show_count(struct arena *arena, uint64_t count, const char *what);
/* "1.2 s", "3 m 20 s", "2 h 5 m" */
const char *show_duration(struct arena *arena, int64_t ms);

#endif
