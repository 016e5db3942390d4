/* yaml_paths: which files the paths of a user mean. */
#ifndef YAML_PATHS_H
#define YAML_PATHS_H

#include "arena.h"

/* Returns the files that paths (NULL-ended, or NULL) name, NULL-ended, in arena: a folder
 * stands for the .yaml and .yml files in it, sorted, hidden ones left out. Else NULL and
 * a reason in arena: a path that is not there, or a folder without such a file. */
const char *const *yaml_paths_expand(
    struct arena *arena, const char *const *paths, const char **error_r);

#endif
