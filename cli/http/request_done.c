/* What is told of a request that is over. */
#include <stdlib.h>
#include <string.h>

#include "http_server_private.h"
#include "memory.h"

#define METHOD_BYTES 32u

/* No more than that of what may be long, for streams are many. */
static char *
first_bytes(const char *text, size_t most)
{
	size_t size = strnlen(text, most);
	char *copy = xcalloc(1, size + 1);

	memcpy(copy, text, size);
	return copy;
}

void
request_keep(struct request *request)
{
	if (request->server->options.on_done == NULL)
		return;
	request->came_ms = loop_now_ms(request->server->loop);
	request->method = first_bytes(request->exchange.method, METHOD_BYTES);
	request->path = first_bytes(request->exchange.path, HTTP_DONE_PATH_BYTES);
}

/* Of an answer in one piece it is not seen how much was taken. */
static uint64_t
bytes_of(const struct request *request)
{
	if (request->is_stream)
		return request->sent;
	if (!request->is_whole || strcmp(request->method, MHD_HTTP_METHOD_HEAD) == 0)
		return 0;
	return request->answered;
}

void
request_tell_done(struct request *request)
{
	const struct http_server *server = request->server;

	if (server->options.on_done == NULL)
		return;
	server->options.on_done(server->options.arg,
	    &(struct http_done){ .method = request->method,
		.path = request->path,
		.kind = request->kind,
		.whose = request->whose,
		.status =
		    request->is_gone || request->response == NULL ? 0 : request->status,
		.ms = loop_now_ms(server->loop) - request->came_ms,
		.bytes = bytes_of(request),
		.is_whole = request->is_whole });
	free(request->method);
	free(request->path);
}

void
exchange_is_of(struct exchange *exchange, unsigned kind)
{
	request_of(exchange)->kind = kind;
}

void
http_server_count(
    const struct http_server *server, size_t *requests_r, size_t *connections_r)
{
	const struct request *request;
	const struct visitor *visitor;

	*requests_r = *connections_r = 0;
	TAILQ_FOREACH(request, &server->requests, link)
		++*requests_r;
	TAILQ_FOREACH(visitor, &server->visitors, link)
		++*connections_r;
}
