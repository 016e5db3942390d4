/* What requests of `flotilla serve` came to: the log, and what Prometheus asks. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../cli/command.h"
#include "has.h"
#include "serve_bench.h"

TCase *tcase_serve_traffic(void);

#define KEY "0123456789abcdef-acme"
#define TOTAL "flotilla_http_requests_total{method="

static struct fleet_up *const fleet = &serve_bench.fleet;

/* Waits until it has said where. */
static const char *
metrics_of(struct cli_job *server)
{
	const char *at;

	while ((at = strstr(cli_out(server), "metrics at ")) == NULL ||
	       strchr(at, '\n') == NULL)
		serve_pause();
	at += strlen("metrics at ");
	return arena_copy(fleet->arena, at, strcspn(at, "\n"));
}

static struct cli_job *
start(const char **url_r, const char **metrics_r)
{
	const char *keys = arena_printf(fleet->arena, "%s/serve.keys", fleet->folder);
	struct cli_job *server;

	fleet_up_write(fleet, "serve.keys", KEY " acme\n");
	ck_assert_int_eq(chmod(keys, 0600), 0);
	*url_r = serve_start(
	    &server, (const char *const[]){ "--api-keys", keys, "--log-requests",
			 "--metrics-listen", "127.0.0.1:0", NULL });
	*metrics_r = metrics_of(server);
	return server;
}

/* Waits until the metrics have that line: who hangs up is noticed when he has. */
static const char *
wait_for(const char *metrics, const char *line)
{
	struct serve_answer answer;

	do {
		serve_pause();
		answer = ASK(.url = metrics, .path = "");
		ck_assert_int_eq(answer.status, 200);
	} while (strstr(answer.body, line) == NULL);
	return answer.body;
}

static bool
hang_up(void *arg, const struct serve_frame *frame)
{
	(void)arg;
	(void)frame;
	return false;
}

START_TEST(requests_are_counted_and_logged)
{
	const char *url, *metrics, *body;
	struct cli_job *server = start(&url, &metrics);
	const char *run = "{'assistant_id': 'quick', " HI "}";
	const char *slow = "{'assistant_id': 'slow', 'on_disconnect': 'cancel', " HI "}";

	ck_assert_int_eq(ASK(.url = url, .path = "/ok?key=hush").status, 200);
	ck_assert_int_eq(ASK(.url = url, .path = "/threads/t").status, 401);
	ck_assert_int_eq(ASK(.url = url, .path = "/runs/wait", .body = run,
			     .headers = { "X-Api-Key: " KEY })
			     .status,
	    200);
	ck_assert_int_eq(
	    ASK(.url = url, .path = "/no%0Awhere", .headers = { "X-Api-Key: " KEY })
		.status,
	    404);
	ASK(.url = url, .path = "/runs/stream", .body = slow,
	    .headers = { "X-Api-Key: " KEY }, .on_frame = hang_up);
	body = wait_for(
	    metrics, TOTAL "\"POST\",route=\"/runs/stream\",status=\"200\"} 1\n");
	ck_assert_has(body, TOTAL "\"GET\",route=\"/ok\",status=\"200\"} 1\n");
	ck_assert_has(body, TOTAL "\"POST\",route=\"/runs/wait\",status=\"200\"} 1\n");
	ck_assert_has(body, TOTAL "\"\",route=\"\",status=\"401\"} 1\n");
	ck_assert_has(body, TOTAL "\"\",route=\"\",status=\"404\"} 1\n");
	ck_assert_has(
	    body, "flotilla_http_request_seconds_count{method=\"\",route=\"\"} 2\n");
	ck_assert_has(body,
	    "flotilla_http_answer_bytes_total{method=\"GET\",route=\"/ok\",status="
	    "\"200\"} 11\n");
	ck_assert_has(body, "flotilla_http_requests_under_way 0\n");
	ck_assert_has_not(body, "flotilla_up");
	body = arena_strdup(fleet->arena, cli_err(server));
	ck_assert_has(body, "request method=GET path=/ok status=200 ms=");
	ck_assert_has(body, "request method=GET path=/no%0Awhere status=404 ms=");
	ck_assert_has(body, "request method=POST path=/runs/wait status=200 ms=");
	ck_assert_has(body, " tenant=acme cut=1\n");
	ck_assert_has_not(body, "hush");
	ck_assert_has_not(body, KEY);
	serve_stop(&server);
}
END_TEST

/* Who waits for the end of a run, which cannot come, and gives up: that is no fault of the server's. */
START_TEST(who_gives_up_is_told_apart)
{
	const char *metrics, *thread = serve_thread(), *run;
	pid_t hub = fleet_up_pid_of(fleet, "hub");
	struct cli_job *server;
	const char *url =
	    serve_start(&server, (const char *const[]){ "--log-requests",
				     "--metrics-listen", "127.0.0.1:0", NULL });

	metrics = metrics_of(server);
	run = serve_run(thread, "slow", "");
	serve_run_wait(thread, run, "running");
	ck_assert_int_gt(hub, 0);
	ck_assert_int_eq(kill(hub, SIGSTOP), 0);
	close(serve_dial(url,
	    serve_text("POST /threads/%s/runs/%s/cancel?wait=1", thread, run), "{}"));
	wait_for(metrics,
	    TOTAL "\"POST\",route=\"/threads/{}/runs/{}/cancel\",status=\"499\"} 1\n");
	ck_assert_int_eq(kill(hub, SIGCONT), 0);
	serve_stop(&server);
}
END_TEST

START_TEST(where_metrics_are_is_looked_at_first)
{
	struct said said = CLI(&fleet->flotilla, "serve", "--listen", "127.0.0.1:0",
	    "--metrics-listen", "nowhere");

	ck_assert_int_eq(said.status, STATUS_USAGE);
	ck_assert_has(said.err, "--metrics-listen nowhere: ");
	said = CLI(&fleet->flotilla, "serve", "--listen", "127.0.0.1:0",
	    "--metrics-listen", strstr(serve_bench.url, "127"));
	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_has(said.err, "--metrics-listen 127.0.0.1:");
}
END_TEST

TCase *
tcase_serve_traffic(void)
{
	TCase *tcase = tcase_create("serve_traffic");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, requests_are_counted_and_logged);
	tcase_add_test(tcase, who_gives_up_is_told_apart);
	tcase_add_test(tcase, where_metrics_are_is_looked_at_first);
	return tcase;
}
