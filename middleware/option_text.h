/* option_text: a setting, a hook and a state field in words, for people: `flotilla middleware`, and the tables of
 * docs/middleware/, which a test holds to these. */
#ifndef OPTION_TEXT_H
#define OPTION_TEXT_H

#include "middleware.h"

/* "integer, 0 to 9, or null", in arena. */
const char *option_kind_text(struct arena *arena, const struct option *option);

/* "with the thread: array, shown in the output", in arena. */
const char *field_text(struct arena *arena, const struct field *field);

/* The process that runs a hook: "coordinator", "worker-model", "worker-tools". */
const char *hook_process(enum hook hook);

/* Whether middleware has hook. */
bool middleware_has_hook(const struct middleware *middleware, enum hook hook);

#endif
