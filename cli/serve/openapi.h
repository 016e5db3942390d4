/* openapi: what the API is, for machines: OpenAPI 3.1 (openapi.yaml, which travels inside the program). */
#ifndef OPENAPI_H
#define OPENAPI_H

#include "value.h"

/* Returns the document, in arena. */
const struct value *openapi_document(struct arena *arena);

/* The routes that there are, for who holds the two against each other: of 0, 1, ... method and path, "{}" for each parameter.
 * False behind the last. */
bool openapi_route(size_t index, const char **method_r, const char **path_r);

#endif
