/* watch_all: everything that happens in the fleet, from the status channel. */
#ifndef WATCH_ALL_H
#define WATCH_ALL_H

#include "command.h"

/* What was published under topic ("run.<id>.step") on one line of the terminal: a time, the id,
 * what happened, and the rest of the body as JSON. */
const char *watch_line(struct arena *arena, const char *topic, const struct value *body);

/* Prints what is published until Ctrl-C. */
enum status watch_all(struct session *session);

#endif
