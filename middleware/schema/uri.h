/* uri: what a relative reference means (RFC 3986, 5.2): of $id and $ref in schemas. */
#ifndef URI_H
#define URI_H

#include "arena.h"

/* Returns ref as seen from base, with its fragment, in arena. */
const char *uri_resolve(struct arena *arena, const char *base, const char *ref);

/* Returns text with %XX decoded, in arena; a broken escape stays as it is. */
char *uri_decode(struct arena *arena, const char *text);

#endif
