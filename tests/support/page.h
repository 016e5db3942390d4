/* page: pages of docs/ for tests that hold them to what they say. Run from the project's folder.
 * What goes wrong ends the test. */
#ifndef PAGE_H
#define PAGE_H

#include "arena.h"

/* Returns the text of the file at path, in arena. */
const char *page_read(struct arena *arena, const char *path);

/* The page's table behind the paragraph or heading that is those words is table, its lines with their
 * newlines; with WRITE_PAGES in the environment (make pages) it becomes it. */
void page_check_table(
    struct arena *arena, const char *path, const char *behind, const char *table);

/* Returns the next fenced block of that language behind *at_p, in arena, with the newline of its last
 * line, and moves *at_p behind it; NULL when there is none. */
const char *page_block(struct arena *arena, const char **at_p, const char *language);

/* Runs each "$ command" of the page's console blocks, in their order, by sh with the folder of programs first in
 * PATH: it must say, on stdout and stderr, what the page says behind it. Returns how many blocks there were. */
unsigned page_run_consoles(struct arena *arena, const char *path, const char *programs);

#endif
