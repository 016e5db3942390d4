/* `flotilla metrics` on a fleet of two brokers, asked over HTTP. */
#include <arpa/inet.h>
#include <check.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../cli/command.h"
#include "bounds.h"
#include "fleet_up.h"
#include "has.h"

TCase *tcase_metrics(void);

#define WAIT_MS 30000
#define POLL_MS 20

static struct fleet_up fleet;
static struct cli_job *server; /* `flotilla metrics`, beside the test */
static const char *url;        /* "http://127.0.0.1:PORT/metrics" */

static void
pause_a_little(void)
{
	nanosleep(&(const struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
}

/* --- the server -------------------------------------------------------------------------- */

static void
start_server(const char *wait_ms)
{
	const char *said, *begin, *end;
	int tries;

	server = CLI_START(
	    &fleet.flotilla, "metrics", "--listen", "127.0.0.1:0", "--wait-ms", wait_ms);
	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		said = cli_out(server);
		begin = strstr(said, "http://");
		end = begin != NULL ? strchr(begin, ';') : NULL;
		if (end != NULL)
			break;
		pause_a_little();
	}
	ck_assert_msg(
	    tries < WAIT_MS / POLL_MS, "it never listened: %s", cli_err(server));
	url = arena_copy(fleet.arena, begin, (size_t)(end - begin));
}

static void
stop_server(int number)
{
	struct said said;

	cli_signal(server, number);
	said = cli_end(&server);
	ck_assert_msg(said.status == STATUS_OK, "status %d: %s", said.status, said.err);
	ck_assert_str_eq(said.err, "");
}

static void
start_fleet(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	fleet_up_start_with(&fleet, "1", (const char *const[]){ "--brokers", "2", NULL });
}

static void
stop_fleet(void)
{
	fleet_up_stop(&fleet);
}

static void
setup(void)
{
	start_server("10000");
}

static void
teardown(void)
{
	if (server != NULL)
		stop_server(SIGTERM);
}

/* --- asking --------------------------------------------------------------------------------- */

struct answer {
	long status;
	const char *type, *head, *body;
};

static size_t
on_bytes(char *bytes, size_t size, size_t count, void *file)
{
	return fwrite(bytes, size, count, file);
}

/* path: behind the server's address; method: NULL for GET. */
static struct answer
ask(const char *method, const char *path)
{
	CURL *curl = curl_easy_init();
	struct answer answer = { 0 };
	char *head, *body, *type = NULL;
	size_t head_size, body_size;
	FILE *heads = open_memstream(&head, &head_size);
	FILE *bodies = open_memstream(&body, &body_size);

	curl_easy_setopt(curl, CURLOPT_URL,
	    arena_printf(fleet.arena, "%.*s%s", (int)(strlen(url) - strlen("/metrics")),
		url, path));
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
	answer.type = arena_strdup(fleet.arena, type != NULL ? type : "");
	answer.head = arena_strdup(fleet.arena, head);
	answer.body = arena_strdup(fleet.arena, body);
	free(head);
	free(body);
	curl_easy_cleanup(curl);
	return answer;
}

static const char *
scrape(void)
{
	struct answer answer = ask(NULL, "/metrics");

	ck_assert_int_eq(answer.status, 200);
	return answer.body;
}

/* The sample whose line begins with series, or -1. */
static double
sample(const char *text, const char *series)
{
	const char *at =
	    strstr(text, arena_printf(fleet.arena, "\nflotilla_%s ", series));

	return at != NULL ? strtod(at + strlen("\nflotilla_ ") + strlen(series), NULL)
			  : -1;
}

static void
assert_sample(const char *text, const char *series, double expected)
{
	ck_assert_msg(sample(text, series) == expected, "%s is %g, not %g", series,
	    sample(text, series), expected);
}

/* The sum of a metric over all brokers. */
static double
sum(const char *text, const char *metric)
{
	const char *begin = arena_printf(fleet.arena, "\nflotilla_%s{", metric);
	double all = 0;

	for (; (text = strstr(text, begin)) != NULL; text++)
		all += strtod(strstr(text, "} ") + 2, NULL);
	return all;
}

static const char *
of_broker(const char *metric, int number)
{
	const char *socket =
	    arena_printf(fleet.arena, "%s", fleet.redis + strlen("unix://"));

	return arena_printf(fleet.arena, "%s{broker=\"ipc://%.*s/broker-%d\"}", metric,
	    (int)(strrchr(socket, '/') - socket), socket, number);
}

/* Scrapes until series is expected; returns the text it was in. */
static const char *
wait_sample(const char *series, double expected)
{
	const char *text = "";
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		text = scrape();
		if (sample(text, series) == expected)
			return text;
		pause_a_little();
	}
	ck_abort_msg(
	    "%s was never %g, at last %g", series, expected, sample(text, series));
	return NULL;
}

