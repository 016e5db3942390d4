/* metrics_bench: a fleet of two brokers, with `flotilla metrics` beside it, asked over HTTP. What goes wrong ends the
 * test with a message. Texts are in the fleet's arena. */
#ifndef METRICS_BENCH_H
#define METRICS_BENCH_H

#include "fleet_up.h"

/* The one of a test's process. */
extern struct metrics_bench {
	struct fleet_up fleet;
	struct cli_job *server; /* `flotilla metrics`; NULL: none */
	const char *url;        /* "http://127.0.0.1:PORT/metrics" */
} metrics_bench;

/* Fixtures: the fleet, of a case; the server, of each test. */
void metrics_open(void);
void metrics_close(void);
void metrics_setup(void);
void metrics_teardown(void);

/* Starts the server, with --wait-ms; ends it by a signal, which it must take well. */
void metrics_serve(const char *wait_ms);
void metrics_stop(int number);

void metrics_pause(void); /* between two looks */

struct metrics_answer {
	long status;
	const char *type, *head, *body;
};
/* path: behind the server's address; method: NULL for GET. */
struct metrics_answer metrics_ask(const char *method, const char *path);
/* The text of /metrics, which must be there. */
const char *metrics_scrape(void);

/* In such a text, the sample whose line begins with series, without "flotilla_", or -1. */
double metrics_sample(const char *text, const char *series);
void metrics_check(const char *text, const char *series, double expected);
/* The sum of a metric over all brokers. */
double metrics_sum(const char *text, const char *metric);
/* The series of a metric of the broker of that number. */
const char *metrics_of_broker(const char *metric, int number);
/* Scrapes until series is expected; returns the text it was in. */
const char *metrics_wait(const char *series, double expected);

#endif
