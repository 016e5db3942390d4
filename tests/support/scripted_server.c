#include "scripted_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include "json.h"
#include "scripted_bedrock.h"
#include "scripted_reply.h"
#include "scripted_sigv4.h"
#include "url.h"

#define REQUEST_BYTES_MAX (64 << 20)
#define FLUSH_MS 1u /* how often a cut looks whether all is written */

/* One reply being played. */
struct play {
	TAILQ_ENTRY(play) entries;
	struct scripted_server *server;
	struct evhttp_request *request;
	struct event *timer;
	struct arena *arena;
	struct scripted_reply reply;
	bool started;
	size_t sent;
};
TAILQ_HEAD(plays, play);

struct scripted_server {
	struct event_base *base;
	struct evhttp *http;
	uint16_t port;
	struct plays plays;
	struct arena *script_arena;
	const struct value *script; /* {model: [reply]} */
	size_t *played;             /* by the script's pairs: replies played */
	struct arena *log_arena;
	struct value_list log;
};

/* --- playing a reply --------------------------------------------------------------- */

static void
play_free(struct play *play)
{
	TAILQ_REMOVE(&play->server->plays, play, entries);
	event_free(play->timer);
	arena_destroy(&play->arena);
	free(play);
}

static void
play_after(struct play *play, uint64_t ms)
{
	struct timeval delay = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	event_add(play->timer, &delay);
}

/* Ends the play without an answer, or in the midst of one. */
static void
play_close(struct play *play)
{
	struct evhttp_connection *connection =
	    evhttp_request_get_connection(play->request);

	if (connection == NULL)
		evhttp_request_free(play->request); /* the client left: it is ours */
	else
		evhttp_connection_free(connection); /* takes the request with it */
	play_free(play);
}

static void
play_start(struct play *play)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(play->request);
	bool stream = strstr(play->reply.content_type, "stream") != NULL;
	char length[24];

	snprintf(length, sizeof length, "%zu", play->reply.body_size);
	evhttp_add_header(headers, "Content-Type", play->reply.content_type);
	if (!stream)
		evhttp_add_header(headers, "Content-Length", length);
	if (play->reply.retry_after != NULL)
		evhttp_add_header(headers, "Retry-After", play->reply.retry_after);
	if (play->reply.error_type != NULL)
		evhttp_add_header(headers, "x-amzn-ErrorType", play->reply.error_type);
	evhttp_send_reply_start(play->request, play->reply.status, NULL);
	play->started = true;
}

/* Sends the next piece of the body, up to end. */
static void
play_piece(struct play *play, size_t end)
{
	const struct scripted_reply *reply = &play->reply;
	struct evbuffer *buffer = evbuffer_new();
	size_t size = end - play->sent;

	if (reply->piece_bytes > 0 && size > reply->piece_bytes)
		size = reply->piece_bytes;
	evbuffer_add(buffer, reply->body + play->sent, size);
	evhttp_send_reply_chunk(play->request, buffer);
	evbuffer_free(buffer);
	play->sent += size;
}

static bool
is_flushed(struct evhttp_connection *connection)
{
	struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);

	return evbuffer_get_length(bufferevent_get_output(stream)) == 0;
}

/* The cut comes when what was to come before it is on its way. */
static void
play_cut(struct play *play)
{
	if (is_flushed(evhttp_request_get_connection(play->request)))
		play_close(play);
	else
		play_after(play, FLUSH_MS);
}

static void
on_play(evutil_socket_t fd, short what, void *arg)
{
	struct play *play = arg;
	bool cut = play->reply.cut_after >= 0;
	size_t end = cut ? (size_t)play->reply.cut_after : play->reply.body_size;

	(void)fd;
	(void)what;
	if (play->reply.drop || evhttp_request_get_connection(play->request) == NULL) {
		play_close(play);
		return;
	}
	if (!play->started)
		play_start(play);
	if (play->sent < end) {
		play_piece(play, end);
		play_after(play, play->sent < end ? play->reply.piece_delay_ms : 0);
	} else if (cut) {
		play_cut(play);
	} else {
		evhttp_send_reply_end(play->request);
		play_free(play);
	}
}

static struct play *
play_new(struct scripted_server *server, struct evhttp_request *request)
{
	struct play *play = calloc(1, sizeof *play);

	assert(play != NULL);
	play->server = server;
	play->request = request;
	play->arena = arena_new();
	play->timer = evtimer_new(server->base, on_play, play);
	TAILQ_INSERT_TAIL(&server->plays, play, entries);
	return play;
}

/* --- requests ---------------------------------------------------------------------- */

static struct packet
body_of(struct evhttp_request *request)
{
	struct evbuffer *buffer = evhttp_request_get_input_buffer(request);
	size_t size = evbuffer_get_length(buffer);
	struct packet body = { 0 };

	packet_append(&body, size > 0 ? (char *)evbuffer_pullup(buffer, -1) : "", size);
	return body;
}