/* --- counts ----------------------------------------------------------------------------------- */

static void
submit(const char *agent, int status)
{
	struct said said = CLI(&fleet.flotilla, "submit", agent, "Hi", "--wait");

	ck_assert_msg(said.status == status, "%s: %s", agent, said.err);
}

START_TEST(what_runs_did_is_counted)
{
	const char *before = scrape(), *after;
	double called = sum(before, "calls_accepted_total");

	submit("quick", STATUS_OK);
	submit("quick", STATUS_OK);
	submit("broken", STATUS_FAILED);
	submit("careful", STATUS_INTERRUPTED);
	after = scrape();
	assert_sample(after, "up", 1);
	assert_sample(after, "runs_ended_total{status=\"success\"}",
	    sample(before, "runs_ended_total{status=\"success\"}") + 2);
	assert_sample(after, "runs_ended_total{status=\"error\"}",
	    sample(before, "runs_ended_total{status=\"error\"}") + 1);
	assert_sample(after, "runs_ended_total{status=\"interrupted\"}",
	    sample(before, "runs_ended_total{status=\"interrupted\"}") + 1);
	assert_sample(after, "threads{state=\"interrupted\"}",
	    sample(before, "threads{state=\"interrupted\"}") + 1);
	assert_sample(after, "runs_stored", sample(before, "runs_stored") + 4);
	/* A model call each, and more where the unlucky one was tried again. */
	ck_assert(sum(after, "calls_accepted_total") >= called + 4);
	ck_assert(sum(after, "calls_answered_total") >= 4);
	assert_sample(after, "slots{kind=\"worker-model\"}", 256);
	assert_sample(after, "inbox_submissions", 0);
	wait_sample("service_workers{kind=\"tool\",service=\"tool:note\"}", 1);
	wait_sample("processes{kind=\"broker\",state=\"ok\"}", 2); /* new ones recover */
}
END_TEST

/* While a tool hangs. */
START_TEST(what_goes_on_is_told)
{
	struct said said = CLI(&fleet.flotilla, "submit", "hanger", "Hi");
	const char *run = arena_copy(fleet.arena, said.out, strcspn(said.out, "\n"));
	const char *text = wait_sample("running_calls{kind=\"tool\"}", 1);

	assert_sample(text, "slots_used{kind=\"worker-tools\"}", 1);
	assert_sample(text, "threads{state=\"running\"}", 1);
	assert_sample(
	    text, "service_running_calls{kind=\"tool\",service=\"tool:hang\"}", 1);
	assert_sample(
	    text, "process_calls{kind=\"worker-tools\",process=\"worker-tools-1\"}", 1);
	ck_assert_ptr_null(strstr(text, run)); /* nor any other id */
	said = CLI(&fleet.flotilla, "cancel", run);
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	wait_sample("threads{state=\"running\"}", 0);
}
END_TEST

/* Each name has its TYPE before its first sample, and one. */
START_TEST(once_prints_what_is_served)
{
	struct said said = CLI(&fleet.flotilla, "metrics", "--once");
	const char *line, *end, *name;

	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	ck_assert_str_eq(said.err, "");
	for (line = said.out; *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		ck_assert_ptr_nonnull(end);
		if (strncmp(line, "flotilla_", 9) != 0) {
			ck_assert_msg(strncmp(line, "# HELP flotilla_", 16) == 0 ||
					  strncmp(line, "# TYPE flotilla_", 16) == 0,
			    "%.80s", line);
			continue;
		}
		name = arena_printf(
		    fleet.arena, "\n# TYPE %.*s ", (int)strcspn(line, "{ "), line);
		ck_assert_msg(
		    strstr(said.out, name) != NULL && strstr(said.out, name) < line,
		    "no %s", name);
	}
	assert_sample(said.out, "runs_ended_total{status=\"refused\"}",
	    sample(scrape(), "runs_ended_total{status=\"refused\"}"));
}
END_TEST

/* --- what goes away and comes back ----------------------------------------------------------------- */

START_TEST(a_broker_that_stands_still_is_told_as_down)
{
	pid_t broker = fleet_up_pid_of(&fleet, "broker-1");
	const char *text;

	stop_server(SIGINT);
	start_server("500");
	wait_sample(of_broker("broker_up", 1), 1);
	kill(broker, SIGSTOP);
	text = wait_sample(of_broker("broker_up", 1), 0);
	kill(broker, SIGCONT);
	assert_sample(text, of_broker("broker_up", 2), 1);
	assert_sample(text, "up", 1);
	assert_sample(text, "redis_up", 1);
	assert_sample(text, of_broker("calls_accepted_total", 1), -1);
	text = wait_sample(of_broker("broker_up", 1), 1);
	ck_assert(sample(text, of_broker("calls_accepted_total", 1)) >= 0);
}
END_TEST

