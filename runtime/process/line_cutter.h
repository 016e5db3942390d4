/* line_cutter: lines out of bytes that come in pieces. */
#ifndef LINE_CUTTER_H
#define LINE_CUTTER_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

struct line_cutter {
	/* Gets each line, without its newline; lent. Empty ones, and those of more than bytes_max, are left out. */
	void (*take)(void *arg, const char *line, size_t size);
	void *arg;
	size_t bytes_max;
	struct packet line; /* the beginning of one */
	bool skips;         /* until the next: this one is too long */
};

void line_cutter_add(struct line_cutter *cutter, const char *data, size_t size);
/* There will be no more: what has no newline is a line, too. Releases what it holds. */
void line_cutter_end(struct line_cutter *cutter);

#endif
