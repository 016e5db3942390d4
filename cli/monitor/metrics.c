/* metrics: the fleet in Prometheus' words, once on stdout or over HTTP to who scrapes it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "command.h"
#include "fiber.h"
#include "look.h"
#include "memory.h"
#include "metrics_rows.h"
#include "metrics_server.h"
#include "notify.h"

struct metrics_settings {
	struct common_settings common;
	bool once;
	const char *listen;
	int64_t wait_ms;
};

#define SETTING(field) offsetof(struct metrics_settings, field)
static const struct setting metrics_settings_table[] = {
	COMMON_SETTINGS,
	{ "once", SETTING_BOOL, SETTING(once), NULL, 0, 0, NULL, "print once and end",
	    '1' },
	{ "listen", SETTING_TEXT, SETTING(listen), "127.0.0.1:9464", 0, 0, NULL,
	    "HOST:PORT to answer Prometheus at; port 0: any that is free", 0 },
	{ "wait-ms", SETTING_INTEGER, SETTING(wait_ms), "3000", 1, 60000, "ms",
	    "how long to wait for brokers and Redis; what has not answered by then is "
	    "told as down",
	    0 },
	SETTINGS_END,
};

struct metrics {
	struct session *session;
	const struct metrics_settings *settings;
	struct look *look;
	struct fiber *fiber; /* that answers */
	bool is_wanted;
};

/* Returns the text, in seen's arena, which the caller destroys; NULL when it was interrupted. */
static const char *
look_and_write(struct metrics *metrics, struct top_look *seen)
{
	struct loop *loop = session_loop(metrics->session);
	uint64_t begun_ms = loop_now_ms(loop);
	struct metrics_rows rows;

	if (look_take(metrics->look, (uint64_t)metrics->settings->wait_ms, seen) == -1)
		return NULL;
	metrics_rows_of(seen, loop_now_ms(loop) - begun_ms, &rows);
	return metrics_text(seen->arena, &rows);
}

/* The text is printed in any case: a file of it says that the fleet is down. */
static enum status
print_once(struct metrics *metrics)
{
	struct top_look seen;
	const char *text = look_and_write(metrics, &seen);
	enum status status = STATUS_FAILED;

	if (text != NULL) {
		fputs(text, stdout);
		status = look_judge(metrics->look, &seen);
	}
	arena_destroy(&seen.arena);
	return status;
}

/* --- over HTTP -------------------------------------------------------------------------- */

static void
on_wanted(void *arg)
{
	struct metrics *metrics = arg;

	metrics->is_wanted = true;
	fiber_wake(metrics->fiber);
}

static void
answer(struct metrics *metrics, struct metrics_server *server)
{
	struct top_look seen;
	const char *text;

	metrics->is_wanted = false;
	text = look_and_write(metrics, &seen);
	metrics_server_answer(server, text);
	arena_destroy(&seen.arena);
}

static enum status
serve(struct metrics *metrics)
{
	const char *where = metrics->settings->listen, *error;
	bool is_usage;
	struct metrics_server *server = metrics_server_new(
	    session_loop(metrics->session), where, on_wanted, metrics, &error, &is_usage);

	if (server == NULL) {
		complain("--listen %s: %s", where, error);
		return is_usage ? STATUS_USAGE : STATUS_FAILED;
	}
	printf("metrics at %s; Ctrl-C ends\n", metrics_server_url(server));
	fflush(stdout);
	notify("READY=1");
	while (metrics->is_wanted || fiber_wait() == 0)
		if (metrics->is_wanted)
			answer(metrics, server);
	metrics_server_destroy(&server);
	return STATUS_OK;
}

/* --- life ------------------------------------------------------------------------------- */

static void
on_terminate(uv_signal_t *handle, int number)
{
	struct fiber *fiber = handle->data;

	(void)number;
	if (fiber != NULL)
		fiber_cancel(fiber);
}

static void
on_closed(uv_handle_t *handle)
{
	free(handle);
}

static uv_signal_t *
mind_terminate(struct loop *loop)
{
	uv_signal_t *handle = xcalloc(1, sizeof *handle);

	uv_signal_init(loop_uv(loop), handle);
	handle->data = fiber_current();
	uv_signal_start(handle, on_terminate, SIGTERM);
	return handle;
}

static enum status
run_metrics(struct session *session, const void *given, const char *const *rest)
{
	struct metrics metrics = {
		.session = session, .settings = given, .fiber = fiber_current()
	};
	enum status status = STATUS_USAGE;
	uv_signal_t *terminate;

	(void)rest;
	if (session_json(session)) {
		complain("metrics are a text of Prometheus'; `flotilla top --once "
			 "--json` has the numbers as JSON");
		return STATUS_USAGE;
	}
	terminate = mind_terminate(session_loop(session));
	metrics.look = look_new(session);
	if (metrics.look != NULL)
		status = metrics.settings->once ? print_once(&metrics) : serve(&metrics);
	look_destroy(&metrics.look);
	terminate->data = NULL;
	uv_close((uv_handle_t *)terminate, on_closed);
	return status;
}

const struct command command_metrics = {
	.name = "metrics",
	.usage = "",
	.summary = "serves processes, queues, runs and Redis to Prometheus",
	.text =
	    "Answers GET /metrics until it is told to end (SIGTERM, Ctrl-C), or prints "
	    "the same text once. It looks when it is asked, and survives brokers and "
	    "a Redis that go away and come back.",
	.table = metrics_settings_table,
	.settings_size = sizeof(struct metrics_settings),
	.arguments_max = 0,
	.run = run_metrics,
};
