/* decision: a human who is asked whether a call may run, and says that it may, by a command that brings the answer and writes to the
 * thread as well. It comes twice at once under one id: the run that it is is begun once. */
#ifndef DECISION_H
#define DECISION_H

#include "load.h"

/* On a fiber. Returns when run has ended without having asked, or the answer is there. */
void decision_give(struct load *load, struct load_run *run);
void decision_release(struct load_run *run);

#endif
