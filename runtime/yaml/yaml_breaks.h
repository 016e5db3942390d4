/* yaml_breaks: U+0085, U+2028 and U+2029 are characters in YAML 1.2 and in JSON, and line breaks
 * for libyaml, which ends a text block there, takes blanks around them away, and counts a line
 * that no editor shows. It is given other characters in their place. Part of yaml. */
#ifndef YAML_BREAKS_H
#define YAML_BREAKS_H

#include <stddef.h>

#include "arena.h"

struct yaml_breaks {
	const char *text; /* as large as it was, with as many characters */
	char stand_ins[3][4];
};

/* Returns text, or a copy of it in arena with stand-ins. They are characters that text has not,
 * nor names as an escape. */
struct yaml_breaks yaml_breaks_out(struct arena *arena, const char *text, size_t size);

/* Puts them back into a text of size bytes that libyaml has read. */
void yaml_breaks_back(const struct yaml_breaks *breaks, char *text, size_t size);

#endif
