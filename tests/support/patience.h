/* patience: how many times longer a test waits in a build that is slow by itself. Only for waits whose
 * end means that the test has failed; the Makefile does the same for check's own. */
#ifndef PATIENCE_H
#define PATIENCE_H

#ifdef __SANITIZE_THREAD__
#define PATIENCE 6
#else
#define PATIENCE 1
#endif

#endif
