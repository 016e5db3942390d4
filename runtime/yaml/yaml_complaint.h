/* yaml_complaint: what libyaml says is wrong, in words that help. Part of yaml. */
#ifndef YAML_COMPLAINT_H
#define YAML_COMPLAINT_H

#include <stddef.h>

#include <yaml.h>

#include "arena.h"
#include "place.h"

/* Returns text's character of this index, as libyaml counts them; '\0' behind the last. */
char yaml_character(const char *text, size_t size, size_t index);

/* Returns why parser, which failed, does not like the size bytes of text, in arena, and
 * sets *place_r. bracket: where the innermost one is that is open, or NULL. */
const char *yaml_complaint(struct arena *arena, const yaml_parser_t *parser,
    const char *text, size_t size, const struct place *bracket, struct place *place_r);

#endif
