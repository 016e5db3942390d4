/* options: the settings of a middleware, checked against its table. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "middleware.h"

/* Returns settings with the defaults filled in, in the table's order: a single string of
 * an OPTION_TEXTS becomes a list of one, a whole float of an OPTION_INTEGER an integer.
 * settings: a map, or NULL or nil for none. owner names the middleware in reasons.
 *
 * NULL with *path_r the JSON pointer of the place and *error_r the reason, both in arena,
 * when a name is unknown, a required one missing, a value of the wrong type, out of its
 * limits or none of the choices. */
const struct value *options_check(struct arena *arena, const char *owner,
    const struct option *options, const struct value *settings, const char **path_r,
    const char **error_r);

/* Returns what is wrong with the table itself, in arena, or NULL. */
const char *options_flaw(struct arena *arena, const struct option *options);

/* "an integer", "true or false": for reasons and docs. */
const char *option_type_text(enum option_type type);

#endif
