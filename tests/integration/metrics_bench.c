#include "metrics_bench.h"

#include <check.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../cli/command.h"

#define WAIT_MS 30000
#define POLL_MS 20

struct metrics_bench metrics_bench;

void
metrics_pause(void)
{
	nanosleep(&(const struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
}

/* --- the server -------------------------------------------------------------------------- */

void
metrics_serve(const char *wait_ms)
{
	const char *said, *begin, *end;
	int tries;

	metrics_bench.server = CLI_START(&metrics_bench.fleet.flotilla, "metrics",
	    "--listen", "127.0.0.1:0", "--wait-ms", wait_ms);
	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		said = cli_out(metrics_bench.server);
		begin = strstr(said, "http://");
		end = begin != NULL ? strchr(begin, ';') : NULL;
		if (end != NULL)
			break;
		metrics_pause();
	}
	ck_assert_msg(tries < WAIT_MS / POLL_MS, "it never listened: %s",
	    cli_err(metrics_bench.server));
	metrics_bench.url =
	    arena_copy(metrics_bench.fleet.arena, begin, (size_t)(end - begin));
}

void
metrics_stop(int number)
{
	struct said said;

	cli_signal(metrics_bench.server, number);
	said = cli_end(&metrics_bench.server);
	ck_assert_msg(said.status == STATUS_OK, "status %d: %s", said.status, said.err);
	ck_assert_str_eq(said.err, "");
}

void
metrics_open(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	fleet_up_start_with(
	    &metrics_bench.fleet, "1", (const char *const[]){ "--brokers", "2", NULL });
}

void
metrics_close(void)
{
	fleet_up_stop(&metrics_bench.fleet);
}

void
metrics_setup(void)
{
	metrics_serve("10000");
}

void
metrics_teardown(void)
{
	if (metrics_bench.server != NULL)
		metrics_stop(SIGTERM);
}

/* --- asking --------------------------------------------------------------------------------- */

static size_t
on_bytes(char *bytes, size_t size, size_t count, void *file)
{
	return fwrite(bytes, size, count, file);
}

/* path: behind the server's address; method: NULL for GET. */
struct metrics_answer
metrics_ask(const char *method, const char *path)
{
	CURL *curl = curl_easy_init();
	struct metrics_answer answer = { 0 };
	char *head, *body, *type = NULL;
	size_t head_size, body_size;
	FILE *heads = open_memstream(&head, &head_size);
	FILE *bodies = open_memstream(&body, &body_size);

	curl_easy_setopt(curl, CURLOPT_URL,
	    arena_printf(metrics_bench.fleet.arena, "%.*s%s",
		(int)(strlen(metrics_bench.url) - strlen("/metrics")), metrics_bench.url,
		path));
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	if (method != NULL && strcmp(method, "HEAD") == 0)
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	if (method != NULL && strcmp(method, "POST") == 0)
		curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, "a=b");
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, bodies);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_bytes);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, heads);
	ck_assert_int_eq(curl_easy_perform(curl), CURLE_OK);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
	curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
	fclose(heads);
	fclose(bodies);
	answer.type = arena_strdup(metrics_bench.fleet.arena, type != NULL ? type : "");
	answer.head = arena_strdup(metrics_bench.fleet.arena, head);
	answer.body = arena_strdup(metrics_bench.fleet.arena, body);
	free(head);
	free(body);
	curl_easy_cleanup(curl);
	return answer;
}

const char *
metrics_scrape(void)
{
	struct metrics_answer answer = metrics_ask(NULL, "/metrics");

	ck_assert_int_eq(answer.status, 200);
	return answer.body;
}

/* The sample whose line begins with series, or -1. */
double
metrics_sample(const char *text, const char *series)
{
	const char *at = strstr(
	    text, arena_printf(metrics_bench.fleet.arena, "\nflotilla_%s ", series));

	return at != NULL ? strtod(at + strlen("\nflotilla_ ") + strlen(series), NULL)
			  : -1;
}

void
metrics_check(const char *text, const char *series, double expected)
{
	ck_assert_msg(metrics_sample(text, series) == expected, "%s is %g, not %g",
	    series, metrics_sample(text, series), expected);
}

/* The sum of a metric over all brokers. */
double
metrics_sum(const char *text, const char *metric)
{
	const char *begin =
	    arena_printf(metrics_bench.fleet.arena, "\nflotilla_%s{", metric);
	double all = 0;

	for (; (text = strstr(text, begin)) != NULL; text++)
		all += strtod(strstr(text, "} ") + 2, NULL);
	return all;
}

const char *
metrics_of_broker(const char *metric, int number)
{
	const char *socket = arena_printf(metrics_bench.fleet.arena, "%s",
	    metrics_bench.fleet.redis + strlen("unix://"));

	return arena_printf(metrics_bench.fleet.arena,
	    "%s{broker=\"ipc://%.*s/broker-%d\"}", metric,
	    (int)(strrchr(socket, '/') - socket), socket, number);
}

/* Scrapes until series is expected; returns the text it was in. */
const char *
metrics_wait(const char *series, double expected)
{
	const char *text = "";
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		text = metrics_scrape();
		if (metrics_sample(text, series) == expected)
			return text;
		metrics_pause();
	}
	ck_abort_msg("%s was never %g, at last %g", series, expected,
	    metrics_sample(text, series));
	return NULL;
}
