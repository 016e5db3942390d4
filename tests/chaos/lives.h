/* lives: threads that are deleted while the fleet works, and begun anew under the same names. Each has a run that is submitted several times
 * at once under one id, and again when it has ended; then the thread goes, by `flotilla prune --delete` or over HTTP, also after several
 * vain attempts while the run goes on; and the same names are used for another run, while what the fleet does about the
 * first one is still under way.
 *
 * What has left the hands of who asks may arrive late: he asks past the proxy, or goes no further where a request broke off. */
#ifndef LIVES_H
#define LIVES_H

#include "load.h"

struct check;
struct lives;

/* Keeps load, and begins nothing. */
struct lives *lives_new(struct load *load, uint64_t seed);
void lives_destroy(struct lives **lives_p);

/* Stories are begun while load->submitting; each is one of load->busy. */
void lives_begin(struct lives *lives);

/* What was found on the way, and what there is in the end (2, 20); behind check_effects. */
void lives_check(struct lives *lives, struct check *check);

/* For the report: runs that were begun, and those that were deleted. */
unsigned long lives_begun(const struct lives *lives);
unsigned long lives_deleted(const struct lives *lives);

#endif
