#include "provider_exchange.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "bedrock.h"
#include "bounds.h"
#include "json.h"
#include "provider_error.h"
#include "provider_fault.h"
#include "without_key.h"

/* What a request and its answer are handled with. */
struct exchange {
	const struct dialect *dialect;
	const struct endpoint *endpoint;
	const struct ask *ask;
	struct answer_stream *stream; /* of a streamed answer */
};

/* --- bodies ------------------------------------------------------------------------ */

/* Bodies are written into one buffer whose room stays. A long one is sent from there, and brings its room back:
 * what malloc gives that is so long are fresh pages, each of which costs a fault, and it gives them back
 * at once. A short one is copied, so that a thousand that wait for answers hold no more than they are. */
#define LONG_BYTES ((size_t)64 << 10)
#define SPARE_BYTES_MAX ((size_t)4 << 20)
static struct packet spare;

static void
keep_room(struct packet *packet)
{
	if (packet->room > spare.room && packet->room <= SPARE_BYTES_MAX) {
		packet_release(&spare);
		spare = *packet;
	} else {
		packet_release(packet);
	}
	*packet = (struct packet){ 0 };
}

static void
write_json(struct packet *body, const struct value *request)
{
	struct packet text = spare;

	spare = (struct packet){ 0 };
	text.size = 0;
	json_write(&text, request);
	if (text.size >= LONG_BYTES) {
		*body = text;
		return;
	}
	packet_copy(body, text.data, text.size);
	keep_room(&text);
}

/* Writes the request's JSON. What it is made of is gone when this returns. Returns 0, or -1 with
 * *fault_r. */
static int
write_body(const struct exchange *exchange, struct packet *body, struct fault **fault_r)
{
	struct ask scratch = *exchange->ask;
	const struct value *request;
	const char *error = NULL;

	scratch.arena = arena_new();
	request =
	    exchange->dialect->request(&scratch, exchange->ask->tokens != NULL, &error);
	if (request != NULL) {
		write_json(body, request);
	} else {
		*fault_r = fault_new(exchange->ask->arena, "ValueError", "%s", error);
		(*fault_r)->retryable = false;
	}
	arena_destroy(&scratch.arena);
	return request == NULL ? -1 : 0;
}

/* --- what came ------------------------------------------------------------------------ */

/* A server's own page in an API's place: mostly the URL is another one. */
static bool
is_page(const struct http_response *response)
{
	return response->content_type != NULL &&
	       strncasecmp(response->content_type, "text/html", strlen("text/html")) == 0;
}

static struct fault *
page_fault(const struct exchange *exchange)
{
	return provider_fault_unreadable(exchange->ask->arena, exchange->endpoint->name,
	    "it is a web page (text/html); does the provider's URL lead to its API?");
}

/* The fault of a status that is none of an answer. */
static struct fault *
refusal(const struct exchange *exchange, const struct http_response *response)
{
	struct arena *arena = exchange->ask->arena;
	const char *name = exchange->endpoint->name;

	if (response->failure == HTTP_TOO_LARGE)
		return provider_fault_status(arena, name, response->status,
		    "more than can be read", response->retry_after_ms);
	if (response->location != NULL)
		return provider_fault_status(arena, name, response->status,
		    arena_printf(arena,
			"redirects are not followed; let the provider's URL lead where "
			"this one does: %s",
			response->location),
		    response->retry_after_ms);
	if (exchange->dialect->refusal != NULL)
		return exchange->dialect->refusal(arena, name, response);
	return provider_refusal(
	    arena, name, response->status, response->body, response->retry_after_ms);
}

/* --- plain ------------------------------------------------------------------------- */

static const struct value *
read_answer(const struct exchange *exchange, const struct http_response *response,
    struct fault **fault_r)
{
	struct arena *arena = exchange->ask->arena;
	const char *name = exchange->endpoint->name, *error = NULL;
	const struct value *message = NULL;
	const struct value *body =
	    json_parse(arena, response->body, response->body_size, &error);

	if (body != NULL) {
		*fault_r = provider_hidden_error(arena, name, body);
		if (*fault_r != NULL)
			return NULL;
		message = exchange->dialect->answer(arena, body, &error);
	}
	if (message == NULL)
		*fault_r = is_page(response)
			       ? page_fault(exchange)
			       : provider_fault_unreadable(arena, name, error);
	return message;
}

/* Returns true when response brought an answer, else *fault_r is set. */
static bool
is_answer(const struct exchange *exchange, const struct http_response *response,
    struct fault **fault_r)
{
	struct arena *arena = exchange->ask->arena;
	const char *name = exchange->endpoint->name;

	bool is_good = response->status >= 200 && response->status <= 299;

	if (response->failure == HTTP_OK && is_good)
		return true;
	/* Of a refusal the status says enough, though its reason may not have come. */
	if (response->failure == HTTP_OK ||
	    (response->status > 299 && response->failure != HTTP_CANCELLED))
		*fault_r = refusal(exchange, response);
	else
		*fault_r =
		    provider_fault_http(arena, name, response->failure, response->reason);
	return false;
}

static const struct value *
send_plain(const struct exchange *exchange, const struct http_request *request,
    struct fault **fault_r)
{
	struct http_response response;

	http_send(exchange->endpoint->http, exchange->ask->arena, request, &response);
	if (!is_answer(exchange, &response, fault_r))
		return NULL;
	return read_answer(exchange, &response, fault_r);
}

/* --- streamed ---------------------------------------------------------------------- */

static void
on_text(void *arg, const char *text, size_t size)
{
	tokens_add(arg, text, size);
}

