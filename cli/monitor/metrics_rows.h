/* metrics_rows: one look at the fleet as rows of numbers with labels. */
#ifndef METRICS_ROWS_H
#define METRICS_ROWS_H

#include "metrics_text.h"
#include "top_screen.h"

/* Fills *rows_r, in seen's arena. took_ms: how long the look took. What did not answer has nothing but
 * its `up`, 0. Of processes and services METRICS_ROWS_MAX each have rows of their own, the first by
 * kind and name; two of the same kind and name are one row. */
void metrics_rows_of(
    const struct top_look *seen, uint64_t took_ms, struct metrics_rows *rows_r);

#endif
