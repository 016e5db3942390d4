/* provider_openai: OpenAI's chat completions, and the many servers that speak the same.
 */
#include "json.h"
#include "bounds.h"
#include "openai_answer.h"
#include "openai_request.h"
#include "openai_stream.h"
#include "provider.h"
#include "provider_fault.h"

#define HEADERS_MAX 4u

/* Writes the request's JSON. What it is made of is gone when this returns: the call may
 * wait for minutes, and holds only these bytes then. Returns 0, or -1 with *fault_r. */
static int
write_body(const struct ask *ask, struct packet *body, struct fault **fault_r)
{
	struct ask scratch = *ask;
	const struct value *request;
	const char *error = NULL;

	scratch.arena = arena_new();
	request = openai_request(&scratch, ask->tokens != NULL, &error);
	if (request != NULL) {
		json_write(body, request);
		packet_trim(body);
	} else {
		*fault_r = fault_new(ask->arena, "ValueError", "%s", error);
		(*fault_r)->retryable = false;
	}
	arena_destroy(&scratch.arena);
	return request == NULL ? -1 : 0;
}

static void
fill_headers(
    const char *headers[], const struct endpoint *endpoint, const struct ask *ask)
{
	size_t count = 0;

	headers[count++] = "Content-Type: application/json";
	headers[count++] = ask->tokens == NULL ? "Accept: application/json"
					       : "Accept: text/event-stream";
	if (endpoint->key != NULL)
		headers[count++] =
		    arena_printf(ask->arena, "Authorization: Bearer %s", endpoint->key);
	headers[count] = NULL;
}

/* --- plain ------------------------------------------------------------------------- */

static const struct value *
read_answer(const struct endpoint *endpoint, const struct ask *ask,
    const struct http_response *response, struct fault **fault_r)
{
	const char *error = NULL;
	const struct value *message = NULL;
	const struct value *body =
	    json_parse(ask->arena, response->body, response->body_size, &error);

	if (body != NULL) {
		*fault_r = openai_hidden_error(ask->arena, endpoint->name, body);
		if (*fault_r != NULL)
			return NULL;
		message = openai_answer(ask->arena, body, &error);
	}
	if (message == NULL)
		*fault_r = provider_fault_unreadable(ask->arena, endpoint->name, error);
	return message;
}

/* Returns true when response brought an answer, else *fault_r is set. */
static bool
is_answer(const struct endpoint *endpoint, const struct ask *ask,
    const struct http_response *response, struct fault **fault_r)
{
	if (response->failure != HTTP_OK)
		*fault_r = provider_fault_http(
		    ask->arena, endpoint->name, response->failure, response->reason);
	else if (response->status < 200 || response->status > 299)
		*fault_r = openai_refusal(ask->arena, endpoint->name, response->status,
		    response->body, response->retry_after_ms);
	else
		return true;
	return false;
}

static const struct value *
send_plain(const struct endpoint *endpoint, const struct ask *ask,
    const struct http_request *request, struct fault **fault_r)
{
	struct http_response response;

	http_send(endpoint->http, ask->arena, request, &response);
	if (!is_answer(endpoint, ask, &response, fault_r))
		return NULL;
	return read_answer(endpoint, ask, &response, fault_r);
}

/* --- streamed ---------------------------------------------------------------------- */

static void
on_text(void *arg, const char *text, size_t size)
{
	tokens_add(arg, text, size);
}

static int
on_data(void *arg, const char *data, size_t size)
{
	return openai_stream_feed(arg, data, size);
}

static const struct value *
end_stream(struct openai_stream *stream, const struct endpoint *endpoint,
    const struct ask *ask, const struct http_response *response, struct fault **fault_r)
{
	bool cut = response->failure != HTTP_OK;

	if (response->failure == HTTP_ABORTED && stream->fault != NULL) {
		*fault_r = stream->fault;
		return NULL;
	}
	/* A server that hangs up rudely behind the end has said all there is. */
	if (cut && response->failure != HTTP_CANCELLED && stream->done)
		return openai_stream_end(stream, fault_r);
	if (!is_answer(endpoint, ask, response, fault_r))
		return NULL;
	return openai_stream_end(stream, fault_r);
}

static const struct value *
send_streamed(const struct endpoint *endpoint, const struct ask *ask,
    struct http_request *request, struct fault **fault_r)
{
	struct openai_stream stream;
	struct http_response response;
	const struct value *message;

	openai_stream_init(&stream, ask->arena, endpoint->name);
	stream.on_text = on_text;
	stream.arg = ask->tokens;
	request->on_data = on_data;
	request->arg = &stream;
	request->first_byte_timeout_ms = endpoint->first_byte_timeout_ms;
	request->idle_timeout_ms = endpoint->idle_timeout_ms;
	request->body_bytes_max = HTTP_BODY_BYTES_MAX;
	http_send(endpoint->http, ask->arena, request, &response);
	message = end_stream(&stream, endpoint, ask, &response, fault_r);
	openai_stream_release(&stream);
	return message;
}

static const struct value *
send_body(const struct endpoint *endpoint, const struct ask *ask,
    const struct packet *body, struct fault **fault_r)
{
	const char *headers[HEADERS_MAX];
	struct http_request request = {
		.method = "POST",
		.url = endpoint->url,
		.headers = headers,
		.body = body->data,
		.body_size = body->size,
		.connect_timeout_ms = endpoint->connect_timeout_ms,
		.timeout_ms =
		    openai_timeout_ms(ask->settings, endpoint->answer_timeout_ms),
		.body_bytes_max = ANSWER_BYTES_MAX,
	};

	fill_headers(headers, endpoint, ask);
	return ask->tokens == NULL ? send_plain(endpoint, ask, &request, fault_r)
				   : send_streamed(endpoint, ask, &request, fault_r);
}

static const struct value *
openai_send(
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	const struct value *message = NULL;
	struct packet body = { 0 };

	if (write_body(ask, &body, fault_r) == 0)
		message = send_body(endpoint, ask, &body, fault_r);
	packet_release(&body);
	if (message == NULL)
		(*fault_r)->message =
		    without_key(ask->arena, (*fault_r)->message, endpoint->key);
	return message;
}

const struct provider provider_openai = { .name = "openai", .send = openai_send };
