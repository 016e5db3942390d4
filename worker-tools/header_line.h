/* header_line: a header of a request that somebody else asks for. */
#ifndef HEADER_LINE_H
#define HEADER_LINE_H

#include "value.h"

/* Returns "name: value" in arena, or NULL with a reason: HTTP does not allow it, or it is ours to say
 * (Host, Content-Length and the like). value: a text. */
const char *header_line(struct arena *arena, const char *name, const struct value *value,
    const char **error_r);

#endif
