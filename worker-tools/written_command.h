/* written_command: what a program with `output: command` wrote, as a command of the RESULT. docs/tools.md, "Results". */
#ifndef WRITTEN_COMMAND_H
#define WRITTEN_COMMAND_H

#include "value.h"

/* Reads {content?, artifact?, update?, goto?} of the size bytes at text, JSON. Returns {update, goto?}: content has
 * become a tool message without a call id, in front of the messages of update. Or NULL with a reason that begins
 * with "wrote". All in arena. */
const struct value *written_command(
    struct arena *arena, const char *text, size_t size, const char **error_r);

#endif
