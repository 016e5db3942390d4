/* yaml_file: the YAML edge: libyaml's documents to values, with places for error messages.
 *
 * YAML 1.2 core schema: plain true/false/null/numbers are typed, quoted scalars are
 * strings. JSON is YAML. Anchors and merge keys work; repeated keys are an error. Keys
 * are strings whatever they look like. Size, depth and values (an alias counts as what it
 * names) are bounded. */
#ifndef YAML_FILE_H
#define YAML_FILE_H

#include "value.h"

struct yaml;

/* Parses the size bytes of text; name is the file's, for messages. Returns new, or NULL
 * with "name:line:column: reason" in arena. Several documents ("---"): yaml_count,
 * yaml_root. */
struct yaml *yaml_parse(struct arena *arena, const char *name, const char *text,
    size_t size, const char **error_r);
struct yaml *yaml_load(struct arena *arena, const char *path, const char **error_r);
void yaml_destroy(struct yaml **yaml_p);

size_t yaml_count(const struct yaml *yaml);
/* Document index's value, in the arena given at parsing. */
const struct value *yaml_root(const struct yaml *yaml, size_t index);

/* Returns "name:line:column" in arena of the node at path ("/middleware/0/model_retry")
 * of document index; of its nearest ancestor that exists when the node does not. */
const char *yaml_place(
    const struct yaml *yaml, struct arena *arena, size_t index, const char *path);
/* The same of its key, where it has one: for keys that should not be there. */
const char *yaml_key_place(
    const struct yaml *yaml, struct arena *arena, size_t index, const char *path);

#endif
