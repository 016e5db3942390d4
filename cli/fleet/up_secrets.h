/* up_secrets: which variables of its environment `flotilla up` keeps from which of its children:
 * provider keys are for model workers, and the Redis of another fleet is for none of them, so that a
 * tool that is taken over finds neither. A collector's keys are for those that tell it of runs. */
#ifndef UP_SECRETS_H
#define UP_SECRETS_H

#include "value.h"

/* The names that a program of this kind ("worker-tools", ...) does not get, NULL-ended, of arena.
 * providers: FLOTILLA_PROVIDER's text, which names the variables of the keys; may be NULL. */
const char *const *up_secrets(
    struct arena *arena, const char *kind, const char *providers);

#endif
