/* What a request counts for: whose it is, and what is held of its body, and of what was made of that. */
#include "http_server_private.h"

/* Of nobody's there is no bound but that of all. */
static bool
has_room(const struct request *request, size_t size)
{
	size_t most = request->server->options.bodies_bytes_max;

	return request->server->bodies_bytes + size <= most &&
	       (request->own_bodies == NULL || *request->own_bodies + size <= most / 2);
}

bool
request_count(struct request *request, size_t size)
{
	if (!has_room(request, size)) {
		request_answer_text(request, MHD_HTTP_SERVICE_UNAVAILABLE, HTTP_TOO_MUCH);
		return false;
	}
	request->server->bodies_bytes += size;
	if (request->own_bodies != NULL)
		*request->own_bodies += size;
	request->counted += size;
	return true;
}

void
request_uncount(struct request *request)
{
	request->server->bodies_bytes -= request->counted;
	if (request->own_bodies != NULL)
		*request->own_bodies -= request->counted;
	request->counted = 0;
}

bool
exchange_hold(struct exchange *exchange, size_t size)
{
	return request_count(request_of(exchange), size);
}

void
exchange_keep(struct exchange *exchange, size_t size)
{
	struct request *request = request_of(exchange);

	request->server->answers_bytes -= request->kept;
	request->kept = size > HTTP_STREAM_BYTES_MAX ? size : 0;
	request->server->answers_bytes += request->kept;
}

void
exchange_counts_for(struct exchange *exchange, void *whose, size_t *bodies_bytes)
{
	request_of(exchange)->whose = whose;
	request_of(exchange)->own_bodies = bodies_bytes;
}

void *
exchange_whose(const struct exchange *exchange)
{
	return request_of(exchange)->whose;
}