static void
on_break(void *arg)
{
	tokens_break(arg);
}

static int
on_data(void *arg, const char *data, size_t size)
{
	struct answer_stream *stream = arg;

	if (answer_stream_feed(stream, data, size) == -1)
		return -1;
	return stream->done ? 1 : 0;
}

static const struct value *
end_stream(const struct exchange *exchange, const struct http_response *response,
    struct fault **fault_r)
{
	struct answer_stream *stream = exchange->stream;
	bool cut = response->failure != HTTP_OK;
	const struct value *message;

	if (response->failure == HTTP_ABORTED && stream->fault != NULL) {
		*fault_r = stream->fault;
		return NULL;
	}
	/* A server that hangs up rudely behind the end, or not at all, has said all there is. */
	if (cut && response->failure != HTTP_CANCELLED &&
	    stream->type->is_complete(stream))
		return answer_stream_end(stream, fault_r);
	if (!is_answer(exchange, response, fault_r))
		return NULL;
	message = answer_stream_end(stream, fault_r);
	if (message == NULL && is_page(response))
		*fault_r = page_fault(exchange);
	return message;
}

static const struct value *
send_streamed(
    struct exchange *exchange, struct http_request *request, struct fault **fault_r)
{
	const struct endpoint *endpoint = exchange->endpoint;
	const struct ask *ask = exchange->ask;
	struct http_response response;
	const struct value *message;

	exchange->stream =
	    answer_stream_open(exchange->dialect->stream, ask->arena, endpoint->name);
	exchange->stream->on_text = on_text;
	exchange->stream->on_break = on_break;
	exchange->stream->arg = ask->tokens;
	request->on_data = on_data;
	request->arg = exchange->stream;
	request->first_byte_timeout_ms = endpoint->first_byte_timeout_ms;
	request->idle_timeout_ms = endpoint->idle_timeout_ms;
	if (exchange->dialect->begins_early &&
	    request->idle_timeout_ms < endpoint->first_byte_timeout_ms)
		request->idle_timeout_ms = endpoint->first_byte_timeout_ms;
	request->body_bytes_max = HTTP_BODY_BYTES_MAX;
	http_send(endpoint->http, ask->arena, request, &response);
	message = end_stream(exchange, &response, fault_r);
	answer_stream_close(exchange->stream);
	return message;
}

/* --- both ---------------------------------------------------------------------------- */

uint64_t
provider_timeout_ms(const struct value *settings, uint64_t otherwise_ms)
{
	double seconds = value_get_number(settings, "request_timeout", 0);

	seconds = value_get_number(settings, "timeout", seconds);
	/* However little is a time: 0 were none. */
	return seconds > 0 && seconds < 1e9 ? (uint64_t)ceil(seconds * 1000)
					    : otherwise_ms;
}

static const char *
accepted(const struct exchange *exchange)
{
	const char *form = exchange->dialect->stream_form;

	if (exchange->ask->tokens == NULL)
		return "Accept: application/json";
	return form == NULL ? "Accept: text/event-stream"
			    : arena_printf(exchange->ask->arena, "Accept: %s", form);
}

static void
fill_headers(
    const struct exchange *exchange, const struct packet *body, const char *headers[])
{
	size_t count = 0;

	headers[count++] = "Content-Type: application/json";
	headers[count++] = accepted(exchange);
	count += exchange->dialect->headers(
	    exchange->endpoint, exchange->ask, body, headers + count);
	headers[count] = NULL;
}

static const struct value *
send_body(struct exchange *exchange, const struct packet *body, struct fault **fault_r)
{
	const struct endpoint *endpoint = exchange->endpoint;
	const struct ask *ask = exchange->ask;
	const char *headers[DIALECT_HEADERS_MAX + 3];
	struct http_request request = {
		.method = "POST",
		.url = endpoint->url,
		.headers = headers,
		.body = body->data,
		.body_size = body->size,
		.connect_timeout_ms = endpoint->connect_timeout_ms,
		.timeout_ms =
		    provider_timeout_ms(ask->settings, endpoint->answer_timeout_ms),
		.body_bytes_max = ANSWER_BYTES_MAX,
		.header = exchange->dialect->error_header,
	};

	fill_headers(exchange, body, headers);
	return ask->tokens == NULL ? send_plain(exchange, &request, fault_r)
				   : send_streamed(exchange, &request, fault_r);
}

/* Who counts tokens asks whose count it is: by the name that agents write. */
static const struct value *
said_by(struct arena *arena, const struct value *message, const char *name)
{
	const struct value *metadata = value_get(message, "response_metadata");

	return value_map_with(arena, message, "response_metadata",
	    value_map_with(arena, metadata, "model_provider", value_str(arena, name)));
}

const struct value *
provider_exchange(const struct dialect *dialect, const struct endpoint *endpoint,
    const struct ask *ask, struct fault **fault_r)
{
	struct exchange exchange = {
		.dialect = dialect, .endpoint = endpoint, .ask = ask
	};
	const struct value *message = NULL;
	struct packet body = { 0 };

	if (write_body(&exchange, &body, fault_r) == 0)
		message = send_body(&exchange, &body, fault_r);
	keep_room(&body);
	if (message != NULL)
		return said_by(ask->arena, message, endpoint->name);
	(*fault_r)->message = without_key(ask->arena, (*fault_r)->message, endpoint->key);
	if (endpoint->bedrock != NULL)
		(*fault_r)->message = without_key(
		    ask->arena, (*fault_r)->message, endpoint->bedrock->session);
	return NULL;
}
