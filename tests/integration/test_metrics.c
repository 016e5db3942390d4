/* `flotilla metrics` on a fleet of two brokers, asked over HTTP. */
#include <arpa/inet.h>
#include <check.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../cli/command.h"
#include "bounds.h"
#include "has.h"
#include "metrics_bench.h"

TCase *tcase_metrics(void);

static struct fleet_up *const fleet = &metrics_bench.fleet;

/* --- counts ----------------------------------------------------------------------------------- */

static void
submit(const char *agent, int status)
{
	struct said said = CLI(&fleet->flotilla, "submit", agent, "Hi", "--wait");

	ck_assert_msg(said.status == status, "%s: %s", agent, said.err);
}

START_TEST(what_runs_did_is_counted)
{
	const char *before = metrics_scrape(), *after;
	double called = metrics_sum(before, "calls_accepted_total");

	submit("quick", STATUS_OK);
	submit("quick", STATUS_OK);
	submit("broken", STATUS_FAILED);
	submit("careful", STATUS_INTERRUPTED);
	after = metrics_scrape();
	metrics_check(after, "up", 1);
	metrics_check(after, "runs_ended_total{status=\"success\"}",
	    metrics_sample(before, "runs_ended_total{status=\"success\"}") + 2);
	metrics_check(after, "runs_ended_total{status=\"error\"}",
	    metrics_sample(before, "runs_ended_total{status=\"error\"}") + 1);
	metrics_check(after, "runs_ended_total{status=\"interrupted\"}",
	    metrics_sample(before, "runs_ended_total{status=\"interrupted\"}") + 1);
	metrics_check(after, "threads{state=\"interrupted\"}",
	    metrics_sample(before, "threads{state=\"interrupted\"}") + 1);
	metrics_check(after, "runs_stored", metrics_sample(before, "runs_stored") + 4);
	/* A model call each, and more where the unlucky one was tried again. */
	ck_assert(metrics_sum(after, "calls_accepted_total") >= called + 4);
	ck_assert(metrics_sum(after, "calls_answered_total") >= 4);
	metrics_check(after, "slots{kind=\"worker-model\"}", 256);
	metrics_check(after, "inbox_submissions", 0);
	metrics_wait("service_workers{kind=\"tool\",service=\"tool:note\"}", 1);
	metrics_wait("processes{kind=\"broker\",state=\"ok\"}", 2); /* new ones recover */
}
END_TEST

#define COUNTED "{model=\"scripted:counted\""

/* Each coordinator tells once a second. Who has two runs has used twice as much. */
START_TEST(tokens_of_models_are_counted)
{
	const char *text;

	submit("counted", STATUS_OK);
	submit("quick", STATUS_OK);
	text = metrics_wait("model_tokens_total" COUNTED ",kind=\"input\"}", 700);
	submit("counted", STATUS_OK);
	text = metrics_wait("model_tokens_total" COUNTED ",kind=\"output\"}", 60);
	metrics_check(text, "model_tokens_total" COUNTED ",kind=\"input\"}", 1400);
	metrics_check(text, "model_answers_total" COUNTED "}", 2);
	metrics_check(text, "model_answers_untold_total" COUNTED "}", -1);
	ck_assert(
	    metrics_sample(text, "model_answers_untold_total{model=\"scripted:m\"}") > 0);
}
END_TEST

