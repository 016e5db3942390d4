/* show_field: a field of a thread's state as lines for people: todos as a checklist, files by name and size, all
 * else as JSON. `--json` has the whole of it. */
#ifndef SHOW_FIELD_H
#define SHOW_FIELD_H

#include "value.h"

/* The field of a thread: its name on a line, and beneath it what it holds: at most so much of it that it
 * takes a few lines, for files so many. */
void show_field(struct arena *arena, const char *name, const struct value *value);

/* The field as a step has left it, behind indent: on one line, but for a todo list. */
void show_field_written(
    struct arena *arena, const char *name, const struct value *value, const char *indent);

#endif
