/* probe_log: the file in which probe and outcome worker write down what happened. */
#ifndef PROBE_LOG_H
#define PROBE_LOG_H

#include "value.h"

#define PROBE_LOG_VARIABLE "FLOTILLA_PROBE_LOG"

/* Appends {kind: value} as a line of JSON, in one write. Does nothing without the variable. */
void probe_log(struct arena *arena, const char *kind, const struct value *value);

#endif
