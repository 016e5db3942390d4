#include "mcp_http.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "memory.h"
#include "sse.h"
#include "utf8.h"

#define SESSION_HEADER "Mcp-Session-Id"
#define TELL_MS 2000u
#define SHOWN_BYTES 300
#define OWN_HEADERS 5u

struct mcp_http {
	struct mcp_link link; /* first */
	struct loop *loop;
	struct http *http;
	const struct mcp_options *options;
	char *session;    /* or NULL */
	unsigned changes; /* of session */
};

/* The answer to one POST, while it comes. */
struct incoming {
	struct mcp_http *http;
	struct mcp_exchange *exchange;
	bool has_begun, is_stream;
	struct sse sse;
	struct packet body; /* when it is no stream */
};

static struct mcp_http *
of(struct mcp_link *link)
{
	return (struct mcp_http *)(void *)link;
}

/* --- sending ---------------------------------------------------------------------------- */

static const char *const *
lines_of(const struct mcp_http *http, struct arena *arena)
{
	const char *const *given = http->options->headers;
	size_t count = 0;
	const char **lines;

	while (given != NULL && given[count] != NULL)
		count++;
	lines = arena_alloc(arena, (count + OWN_HEADERS) * sizeof *lines);
	if (count > 0)
		memcpy(lines, given, count * sizeof *lines);
	lines[count++] = "Content-Type: application/json";
	lines[count++] = "Accept: application/json, text/event-stream";
	if (http->link.revision[0] != '\0')
		lines[count++] =
		    arena_printf(arena, "MCP-Protocol-Version: %s", http->link.revision);
	if (http->session != NULL)
		lines[count++] =
		    arena_printf(arena, SESSION_HEADER ": %s", http->session);
	return lines;
}

static struct http_request
request_of(const struct mcp_http *http, struct arena *arena, const char *method,
    const char *text, uint64_t left_ms)
{
	return (struct http_request){
		.method = method,
		.url = http->options->url,
		.headers = lines_of(http, arena),
		.body = text,
		.body_size = strlen(text),
		.timeout_ms = left_ms,
		.body_bytes_max = HTTP_BODY_BYTES_MAX,
		.header = SESSION_HEADER,
	};
}

/* Nothing is to come back. Also of a fiber that was cancelled. */
static void
send_only(struct mcp_http *http, const char *method, const char *text)
{
	struct arena *arena = arena_new();
	struct http_request request = request_of(http, arena, method, text, TELL_MS);
	struct http_response response;

	fiber_shield(true);
	http_send(http->http, arena, &request, &response);
	fiber_shield(false);
	arena_destroy(&arena);
}

static void
tell_http(struct mcp_link *link, const char *text)
{
	send_only(of(link), "POST", text);
}

/* --- what comes ------------------------------------------------------------------------- */

static void
on_response(void *arg, int64_t id, const struct value *message)
{
	struct mcp_exchange *exchange = ((struct incoming *)arg)->exchange;

	if (id == exchange->id && exchange->response == NULL)
		exchange->response = value_copy(exchange->arena, message);
}

/* Each answer may take its time: not of one for whom nobody waits any more. */
static void
on_request(void *arg, const char *answer)
{
	struct incoming *incoming = arg;

	if (!fiber_cancelled() &&
	    loop_now_ms(incoming->http->loop) < incoming->exchange->end_ms)
		send_only(incoming->http, "POST", answer);
}

static void
take_json(struct incoming *incoming, const char *data, size_t size)
{
	static const struct mcp_takers takers = { on_response, on_request };

	mcp_link_take(&incoming->http->link, incoming->http->options->name, data, size,
	    &takers, incoming);
}

static int
on_event(void *arg, const char *event, const char *data, size_t size)
{
	if (strcmp(event, "message") == 0 && size > 0)
		take_json(arg, data, size);
	return 0;
}

/* A JSON body begins with a brace, and no line of a stream does. */
static void
begin(struct incoming *incoming, char first)
{
	incoming->has_begun = true;
	incoming->is_stream = first != '{' && first != '[';
	if (incoming->is_stream)
		sse_init(&incoming->sse, on_event, incoming);
}

static int
on_data(void *arg, const char *data, size_t size)
{
	struct incoming *incoming = arg;

	while (!incoming->has_begun && size > 0 && isspace((unsigned char)*data)) {
		data++;
		size--;
	}
	if (size == 0)
		return 0;
	if (!incoming->has_begun)
		begin(incoming, *data);
	if (incoming->is_stream)
		return sse_feed(&incoming->sse, data, size) == -1 ? -1
		       : incoming->exchange->response != NULL     ? 1
								  : 0;
	if (incoming->body.size + size > MCP_MESSAGE_BYTES_MAX)
		return -1;
	packet_append(&incoming->body, data, size);
	return 0;
}

static void
end(struct incoming *incoming)
{
	if (incoming->is_stream) {
		if (incoming->exchange->response == NULL)
			sse_end(&incoming->sse);
		sse_release(&incoming->sse);
	} else if (incoming->body.size > 0) {
		take_json(incoming, incoming->body.data, incoming->body.size);
	}
	packet_release(&incoming->body);
}

