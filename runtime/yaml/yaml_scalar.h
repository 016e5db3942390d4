/* yaml_scalar: what the text of a YAML scalar means, by the 1.2 core schema. Part of
 * yaml. */
#ifndef YAML_SCALAR_H
#define YAML_SCALAR_H

#include <stdbool.h>

#include "value.h"

/* Returns the value of text, size bytes and a NUL. is_plain: not quoted, not a block. tag
 * is the whole tag, "tag:yaml.org,2002:str", or NULL. NULL with a reason in arena when
 * the tag is unknown or the text is not of its kind. */
const struct value *yaml_scalar(struct arena *arena, const char *text, size_t size,
    bool is_plain, const char *tag, const char **error_r);

#endif
