/* pattern_work: what a search for a pattern costs, in steps: for pattern.c alone.
 *
 * PCRE2's own limit counts what is tried, anew at each place, but not what one item of the
 * pattern runs over: [0-9]+x is quadratic and no step of it is counted. So each item calls
 * us (PCRE2_AUTO_CALLOUT), and pays for the way since the last one. An item that runs over
 * much and then fails calls nobody: it pays in advance ([a-z]{30000}, \1). */
#ifndef PATTERN_WORK_H
#define PATTERN_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* An item of a pattern, by its place in the pattern's text. */
struct item {
	uint32_t
	    least; /* bytes it runs over at least, all in one; 0: one character, or another item's */
	uint16_t width; /* steps to look for a character from U+0100 on in its class */
	bool is_backref;
};

struct work {
	size_t left; /* in steps */
	size_t at;
	size_t allowed; /* what was left at first */
	size_t free;    /* of that, what the text has for its bytes */
	size_t excess;  /* that texts before took beyond theirs */

	struct item *items; /* size + 1 of them; NULL: all cost what their way costs */
	size_t size;        /* bytes of the pattern */
	size_t step;        /* what each item costs at least */
	size_t width;       /* of the widest class */
	size_t compare;     /* bytes of a back reference for a step */
	bool is_partial;    /* set for a search: PCRE2 compares by the byte */
};

/* Weighs the items of code, compiled from the size bytes at text, into *work (zeroed). Memory of it is freed by
 * work_free. */
void work_weigh(struct work *work, const pcre2_code *code, const char *text, size_t size);
void work_free(struct work *work);

/* A callout of PCRE2, with struct work. */
int work_on_item(pcre2_callout_block *block, void *arg);

#endif
