/* secrecy: what a process knows stays in it: no core file, no debugger of another process of
 * the same user, no reading of /proc/PID/mem or environ by it. */
#ifndef SECRECY_H
#define SECRECY_H

#include <stdbool.h>

/* Once, at the start. allow_core_dumps: leaves all as it was, and lifts the limit of 0 that
 * a parent of ours has set. */
void secrecy_begin(bool allow_core_dumps);

#endif
