/* bugs: the planted ones by name, and those of the Lua of store/ (proto/planted.h). */
#ifndef BUGS_H
#define BUGS_H

#include "planted.h"

/* The one that is planted now; where PLANTED() asks. */
extern enum planted planted_bug;

/* Lends "NO_FENCING". */
const char *planted_name(enum planted bug);

/* Returns new, free() it: library with the planted bug in it, if that is one of its own. Ends
 * the process when the line that it changes is not there: mend bugs.c. */
char *planted_library(const char *library);

#endif