/* --- what went wrong -------------------------------------------------------------------- */

static const struct fault *
status_fault(const struct mcp_http *http, struct arena *arena,
    const struct http_response *response)
{
	const char *to = response->location, *text = response->body;
	struct fault *fault;
	size_t size;

	/* Without its query, which may be where keys are. */
	if (to != NULL)
		text = arena_printf(arena,
		    "it redirects to %.*s, which is not followed; write that as its url",
		    (int)strcspn(to, "?"), to);
	text = utf8_repair(arena, text, strlen(text), &size);
	fault = fault_new(arena, "ConnectionError",
	    "the MCP server %s answers with HTTP status %ld%s%.*s", http->options->name,
	    response->status, *text == '\0' ? "" : ": ",
	    (int)utf8_prefix(text, size, SHOWN_BYTES), text);
	fault->retryable =
	    response->status >= 500 || response->status == 408 || response->status == 429;
	fault->retry_after_ms = response->retry_after_ms;
	return fault;
}

static const struct fault *
fault_of(const struct mcp_http *http, struct arena *arena,
    const struct http_response *response)
{
	const char *name = http->options->name;

	if (fiber_cancelled()) /* also behind a body that has all come */
		return fault_cancelled(arena);
	switch (response->failure) {
	case HTTP_CANCELLED:
		return fault_cancelled(arena);
	case HTTP_TIMEOUT:
		return fault_new(arena, "TimeoutError",
		    "the MCP server %s did not answer in time", name);
	case HTTP_ABORTED:
	case HTTP_TOO_LARGE:
		return fault_new(arena, "ConnectionError",
		    "the MCP server %s sent a message that is too large", name);
	case HTTP_CONNECTION:
		return fault_new(arena, "ConnectionError", "the MCP server %s: %s", name,
		    response->reason);
	case HTTP_OK:
	default:
		break;
	}
	if (response->status > 299)
		return status_fault(http, arena, response);
	return fault_new(arena, "ConnectionError",
	    "the MCP server %s has not answered the request", name);
}

/* --- exchanges -------------------------------------------------------------------------- */

static void
set_session(struct mcp_http *http, const char *session)
{
	if (http->session != NULL && session != NULL &&
	    strcmp(http->session, session) == 0)
		return;
	free(http->session);
	http->session = session == NULL ? NULL : xstrdup(session);
	http->changes++;
}

/* The server does not know the session that a request had. */
static void
on_refused(struct mcp_http *http, unsigned changes)
{
	const struct mcp_hearer *hearer = &http->link.hearer;

	if (changes != http->changes)
		return; /* another one has seen it before */
	set_session(http, NULL);
	hearer->on_lost(hearer->arg, "has ended its session");
}

/* Whether the server says that it knows no such session. 404 is what the protocol wants; servers made after
 * the SDK's samples, and the SDK's own behind a restart, say 400 with a text. */
static bool
knows_no_session(const struct http_response *response)
{
	if (response->failure != HTTP_OK)
		return false;
	return response->status == 404 ||
	       (response->status == 400 &&
		   (strcasestr(response->body, "session") != NULL ||
		       strcasestr(response->body, "not initialized") != NULL));
}

static void
exchange_http(struct mcp_link *link, struct mcp_exchange *exchange)
{
	struct mcp_http *http = of(link);
	uint64_t now_ms = loop_now_ms(http->loop);
	struct incoming incoming = { .http = http, .exchange = exchange };
	bool has_session = http->session != NULL;
	unsigned changes = http->changes;
	struct http_request request = request_of(http, exchange->arena, "POST",
	    exchange->text, exchange->end_ms > now_ms ? exchange->end_ms - now_ms : 1);
	struct http_response response;

	request.on_data = on_data;
	request.arg = &incoming;
	http_send(http->http, exchange->arena, &request, &response);
	end(&incoming);
	if (exchange->response == NULL) {
		exchange->fault = fault_of(http, exchange->arena, &response);
		exchange->was_refused = has_session && knows_no_session(&response);
		if (exchange->was_refused)
			on_refused(http, changes);
	} else if (response.header != NULL) {
		set_session(http, response.header);
	}
}

/* Its session is of no use any more. */
static void
close_http(struct mcp_link **link_p)
{
	struct mcp_http *http = of(*link_p);

	*link_p = NULL;
	if (http->session != NULL)
		send_only(http, "DELETE", "");
	free(http->session);
	free(http);
}

static const struct mcp_link_type type = { exchange_http, tell_http, NULL, close_http };

struct mcp_link *
mcp_http_open(struct loop *loop, struct http *http, const struct mcp_options *options,
    const struct mcp_hearer *hearer)
{
	struct mcp_http *link = xcalloc(1, sizeof *link);

	link->link = (struct mcp_link){ .type = &type, .hearer = *hearer };
	link->loop = loop;
	link->http = http;
	link->options = options;
	return &link->link;
}
