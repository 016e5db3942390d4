/* report: what a chaos run was and what came of it, as Markdown. */
#ifndef REPORT_H
#define REPORT_H

#include "checker.h"

struct report {
	uint64_t seed;
	double minutes, heal_s;
	const char *left_out; /* what this machine does not allow; "" */
	struct check *check;
};

/* To the end of path, and to stdout; path NULL: stdout alone. */
void report_write(const struct report *report, const char *path);

#endif