/* While a tool hangs. */
START_TEST(what_goes_on_is_told)
{
	struct said said = CLI(&fleet->flotilla, "submit", "hanger", "Hi");
	const char *run = arena_copy(fleet->arena, said.out, strcspn(said.out, "\n"));
	const char *text = metrics_wait("running_calls{kind=\"tool\"}", 1);

	metrics_check(text, "slots_used{kind=\"worker-tools\"}", 1);
	metrics_check(text, "threads{state=\"running\"}", 1);
	metrics_check(
	    text, "service_running_calls{kind=\"tool\",service=\"tool:hang\"}", 1);
	metrics_check(
	    text, "process_calls{kind=\"worker-tools\",process=\"worker-tools-1\"}", 1);
	ck_assert_ptr_nonnull(strstr(text, "\nflotilla_call_wait_seconds_bucket{"));
	ck_assert_ptr_null(strstr(text, run)); /* nor any other id */
	said = CLI(&fleet->flotilla, "cancel", run);
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	metrics_wait("threads{state=\"running\"}", 0);
	metrics_wait("run_seconds_count{status=\"cancelled\"}", 1);
}
END_TEST

/* Of the line's metric: a histogram's series have more behind its name. */
static size_t
name_size(const char *line)
{
	static const char *const ends[] = { "_seconds_bucket", "_seconds_sum",
		"_seconds_count" };
	size_t size = strcspn(line, "{ "), i, end_size;

	for (i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		end_size = strlen(ends[i]);
		if (size > end_size &&
		    strncmp(line + size - end_size, ends[i], end_size) == 0)
			return size - end_size + strlen("_seconds");
	}
	return size;
}

/* Each name has its TYPE before its first metrics_sample, and one. */
START_TEST(once_prints_what_is_served)
{
	struct said said = CLI(&fleet->flotilla, "metrics", "--once");
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
		    fleet->arena, "\n# TYPE %.*s ", (int)name_size(line), line);
		ck_assert_msg(
		    strstr(said.out, name) != NULL && strstr(said.out, name) < line,
		    "no %s", name);
	}
	metrics_check(said.out, "runs_ended_total{status=\"refused\"}",
	    metrics_sample(metrics_scrape(), "runs_ended_total{status=\"refused\"}"));
}
END_TEST

/* --- what goes away and comes back ----------------------------------------------------------------- */

START_TEST(a_broker_that_stands_still_is_told_as_down)
{
	pid_t broker = fleet_up_pid_of(fleet, "broker-1");
	const char *text;

	metrics_stop(SIGINT);
	metrics_serve("500");
	metrics_wait(metrics_of_broker("broker_up", 1), 1);
	kill(broker, SIGSTOP);
	text = metrics_wait(metrics_of_broker("broker_up", 1), 0);
	kill(broker, SIGCONT);
	metrics_check(text, metrics_of_broker("broker_up", 2), 1);
	metrics_check(text, "up", 1);
	metrics_check(text, "redis_up", 1);
	metrics_check(text, metrics_of_broker("calls_accepted_total", 1), -1);
	text = metrics_wait(metrics_of_broker("broker_up", 1), 1);
	ck_assert(
	    metrics_sample(text, metrics_of_broker("calls_accepted_total", 1)) >= 0);
}
END_TEST

START_TEST(a_broker_that_is_started_anew_counts_from_nothing)
{
	double runs =
	    metrics_sample(metrics_scrape(), "runs_ended_total{status=\"success\"}");
	double starts = metrics_sample(
	    metrics_scrape(), metrics_of_broker("broker_restarts_total", 2));
	const char *text;

	submit("quick", STATUS_OK);
	submit("quick", STATUS_OK);
	kill(fleet_up_pid_of(fleet, "broker-2"), SIGKILL);
	text = metrics_wait(metrics_of_broker("broker_restarts_total", 2), starts + 1);
	metrics_check(text, metrics_of_broker("broker_up", 2), 1);
	metrics_check(text, metrics_of_broker("calls_accepted_total", 2), 0);
	/* Redis's counts go on. */
	metrics_check(text, "runs_ended_total{status=\"success\"}", runs + 2);
	metrics_wait("processes{kind=\"broker\",state=\"ok\"}", 2);
	submit("quick", STATUS_OK);
	metrics_check(metrics_scrape(), "runs_ended_total{status=\"success\"}", runs + 3);
}
END_TEST

