/* file_glob: patterns of file names, as shells have them.
 *
 * "*" and "?" stand for any characters but "/", "[a-z]" and "[!a-z]" for one of a set, "**" as
 * a whole component for any number of folders (none, too), "{a,b}" for either, nested if need
 * be. Names that begin with a dot are like others. Matching takes time that grows with pattern,
 * its braces expanded, times name, whatever the pattern. */
#ifndef FILE_GLOB_H
#define FILE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

struct file_glob;

#define FILE_GLOB_BYTES_MAX 1024u
#define FILE_GLOB_ALTERNATIVES_MAX 256u     /* that the braces of one pattern make */
#define FILE_GLOB_EXPANDED_BYTES_MAX 16384u /* of them together */

/* Returns the pattern of text in arena, or NULL with a reason: empty, too long, a control
 * character, a component "..", a brace or bracket that does not close, too many or too long alternatives. */
const struct file_glob *file_glob_parse(
    struct arena *arena, const char *text, const char **error_r);

/* True when path ("src/a.c") is one that glob means. */
bool file_glob_matches(const struct file_glob *glob, const char *path);

/* How many components a path can have that matches; 0: any number. */
size_t file_glob_depth(const struct file_glob *glob);

/* True when the pattern has a "/": it means paths, not names. */
bool file_glob_has_folders(const struct file_glob *glob);

#endif
