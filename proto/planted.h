/* planted: bugs put in on purpose, so that it is seen that the simulator finds them. They are only in
 * objects that are built with FLOTILLA_PLANTED, for tests/sim; in what ships PLANTED() is false, and
 * the compiler leaves nothing of it. */
#ifndef PLANTED_H
#define PLANTED_H

#include <stdbool.h>

enum planted {
	PLANTED_NOTHING,
#define BUG(name, text) PLANTED_##name,
#include "planted.def"
#undef BUG
	PLANTED_BUGS,
};

#ifdef FLOTILLA_PLANTED
extern enum planted planted_bug; /* the one that is planted now */
#define PLANTED(bug) (planted_bug == PLANTED_##bug)
#else
#define PLANTED(bug) false
#endif

#endif