static pid_t
pid_of_redis(void)
{
	pid_t pids[32];
	size_t count = fleet_up_children(fleet, pids, 32), i;
	char name[64];

	for (i = 0; i < count; i++) {
		FILE *file = fopen(
		    arena_printf(fleet->arena, "/proc/%d/comm", (int)pids[i]), "re");
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
	double runs =
	    metrics_sample(metrics_scrape(), "runs_ended_total{status=\"success\"}");
	pid_t redis = pid_of_redis();
	const char *text;

	metrics_stop(SIGTERM);
	metrics_serve("500");
	kill(redis, SIGSTOP);
	text = metrics_wait("redis_up", 0);
	metrics_check(text, "up", 0);
	metrics_check(text, "runs_ended_total{status=\"success\"}", -1);
	metrics_check(text, metrics_of_broker("broker_up", 1), 1);
	kill(redis, SIGKILL);
	text = metrics_wait("redis_up", 1);
	metrics_check(text, "up", 1);
	metrics_check(text, "runs_ended_total{status=\"success\"}", runs);
}
END_TEST

START_TEST(a_fleet_that_is_not_there_is_told_with_a_status)
{
	struct said said = CLI(&fleet->flotilla, "metrics", "--once", "--wait-ms", "300",
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
	struct metrics_answer answer = metrics_ask(NULL, "/metrics");

	ck_assert_str_eq(answer.type, "text/plain; version=0.0.4; charset=utf-8");
	answer = metrics_ask("HEAD", "/metrics");
	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(answer.body, "");
	answer = metrics_ask(NULL, "/");
	ck_assert_int_eq(answer.status, 200);
	ck_assert_has(answer.body, "/metrics");
	ck_assert_int_eq(metrics_ask(NULL, "/metrics?name=x").status, 200);
	ck_assert_int_eq(metrics_ask(NULL, "/metrics/").status, 404);
	ck_assert_int_eq(metrics_ask(NULL, "/%2e%2e/etc/passwd").status, 404);
	answer = metrics_ask("POST", "/metrics");
	ck_assert_int_eq(answer.status, 405);
	ck_assert_has(answer.head, "Allow: GET, HEAD");
	ck_assert_int_eq(metrics_ask("DELETE", "/").status, 405);
}
END_TEST

static int
connect_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(metrics_bench.url, ':') + 1)),
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
	metrics_check(metrics_scrape(), "up", 1);
	metrics_stop(SIGTERM); /* in the middle of theirs */
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
	struct said said = CLI(&fleet->flotilla, "metrics", "--listen", wrong[_i].listen);

	ck_assert_int_eq(said.status, wrong[_i].status);
	ck_assert_has(said.err, wrong[_i].part);
	ck_assert_str_eq(said.out, "");
}
END_TEST

START_TEST(a_port_in_use_is_said)
{
	const char *port = strrchr(metrics_bench.url, ':') + 1;
	struct said said = CLI(&fleet->flotilla, "metrics", "--listen",
	    arena_printf(fleet->arena, "127.0.0.1:%.*s", (int)strcspn(port, "/"), port));

	ck_assert_int_eq(said.status, STATUS_FAILED);
	ck_assert_has(said.err, "Address already in use");
}
END_TEST

START_TEST(json_is_tops)
{
	struct said said = CLI(&fleet->flotilla, "metrics", "--once", "--json");

	ck_assert_int_eq(said.status, STATUS_USAGE);
	ck_assert_has(said.err, "flotilla top --once --json");
}
END_TEST

TCase *
tcase_metrics(void)
{
	TCase *tc = tcase_create("metrics");

	tcase_set_timeout(tc, 60);
	tcase_add_unchecked_fixture(tc, metrics_open, metrics_close);
	tcase_add_checked_fixture(tc, metrics_setup, metrics_teardown);
	tcase_add_test(tc, what_runs_did_is_counted);
	tcase_add_test(tc, tokens_of_models_are_counted);
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
