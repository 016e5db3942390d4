/* results: the file with a line for each scenario measured, of this session and of those before:
 * tab-separated, named in its first line. */
#ifndef RESULTS_H
#define RESULTS_H

#include "measure.h"

struct results;

/* Returns a new writer that adds to path, or, when that is NULL, writes nothing. */
struct results *results_open(const char *path);

/* Takes *results_p. */
void results_close(struct results **results_p);

void results_add(struct results *results, const struct scenario *scenario,
    const struct figures *figures);

#endif
