#include "line.h"

#include <stdio.h>
#include <string.h>

static void
print_number(double number, int digits)
{
	if (number > 0)
		printf("\t%.*f", digits, number);
	else
		printf("\t-");
}

static void
print_text(const char *text)
{
	printf("\t%s", text == NULL || *text == '\0' ? "-" : text);
}

void
line_print(const struct line *line)
{
	printf("%s", line->measure);
	print_text(line->system);
	print_text(line->stored);
	printf("\t%zu\t%zu", line->in_flight, line->count);
	print_number(line->per_s, 1);
	print_number(line->p50_ms, 3);
	print_number(line->p99_ms, 3);
	print_number(line->cpu_us, 1);
	print_number(line->memory_kb, 1);
	print_text(line->parts);
	putchar('\n');
	fflush(stdout);
}

void
line_add_part(char parts[LINE_PARTS_BYTES], const char *name, double value)
{
	size_t used = strlen(parts);

	snprintf(parts + used, LINE_PARTS_BYTES - used, "%s%s=%.1f", used == 0 ? "" : " ",
	    name, value);
}

double
line_percentile(const double *values, size_t count, double share)
{
	return values[(size_t)(share * (double)(count - 1) + 0.5)];
}

int
line_by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}
