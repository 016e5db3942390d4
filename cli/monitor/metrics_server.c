#include "metrics_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bounds.h"
#include "fiber.h"
#include "http_server.h"
#include "log.h"
#include "memory.h"

#define PLAIN_TYPE "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Who has asked and is not answered yet. On his fiber's stack. */
struct question {
	TAILQ_ENTRY(question) link;
	struct exchange *exchange;
	struct fiber *fiber;
};

struct metrics_server {
	struct http_server *http;
	TAILQ_HEAD(, question) waiting;
	char *url;
	void (*on_wanted)(void *arg);
	void *arg;
};

static void
say(struct exchange *exchange, unsigned status, const char *text)
{
	exchange_answer(exchange, status, PLAIN_TYPE, text, strlen(text));
}

/* All but the metrics is answered at once. */
static void
on_head(void *arg, struct exchange *exchange)
{
	(void)arg;
	if (strcmp(exchange->method, "GET") != 0 &&
	    strcmp(exchange->method, "HEAD") != 0) {
		exchange_add_header(exchange, "Allow", "GET, HEAD");
		say(exchange, 405, "GET only.\n");
	} else if (strcmp(exchange->path, "/") == 0) {
		say(exchange, 200, "flotilla metrics: Prometheus scrapes /metrics\n");
	} else if (strcmp(exchange->path, "/metrics") != 0) {
		say(exchange, 404, "There is /metrics.\n");
	}
}

/* Waits for the next look: one answers all who have asked meanwhile. */
static void
on_request(void *arg, struct exchange *exchange)
{
	struct metrics_server *server = arg;
	struct question question = { .exchange = exchange, .fiber = fiber_current() };
	bool is_first = TAILQ_EMPTY(&server->waiting);

	TAILQ_INSERT_TAIL(&server->waiting, &question, link);
	if (is_first)
		server->on_wanted(server->arg);
	while (!exchange_is_answered(exchange) && fiber_wait() == 0)
		continue;
	if (!exchange_is_answered(exchange)) {
		TAILQ_REMOVE(&server->waiting, &question, link);
		say(exchange, 503, "It ends.\n");
	}
}

void
metrics_server_answer(struct metrics_server *server, const char *text)
{
	struct question *question;

	while ((question = TAILQ_FIRST(&server->waiting)) != NULL) {
		TAILQ_REMOVE(&server->waiting, question, link);
		if (text != NULL)
			exchange_answer(
			    question->exchange, 200, METRICS_TYPE, text, strlen(text));
		else
			say(question->exchange, 503, "It ends.\n");
		fiber_wake(question->fiber);
	}
}

struct metrics_server *
metrics_server_new(struct loop *loop, const char *where, void (*on_wanted)(void *arg),
    void *arg, const char **error_r, bool *is_usage_r)
{
	struct metrics_server *server = xcalloc(1, sizeof *server);
	const struct http_server_options options = {
		.listen = where,
		.connections_max = METRICS_CONNECTIONS_MAX,
		.head_bytes_max = METRICS_HEAD_BYTES_MAX,
		.idle_s = METRICS_IDLE_S,
		.request_ms = METRICS_REQUEST_MS,
		.on_head = on_head,
		.on_request = on_request,
		.arg = server,
	};

	server->on_wanted = on_wanted;
	server->arg = arg;
	TAILQ_INIT(&server->waiting);
	server->http = http_server_new(loop, &options, error_r, is_usage_r);
	if (server->http == NULL) {
		free(server);
		return NULL;
	}
	if (asprintf(
		&server->url, "http://%s/metrics", http_server_where(server->http)) == -1)
		fatal("no memory");
	return server;
}

void
metrics_server_destroy(struct metrics_server **server_p)
{
	struct metrics_server *server = *server_p;

	if (server == NULL)
		return;
	*server_p = NULL;
	http_server_destroy(&server->http);
	free(server->url);
	free(server);
}

const char *
metrics_server_url(const struct metrics_server *server)
{
	return server->url;
}
