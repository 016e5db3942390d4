/* serve_check: what `flotilla serve` answers, held against what it says of itself (GET /openapi.json). */
#ifndef SERVE_CHECK_H
#define SERVE_CHECK_H

#include "value.h"

/* Ends the test when an answer of that status to that method and path (with its query) is none of the document's, or json is
 * not what it says. A path that the document does not know is no matter. document: as it was answered. */
void serve_check(struct arena *arena, const struct value *document, const char *method,
    const char *path, long status, const struct value *json);

/* The same of a body that was taken. */
void serve_check_body(struct arena *arena, const struct value *document,
    const char *method, const char *path, const struct value *body);

#endif
