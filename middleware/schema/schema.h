/* schema: our JSON Schema validator: tool arguments, structured output, state fields,
 * settings.
 *
 * Draft 2020-12 and draft 7 keywords listed in schema_keywords(); the required part of
 * the official test suite is run for them. Formats are annotations. `$ref` within the
 * document and to "#". Regular expressions are PCRE2 with a match limit. Depth and work
 * are bounded. */
#ifndef SCHEMA_H
#define SCHEMA_H

#include "value.h"

/* Returns 0 when instance fits schema (a map or boolean; NULL fits all). Else -1 and up
 * to eight reasons joined by "; ", each with its place ("/todos/0/status: must be one of
 * ..."), in arena. */
int schema_check(struct arena *arena, const struct value *schema,
    const struct value *instance, const char **reason_r);

/* Returns 0 when schema itself can be used: keyword types, patterns that compile, $refs
 * that resolve. Else -1 and a reason with its place. Unknown keywords are fine
 * (annotations). */
int schema_usable(struct arena *arena, const struct value *schema, const char **reason_r);

/* The validation keywords that are understood, NULL-ended; for docs and the suite's
 * runner. */
const char *const *schema_keywords(void);

#endif
