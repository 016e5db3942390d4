/* http_get: fetches a page, and not the machine's own network. */
#include <string.h>
#include <strings.h>

#include "address.h"
#include "header_line.h"
#include "tools.h"
#include "utf8.h"

#define HEADERS_MAX 32
#define BODY_BYTES_USUAL 100000
#define BODY_BYTES_LARGEST 1000000
#define BODY_BYTES_READ (8u << 20) /* of an answer that is cut, or an error's page */
#define GET_TIMEOUT_MS 30000u
#define TEXT(number) #number
#define DIGITS(number) TEXT(number)

/* One call. */
struct fetch {
	struct tool_request *request;
	struct arena *arena;
	size_t bytes_max;
	struct packet body; /* of a 2xx response, one byte over bytes_max at most */
	char refused[ADDRESS_TEXT_BYTES]; /* the address that was not opened, or "" */
};

/* --- what is asked ------------------------------------------------------------------ */

static bool
is_web_url(const char *url)
{
	const char *at;

	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return false;
	for (at = url; *at != '\0'; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return false;
	return true;
}

/* Returns header lines, or NULL with a reason. */
static const char *const *
header_lines(struct arena *arena, const struct value *headers, const char **error_r)
{
	const char **lines;
	size_t i, count = value_size(headers);

	lines = arena_alloc(arena, (count + 1) * sizeof *lines);
	for (i = 0; i < count; i++) {
		lines[i] = header_line(
		    arena, headers->pairs[i].key->text, headers->pairs[i].value, error_r);
		if (lines[i] == NULL)
			return NULL;
	}
	return lines;
}

/* --- what comes --------------------------------------------------------------------- */

static int
on_address(void *arg, const struct sockaddr *address)
{
	struct fetch *fetch = arg;

	if (tools_world()->allow_private || address_is_public(address))
		return 0;
	address_text(address, fetch->refused);
	return -1;
}

/* Takes one byte too many, which shows that there was more. */
static int
on_data(void *arg, const char *data, size_t size)
{
	struct fetch *fetch = arg;
	size_t room = fetch->bytes_max + 1 - fetch->body.size;

	packet_append(&fetch->body, data, size < room ? size : room);
	return size < room ? 0 : -1;
}

static bool
is_cut(const struct fetch *fetch)
{
	return fetch->body.size > fetch->bytes_max;
}

static const struct fault *
fault_of(struct fetch *fetch, const struct http_response *response)
{
	if (response->failure == HTTP_CANCELLED)
		return fault_cancelled(fetch->arena);
	if (fetch->refused[0] != '\0')
		return fault_new(fetch->arena, "ToolInvocationError",
		    "%s is a private or reserved address, and those are not opened; a "
		    "worker "
		    "started with --allow-private opens them",
		    fetch->refused);
	if (response->failure == HTTP_TIMEOUT)
		return fault_new(
		    fetch->arena, "TimeoutError", "no answer: %s", response->reason);
	return fault_new(
	    fetch->arena, "ConnectionError", "no answer: %s", response->reason);
}

static const char *
body_text(struct fetch *fetch, const struct http_response *response)
{
	bool is_streamed = fetch->body.size > 0;
	const char *bytes = is_streamed ? fetch->body.data : response->body;
	size_t size = is_streamed ? fetch->body.size : response->body_size;
	bool is_long = size > fetch->bytes_max;

	if (response->failure == HTTP_TOO_LARGE)
		return "[the body is too large to show]";
	if (size == 0)
		return "";
	if (memchr(bytes, '\0', size) != NULL)
		return "[the body is not text]";
	bytes =
	    arena_copy(fetch->arena, bytes, utf8_prefix(bytes, size, fetch->bytes_max));
	return !is_long ? bytes
			: arena_printf(fetch->arena, "%s\n[cut after %zu bytes]", bytes,
			      fetch->bytes_max);
}

/* Whatever the server sent, in its headers too, comes out as text. */
static const char *
answer_text(struct fetch *fetch, const struct http_response *response)
{
	const char *type = response->content_type, *location = response->location;
	const char *text = arena_printf(fetch->arena, "HTTP %ld%s%s%s%s\n\n%s",
	    response->status, type == NULL ? "" : " ", type == NULL ? "" : type,
	    location == NULL ? "" : "\nLocation (not followed): ",
	    location == NULL ? "" : location, body_text(fetch, response));
	size_t size;

	return utf8_repair(fetch->arena, text, strlen(text), &size);
}

static struct tool_result *
answer_of(struct fetch *fetch, const struct http_response *response)
{
	if (response->failure != HTTP_OK && !is_cut(fetch) &&
	    (response->failure != HTTP_TOO_LARGE || response->status == 0))
		return tool_fail(fetch->request, fault_of(fetch, response));
	return tool_answer(fetch->request, answer_text(fetch, response), "success");
}

static struct tool_result *
fetch_run(struct fetch *fetch, const char *url, const char *const *headers)
{
	struct http_request request = {
		.method = "GET",
		.url = url,
		.headers = headers,
		.timeout_ms = GET_TIMEOUT_MS,
		.body_bytes_max = BODY_BYTES_READ,
		.on_data = on_data,
		.on_address = on_address,
		.arg = fetch,
	};
	struct http_response response;
	struct tool_result *result;

	http_send(tools_world()->http, fetch->arena, &request, &response);
	result = answer_of(fetch, &response);
	packet_release(&fetch->body);
	return result;
}

static struct tool_result *
http_get(struct tool_request *request)
{
	const struct value *args = tool_args(request);
	struct fetch fetch = { .request = request, .arena = tool_arena(request) };
	const char *url = value_get_text(args, "url"), *error = NULL;
	const char *const *headers =
	    header_lines(fetch.arena, value_get(args, "headers"), &error);

	if (headers == NULL)
		return tool_fail(
		    request, fault_new(fetch.arena, "ToolInvocationError", "%s", error));
	if (!is_web_url(url))
		return tool_fail(request,
		    fault_new(fetch.arena, "ToolInvocationError",
			"'%.200s' is no address to fetch; it must begin with http:// or "
			"https:// and have no spaces",
			url));
	fetch.bytes_max = (size_t)value_get_int(args, "max_bytes", BODY_BYTES_USUAL);
	return fetch_run(&fetch, url, headers);
}

const struct tool tool_http_get = {
	.name = "http_get",
	.description = "Fetches a web address with GET and returns the status, "
		       "the type and the "
		       "text as it is. Redirects are not followed: their target "
		       "is returned.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"url\": {\"type\": \"string\", \"maxLength\": 8000, "
	    "\"description\": "
	    "\"An address that begins with http:// or https://\"}, "
	    "\"headers\": {\"type\": \"object\", \"maxProperties\": " DIGITS(
		HEADERS_MAX) ", \"additionalProperties\": {\"type\": \"string\", "
			     "\"maxLength\": 4000}, "
			     "\"description\": \"Request headers, for example "
			     "{\\\"Accept\\\": "
			     "\\\"application/json\\\"}\"}, "
			     "\"max_bytes\": {\"type\": \"integer\", "
			     "\"minimum\": 1, \"maximum\": " DIGITS(BODY_BYTES_LARGEST) ", \"default\": " DIGITS(
				 BODY_BYTES_USUAL) ", \"description\": \"Text "
						   "beyond it is cut\"}}, "
						   "\"required\": [\"url\"], "
						   "\"additionalProperties\": "
						   "false}",
	.run = http_get,
};
