/* minder_child: what a minder's fork does until it is the program. */
#ifndef MINDER_CHILD_H
#define MINDER_CHILD_H

#include <sys/types.h>

#include "minder.h"

/* Becomes the program that is given, or writes errno to failed and ends. */
_Noreturn void minder_child_become(
    pid_t minder, const int given[LAUNCH_DESCRIPTORS], int failed);

#endif
