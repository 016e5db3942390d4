#include "show_table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "show.h"

#define INDENT 4u

const char *
show_cell(const struct value *row, const char *key)
{
	const char *text = value_get_text(row, key);

	return text != NULL ? text : "-";
}

int
show_column(const struct value *rows, const char *key, const char *title)
{
	size_t width = strlen(title), i;

	for (i = 0; i < value_size(rows); i++) {
		size_t size = strlen(show_cell(value_at(rows, i), key));

		width = size > width ? size : width;
	}
	return (int)width;
}

void
show_row(struct arena *arena, size_t width, const char *first, const char *rest)
{
	if (isatty(STDOUT_FILENO) && show_width() < width)
		printf("%s\n%*s%s\n", first, (int)INDENT, "",
		    show_line(arena, rest, show_rest(INDENT)));
	else
		printf("%s  %s\n", first, rest);
}
