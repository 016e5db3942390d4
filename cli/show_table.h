/* show_table: tables that are no wider than what is in them, and readable where that is wider than the
 * terminal. */
#ifndef SHOW_TABLE_H
#define SHOW_TABLE_H

#include "value.h"

/* What stands in the column key of row: its text, "-" for none. */
const char *show_cell(const struct value *row, const char *key);

/* The widest of that column in rows and its title, bytes. */
int show_column(const struct value *rows, const char *key, const char *title);

/* Prints a line of a table that is width columns wide where it is widest: first, two spaces, rest.
 * On a terminal that has less, rest has a line of its own below first, indented by four and cut. */
void show_row(struct arena *arena, size_t width, const char *first, const char *rest);

#endif
