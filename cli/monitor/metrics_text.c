#include "metrics_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct metric metrics_table[] = {
#define SOURCE(id, labels)
#define METRIC(source, key, name, type, unit, help)                                      \
	{ METRICS_##source, key, "flotilla_" #name, METRIC_##type, METRIC_##unit, help },
#include "metrics.def"
#undef SOURCE
#undef METRIC
	{ 0, NULL, NULL, METRIC_GAUGE, METRIC_ONE, NULL },
};

const char *
metrics_type_name(enum metric_type type)
{
	return type == METRIC_COUNTER ? "counter" : "gauge";
}

const char *
metrics_labels(enum metrics_source source)
{
	static const char *const labels[] = {
#define SOURCE(id, labels) [METRICS_##id] = (labels),
#define METRIC(source, key, name, type, unit, help)
#include "metrics.def"
#undef SOURCE
#undef METRIC
	};

	return labels[source];
}

/* text with what would end it or its line behind a backslash; a quote means nothing in HELP. */
static void
print_escaped(FILE *out, const char *text, bool quoted)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\' || (quoted && *text == '"'))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void
print_labels(FILE *out, const struct value *labels)
{
	size_t count = value_size(labels), i;

	for (i = 0; i < count; i++) {
		fprintf(
		    out, "%c%s=\"", i == 0 ? '{' : ',', value_text(labels->pairs[i].key));
		print_escaped(out, value_text(labels->pairs[i].value), true);
		fputs(i + 1 < count ? "\"" : "\"}", out);
	}
}

static void
print_number(FILE *out, enum metric_unit unit, const struct value *number)
{
	if (number->type == VALUE_BOOL)
		fprintf(out, " %d\n", number->boolean);
	else if (number->type == VALUE_FLOAT)
		fprintf(out, " %.4f\n", number->real);
	else if (unit == METRIC_MS)
		fprintf(out, " %" PRId64 ".%03" PRId64 "\n", number->integer / 1000,
		    number->integer % 1000);
	else
		fprintf(out, " %" PRId64 "\n", number->integer);
}

static bool
is_number(const struct value *number)
{
	return value_is_number(number) || value_is(number, VALUE_BOOL);
}

static void
print_metric(FILE *out, const struct metric *metric, const struct value *rows)
{
	bool is_begun = false;
	size_t i;

	for (i = 0; i < value_size(rows); i++) {
		const struct value *row = value_at(rows, i);
		const struct value *number =
		    value_get(value_get(row, "numbers"), metric->key);

		if (!is_number(number))
			continue;
		if (!is_begun) {
			fprintf(out, "# HELP %s ", metric->name);
			print_escaped(out, metric->help, false);
			fprintf(out, "\n# TYPE %s %s\n", metric->name,
			    metrics_type_name(metric->type));
			is_begun = true;
		}
		fputs(metric->name, out);
		print_labels(out, value_get(row, "labels"));
		print_number(out, metric->unit, number);
	}
}

const char *
metrics_text(struct arena *arena, const struct metrics_rows *rows)
{
	const struct metric *metric;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		arena_exhausted();
	for (metric = metrics_table; metric->name != NULL; metric++)
		print_metric(out, metric, rows->of[metric->source]);
	if (fclose(out) == EOF)
		arena_exhausted();
	arena_on_destroy(arena, free, text);
	return text;
}
