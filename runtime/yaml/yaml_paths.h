/* yaml_paths: which files the paths of a user mean. */
#ifndef YAML_PATHS_H
#define YAML_PATHS_H

#include <stdbool.h>

#include "arena.h"

/* The endings of a YAML file's name, and those where JSON is meant, too; NULL-ended. */
extern const char *const yaml_endings[];
extern const char *const yaml_json_endings[];

/* True when name ends with one of endings, behind something. */
bool yaml_paths_fits(const char *name, const char *const *endings);

/* Returns the files that paths (NULL-ended, or NULL) name, NULL-ended, in arena: a folder
 * stands for the files in it with one of endings, sorted, hidden ones left out. Else NULL and
 * a reason in arena: a path that is not there, or a folder without such a file. */
const char *const *yaml_paths_expand(struct arena *arena, const char *const *paths,
    const char *const *endings, const char **error_r);

#endif
