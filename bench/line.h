/* line: one measurement of a peer, the floor or the fleet as a line of the result file; its
 * columns are named in bench/compare.sh. */
#ifndef LINE_H
#define LINE_H

#include <stddef.h>

/* What was not measured is 0, or NULL. */
struct line {
	const char *measure; /* "run", "waiting", "dispatch" */
	const char *system;  /* "fleet", "floor" ... */
	const char *stored;  /* "everysec", "always"; NULL: nothing is */
	size_t in_flight, count;
	double per_s, p50_ms, p99_ms;
	double cpu_us;     /* of one, all processes */
	double memory_kb;  /* of one */
	const char *parts; /* cpu_us or memory_kb by process: "redis=276 broker=227" */
};

/* Prints to stdout. */
void line_print(const struct line *line);

#define LINE_PARTS_BYTES 256u

/* Adds " name=value" to parts, of which those before are there already; none: an empty text. What is
 * too long is cut. */
void line_add_part(char parts[LINE_PARTS_BYTES], const char *name, double value);

/* The value under which the share of the values lies; they are in ascending order. */
double line_percentile(const double *values, size_t count, double share);

/* As qsort wants it, of doubles. */
int line_by_size(const void *a, const void *b);

#endif