START_TEST(a_broker_that_is_started_anew_counts_from_nothing)
{
	double runs = sample(scrape(), "runs_ended_total{status=\"success\"}");
	double starts = sample(scrape(), of_broker("broker_restarts_total", 2));
	const char *text;

	submit("quick", STATUS_OK);
	submit("quick", STATUS_OK);
	kill(fleet_up_pid_of(&fleet, "broker-2"), SIGKILL);
	text = wait_sample(of_broker("broker_restarts_total", 2), starts + 1);
	assert_sample(text, of_broker("broker_up", 2), 1);
	assert_sample(text, of_broker("calls_accepted_total", 2), 0);
	/* Redis's counts go on. */
	assert_sample(text, "runs_ended_total{status=\"success\"}", runs + 2);
	wait_sample("processes{kind=\"broker\",state=\"ok\"}", 2);
	submit("quick", STATUS_OK);
	assert_sample(scrape(), "runs_ended_total{status=\"success\"}", runs + 3);
}
END_TEST

static pid_t
pid_of_redis(void)
{
	pid_t pids[32];
	size_t count = fleet_up_children(&fleet, pids, 32), i;
	char name[64];

	for (i = 0; i < count; i++) {
		FILE *file =
		    fopen(arena_printf(fleet.arena, "/proc/%d/comm", (int)pids[i]), "re");
		bool is_it = file != NULL && fgets(name, sizeof name, file) != NULL &&
			     strncmp(name, "redis-server", 12) == 0;

		if (file != NULL)
			fclose(file);
		if (is_it)
			return pids[i];
	}
	ck_abort_msg("no redis-server");
	return 0;
}

START_TEST(a_redis_that_goes_away_is_told_as_down_until_it_is_back)
{
	double runs = sample(scrape(), "runs_ended_total{status=\"success\"}");
	pid_t redis = pid_of_redis();
	const char *text;

	stop_server(SIGTERM);
	start_server("500");
	kill(redis, SIGSTOP);
	text = wait_sample("redis_up", 0);
	assert_sample(text, "up", 0);
	assert_sample(text, "runs_ended_total{status=\"success\"}", -1);
	assert_sample(text, of_broker("broker_up", 1), 1);
	kill(redis, SIGKILL);
	text = wait_sample("redis_up", 1);
	assert_sample(text, "up", 1);
	assert_sample(text, "runs_ended_total{status=\"success\"}", runs);
}
END_TEST

START_TEST(a_fleet_that_is_not_there_is_told_with_a_status)
{
	struct said said = CLI(&fleet.flotilla, "metrics", "--once", "--wait-ms", "300",
	    "--redis", "unix:///nowhere", "--broker", "ipc:///nowhere");

	ck_assert_int_eq(said.status, STATUS_UNREACHABLE);
	ck_assert_has(said.out, "\nflotilla_up 0\n");
	ck_assert_has(said.out, "\nflotilla_broker_up{broker=\"ipc:///nowhere\"} 0\n");
	ck_assert_has(said.err, "no broker answers at ipc:///nowhere");
	ck_assert_has(said.err, "no Redis at unix:///nowhere");
}
END_TEST

/* --- HTTP --------------------------------------------------------------------------------------- */

START_TEST(other_paths_and_methods_are_refused)
{
	struct answer answer = ask(NULL, "/metrics");

	ck_assert_str_eq(answer.type, "text/plain; version=0.0.4; charset=utf-8");
	answer = ask("HEAD", "/metrics");
	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(answer.body, "");
	answer = ask(NULL, "/");
	ck_assert_int_eq(answer.status, 200);
	ck_assert_has(answer.body, "/metrics");
	ck_assert_int_eq(ask(NULL, "/metrics?name=x").status, 200);
	ck_assert_int_eq(ask(NULL, "/metrics/").status, 404);
	ck_assert_int_eq(ask(NULL, "/%2e%2e/etc/passwd").status, 404);
	answer = ask("POST", "/metrics");
	ck_assert_int_eq(answer.status, 405);
	ck_assert_has(answer.head, "Allow: GET, HEAD");
	ck_assert_int_eq(ask("DELETE", "/").status, 405);
}
END_TEST