static void
answer(struct evhttp_request *request, int status, const char *text)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *buffer = evbuffer_new();

	evhttp_add_header(headers, "Content-Type", "application/json");
	evbuffer_add(buffer, text, strlen(text));
	evhttp_send_reply(request, status, NULL, buffer);
	evbuffer_free(buffer);
}

/* NULL: the request has none of that name. */
static const struct value *
header(struct arena *arena, struct evkeyvalq *headers, const char *name)
{
	const char *text = evhttp_find_header(headers, name);

	return text == NULL ? NULL : value_str(arena, text);
}

static void
log_request(struct scripted_server *server, struct evhttp_request *request,
    const struct value *body)
{
	struct arena *arena = server->log_arena;
	struct evkeyvalq *headers = evhttp_request_get_input_headers(request);

	value_list_add(&server->log,
	    value_map(arena, "path", value_str(arena, evhttp_request_get_uri(request)),
		"authorization",
		value_str(arena, evhttp_find_header(headers, "Authorization")), "body",
		value_copy(arena, body), "x-api-key", header(arena, headers, "x-api-key"),
		"anthropic-version", header(arena, headers, "anthropic-version"),
		"anthropic-beta", header(arena, headers, "anthropic-beta"), "api-key",
		header(arena, headers, "api-key"), "x-amz-security-token",
		header(arena, headers, "x-amz-security-token"), "accept",
		header(arena, headers, "accept"), NULL));
}

/* Returns the model's next reply, or NULL with a reason. */
static const struct value *
next_reply(struct scripted_server *server, struct arena *arena, const char *model,
    const char **error_r)
{
	const struct value *script = server->script;

	for (size_t i = 0; model != NULL && i < value_size(script); i++) {
		const struct value *replies = script->pairs[i].value;

		if (!value_text_is(script->pairs[i].key, model))
			continue;
		if (server->played[i] < value_size(replies))
			return value_at(replies, server->played[i]++);
		*error_r =
		    arena_printf(arena, "the script of model '%s' has only %zu replies",
			model, value_size(replies));
		return NULL;
	}
	*error_r = arena_printf(
	    arena, "the script has no model '%s'", model == NULL ? "" : model);
	return NULL;
}

static void
set_nodelay(struct evhttp_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);

	setsockopt(bufferevent_getfd(stream), IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
	    sizeof(int));
}

/* --- Bedrock's --------------------------------------------------------------------- */

/* The body with what Bedrock's paths say of the request: ".../model/<id>/converse-stream". */
static const struct value *
with_path(struct arena *arena, const char *path, const struct value *body)
{
	const char *id = strstr(path, "/model/") + strlen("/model/");
	size_t size = strcspn(id, "/");

	body = value_map_with(
	    arena, body, "model", value_str(arena, url_decode(arena, id, size)));
	return value_map_with(arena, body, "stream",
	    value_bool(strcmp(id + size, "/converse-stream") == 0));
}

/* Returns what is wrong with who asks, or NULL. */
static const char *
stranger(struct arena *arena, struct evhttp_request *request, const struct packet *body)
{
	struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	const char *authorization = evhttp_find_header(headers, "Authorization");

	if (authorization != NULL && strncmp(authorization, "Bearer ", 7) == 0)
		return NULL;
	return scripted_sigv4_check(arena, headers, evhttp_request_get_uri(request),
	    body->data, body->size, SCRIPTED_AWS_SECRET, SCRIPTED_AWS_REGION, "bedrock");
}

static void
refuse_stranger(struct play *play, const char *reason)
{
	struct scripted_reply *reply = &play->reply;

	scripted_reply_error(play->arena, 403, reason, reply);
	reply->body = scripted_bedrock_error(play->arena, reason);
	reply->body_size = strlen(reply->body);
	reply->error_type = "InvalidSignatureException:http://internal.amazon.com/coral/";
}

/* --- all --------------------------------------------------------------------------- */

static void
on_chat(struct scripted_server *server, struct evhttp_request *request,
    enum scripted_words words)
{
	struct play *play = play_new(server, request);
	struct packet text = body_of(request);
	const char *error = NULL;
	const struct value *body = json_parse(play->arena, text.data, text.size, &error);
	const struct value *reply = NULL;
	const char *wrong =
	    words == WORDS_BEDROCK ? stranger(play->arena, request, &text) : NULL;

	packet_release(&text);
	if (body != NULL) {
		log_request(server, request, body);
		if (words == WORDS_BEDROCK)
			body =
			    with_path(play->arena, evhttp_request_get_uri(request), body);
		reply = next_reply(
		    server, play->arena, value_get_text(body, "model"), &error);
	}
	if (wrong != NULL)
		refuse_stranger(play, wrong);
	else if (reply != NULL)
		scripted_reply_make(play->arena, reply, body, words, &play->reply);
	else
		scripted_reply_error(play->arena, 400, error, &play->reply);
	set_nodelay(request);
	if (!play->reply.hang)
		play_after(play, play->reply.delay_ms);
}

