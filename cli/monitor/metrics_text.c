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
	static const char *const names[] = { [METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_HISTOGRAM] = "histogram" };

	return names[type];
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
is_told(const struct metric *metric, const struct value *number)
{
	if (metric->type == METRIC_HISTOGRAM)
		return value_is(number, VALUE_MAP);
	return value_is_number(number) || value_is(number, VALUE_BOOL);
}

/* Each bucket has those of the ones before it, too. */
static void
print_histogram(FILE *out, const struct metric *metric, const struct value *labels,
    const struct value *spread)
{
	const struct value *counts = value_get(spread, "counts");
	const struct value *bounds = value_get(spread, "bounds_ms");
	struct arena *arena = arena_new();
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < value_size(counts); i++) {
		const char *bound = i < value_size(bounds)
					? arena_printf(arena, "%g",
					      value_number(value_at(bounds, i), 0) / 1000)
					: "+Inf";

		sum += value_at(counts, i)->integer;
		fprintf(out, "%s_bucket", metric->name);
		print_labels(
		    out, value_map_with(arena, labels, "le", value_str(arena, bound)));
		fprintf(out, " %" PRId64 "\n", sum);
	}
	fprintf(out, "%s_sum", metric->name);
	print_labels(out, labels);
	print_number(out, metric->unit, value_get(spread, "sum_ms"));
	fprintf(out, "%s_count", metric->name);
	print_labels(out, labels);
	fprintf(out, " %" PRId64 "\n", sum);
	arena_destroy(&arena);
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

		if (!is_told(metric, number))
			continue;
		if (!is_begun) {
			fprintf(out, "# HELP %s ", metric->name);
			print_escaped(out, metric->help, false);
			fprintf(out, "\n# TYPE %s %s\n", metric->name,
			    metrics_type_name(metric->type));
			is_begun = true;
		}
		if (metric->type == METRIC_HISTOGRAM) {
			print_histogram(out, metric, value_get(row, "labels"), number);
			continue;
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
