/* turn_end: how a hook ends a run, with success. */
#ifndef TURN_END_H
#define TURN_END_H

#include "middleware.h"

/* Returns the update: each call that is open is answered with an error that says why it was not
 * executed ("the budget is used up"), an AI message says text, and the run goes to its end. */
const struct value *turn_end(struct turn *turn, const char *why, const char *text);

#endif