static int
connect_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(
	    connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static void
say(int fd, const char *text)
{
	ck_assert_int_eq(
	    send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void
assert_answered(int fd)
{
	char bytes[65536], all[32] = "";

	while (recv(fd, bytes, sizeof bytes, 0) > 0)
		if (all[0] == '\0')
			snprintf(all, sizeof all, "%.12s", bytes);
	ck_assert_str_eq(all, "HTTP/1.1 200");
	close(fd);
}

/* More than it takes at once: the others wait until those have been answered. */
START_TEST(many_who_ask_at_once_are_all_answered)
{
	int fds[METRICS_CONNECTIONS_MAX + 40];
	size_t count = sizeof fds / sizeof fds[0], i;

	for (i = 0; i < count; i++) {
		fds[i] = connect_server();
		say(fds[i],
		    "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	}
	for (i = 0; i < count; i++)
		assert_answered(fds[i]);
}
END_TEST

/* Half a request, none, no HTTP, one who does not wait for the answer. */
START_TEST(who_behaves_badly_disturbs_nobody)
{
	static const char *const texts[] = {
		"GET /metrics HTTP/1.1\r\nHo", "", "\xff\x00\x01nonsense\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nab"
	};
	int open[sizeof texts / sizeof texts[0]];
	size_t i;

	for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		int fd = connect_server();

		say(fd, texts[i]);
		close(fd);
		open[i] = connect_server();
		say(open[i], texts[i]);
	}
	assert_sample(scrape(), "up", 1);
	stop_server(SIGTERM); /* in the middle of theirs */
	for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
		close(open[i]);
}
END_TEST

/* --- flags ---------------------------------------------------------------------------------------- */

static const struct {
	const char *listen;
	int status;
	const char *part;
} wrong[] = {
	{ "9464", STATUS_USAGE, "must be HOST:PORT" },
	{ ":9464", STATUS_USAGE, "must be HOST:PORT" },
	{ "127.0.0.1:", STATUS_USAGE, "must be HOST:PORT" },
	{ "127.0.0.1:65536", STATUS_USAGE, "must be HOST:PORT" },
	{ "127.0.0.1:http", STATUS_USAGE, "must be HOST:PORT" },
	{ "::1:9464", STATUS_USAGE, "must be HOST:PORT" },
	{ "[]:9464", STATUS_USAGE, "must be HOST:PORT" },
	{ "256.0.0.1:9464", STATUS_FAILED, "256.0.0.1:9464: " },
	{ "192.0.2.1:9464", STATUS_FAILED, "Cannot assign requested address" },
};

START_TEST(an_address_that_is_none_is_refused)
{
	struct said said = CLI(&fleet.flotilla, "metrics", "--listen", wrong[_i].listen);

	ck_assert_int_eq(said.status, wrong[_i].status);
	ck_assert_has(said.err, wrong[_i].part);
	ck_assert_str_eq(said.out, "");
}
END_TEST

START_TEST(a_port_in_use_is_said)
{
	const char *port = strrchr(url, ':') + 1;
	struct said said = CLI(&fleet.flotilla, "metrics", "--listen",
	    arena_printf(fleet.arena, "127.0.0.1:%.*s", (int)strcspn(port, "/"), port));

	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_has(said.err, "Address already in use");
}
END_TEST

START_TEST(json_is_tops)
{
	struct said said = CLI(&fleet.flotilla, "metrics", "--once", "--json");

	ck_assert_int_eq(said.status, STATUS_USAGE);
	ck_assert_has(said.err, "flotilla top --once --json");
}
END_TEST

TCase *
tcase_metrics(void)
{
	TCase *tc = tcase_create("metrics");

	tcase_set_timeout(tc, 60);
	tcase_add_unchecked_fixture(tc, start_fleet, stop_fleet);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_runs_did_is_counted);
	tcase_add_test(tc, what_goes_on_is_told);
	tcase_add_test(tc, once_prints_what_is_served);
	tcase_add_test(tc, a_broker_that_stands_still_is_told_as_down);
	tcase_add_test(tc, a_broker_that_is_started_anew_counts_from_nothing);
	tcase_add_test(tc, a_redis_that_goes_away_is_told_as_down_until_it_is_back);
	tcase_add_test(tc, a_fleet_that_is_not_there_is_told_with_a_status);
	tcase_add_test(tc, other_paths_and_methods_are_refused);
	tcase_add_test(tc, many_who_ask_at_once_are_all_answered);
	tcase_add_test(tc, who_behaves_badly_disturbs_nobody);
	tcase_add_loop_test(
	    tc, an_address_that_is_none_is_refused, 0, sizeof wrong / sizeof wrong[0]);
	tcase_add_test(tc, a_port_in_use_is_said);
	tcase_add_test(tc, json_is_tops);
	return tc;
}
