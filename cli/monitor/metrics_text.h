/* metrics_text: the table of metrics, and the text that Prometheus reads (its text exposition format,
 * version 0.0.4). */
#ifndef METRICS_TEXT_H
#define METRICS_TEXT_H

#include "value.h"

enum metrics_source {
#define SOURCE(id, labels) METRICS_##id,
#define METRIC(source, key, name, type, unit, help)
#include "metrics.def"
#undef SOURCE
#undef METRIC
	METRICS_SOURCES
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };
enum metric_unit { METRIC_ONE, METRIC_MS };

struct metric {
	enum metrics_source source;
	const char *key;
	const char *name;
	enum metric_type type;
	enum metric_unit unit;
	const char *help;
};

/* All metrics, in the order of the text, ended by one without a name. */
extern const struct metric metrics_table[];

/* "counter", "gauge", "histogram" */
const char *metrics_type_name(enum metric_type type);
/* The names of the labels of a source's rows, with ", " between them; "" without. */
const char *metrics_labels(enum metrics_source source);

/* What was seen: for each source an array of rows {labels {name: text}, numbers {key: number or truth}},
 * or NULL; of a histogram {bounds_ms, counts, sum_ms} with one count more than there are bounds. No two rows of a source may have the same labels. */
struct metrics_rows {
	const struct value *of[METRICS_SOURCES];
};

/* Returns the text, in arena. A number that a row has not is left out, and a metric without any, with
 * its HELP and TYPE. */
const char *metrics_text(struct arena *arena, const struct metrics_rows *rows);

#endif
