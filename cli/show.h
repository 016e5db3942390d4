/* show: messages, events and times as lines for people. */
#ifndef SHOW_H
#define SHOW_H

#include <stdio.h>

#include "value.h"

/* True when stdout is a terminal that likes colour (and NO_COLOR is not set). */
bool show_colour(void);

/* One line, cut to width bytes at a character's border, line breaks shown as spaces. */
const char *show_line(struct arena *arena, const char *text, size_t width);

/* A message as its lines, each begun with indent. */
void show_message(struct arena *arena, const struct value *message, const char *indent);

/* A stored event of a run; messages: those it names, or NULL. streamed: what the model said
 * was shown already, token by token. */
void show_event(struct arena *arena, const struct value *event,
    const struct value *messages, bool streamed);

/* A todo list as a checklist. */
void show_todos(struct arena *arena, const struct value *todos, const char *indent);

/* "14:03:07.120" of milliseconds since 1970, local time. */
const char *show_time(struct arena *arena, int64_t ms);
/* "1.2 s", "3 m 20 s" */
const char *show_duration(struct arena *arena, int64_t ms);

#endif
