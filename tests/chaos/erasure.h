/* erasure: a run that has ended well is deleted over HTTP, while others of its thread go on, or wait: what it has done stays. */
#ifndef ERASURE_H
#define ERASURE_H

#include "load.h"

/* On a fiber. Of a run that was followed to its end; none of which a request may still be on its way, which would begin it anew. */
void erasure_give(struct load *load, struct load_run *run);

#endif
