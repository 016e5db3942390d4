/* program: finds the file that a command runs, when the command is read and not when it
 * first fails. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "arena.h"

/* Returns the absolute path of program: one with a slash is relative to directory, others
 * are looked up in path (the value of a PATH). Else NULL and a reason with its remedy.
 * Both in arena. */
const char *program_find(struct arena *arena, const char *program, const char *directory,
    const char *path, const char **error_r);

#endif
