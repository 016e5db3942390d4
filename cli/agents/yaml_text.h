/* yaml_text: a value as YAML that people read and compare: block style, one thing a line, texts
 * of several lines as they are. yaml_parse reads it back as the same value. */
#ifndef YAML_TEXT_H
#define YAML_TEXT_H

#include "value.h"

/* Returns the text in arena, ended by a line feed. */
const char *yaml_text(struct arena *arena, const struct value *value);

#endif