static void
on_script(struct scripted_server *server, struct evhttp_request *request)
{
	struct arena *arena = arena_new();
	struct packet text = body_of(request);
	const char *error;

	if (scripted_server_load(server, arena, text.data, text.size, &error) == 0)
		answer(request, 200, "{}");
	else
		answer(request, 400,
		    json_text(
			arena, value_map(arena, "error", value_str(arena, error), NULL)));
	packet_release(&text);
	arena_destroy(&arena);
}

static void
on_get_requests(struct scripted_server *server, struct evhttp_request *request)
{
	struct arena *arena = arena_new();

	answer(request, 200,
	    json_text(arena, value_array(arena, server->log.items, server->log.count)));
	arena_destroy(&arena);
}

static void
on_delete_requests(struct scripted_server *server, struct evhttp_request *request)
{
	arena_destroy(&server->log_arena);
	server->log_arena = arena_new();
	server->log = (struct value_list){ .arena = server->log_arena };
	answer(request, 200, "{}");
}

/* Behind a path may be a query, Azure's. */
static bool
ends_with(const char *text, const char *end)
{
	size_t size = strcspn(text, "?"), end_size = strlen(end);

	return size >= end_size && memcmp(text + size - end_size, end, end_size) == 0;
}

static void
on_request(struct evhttp_request *request, void *arg)
{
	struct scripted_server *server = arg;
	enum evhttp_cmd_type method = evhttp_request_get_command(request);
	const char *path = evhttp_request_get_uri(request);

	if (method == EVHTTP_REQ_POST &&
	    (ends_with(path, "/chat/completions") || ends_with(path, "/moderations") ||
		ends_with(path, "/embeddings")))
		on_chat(server, request, WORDS_CHAT);
	else if (method == EVHTTP_REQ_POST && ends_with(path, "/v1/messages"))
		on_chat(server, request, WORDS_ANTHROPIC);
	else if (method == EVHTTP_REQ_POST && strstr(path, "/model/") != NULL)
		on_chat(server, request, WORDS_BEDROCK);
	else if (method == EVHTTP_REQ_POST && ends_with(path, "/responses"))
		on_chat(server, request, WORDS_RESPONSES);
	else if (method == EVHTTP_REQ_PUT && strcmp(path, "/script") == 0)
		on_script(server, request);
	else if (method == EVHTTP_REQ_GET && strcmp(path, "/requests") == 0)
		on_get_requests(server, request);
	else if (method == EVHTTP_REQ_DELETE && strcmp(path, "/requests") == 0)
		on_delete_requests(server, request);
	else
		answer(request, 404, "{\"error\":{\"message\":\"no such path\"}}");
}

/* --- the server -------------------------------------------------------------------- */

int
scripted_server_load(struct scripted_server *server, struct arena *arena,
    const char *text, size_t size, const char **error_r)
{
	struct arena *script_arena = arena_new();
	const char *error = NULL;
	const struct value *script = json_parse(script_arena, text, size, &error);

	if (!value_is(script, VALUE_MAP)) {
		*error_r = arena_strdup(
		    arena, error == NULL ? "the script is no object" : error);
		arena_destroy(&script_arena);
		return -1;
	}
	arena_destroy(&server->script_arena);
	server->script_arena = script_arena;
	server->script = script;
	server->played = arena_alloc(script_arena, value_size(script) * sizeof(size_t));
	return 0;
}

static uint16_t
bound_port(struct evhttp_bound_socket *bound)
{
	struct sockaddr_in address = { 0 };
	socklen_t size = sizeof address;

	if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address,
		&size) == -1)
		return 0;
	return ntohs(address.sin_port);
}

struct scripted_server *
scripted_server_new(struct event_base *base, uint16_t port)
{
	struct scripted_server *server = calloc(1, sizeof *server);
	struct evhttp_bound_socket *bound;

	assert(server != NULL);
	TAILQ_INIT(&server->plays);
	server->base = base;
	server->script = value_empty_map();
	server->log_arena = arena_new();
	server->log.arena = server->log_arena;
	server->http = evhttp_new(base);
	evhttp_set_max_body_size(server->http, REQUEST_BYTES_MAX);
	evhttp_set_gencb(server->http, on_request, server);
	bound = evhttp_bind_socket_with_handle(server->http, "127.0.0.1", port);
	if (bound == NULL)
		scripted_server_destroy(&server);
	else
		server->port = bound_port(bound);
	return server;
}

void
scripted_server_destroy(struct scripted_server **server_p)
{
	struct scripted_server *server = *server_p;
	struct play *play, *next;

	if (server == NULL)
		return;
	for (play = TAILQ_FIRST(&server->plays); play != NULL; play = next) {
		next = TAILQ_NEXT(play, entries);
		play_close(play);
	}
	evhttp_free(server->http);
	arena_destroy(&server->script_arena);
	arena_destroy(&server->log_arena);
	free(server);
	*server_p = NULL;
}

uint16_t
scripted_server_port(const struct scripted_server *server)
{
	return server->port;
}
